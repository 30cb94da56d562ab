"""Each import format, tested with a small sample of an export."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.model.exports.excerpt import Excerpt, whole_tree
from app.model.imports import blocks, open_webui
from app.model.store import Store
from tests.app.model.exports.excerpts import import_all
from tests.app.model.imports import samples


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


def _imported(store: Store, tmp_path: Path, content: Any, name: str = "in.json") -> Excerpt:
    (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    summary = import_all(store, tmp_path / name)
    assert summary.problems == []
    return whole_tree(store, summary.conversation_ids[0])


def _lines(excerpt: Excerpt) -> list[str]:
    """Return each message as `parent's index < own index role: text`. The root has index 0."""
    indices = {message.id: index for index, message in enumerate(excerpt.messages)}
    return [
        f"{'' if message.parent_id is None else indices[message.parent_id]}<{index} {message.role}: {message.text}"
        for index, message in enumerate(excerpt.messages)
    ]


def _path(excerpt: Excerpt) -> list[str]:
    return [message.text for message in excerpt.path if message.role != "note" and message.text]


def test_chatgpt_keeps_branches_models_times_and_tool_calls(store: Store, tmp_path: Path) -> None:
    excerpt = _imported(store, tmp_path, [samples.CHATGPT])
    assert _lines(excerpt) == [
        "<0 root: ",
        "0<1 system: ",
        "1<2 user: How do I roll back?",
        "2<3 assistant: Run `helm rollback`.",
        "2<4 assistant: Ask SRE.",
        "3<5 note: Tool call: python\n\n```python\nprint(1)\n```",
        "5<6 note: Tool result: python\n\n```\n1\n\n```",
        "6<7 user: [file: cat.png]\n\nWhat is this?",
        "7<8 note: File: cat.png\n\nIt is not in the file that was imported.",
        "8<9 note: File: x.pdf\n\nIt is not in the file that was imported.",
    ]
    assert _path(excerpt) == ["How do I roll back?", "Ask SRE."]
    answers = [message for message in excerpt.messages if message.role == "assistant"]
    assert [(answer.record and answer.record.model, answer.created_ms) for answer in answers] == [
        ("gpt-5", 1_756_000_002_500),
        ("o4-mini", 1_756_000_003_000),
    ]
    assert (excerpt.conversation.name, excerpt.conversation.created_ms) == (
        "Roll back <the> deploy & more",
        1_756_000_000_123,
    )
    assert excerpt.conversation.updated_ms == 1_756_000_400_500


def test_pictures_in_a_chatgpt_archive_are_imported(store: Store, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([samples.CHATGPT]))
        archive.writestr("user.json", "{}")
        archive.writestr("file-CAT-cat.png", base64.b64decode(samples.PNG))
    summary = import_all(store, tmp_path / "export.zip")
    assert summary.problems == []
    notes = [message.text for message in store.messages.shown_by(summary.conversation_ids[0]) if message.role == "note"]
    assert f"Picture: cat.png\n\n![cat.png](data:image/png;base64,{samples.PNG})" in notes
    assert summary.remarks[blocks.KEPT_ATTACHMENTS] == 1
    assert summary.remarks[blocks.NOT_IN_THE_FILE] == 1


@pytest.mark.parametrize("name", ["file-CAT-cat.png", "conversations.json"])
def test_damage_in_an_archive_affects_only_the_damaged_part(store: Store, tmp_path: Path, name: str) -> None:
    picture = {"asset_pointer": "file-service://file-CAT"}
    chats = [
        {"mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"parts": [said, "a" * 800, picture]}}}}}
        for said in map(str, range(300))
    ]
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=0) as archive:
        archive.writestr("conversations.json", json.dumps(chats))
        archive.writestr("file-CAT-cat.png", bytes(3_000))
        begin = archive.getinfo(name).header_offset + 30 + len(name)
        size = archive.getinfo(name).compress_size
    data = bytearray(path.read_bytes())
    # A stored deflate block has its length and then the length's complement. JSON contains no such bytes.
    turned = bytes(range(256))[::-1]
    starts = [
        at
        for at in range(begin, begin + size)
        if data[at] == 0 and data[at + 1 : at + 3] == data[at + 3 : at + 5].translate(turned)
    ]
    damaged = starts[len(starts) // 2] + 3 if name == "conversations.json" else begin + size // 2
    data[damaged] ^= 0xFF
    path.write_bytes(data)
    summary = import_all(store, path)
    if name == "conversations.json":
        (problem,) = summary.problems
        assert problem.why.startswith("it can't be read (Error -3 ")
        assert 30 < summary.num_conversations < 300
    else:
        assert (summary.num_conversations, summary.problems) == (300, [])
        assert summary.remarks[blocks.NOT_IN_THE_FILE] == 300


def test_claude_keeps_reasoning_tools_and_attachments(store: Store, tmp_path: Path) -> None:
    excerpt = _imported(store, tmp_path, [samples.CLAUDE])
    assert _lines(excerpt) == [
        "<0 root: ",
        "0<1 system: ",
        "1<2 user: Read this\n\nFile: a.txt\n\n````\n```\ninside\n```\n````",
        "2<3 note: File: photo.jpg\n\nIt is not in the file that was imported.",
        "3<4 assistant: <think>\nHm.\n</think>\n\nDone",
        '4<5 note: Tool call: search\n\n```json\n{\n  "q": "ä"\n}\n```',
        "5<6 note: Tool result: search\n\nfound",
        "6<7 user: Thanks",
    ]
    assert excerpt.messages[2].created_ms == 1_748_772_000_000


def test_open_webui_keeps_branches_and_unfolds_reasoning_and_tool_calls(store: Store, tmp_path: Path) -> None:
    excerpt = _imported(store, tmp_path, [samples.OPEN_WEBUI])
    assert _lines(excerpt) == [
        "<0 root: ",
        "0<1 system: Be exact.",
        "1<2 user: 15·17?",
        f"2<3 note: Picture: p.png\n\n![p.png](data:image/png;base64,{samples.PNG})",
        "3<4 assistant: <think>\n10·17 < 255\n</think>\n\n255",
        '3<5 note: Tool call: calc\n\n```\n{"x":1}\n```',
        "5<6 note: Tool result\n\n255",
        "6<7 assistant: It is 255.",
    ]
    assert _path(excerpt) == ["Be exact.", "15·17?", "It is 255."]


def test_unclosed_details_of_open_webui_are_text_and_parsed_quickly() -> None:
    def said(content: str) -> list[str]:
        history = {"messages": {"a": {"role": "assistant", "content": content}}}
        (message,) = open_webui.conversation({"history": history}).messages
        return [piece.text for piece in message.pieces]

    opened = '<details type="reasoning">\n'
    assert said(opened * 50_000) == [opened * 50_000]
    assert said(f"{opened}> why\n</details>\nso\n{opened}") == [f"<think>\nwhy\n</think>\n\nso\n{opened}"]


@pytest.mark.parametrize("sample", [samples.LIBRECHAT_TREE, samples.LIBRECHAT_LIST])
def test_a_librechat_tree_and_list_give_the_same_messages(store: Store, tmp_path: Path, sample: Any) -> None:
    excerpt = _imported(store, tmp_path, sample)
    assert _lines(excerpt) == [
        "<0 root: ",
        "0<1 system: You are an engineer.",
        "1<2 user: venv?",
        "2<3 assistant: <think>\nHm.\n</think>\n\nMake it.",
        "3<4 note: Tool call: sh\n\n```\nls\n```",
        "4<5 note: Tool result: sh\n\n```\nvenv\n```",
        "2<6 assistant: Or so.",
    ]
    assert excerpt.messages[6].record is not None
    assert excerpt.messages[6].record.model == "gpt-4-turbo"


@pytest.mark.parametrize("content", [samples.LLAMA_CPP, [samples.LLAMA_CPP]])
def test_llama_cpp_keeps_branches_attachments_and_reasoning(store: Store, tmp_path: Path, content: Any) -> None:
    excerpt = _imported(store, tmp_path, content)
    assert _lines(excerpt) == [
        "<0 root: ",
        "0<1 system: Brief.",
        "1<2 user: A scene\n\nFile: n.txt\n\n```\nwords\n```",
        f"2<3 note: Picture: p.png\n\n![p.png](data:image/png;base64,{samples.PNG})",
        "3<4 assistant: One",
        "3<5 assistant: <think>\nHm.\n</think>\n\nTwo",
        "5<6 note: Tool call: f\n\n```\n{}\n```",
    ]
    assert _path(excerpt)[-1].endswith("Two")


def test_lm_studio_keeps_the_versions_of_each_message(store: Store, tmp_path: Path) -> None:
    excerpt = _imported(store, tmp_path, samples.LM_STUDIO, "1700000000000.conversation.json")
    assert _lines(excerpt) == [
        "<0 root: ",
        "0<1 system: Be kind.",
        "1<2 user: Hi",
        "2<3 note: File: 17 - 4.jpg\n\nIt is not in the file that was imported.",
        "3<4 assistant: One",
        "3<5 assistant: <think>\nHm.\n</think>\n\nTwo",
        "5<6 user: And?",
    ]
    assert [message.record and message.record.model for message in excerpt.messages[4:6]] == ["gpt-oss-20b", "qwen"]
    assert _path(excerpt)[-1] == "And?"


def test_chat_records_are_read_line_by_line_and_a_bad_line_is_skipped(store: Store, tmp_path: Path) -> None:
    lines = [json.dumps(samples.OPENAI), "{no json", "", json.dumps(samples.SHAREGPT), json.dumps(samples.PREFERENCE)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines), encoding="utf-8")
    summary = import_all(store, tmp_path / "in.jsonl")
    assert [problem.where for problem in summary.problems] == [f"{tmp_path / 'in.jsonl'}, line 2"]
    first, second, third = (whole_tree(store, found) for found in summary.conversation_ids)
    assert _lines(first) == [
        "<0 root: ",
        "0<1 system: Be brief.",
        "1<2 user: Look",
        "2<3 note: Picture: picture\n\nhttps://example.org/a.png",
        "3<4 assistant: ",
        '4<5 note: Tool call: f\n\n```\n{"a": 1}\n```',
        "5<6 note: Tool result\n\n2",
        "6<7 assistant: It is 2.",
    ]
    assert _path(second) == ["Be brief.", "Hi", "Hello"]
    assert _lines(third)[2:] == ["1<2 user: Why?", "2<3 assistant: No.", "2<4 assistant: Because."]
    assert _path(third) == ["Why?", "Because."]


def test_the_format_of_each_conversation_is_detected_by_its_shape(store: Store, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps(list(samples.ALL.values())), encoding="utf-8")
    summary = import_all(store, tmp_path / "in.json")
    assert summary.problems == []
    # Both LibreChat samples have the same content.
    assert [twin.name for twin in summary.twins] == ["Environment"]
    assert dict(summary.programs) == {
        "ChatGPT": 1,
        "Claude": 1,
        "Open WebUI": 1,
        "LibreChat": 1,
        "llama.cpp": 1,
        "LM Studio": 1,
        "chat records (OpenAI, ShareGPT)": 3,
    }


def test_a_folder_is_read_with_its_subfolders(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "conversations" / "work"
    folder.mkdir(parents=True)
    (folder / "1.conversation.json").write_text(json.dumps(samples.LM_STUDIO), encoding="utf-8")
    (tmp_path / "conversations" / "2.json").write_text(json.dumps(samples.CLAUDE), encoding="utf-8")
    (tmp_path / "conversations" / "picture.png").write_bytes(b"\x89PNG")
    summary = import_all(store, tmp_path / "conversations")
    assert (summary.num_conversations, summary.problems) == (2, [])


def test_a_conversation_without_messages_is_skipped(store: Store, tmp_path: Path) -> None:
    broken = {"title": "Corrupted entry", "mapping": {}, "id": "x"}
    content = [broken, samples.CHATGPT, {"title": "what is this"}, 7, samples.CHATGPT | {"mapping": 7, "title": "t"}]
    (tmp_path / "in.json").write_text(json.dumps(content), encoding="utf-8")
    summary = import_all(store, tmp_path / "in.json")
    assert summary.num_conversations == 1
    file = tmp_path / "in.json"
    assert [f"{problem.where}: {problem.why}" for problem in summary.problems] == [
        f"{file}, conversation 1 (“Corrupted entry”): its messages are missing",
        f"{file}, conversation 3 (“what is this”): Bough does not support this format; its fields are title",
        f"{file}, conversation 4: Bough does not support this format",
        f"{file}, conversation 5 (“t”): its messages are missing",
    ]


def test_lone_surrogates_become_replacement_characters_and_pairs_stay(store: Store, tmp_path: Path) -> None:
    text = '{"messages": [{"role": "user", "content": "a\\ud83d b\\udc00\\ud83d\\ude00 \\\\ud83d \\u00fc"}]}'
    for name in ("in.json", "in.jsonl"):
        (tmp_path / name).write_text(text, encoding="ascii")
        summary = import_all(store, tmp_path / name)
        assert summary.problems == []
    assert [conversation.name for conversation in store.conversations.all()] == ["a\ufffd b\ufffd😀 \\ud83d ü"]
