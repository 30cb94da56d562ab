"""Importing: the plan, the report, duplicates, cancelling, and damaged files."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ijson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.database import StoreError
from app.model.exports.excerpt import whole_tree
from app.model.imports import importing, source
from app.model.imports.foreign import ForeignConversation, ForeignMessage, grafted
from app.model.imports.importing import Update, import_files, plan_import
from app.model.imports.json_stream import CountedFile, MendedJson, json_values_in
from app.model.store import Store
from tests.app.model.exports.excerpts import import_all, result_of
from tests.app.model.imports import samples
from tests.app.trees import plant
from tests.long import in_long_runs
from worker.sentence import verbatim

_DEPTHS = [6_000, *in_long_runs([30_000])]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


def _file(tmp_path: Path, content: Any, name: str = "in.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def _records(number: int) -> list[Any]:
    return [
        {"messages": [{"role": "user", "content": f"q{index}"}, {"role": "assistant", "content": f"a{index}"}]}
        for index in range(number)
    ]


def test_a_plan_matches_the_import_and_changes_nothing(store: Store, tmp_path: Path) -> None:
    path = _file(tmp_path, [*samples.ALL.values(), {"mapping": {}}])
    plan = result_of(plan_import(store, [path]))
    assert store.conversations.all() == []
    report = import_all(store, path)
    assert (report.num_conversations, report.num_messages) == (plan.num_conversations, plan.num_messages)
    assert report.problems == plan.problems
    assert report.remarks == plan.remarks
    # All of it exists after the import.
    plan = result_of(plan_import(store, [path]))
    assert (plan.num_conversations, len(plan.twins)) == (0, len(samples.ALL))


@pytest.mark.parametrize("seed", range(4))
def test_a_plan_finds_the_same_duplicates_within_its_files_as_the_import(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    records = [
        {
            "messages": [
                {"role": "assistant" if index % 2 else "user", "content": rng.choice("ab") if index > 1 else "begin"}
                for index in range(rng.randint(1, 5))
            ]
        }
        for _ in range(40)
    ]
    paths = [_file(tmp_path, records[:25], "one.json"), _file(tmp_path, records[25:], "two.json")]
    store = Store(tmp_path / "c.sqlite3")
    plan = result_of(plan_import(store, paths))
    report = import_all(store, *paths)
    assert (plan.num_conversations, plan.num_messages) == (report.num_conversations, report.num_messages)
    assert len(plan.twins) == len(report.twins) > 0
    store.close()


def test_a_conversation_is_not_imported_twice_even_if_it_was_renamed_and_continued(
    store: Store, tmp_path: Path
) -> None:
    path = _file(tmp_path, [samples.CHATGPT])
    (conversation_id,) = import_all(store, path).conversation_ids
    store.conversations.rename(conversation_id, "mine")
    leaf = whole_tree(store, conversation_id).path[-1]
    store.add(conversation_id, leaf.id, "user", "And then?")
    summary = import_all(store, path, path)
    assert [(twin.name, twin.there) for twin in summary.twins] == [("Roll back <the> deploy & more", "mine")] * 2
    assert len(store.conversations.all()) == 1
    # New messages are added to the conversation.
    longer = json.loads(json.dumps(samples.CHATGPT))
    longer["mapping"]["u3"] = {"id": "u3", "parent": "a2", "message": longer["mapping"]["u1"]["message"]}
    summary = import_all(store, _file(tmp_path, [longer]))
    assert (summary.num_conversations, summary.updates) == (0, [Update("mine", 1, conversation_id)])
    (conversation,) = store.conversations.all()
    assert (conversation.id, conversation.name) == (conversation_id, "mine")
    texts = [message.text for message in store.messages.shown_by(conversation_id)]
    assert texts[-2:] == ["And then?", "How do I roll back?"]


def test_a_conversation_in_the_trash_is_imported_again(store: Store, tmp_path: Path) -> None:
    path = _file(tmp_path, _records(1))
    (conversation_id,) = import_all(store, path).conversation_ids
    store.conversations.trash(conversation_id)
    assert import_all(store, path).num_conversations == 1


@pytest.mark.parametrize("num_steps", [700, *in_long_runs([1, 2_999])])
def test_a_cancelled_import_changes_nothing(store: Store, tmp_path: Path, num_steps: int) -> None:
    planted = plant(store, "u1-a1-u2 | u1-a3")
    before = (store.conversations.all(), store.messages.shown_by(planted.conversation_id))
    work = import_files(store, [_file(tmp_path, _records(3_000))])
    for _ in range(num_steps):
        next(work)
    work.close()
    assert (store.conversations.all(), store.messages.shown_by(planted.conversation_id)) == before
    assert store.search.find("q1 q2 q700 a2") == []
    assert import_all(store, tmp_path / "in.json").num_conversations == 3_000


def test_a_large_folder_can_be_left_while_it_is_searched(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (importing, source):
        monkeypatch.setattr(module, "_FILES_AT_ONCE", 10)
    folder = tmp_path / "home"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number}").touch()
    steps = plan_import(store, [folder])
    # Its files are counted, listed and looked into; a caller can stop after each step.
    for _ in range(3 * 4):
        assert next(steps).num_conversations == 0
    summary = result_of(steps)
    assert [str(problem.why) for problem in summary.problems] == ["this folder contains no files with conversations"]


def test_a_fork_made_during_a_cancelled_import_is_kept(store: Store, tmp_path: Path) -> None:
    work = import_files(store, [_file(tmp_path, _records(3_000))])
    for _ in range(2_500):
        next(work)
    first = min(store.conversations.all(), key=lambda conversation: conversation.id)
    answer = whole_tree(store, first.id).path[-1]
    fork = store.fork_conversation("mine", answer.id)
    work.close()
    assert [conversation.name for conversation in store.conversations.all()] == ["mine"]
    assert [message.text for message in store.messages.shown_by(fork.id)] == ["", "", "q0", "a0"]


def test_nothing_is_imported_when_the_store_fails(store: Store, tmp_path: Path) -> None:
    path = _file(tmp_path, _records(3_000))
    add, calls = store.grafts.add, 0

    def failing(*arguments: Any) -> list[int]:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise StoreError(verbatim("The disk is full."))
        return add(*arguments)

    store.grafts.add = failing  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(StoreError, match="disk is full"):
        import_all(store, path)
    assert calls == 2
    assert store.conversations.all() == []


@pytest.mark.parametrize("depth", _DEPTHS)
def test_a_chain_of_many_messages_becomes_one_conversation(store: Store, tmp_path: Path, depth: int) -> None:
    mapping = {
        str(number): {
            "id": str(number),
            "parent": str(number - 1) if number else None,
            "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [f"m{number}"]}},
        }
        for number in range(depth)
    }
    summary = import_all(store, _file(tmp_path, [{"title": "deep", "mapping": mapping}]))
    assert (summary.num_messages, summary.num_branches, summary.problems) == (depth, 1, [])
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert excerpt.path[-1].text == f"m{depth - 1}"
    assert [len(section.messages) for section in excerpt.sections()] == [depth + 1]


@pytest.mark.parametrize("depth", _DEPTHS)
def test_a_file_with_many_nested_levels_can_be_read(store: Store, tmp_path: Path, depth: int) -> None:
    head = '{"conversationId": "c", "title": "t", "recursive": true, "messages": '
    opened = "".join(f'[{{"messageId": "{n}", "text": "m{n}", "sender": "User", "children": ' for n in range(depth))
    path = tmp_path / "in.json"
    path.write_text(head + opened + "[]" + "}]" * depth + "}", encoding="utf-8")
    summary = import_all(store, path)
    assert (summary.num_messages, summary.problems) == (depth, [])


def test_no_message_is_lost_by_cycles_and_missing_parents() -> None:
    rng = random.Random(5)
    for _ in range(300):
        number = rng.randint(1, 9)
        messages = [
            ForeignMessage(
                id=str(rng.randint(0, number)),
                parent=rng.choice([None, *(str(other) for other in range(number + 3))]),
                role=rng.choice(["system", "user", "assistant", "note"]),
                text=f"text {index}",
                created_ms=rng.choice([None, -5, 10**18, rng.randint(0, 99)]),
                notes=rng.choice([[], ["Tool call\n\nx"]]),
            )
            for index in range(number)
        ]
        conversation = ForeignConversation(name="", messages=messages, current=str(rng.randint(0, number)))
        graft = grafted(conversation, now_ms=1000)
        texts = [message.text for message in graft.messages]
        assert all(sum(f"text {index}" in text for text in texts) == 1 for index in range(number))
        seen: set[int] = set()
        for message in graft.messages:
            assert (message.parent_id in seen) == (message.role != "root")
            assert message.role != "system" or message.parent_id == graft.root_id
            seen.add(message.id)


@pytest.mark.parametrize("sample", samples.ALL.values(), ids=samples.ALL.keys())
def test_a_truncated_file_is_reported_and_its_complete_conversations_are_imported(
    store: Store, tmp_path: Path, sample: Any
) -> None:
    data = json.dumps([_records(1)[0], sample]).encode()
    rng = random.Random(1)
    for end in [0, 1, 2, *(rng.randrange(3, len(data)) for _ in range(12)), len(data) - 1]:
        path = tmp_path / "cut.json"
        path.write_bytes(data[:end])
        plan = result_of(plan_import(store, [path]))
        assert len(plan.problems) == 1
        assert plan.num_conversations <= 2
        assert (plan.num_conversations >= 1) == (end > data.index(b"}]}"))


@pytest.mark.parametrize("sample", samples.ALL.values(), ids=samples.ALL.keys())
def test_values_of_wrong_types_affect_only_their_own_conversation(store: Store, tmp_path: Path, sample: Any) -> None:
    rng = random.Random(2)
    wrong: list[Any] = [None, 7, -1.5, 1e300, True, "text", "", [], {}, [[]], [None], {"a": None}, "\ud800", "0" * 5000]
    changed = [_changed(sample, rng, wrong) for _ in range(60)]
    path = _file(tmp_path, [*changed, _records(1)[0]])
    summary = import_all(store, path)
    assert summary.num_conversations + len(summary.updates) + len(summary.twins) + len(summary.problems) == 61
    # The last conversation is valid.
    assert store.search.find("a0") or any(twin.name == "q0" for twin in summary.twins)
    for conversation_id in summary.conversation_ids:
        excerpt = whole_tree(store, conversation_id)
        assert sum(len(section.messages) for section in excerpt.sections()) == len(excerpt.messages) - 1


def _changed(value: Any, rng: random.Random, wrong: list[Any]) -> Any:
    """Return a copy with one random value replaced."""
    copy = json.loads(json.dumps(value))
    here = copy
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = rng.choice(keys)
        if not isinstance(here[key], dict | list) or not here[key] or rng.random() < 0.15:
            here[key] = rng.choice(wrong)
            return copy
        here = here[key]


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.json", b"", "neither JSON nor text of ours"),
        ("a.json", b"[]", "it contains no conversations"),
        ("a.json", b"\xff\xfe[\x00]\x00", "it contains no conversations"),
        ("a.json", b"\xff and other bytes", "it is neither JSON nor UTF-8 text"),
        ("a.json", b"\x1f\x8b and no archive", "it can't be read"),
        ("a.json", b'["\xff"]', "Bough does not support this format"),
        ("a.json", b"[" + b"1" * 5000 + b"]", "Bough does not support this format"),
        ("a.json", b"[,]", "its JSON is incomplete or damaged"),
        ("a.json", b'{"a": ' * 3, "its JSON is incomplete or damaged"),
        ("a.md", b"# A heading\n\nand text", "not a transcript from Bough"),
        ("a.md", b"", "not a transcript from Bough"),
        ("a.zip", b"PK\x03\x04 and then nothing", "the archive is incomplete"),
        (
            "a.bough",
            b'{"format": "bough", "version": 9, "conversations": []}',
            "it comes from a newer version of Bough",
        ),
        ("a.bough", b'{"format": "bough", "conversations": []}', "its format version"),
        ("a.bough", b'{"format": "bough", "version": 1, "conversations": [7]}', "its "),
    ],
)
def test_a_file_that_is_not_an_export_is_reported_in_one_line(
    store: Store, tmp_path: Path, name: str, data: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(data)
    summary = import_all(store, tmp_path / name)
    (problem,) = summary.problems
    if data:
        assert why in problem.why
    assert "\n" not in problem.why
    assert store.conversations.all() == []


@pytest.mark.parametrize("odd", [b"1" * 40, b"1e999", b"-1e999", b'"\xff \xe2\x82"', b'"\xed\xa0\x80"'])
@pytest.mark.parametrize("name", ["in.json", "in.jsonl"])
def test_a_value_that_is_out_of_range_or_badly_encoded_does_not_stop_the_import(
    store: Store, tmp_path: Path, odd: bytes, name: str
) -> None:
    lines = [json.dumps(record | {"odd": "@", "created_at": "@"}).encode() for record in _records(3)]
    text = b"\n".join(lines) if name == "in.jsonl" else b"[" + b",".join(lines) + b"]"
    (tmp_path / name).write_bytes(text.replace(b'"@"', odd))
    summary = import_all(store, tmp_path / name)
    assert (summary.num_conversations, summary.problems) == (3, [])


def test_invalid_utf8_is_replaced_even_at_the_boundaries_of_chunks(store: Store, tmp_path: Path) -> None:
    said = b"\xe6\xbc\xa2\xff\xf0\x9f\x98\x80x" * 20_000
    for before in range(4):
        data = b'[{"messages": [{"role": "user", "content": "' + b"a" * before + said + b'"}]}]'
        (tmp_path / "in.json").write_bytes(data)
        (conversation_id,) = import_all(store, tmp_path / "in.json").conversation_ids
        assert store.messages.shown_by(conversation_id)[-1].text == "a" * before + "漢\ufffd😀x" * 20_000


def test_an_archive_of_an_unknown_version_is_reported(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(_records(1)))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 79
    path.write_bytes(data)
    (problem,) = import_all(store, path).problems
    assert "zip file version 7.9" in str(problem.why)


def test_a_missing_file_is_reported(store: Store, tmp_path: Path) -> None:
    (problem,) = import_all(store, tmp_path / "none.json").problems
    assert problem.why == "it can't be read (No such file or directory)"


def test_a_byte_order_mark_is_ignored(store: Store, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(_records(2)).encode())
    assert import_all(store, tmp_path / "in.json").num_conversations == 2


def test_a_huge_text_becomes_one_message(store: Store, tmp_path: Path) -> None:
    text = "ä b\n" * 100_000
    summary = import_all(store, _file(tmp_path, {"messages": [{"role": "user", "content": text}]}))
    assert store.messages.shown_by(summary.conversation_ids[0])[-1].text == text


def test_a_long_string_is_read_in_few_chunks() -> None:
    data = b'[{"messages": [{"role": "user", "content": "' + b"a b c d " * 1_000_000 + b'"}]}]'
    sizes: list[int] = []
    (value,) = json_values_in(CountedFile(io.BytesIO(data), sizes.append), 1)
    assert len(value["messages"][0]["content"]) == 8_000_000
    assert len(sizes) < 40


def test_surrogate_escapes_are_replaced_even_at_the_boundaries_of_chunks(tmp_path: Path, store: Store) -> None:
    rng = random.Random(3)
    pieces = ["\\ud83d\\ude00", "\\ud83d", "\\ude00", "\\\\", "\\\\ud83d", "\\n", "\\u00fc", "x", '\\"']
    whole = ["".join(rng.choices(pieces, k=9_000)) for _ in range(4)]
    text = json.dumps([{"messages": [{"role": "user", "content": "@"}]} for _ in whole])
    for part in whole:
        text = text.replace('"@"', f'"{part}"', 1)
    path = tmp_path / "in.json"
    path.write_text(text, encoding="ascii")
    summary = import_all(store, path)
    assert summary.problems == []
    found = [store.messages.shown_by(conversation_id)[-1].text for conversation_id in summary.conversation_ids]
    mended = [json.loads(f'"{part}"').encode("utf-16", "surrogatepass").decode("utf-16", "replace") for part in whole]
    assert found == mended


def test_nan_and_infinity_do_not_stop_the_import(store: Store, tmp_path: Path) -> None:
    def record(number: int) -> dict[str, Any]:
        text = f'number {number}: NaN, -Infinity, "Infinity" \\'
        odd = (float("nan"), float("inf"), float("-inf"))[number % 3]
        return {"score": odd, "created_at": odd, "messages": [{"role": "user", "content": text, "timestamp": odd}]}

    records = [record(number) for number in range(2_000)]
    whole, lines = tmp_path / "whole.json", tmp_path / "lines.jsonl"
    whole.write_text(json.dumps(records))
    lines.write_text("".join(f"{json.dumps({**one, 'title': 'of lines'})}\n" for one in records[:9]))
    summary = import_all(store, whole)
    assert summary.problems == []
    assert [store.messages.shown_by(found)[-1].text for found in summary.conversation_ids] == [
        one["messages"][0]["content"] for one in records
    ]
    # They differ only in their names.
    assert import_all(store, lines).num_conversations == 9


_WORDS = [
    "NaN", "Infinity", "-Infinity", "null", "-1", "0.5", "-12e3", '"NaN"',
    '"\\\\"', '"a\\"NaN\\\\\\"-Infinity"', '""', "true",
    '"\u00e4"', '"\\ud83dNaN"', '"\\ud83d\\ud83d\\ude00"', '"\\ud83dabcdefghijklmnop"', '"\\\\ud83d"',
    '"\\u00e4\\n\\/"',
]  # fmt: skip
_LISTS = st.recursive(
    st.sampled_from(_WORDS), lambda inner: st.lists(inner, max_size=5).map(lambda found: f"[{', '.join(found)}]")
)


def _with_halves_replaced(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_halves_replaced(inner) for inner in value]
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(value, str) else value


@given(_LISTS, st.integers(1, 30))
def test_invalid_json_is_repaired_with_chunks_of_any_size(text: str, size: int) -> None:
    file = MendedJson(CountedFile(io.BytesIO(text.encode()), lambda _: None))
    read = b"".join(iter(lambda: file.read(size), b""))
    assert json.loads(read) == _with_halves_replaced(json.loads(text, parse_constant=lambda _: None))


@pytest.mark.parametrize("backend", ["python", None])
@pytest.mark.parametrize(
    ("text", "num_levels", "values"),
    [
        ('{"a": 1} [2] 3', 0, [{"a": 1}, [2], 3]),
        ('[1, {"conversations": [2]}, [[]], "x", true, null]', 1, [1, {"conversations": [2]}, [[]], "x", True, None]),
        ('{"a": {"conversations": [1]}, "conversations": [2, [3]], "b": [4]}', 2, [2, [3]]),
        ('{"conversations": {"a": 1}}', 2, []),
        ("[NaN, 1e999, -1e999, 18446744073709551616]", 1, [None, "1e999", "-1e999", "18446744073709551616"]),
        ("[9223372036854775807, 0.25, 1e300]", 1, [9223372036854775807, 0.25, 1e300]),
    ],
)
def test_every_json_parser_finds_the_values_of_a_level(
    monkeypatch: pytest.MonkeyPatch, backend: str | None, text: str, num_levels: int, values: list[Any]
) -> None:
    if backend is not None:
        monkeypatch.setattr(ijson, "basic_parse", ijson.get_backend(backend).basic_parse)
    assert list(json_values_in(CountedFile(io.BytesIO(text.encode()), lambda _: None), num_levels)) == values


def test_a_truncated_file_with_nan_gives_its_complete_conversations(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text(json.dumps([{**found, "score": float("nan")} for found in _records(3)])[:-9])
    summary = import_all(store, path)
    assert summary.num_conversations == 2
    assert "2 before it could be read" in summary.problems[0].why


def test_files_of_an_archive_that_are_not_read_are_named(store: Store, tmp_path: Path) -> None:
    chats = [{"uuid": "c", "name": "n", "chat_messages": [{"uuid": "q", "sender": "human", "text": "Why?"}]}]
    with zipfile.ZipFile(tmp_path / "inner.zip", "w") as archive:
        archive.writestr("a.json", "[]")
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(chats))
        # Each export has it, and it has no conversations.
        archive.writestr("users.json", "[]")
        archive.writestr("memories.json", "[]")
        archive.write(tmp_path / "inner.zip", "inner.zip")
    summary = import_all(store, tmp_path / "export.zip")
    assert (summary.num_conversations, summary.problems) == (1, [])
    assert {str(remark): number for remark, number in summary.remarks.items()} == {
        "other files in the archive, not read (inner.zip, memories.json)": 2
    }


def test_an_empty_file_is_called_empty(store: Store, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("\n")
    (problem,) = import_all(store, tmp_path / "empty.json").problems
    assert str(problem.why) == "it is empty"
