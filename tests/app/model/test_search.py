"""Search in all branches and any script, compared with looking at every message."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.model.database import StoreError
from app.model.message import Message, Record, Role
from app.model.search import Filters
from app.model.search_filters import split_query
from app.model.search_index import MAX_CHARS_AT_ONCE, excerpt, indexed, parse_query
from app.model.search_renewal import UNFINISHED, renew_slice
from app.model.store import Store
from tests.app.model.stores import INTEGRITY_CHECK, sql, write_index_again
from tests.app.trees import plant
from worker.sentence import verbatim


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with contextlib.closing(Store(tmp_path / "store.sqlite3")) as store:
        yield store


def _tell(store: Store, *texts: str) -> list[Message]:
    """A conversation of these messages, each a branch of its own below the first."""
    conversation, first = store.create_conversation("told", "", texts[0])
    return [first, *(store.add(conversation.id, first.id, "assistant", text) for text in texts[1:])]


def _found(store: Store, typed: str, **filters: object) -> list[str]:
    hits = store.search.find(typed, Filters(**filters), limit=1000)  # pyright: ignore[reportArgumentType]
    return sorted(hit.message.text for hit in hits)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("branch", ["A branch of a tree", "Branches grow"]),
        ("branch ", ["A branch of a tree"]),
        ("bra", ["A branch of a tree", "Branches grow"]),
        ("b", ["A branch of a tree", "Branches grow", "__a_b__(g++)", "a -> b", "die Börse"]),
        ("tree branch", ["A branch of a tree"]),
        ('"branch of a"', ["A branch of a tree"]),
        ('"of branch"', []),
        ('"branch of', ["A branch of a tree"]),
        ("bran* grow", ["Branches grow"]),
        ("BÖRSE", ["die Börse"]),
        ("borse", ["die Börse"]),
        ("don't", ["I don't"]),
        ("c++ ", ["C++17, C# and .NET"]),
        ("C+", ["C++17, C# and .NET"]),
        ("C+ ", []),
        ("c", ["C++17, C# and .NET"]),
        ("c ", ["C++17, C# and .NET"]),
        ("C++17", ["C++17, C# and .NET"]),
        ("C++1 ", []),
        ("c#", ["C++17, C# and .NET"]),
        ("f#", []),
        (".net", ["C++17, C# and .NET"]),
        (".and", []),
        ('"C# and .NET"', ["C++17, C# and .NET"]),
        ('"C++ .NET"', []),
        ('"and C#"', []),
        ("a_b", ["__a_b__(g++)"]),
        ("__a_b__", ["__a_b__(g++)"]),
        ("_a_b", []),
        ("g++", ["__a_b__(g++)"]),
        (").", []),
        ("(", ["__a_b__(g++)"]),
        ("елка", ["Ёлка"]),
        ("ЁЛКА", ["Ёлка"]),
        ("мои", []),
        ("мой", ["мой за\u0301мок"]),
        ("замок", ["мой за\u0301мок"]),
        ("strasse", []),
        ("grossstrasse", ["Łódź, Großstraße"]),
        ("GROßSTRASSE", ["Łódź, Großstraße"]),
        ("lodz", ["Łódź, Großstraße"]),
        ("boerse", []),
        ("οδος", ["ΟΔΌΣ"]),
        ("احمد", ["أحمد"]),
        ("木", ["枝は木の一部です。"]),
        ("一部", ["枝は木の一部です。"]),
        ("部一", []),
        ("木 枝", ["枝は木の一部です。"]),
        ("나무", ["나무의 가지"]),
        ("กิ่ง", ["นี่คือกิ่งไม้"]),
        ("שלום", ["שָׁלוֹם"]),
        ("кот", ["Коты"]),
        ("ABC", ["ＡＢＣ"]),
        ("->", ["a -> b"]),
        ("a ->", ["a -> b"]),
        ("😀", ["so 😀 so"]),
        ("", []),
        ("   ", []),
        ('"', []),
        ('""', []),
        ("*", []),
        ("NEAR(a b)", []),
        ("text:branch", []),
        ("\0", []),
    ],
)
def test_search_as_you_type(store: Store, typed: str, found: list[str]) -> None:
    _tell(
        store,
        "A branch of a tree",
        "Branches grow",
        "die Börse",
        "I don't",
        "枝は木の一部です。",
        "나무의 가지",
        "นี่คือกิ่งไม้",
        "שָׁלוֹם",
        "Коты",
        "ＡＢＣ",
        "a -> b",
        "so 😀 so",
        "C++17, C# and .NET",
        "__a_b__(g++)",
        "Ёлка",
        "мой за\u0301мок",
        "Łódź, Großstraße",
        "ΟΔΌΣ",
        "أحمد",
    )
    assert _found(store, typed) == found


@settings(max_examples=150)
@given(typed=st.text(max_size=30), text=st.text(max_size=80))
def test_any_query_is_accepted_and_every_mark_lies_in_its_excerpt(typed: str, text: str) -> None:
    question = parse_query(typed)
    shown, marks = excerpt(text, question, length=20)
    assert len(shown) <= 22
    assert all(0 <= start < end <= len(shown) for start, end in marks)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(typed=st.text(max_size=30))
def test_no_query_raises(store: Store, typed: str) -> None:
    if not store.conversations.all():
        _tell(store, "A branch of a tree", "->")
    store.search.find(typed)


def test_each_character_without_spaces_is_a_word_of_the_index() -> None:
    assert indexed("a漢字b カナ") == "a 漢  字 b  カ  ナ "
    # A pile of marks that would take a minute to sort.
    assert (indexed("a" + "\u0301\u0316" * 150_000 + "漢") or "")[-4:].endswith(" 漢 ")


def test_the_best_hit_comes_first_with_its_branch(store: Store) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u1-a3-u4")
    long = "leaf " + "much else " * 200
    once = store.add(planted.conversation_id, planted.ids["a2"], "user", long)
    often = store.add(planted.conversation_id, planted.ids["u4"], "assistant", "leaf leaf")
    first, second = store.search.find("leaf")
    assert [first.message.id, second.message.id] == [often.id, once.id]
    assert store.search.line(first.message.id)[2:] == [*(planted.ids[label] for label in ("u1", "a3", "u4")), often.id]
    assert store.search.line(second.message.id)[2:] == [
        *(planted.ids[label] for label in ("u1", "a1", "u2", "a2")),
        once.id,
    ]
    assert first.conversation.id == planted.conversation_id
    (other,) = store.search.find("a3")
    assert (other.version, other.num_versions) == (2, 2)
    assert second.excerpt[slice(*second.marks[0])] == "leaf"
    assert second.excerpt.endswith("…")


def test_pruned_versions_are_not_counted(store: Store) -> None:
    _, one, _, three = _tell(store, "question", "one", "two", "three")
    store.messages.prune([one.id])
    assert [(hit.message.id, hit.version, hit.num_versions) for hit in store.search.find("three")] == [(three.id, 2, 2)]


def test_a_hit_shows_reasoning_and_answer_without_the_marks_between_them(store: Store) -> None:
    planted = plant(store, "u1")
    for thought in ("<think>\nA leaf, or none?\n</think>\n\nA leaf.", "A leaf, or none?\n</think>\n\nA leaf."):
        answer = store.add(planted.conversation_id, planted.ids["u1"], "assistant", thought)
        hit = next(hit for hit in store.search.find("leaf") if hit.message.id == answer.id)
        assert hit.excerpt == "A leaf, or none? A leaf."
        assert [hit.excerpt[slice(*mark)] for mark in hit.marks] == ["leaf", "leaf"]
    # The user's text is shown unchanged.
    question = store.add(planted.conversation_id, planted.ids["u1"], "user", "<think> a leaf </think> what is that")
    assert next(hit for hit in store.search.find("what") if hit.message.id == question.id).excerpt == question.text


def test_a_message_shared_with_a_fork_is_found_in_the_fork_once_the_original_is_deleted(
    store: Store,
) -> None:
    planted = plant(store, "u1-a1-u2")
    fork = store.fork_conversation("fork", planted.ids["u2"])
    (hit,) = store.search.find("u1")
    assert hit.conversation.id == planted.conversation_id
    store.conversations.trash(planted.conversation_id)
    (hit,) = store.search.find("u1")
    assert hit.conversation.id == fork.id
    store.conversations.trash(fork.id)
    assert store.search.find("u1") == []
    store.conversations.restore(fork.id)
    assert [hit.conversation.id for hit in store.search.find("u1")] == [fork.id]


def test_messages_in_the_trash_do_not_displace_others(store: Store) -> None:
    kept = _tell(store, "leaf kept")[0]
    thrown, _ = store.create_conversation("thrown", "", "leaf leaf")
    for _ in range(50):
        store.add(thrown.id, kept.id + 3, "user", "leaf leaf")
    store.conversations.trash(thrown.id)
    assert [hit.message.id for hit in store.search.find("leaf", limit=5)] == [kept.id]


def test_many_invisible_messages_hide_no_hit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.model.search._NUM_RANKED", 3)
    kept = _tell(store, "leaf kept", "leaf kept, too")
    elsewhere = plant(store, "u1-a1 | u1-a2")
    for number in range(20):
        store.add(elsewhere.conversation_id, elsewhere.ids["a2"], "user", f"leaf {number}")
    assert len(_found(store, "leaf")) == 22
    assert _found(store, "kept") == ["leaf kept", "leaf kept, too"]
    store.messages.prune([elsewhere.ids["a2"]])
    assert _found(store, "leaf") == ["leaf kept", "leaf kept, too"]
    store.messages.prune([kept[0].id])
    assert _found(store, "leaf") == []


def test_hits_far_down_a_chain_have_their_conversation(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.model.parent_links._MAX_READ", 3)
    planted = plant(store, "u1-a1-u2-a2-u3-a3 | a1-u4-a4")
    fork = store.fork_conversation("fork", planted.ids["a2"])
    for label, conversation_id in (("a1", planted.conversation_id), ("u3", fork.id), ("a4", planted.conversation_id)):
        (hit,) = store.search.find(f"{label} ")
        assert hit.conversation.id == conversation_id
    assert store.search.line(planted.ids["u4"])[2:] == [planted.ids[label] for label in ("u1", "a1", "u4")]
    # Messages and conversations that came after the links were read.
    last = store.add(planted.conversation_id, planted.ids["a4"], "user", "u5")
    later = store.fork_conversation("later", planted.ids["a4"])
    assert store.search.find("u5")[0].conversation.id == later.id
    store.conversations.trash(later.id)
    assert store.search.find("u5")[0].conversation.id == planted.conversation_id
    store.conversations.trash(planted.conversation_id)
    assert store.search.find("u5") == []
    assert store.search.find("u1")[0].conversation.id == fork.id
    assert last.id in store.search.line(last.id)


def test_a_search_through_a_cycle_of_damaged_links_ends(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = plant(store, "u1-a1-u2")
    with sql(tmp_path / "store.sqlite3") as database:
        database.execute("UPDATE message SET parent_id = ? WHERE id = ?", (planted.ids["u2"], planted.ids["u1"]))
    assert store.search.find("a1") == []
    monkeypatch.setattr("app.model.parent_links._MAX_READ", 1)
    assert store.search.find("a1") == []
    assert len(store.search.line(planted.ids["a1"])) == 3


def test_filters_find_the_same_messages_as_a_full_scan(store: Store, tmp_path: Path) -> None:
    question = _tell(store, "leaf 0")[0]
    draw = random.Random(3)
    days = [date(2024, 1, 1) + timedelta(days=draw.randrange(1500)) for _ in range(60)]
    for number, day in enumerate(days, 1):
        role: Role = draw.choice(["user", "assistant", "note"])
        record = Record(model=draw.choice(["guide", "/models/Qwen-4B"])) if role == "assistant" else None
        added = store.add(1, question.id, role, f"leaf {number}", record=record)
        with sql(tmp_path / "store.sqlite3") as database:
            time_ms = datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp() * 1000
            database.execute("UPDATE message SET created_ms = ? WHERE id = ?", (int(time_ms), added.id))
    messages = [store.messages.get(hit.message.id) for hit in store.search.find("leaf", limit=100)]
    assert len(messages) == 61
    for _ in range(40):
        since, until = (draw.choice([None, draw.randrange(1_700_000_000_000, 1_850_000_000_000)]) for _ in range(2))
        wanted: Role | None = draw.choice([None, "user", "assistant", "note"])
        model = draw.choice([None, "qwen", "models qwen", "nobody"])
        expected = [
            message.text
            for message in messages
            if (since is None or message.created_ms >= since)
            and (until is None or message.created_ms <= until)
            and wanted in (None, message.role)
            and (model is None or (message.record is not None and "Qwen" in message.record.model and model != "nobody"))
        ]
        filters = {"since_ms": since, "until_ms": until, "role": wanted, "model": model}
        assert _found(store, "leaf ", **filters) == sorted(expected)
        if any(value is not None for value in filters.values()):
            found = _found(store, "", **filters)
            assert [text for text in found if text] == sorted(expected)


def test_filters(store: Store, tmp_path: Path) -> None:
    question = _tell(store, "leaf u", "leaf a")[0]
    other = store.add(1, question.id, "assistant", "leaf b", record=Record(model="/models/Qwen-4B"))
    with sql(tmp_path / "store.sqlite3") as database:
        database.execute("UPDATE message SET created_ms = id * 1000")
    assert _found(store, "leaf") == ["leaf a", "leaf b", "leaf u"]
    assert _found(store, "leaf", role="user") == ["leaf u"]
    assert _found(store, "leaf", model="qwen") == ["leaf b"]
    assert _found(store, "", model="qwen") == ["leaf b"]
    assert _found(store, "leaf", since_ms=other.id * 1000) == ["leaf b"]
    assert _found(store, "leaf", until_ms=question.id * 1000) == ["leaf u"]
    assert _found(store, "leaf", is_starred=True) == []
    store.messages.star(other.id)
    assert _found(store, "leaf", is_starred=True) == ["leaf b"]
    assert _found(store, "", is_starred=True) == ["leaf b"]
    store.messages.star(other.id, is_starred=False)
    assert _found(store, "leaf", is_starred=True) == []


@pytest.mark.parametrize(
    ("typed", "is_found"),
    [
        ("model:smol", True),
        ("model:smollm2-135m", True),
        ('model:"SmolLM2 135M Instruct"', True),
        ("model:instruct", True),
        ("model:huggingfacetb/smol", True),
        ("model:mol", False),
        ('model:"instruct smollm2"', False),
    ],
)
def test_a_model_is_found_by_the_beginning_of_a_word_of_its_name(store: Store, typed: str, is_found: bool) -> None:
    question = _tell(store, "u1")[0]
    store.add(1, question.id, "assistant", "a1", record=Record(model="HuggingFaceTB/SmolLM2-135M-Instruct"))
    hits = store.search.find(*split_query(typed))
    assert [hit.message.text for hit in hits] == (["a1"] if is_found else [])


def test_pinned_messages_are_found_and_starred_and_pinned_ones_by_both_filters(store: Store) -> None:
    planted = plant(store, "u1-a1 | u1-a2")
    first, second = planted.ids["a1"], planted.ids["a2"]
    store.messages.pin_branch(first)
    store.messages.pin_branch(second)
    store.messages.star(second)
    assert sorted(_found(store, "", is_pinned=True)) == ["a1", "a2"]
    assert _found(store, "", is_pinned=True, is_starred=True) == ["a2"]
    store.messages.pin_branch(second, is_pinned=False)
    assert _found(store, "", is_pinned=True) == ["a1"]


def test_text_is_found_once_its_answer_has_ended(store: Store) -> None:
    question = _tell(store, "u1")[0]
    answer = store.add(1, question.id, "assistant", "", state="streaming")
    store.messages.append({answer.id: "a leaf"})
    assert _found(store, "leaf") == []
    store.interrupt_streaming(verbatim("It ended."))
    assert _found(store, "leaf") == ["a leaf"]


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM message_text_data",
        "DELETE FROM message_text_idx",
        "UPDATE message_text_data SET block = zeroblob(40) WHERE id = (SELECT max(id) FROM message_text_data)",
        "DELETE FROM message_text_docsize",
        "INSERT INTO message_text (message_text) VALUES ('delete-all')",
    ],
)
def test_a_damaged_search_index_is_rebuilt_and_blocks_nothing(store: Store, tmp_path: Path, damage: str) -> None:
    planted = plant(store, "u1-a1")
    with sql(tmp_path / "store.sqlite3") as database:
        database.execute(damage)
    store.close()
    with contextlib.closing(Store(tmp_path / "store.sqlite3")) as again:
        again.add(planted.conversation_id, planted.ids["a1"], "user", "u2")
        again.update(again.messages.shown_by(planted.conversation_id)[-1])
        again.search.find("a1")
        again.conversations.trash(planted.conversation_id)
        again.empty_trash()
        plant(again, "u1-a1")
        write_index_again(again)
        assert [hit.message.text for hit in again.search.find("a1")] == ["a1"]


# --- long messages -------------------------------------------------------------------------------------------

_LONG = " and so on" * (MAX_CHARS_AT_ONCE // 10)


def test_messages_that_wait_are_found_without_reading_all_messages(store: Store) -> None:
    with sql(store.path) as connection:
        plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {UNFINISHED}"))
    assert "SCAN search_waiting" in plan
    assert "SCAN message" not in plan


def test_a_long_message_is_found_once_it_was_written_into_the_index_in_the_background(store: Store) -> None:
    asked: list[bool] = []
    store.messages.on_waiting = lambda: asked.append(store.search.is_complete)
    question, answer = _tell(store, "a short leaf", "a long leaf" + _LONG)
    # It is called when the change can be seen.
    assert asked == [False]
    assert _found(store, "leaf") == [question.text]
    assert store.search.renew_slice()
    assert _found(store, "leaf") == [answer.text, question.text]
    # Nothing of the old text is found while the new one waits, be it short or long.
    for text in ("a long branch" + _LONG, "a twig"):
        store.set_text(answer.id, text)
        assert _found(store, "leaf") == [question.text]
        assert _found(store, text[:7]) == []
        assert store.search.renew_slice()
        assert _found(store, text[:7]) == [text]
    store.set_text(answer.id, "a long leaf" + _LONG)
    store.messages.prune([answer.id])
    store.empty_trash()
    assert store.search.is_complete
    assert _found(store, "leaf") == [question.text]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_message_that_changes_while_it_is_indexed_gets_its_current_text(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_deleted: bool
) -> None:
    _, answer = _tell(store, "u1", "a leaf" + _LONG)

    def signs_of_old_text(text: str) -> None:
        monkeypatch.undo()
        if is_deleted:
            store.messages.prune([answer.id])
            store.empty_trash()
        else:
            store.set_text(answer.id, "a twig" + _LONG)

    monkeypatch.setattr("app.model.search_renewal.signs", signs_of_old_text)
    with sql(tmp_path / "store.sqlite3") as background:
        assert renew_slice(background) == is_deleted
        assert _found(store, "leaf") == _found(store, "twig") == []
        assert renew_slice(background)
        background.execute(INTEGRITY_CHECK)
    assert [text[:6] for text in _found(store, "twig")] == ([] if is_deleted else ["a twig"])


def test_a_change_that_is_undone_requests_no_indexing(store: Store) -> None:
    (question,) = _tell(store, "u1")
    asked: list[str] = []
    store.messages.on_waiting = lambda: asked.append("now")
    with pytest.raises(StoreError):
        store.add(1, 10**6, "user", _LONG)
    store.add(1, question.id, "user", "short")
    assert asked == []
