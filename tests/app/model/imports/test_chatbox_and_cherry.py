"""Exports of Chatbox and backups of Cherry Studio, whose conversations are all in one JSON value."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.model.exports.excerpt import whole_tree
from app.model.store import Store
from tests.app.model.exports.excerpts import import_all
from tests.app.model.imports import samples
from tests.app.model.imports.drawn import drawn, imported


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


def _said(message_id: str, role: str, *parts: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
    found = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"id": message_id, "role": role, "contentParts": found, "timestamp": 1_756_000_000_000} | more


def test_threads_and_forks_of_chatbox_are_branches(store: Store, tmp_path: Path) -> None:
    called = {"type": "tool-call", "state": "result", "toolName": "f", "args": {"a": 1}, "result": "2"}
    session = {
        "id": "s1",
        "name": "Cats",
        "starred": True,
        "settings": {"provider": "openai", "modelId": "gpt-4o"},
        "messages": [
            _said("m1", "system", "Be brief."),
            _said("m2", "user", "What?", {"type": "image", "storageKey": "picture:1"}, files=[{"name": "a.pdf"}]),
            _said("m3", "assistant", {"type": "reasoning", "text": "Hm."}, "One", called, "Two", model="gpt-4o"),
            _said("m4", "user", "Old form", contentParts=[], content="More"),
            _said("m5", "assistant", "Cut", finishReason="length", error="no network", timestamp=1_756_000_005_000),
        ],
        "threads": [{"id": "t1", "name": "First", "messages": [_said("m0", "user", "Before")]}],
        "messageForksHash": {
            "m2": {"position": 1, "lists": [
                {"id": "l0", "messages": [_said("n3", "assistant", "Other"), _said("n4", "user", "Go on")]},
                {"id": "l1", "messages": []}]},
            "n3": {"position": 0, "lists": [{"id": "k0", "messages": []},
                                            {"id": "k1", "messages": [_said("n5", "user", "Stop")]}]},
        },
    }  # fmt: skip
    listed = [{"id": "s1", "name": "Cats"}]
    export = {"settings": {}, "chat-sessions-list": listed, "session:s1": session, "__exported_items": ["setting"]}
    excerpt = imported(store, tmp_path / "chatbox-exported-data.json", json.dumps(export))
    assert drawn(excerpt) == [
        "1<2 user: Before",
        "0<3 system: Be brief.",
        "3<4 user: What?",
        "4<5 note: File: picture:1\n\nIt is not in the file that was imported.",
        "5<6 note: File: a.pdf\n\nIt is not in the file that was imported.",
        "6<7 assistant: <think>\nHm.\n</think>\n\nOne",
        '7<8 note: Tool call: f\n\n```json\n{\n  "a": 1\n}\n```',
        "8<9 note: Tool result: f\n\n```\n2\n```",
        "9<10 assistant: Two",
        "10<11 user: More",
        "6<12 assistant: Other",
        "12<13 user: Go on",
        "12<14 user: Stop",
        "11<15 assistant: Cut",
        "15<16 note: Error\n\nno network",
    ]
    assert excerpt.path[-2].text == "Cut"
    assert (excerpt.messages[15].state, excerpt.messages[15].created_ms) == ("failed", 1_756_000_005_000)
    conversation = excerpt.conversation
    assert (conversation.name, conversation.model, conversation.pinned_ms is not None) == ("Cats", "gpt-4o", True)
    records = [message.record and message.record.model for message in excerpt.messages]
    assert [model for model in records if model] == ["gpt-4o", "gpt-4o"]


def _cherry() -> dict[str, Any]:
    def block(block_id: str, message_id: str, kind: str, **more: Any) -> dict[str, Any]:
        return {"id": block_id, "messageId": message_id, "type": kind, "status": "success"} | more

    def message(message_id: str, role: str, *block_ids: str, **more: Any) -> dict[str, Any]:
        times = {"createdAt": "2025-06-01T10:00:00.000Z", "topicId": "t", "status": "success"}
        return {"id": message_id, "role": role, "blocks": list(block_ids)} | times | more

    topic = {"id": "t", "name": "Cats", "createdAt": "2025-06-01T09:00:00.000Z", "pinned": True}
    assistants = {
        "defaultAssistant": {"id": "d", "topics": []},
        "assistants": [{"id": "a", "name": "Vet", "prompt": "Be kind.", "model": {"id": "gpt-4o"}, "topics": [topic]}],
    }
    messages = [
        message("u1", "user", "b1", "b2"),
        message("a1", "assistant", "b3", askId="u1", model={"id": "gpt-4o"}, foldSelected=True),
        message("a2", "assistant", "b4", "b5", "b6", askId="u1", model={"id": "r1"}, status="paused"),
        message("u2", "user", "b7"),
        message("a3", "assistant", "b8", askId="u2", modelId="gpt-4o", status="error"),
    ]
    file = {"id": "f1", "origin_name": "cat.png", "ext": ".png"}
    table = [
        block("b1", "u1", "main_text", content="What?"),
        block("b2", "u1", "image", file=file),
        block("b3", "a1", "main_text", content="One"),
        block("b4", "a2", "thinking", content="Hm."),
        block("b5", "a2", "tool", toolName="f", arguments={"a": 1}, content="2"),
        block("b6", "a2", "main_text", content="Two"),
        block("b7", "u2", "main_text", content="More"),
        block("b8", "a3", "error", error={"message": "no network"}),
    ]
    return {
        "time": 1_748_772_000_000,
        "version": 5,
        "localStorage": {"persist:cherry-studio": json.dumps({"assistants": json.dumps(assistants)})},
        "indexedDB": {"topics": [{"id": "t", "messages": messages}], "message_blocks": table, "files": [file]},
    }


def test_answers_of_several_models_in_cherry_studio_are_siblings(store: Store, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "cherry-studio.zip", "w") as archive:
        archive.writestr("data.json", json.dumps(_cherry()))
        archive.writestr("Data/Files/f1.png", base64.b64decode(samples.PNG))
        archive.writestr("Data/Files/f2.md", "Notes")
    summary = import_all(store, tmp_path / "cherry-studio.zip")
    assert (summary.problems, dict(summary.programs)) == ([], {"Cherry Studio": 1})
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert drawn(excerpt) == [
        "0<1 system: Be kind.",
        "1<2 user: What?",
        f"2<3 note: Picture: cat.png\n\n![cat.png](data:image/png;base64,{samples.PNG})",
        "3<4 assistant: One",
        "3<5 assistant: <think>\nHm.\n</think>\n\n",
        '5<6 note: Tool call: f\n\n```json\n{\n  "a": 1\n}\n```',
        "6<7 note: Tool result: f\n\n```\n2\n```",
        "7<8 assistant: Two",
        "4<9 user: More",
        "9<10 note: Error\n\nno network",
    ]
    assert [message.state for message in excerpt.messages[8:]] == ["stopped", "complete", "failed"]
    assert excerpt.path[-1].text == "Error\n\nno network"
    records = [message.record and message.record.model for message in excerpt.messages]
    assert [model for model in records if model] == ["gpt-4o", "r1", "r1", "gpt-4o"]
    conversation = excerpt.conversation
    assert (conversation.name, conversation.folder, conversation.model) == ("Cats", "Vet", "gpt-4o")
    assert (conversation.created_ms, conversation.pinned_ms is not None) == (1_748_768_400_000, True)
    assert len(import_all(store, tmp_path / "cherry-studio.zip").twins) == 1


def _older(**more: Any) -> dict[str, Any]:
    """Return a message as versions 1 to 3 wrote it: without blocks."""
    times = {"createdAt": "2025-02-01T10:00:00.000Z", "topicId": "t", "assistantId": "a", "type": "text"}
    return {"status": "success"} | times | more


_FOUND = {"query": "moss", "results": [{"title": "Moss", "url": "https://example.org"}]}
_OLDER = [
    _older(id="u1", role="user", content="What?", files=[{"id": "f2", "origin_name": "n.md", "type": "text"}]),
    _older(
        id="a1",
        role="assistant",
        askId="u1",
        content="Moss",
        reasoning_content="Hm.",
        translatedContent="Moos",
        modelId="m",
        metadata={
            "mcpTools": [{"id": "x", "tool": {"name": "look"}, "arguments": {"at": 1}, "response": "fur"}],
            "webSearch": _FOUND,
            "generateImage": {"type": "base64", "images": [samples.PNG]},
        },
    ),
    _older(id="a2", role="assistant", askId="u1", content="", error={"message": "no network"}, status="error"),
]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_older_backups_of_cherry_studio_keep_all_parts(store: Store, tmp_path: Path, version: int) -> None:
    topic = {"id": "t", "messages": _OLDER}
    tables = [{"key": "topic:t", "value": topic}, {"key": "image://avatar", "value": "data:image/png;base64,"}]
    backup = {
        "time": 1_738_400_000_000,
        "version": version,
        "localStorage": _cherry()["localStorage"],
        "indexedDB": tables if version == 1 else {"topics": [topic], "files": [], "settings": []},
    }
    excerpt = imported(store, tmp_path / "data.json", json.dumps(backup))
    assert [line.partition(" ")[2] for line in drawn(excerpt)] == [
        "system: Be kind.",
        "user: What?",
        "note: File: n.md\n\nIt is not in the file that was imported.",
        "assistant: <think>\nHm.\n</think>\n\n",
        'note: Tool call: look\n\n```json\n{\n  "at": 1\n}\n```',
        "note: Tool result: look\n\n```\nfur\n```",
        "assistant: Moss",
        "note: Translation\n\nMoos",
        f"note: Picture: picture\n\n![picture](data:image/png;base64,{samples.PNG})",
        f"note: Sources\n\n```json\n{json.dumps(_FOUND, indent=2)}\n```",
        "note: Error\n\nno network",
    ]
    assert excerpt.conversation.name == "Cats"


def test_leftover_messages_in_a_backup_of_cherry_studio_are_archived(store: Store, tmp_path: Path) -> None:
    """Its backups also have deleted topics, and may have more kinds of sources and errors than one."""
    backup = _cherry()
    tables = backup["indexedDB"]
    tables["topics"].append({"id": "gone", "messages": [_older(id="u", role="user", content="Deleted")]})
    (block,) = (block for block in tables["message_blocks"] if block["id"] == "b5")
    block |= {"status": "error", "error": {"message": "not allowed"}}
    tables["message_blocks"].append(
        {"id": "b9", "messageId": "a1", "type": "citation", "response": {"source": "exa"}, "knowledge": [{"id": 1}]}
    )
    tables["topics"][0]["messages"][1]["blocks"].append("b9")
    # The useful answer is sent on, whichever is shown.
    tables["topics"][0]["messages"][2]["useful"] = True
    (tmp_path / "data.json").write_text(json.dumps(backup))
    summary = import_all(store, tmp_path / "data.json")
    assert "topics that were deleted in Cherry Studio but are in its backup; they are archived" in [
        str(remark) for remark in summary.remarks
    ]
    kept, gone = (whole_tree(store, found) for found in summary.conversation_ids)
    assert (kept.conversation.archived_ms, gone.conversation.archived_ms is None) == (None, False)
    lines_of_it = [line.partition(" ")[2] for line in drawn(kept)]
    assert "note: Error\n\nnot allowed" in lines_of_it
    (sources,) = (line for line in lines_of_it if line.startswith("note: Sources"))
    assert '"exa"' in sources
    assert '"id": 1' in sources
    assert [message.text for message in kept.path if message.role == "assistant"][-1] == "Two"


def test_a_copy_of_cherry_studios_own_files_is_refused_by_name(store: Store, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "cherry-studio.zip", "w") as archive:
        archive.writestr("metadata.json", json.dumps({"version": 6}))
        archive.writestr("IndexedDB/file__0.indexeddb.leveldb/000003.log", b"\0")
    (problem,) = import_all(store, tmp_path / "cherry-studio.zip").problems
    assert problem.why == (
        "it is a copy of Cherry Studio's own files; "
        "Bough reads only backups of Cherry Studio, which contain a data.json"
    )


def _backup(path: Path, session: dict[str, Any], *files: tuple[str, str, bytes]) -> None:
    """Write an archive as newer versions of Chatbox do: `files` are keys, types and contents."""
    resources = [
        {"id": f"resource-{number:06}", "originalStorageKeys": [key], "sessionIds": [session["id"]], "mimeType": kind}
        for number, (key, kind, _) in enumerate(files, 1)
    ]
    meta = {"id": session["id"], "name": session["name"], "sortOrder": 1, "createdAt": 1_755_000_000_000}
    manifest = {
        "format": "chatbox-backup", "formatVersion": 2, "application": {"name": "Chatbox"}, "data": {},
        "sessions": [{"id": session["id"], "path": f"sessions/{session['id']}/session.json", "meta": meta}],
        "resources": resources, "warnings": [],
    }  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("settings.json", json.dumps({"theme": 1}))
        archive.writestr(f"sessions/{session['id']}/session.json", json.dumps(session))
        for number, (_, kind, data) in enumerate(files, 1):
            suffix = "txt" if kind == "text/plain" else kind.partition("/")[2]
            archive.writestr(f"sessions/{session['id']}/resources/resource-{number:06}.{suffix}", data)
        archive.writestr("manifest.json", json.dumps(manifest))


def test_an_archive_of_chatbox_is_read_with_its_files(store: Store, tmp_path: Path) -> None:
    called = {"type": "tool-call", "toolName": "f", "args": {}, "result": "begin", "resultStorageKey": "r"}
    gone = {"type": "tool-call", "toolName": "g", "args": {}, "result": "begin", "resultStorageKey": "gone"}
    files = [
        {"id": "f", "name": "notes.pdf", "storageKey": "parsed", "rawStorageKey": "raw"},
        {"id": "t", "name": "a.txt", "storageKey": "text"},
    ]
    session = {
        "id": "s1", "name": "Cats", "type": "chat", "archivedAt": 1_757_000_000_000, "threadName": "Now",
        "messages": [
            _said("m1", "user", "What?", {"type": "image", "storageKey": "picture"}, files=files,
                  links=[{"id": "l", "url": "https://x.org", "title": "X", "storageKey": "page"}]),
            _said("m2", "assistant", called, gone, "So", {"type": "audio", "storageKey": "none", "transcript": "Hi"}),
        ],
    }  # fmt: skip
    png = base64.b64decode(samples.PNG)
    _backup(
        tmp_path / "Chatbox-backup.zip", session,
        ("picture", "image/png", png), ("parsed", "text/plain", b"Words"), ("raw", "application/pdf", b"%PDF-1"),
        ("text", "text/plain", b"Text"), ("page", "text/plain", b"Page"), ("r", "text/plain", b"begin and end"),
    )  # fmt: skip
    summary = import_all(store, tmp_path / "Chatbox-backup.zip")
    assert (summary.problems, dict(summary.programs), summary.num_messages) == ([], {"Chatbox": 1}, 2)
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert [line.partition(" ")[2] for line in drawn(excerpt)] == [
        "user: What?",
        f"note: Picture: picture.png\n\n![picture.png](data:image/png;base64,{samples.PNG})",
        "note: File: notes.pdf\n\n![notes.pdf](data:application/pdf;base64,JVBERi0x)",
        "user: File: notes.pdf\n\n```\nWords\n```\n\nFile: a.txt\n\n```\nText\n```",
        "note: Link: X\n\nhttps://x.org",
        "user: File: https://x.org\n\n```\nPage\n```",
        "note: Tool call: f\n\n```json\n{}\n```",
        "note: Tool result: f\n\n```\nbegin and end\n```",
        "note: Tool call: g\n\n```json\n{}\n```",
        "note: Tool result: g\n\n```\nbegin\n```",
        "note: File: gone\n\nIt is not in the file that was imported.",
        "assistant: So",
        "note: File: none\n\nIt is not in the file that was imported.",
        "assistant: Hi",
    ]
    assert excerpt.conversation.archived_ms is not None
    assert excerpt.conversation.created_ms == 1_755_000_000_000
    assert any("threads of Chatbox" in str(remark) for remark in summary.remarks)
