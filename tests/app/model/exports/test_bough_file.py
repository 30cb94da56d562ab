"""`.bough` files: any tree keeps its content, ids and order in an export and import."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from app.export.exporting import export, export_together
from app.model.attachment import Attachment
from app.model.exports.excerpt import Excerpt, Options, whole_tree
from app.model.exports.losses import Losses
from app.model.generation_settings import GenerationSettings
from app.model.message import Conversation, Message, Record
from app.model.project import Project, is_of_project
from app.model.store import Store
from tests.app.model.exports.excerpts import add_to_store, excerpts, import_all
from tests.app.trees import drawn, plant


def _written(excerpt: Excerpt, path: Path) -> bytes:
    for _ in export(excerpt, "bough", path, Options(), Losses()):
        pass
    return path.read_bytes()


@given(excerpt=excerpts())
@settings(max_examples=60)
def test_any_tree_survives_export_and_import(excerpt: Excerpt) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        data = _written(excerpt, folder / "out.bough")
        store = Store(folder / "there" / "c.sqlite3")
        summary = import_all(store, folder / "out.bough")
        assert summary.problems == []
        (conversation_id,) = summary.conversation_ids
        back = whole_tree(store, conversation_id)
        assert back.messages == excerpt.messages
        assert back.conversation == excerpt.conversation
        assert back.choices == excerpt.choices
        assert _written(back, folder / "again.bough") == data
        store.close()


def test_a_project_comes_back_with_its_conversations_unless_the_folder_is_one_already(tmp_path: Path) -> None:
    project = Project(
        instructions="Be brief.",
        files=(Attachment(name="a.txt", text="Ash."),),
        model="guide",
        generation=GenerationSettings(n=2),
    )
    store = Store(tmp_path / "one.sqlite3")
    store.projects.put("Garden", project)
    ids = [
        store.create_conversation(name, "Be brief.", f"Why {name}?", folder="Garden", project_files=project.file_texts)[
            0
        ].id
        for name in ("one", "two")
    ]
    with_project = [whole_tree(store, found) for found in ids]
    for _ in export_together(with_project, 2, "bough", tmp_path / "out.bough", Options(), []):
        pass
    store.close()
    assert (tmp_path / "out.bough").read_text().count('"project":') == 1
    there = Store(tmp_path / "two.sqlite3")
    summary = import_all(there, tmp_path / "out.bough")
    assert there.projects.get("Garden") == project
    path = there.messages.shown_by(summary.conversation_ids[1])
    assert [message.role for message in path if is_of_project(message)] == ["system", "file"]
    there.grafts.take_out(summary.conversation_ids)
    assert there.projects.names() == []
    own = Project(instructions="My own.")
    there.projects.put("Garden", own)
    import_all(there, tmp_path / "out.bough")
    assert there.projects.get("Garden") == own
    there.close()


@given(excerpt=excerpts(), there=excerpts())
@settings(max_examples=25)
def test_only_the_ids_change_in_an_import_next_to_other_conversations(excerpt: Excerpt, there: Excerpt) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _written(excerpt, folder / "out.bough")
        store = Store(folder / "c.sqlite3")
        before = whole_tree(store, add_to_store(store, there))
        summary = import_all(store, folder / "out.bough")
        if excerpt.conversation.uid != there.conversation.uid:
            back = whole_tree(store, summary.conversation_ids[0])
            assert _without_ids(back) == _without_ids(excerpt)
            assert whole_tree(store, before.conversation.id).messages == before.messages
        store.close()


def _without_ids(excerpt: Excerpt) -> list[object]:
    indices: dict[int | None, int] = {message.id: index for index, message in enumerate(excerpt.messages)}
    fields: list[object] = [
        (indices.get(message.parent_id), message.role, message.text, message.record, message.created_ms, message.name)
        for message in excerpt.messages
    ]
    return [*fields, sorted((indices[parent], child and indices[child]) for parent, child in excerpt.choices.items())]


def test_a_file_from_before_messages_had_pins_can_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "here" / "c.sqlite3")
    planted = plant(store, "u1-a1")
    store.messages.pin_branch(planted.ids["a1"])
    written = _written(whole_tree(store, planted.conversation_id), tmp_path / "out.bough").decode()
    store.close()
    # Pins of conversations are older than those of messages.
    head, _, rest = written.partition('"messages"')
    older, num = re.subn(r',"pinned_ms":(null|\d+)', "", rest)
    assert num == len(older.splitlines()) - 3
    (tmp_path / "older.bough").write_text(f'{head}"messages"{older}')
    there = Store(tmp_path / "there" / "c.sqlite3")
    summary = import_all(there, tmp_path / "older.bough")
    assert (summary.problems, summary.remarks) == ([], {})
    assert [message.pinned_ms for message in there.messages.shown_by(summary.conversation_ids[0])] == [None] * num
    there.close()


def test_conversations_that_share_messages_still_share_them_after_an_import(tmp_path: Path) -> None:
    store = Store(tmp_path / "here" / "c.sqlite3")
    planted = plant(store, "u1-a1-u2-a2 | u1-a3")
    store.fork_conversation("forked", planted.ids["a1"])
    conversations = sorted(store.conversations.all(), key=lambda conversation: conversation.id)
    excerpts = (whole_tree(store, conversation.id) for conversation in conversations)
    for _ in export_together(excerpts, len(conversations), "bough", tmp_path / "all.bough", Options(), []):
        pass
    # The second store already has other messages, so the ids must change.
    for folder in ("empty", "used"):
        there = Store(tmp_path / folder / "c.sqlite3")
        if folder == "used":
            plant(there, "u7-a7-u8-a8-u9-a9")
        summary = import_all(there, tmp_path / "all.bough")
        first, second = summary.conversation_ids
        shared = {message.id for message in there.messages.shown_by(first)} & {
            message.id for message in there.messages.shown_by(second)
        }
        assert len(shared) == len(there.messages.shown_by(second)) == 6
        assert drawn(there.messages.shown_by(first)) == "u1-a1-u2-a2 | u1-a3"
        assert there.conversations.get(second).name == "forked"
        assert import_all(there, tmp_path / "all.bough").conversation_ids == []
        there.close()
    store.close()


def test_the_file_is_readable_with_one_message_per_line_and_unescaped_characters(tmp_path: Path) -> None:
    store = Store(tmp_path / "c.sqlite3")
    conversation, _ = store.create_conversation("Grüße", "", 'שלום <b>& "漢字" 😀')
    data = _written(whole_tree(store, conversation.id), tmp_path / "out.bough").decode()
    assert 'שלום <b>& \\"漢字\\" 😀' in data
    assert [line.startswith('{"id":') for line in data.splitlines()] == [False, True, True, True, True, False, False]
    head = json.loads(data)
    assert (head["format"], head["version"]) == ("bough", 1)
    store.close()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ('"version": 1', '"version": 2'),
        ('"root_id":1', '"root_id":77'),
        ('"parent_id":2', '"parent_id":77'),
        ('"id":2', '"id":3'),
        ('"role":"user"', '"role":"king"'),
        ('"starred_ms":null', f'"starred_ms":{2**70}'),
        ('"pinned_ms":null', f'"pinned_ms":{2**62}'),
        ('"name":"n",', ""),
    ],
)
def test_an_invalid_file_is_reported_and_nothing_is_imported(tmp_path: Path, change: str, why: str) -> None:
    store = Store(tmp_path / "c.sqlite3")
    conversation, _ = store.create_conversation("n", "", "a question")
    data = _written(whole_tree(store, conversation.id), tmp_path / "out.bough").decode()
    assert change in data
    (tmp_path / "out.bough").write_text(data.replace(change, why, 1), encoding="utf-8")
    there = Store(tmp_path / "there" / "c.sqlite3")
    summary = import_all(there, tmp_path / "out.bough")
    assert len(summary.problems) == 1
    assert there.conversations.all() == []
    store.close()
    there.close()


def test_unknown_fields_from_a_newer_version_are_reported(tmp_path: Path) -> None:
    store = Store(tmp_path / "c.sqlite3")
    conversation, question = store.create_conversation("n", "", "a question")
    store.add(conversation.id, question.id, "assistant", "an answer", record=Record(model="guide"))
    data = _written(whole_tree(store, conversation.id), tmp_path / "out.bough").decode()
    data = data.replace('"role":', '"mood":"glad","role":').replace('"model":', '"colour":"red","model":')
    (tmp_path / "out.bough").write_text(data, encoding="utf-8")
    there = Store(tmp_path / "there" / "c.sqlite3")
    summary = import_all(there, tmp_path / "out.bough")
    assert dict(summary.remarks) == {
        "unknown message fields (mood)": 4,
        "unknown fields of answer records (colour)": 1,
    }
    assert [message.text for message in there.messages.shown_by(1)] == ["", "", "a question", "an answer"]
    assert there.messages.shown_by(1)[-1].record == Record(model="guide")
    store.close()
    there.close()


def test_pruned_messages_are_not_exported_and_the_conversation_keeps_its_folder(tmp_path: Path) -> None:
    store = Store(tmp_path / "here" / "c.sqlite3")
    planted = plant(store, "u1-a1-u2 | u1-a2")
    store.messages.prune([planted.ids["a1"]])
    store.conversations.put_into_folder(planted.conversation_id, "Work/Trips")
    store.conversations.archive(planted.conversation_id)
    data = _written(whole_tree(store, planted.conversation_id), tmp_path / "out.bough").decode()
    assert [line for line in data.splitlines() if '"a1"' in line or '"u2"' in line] == []
    there = Store(tmp_path / "there" / "c.sqlite3")
    import_all(there, tmp_path / "out.bough")
    (conversation,) = there.conversations.all()
    assert drawn(there.messages.shown_by(conversation.id)) == "u1-a2"
    assert conversation == store.conversations.get(planted.conversation_id)
    store.close()
    there.close()


def test_an_answer_that_was_streaming_during_the_export_is_imported_as_stopped(tmp_path: Path) -> None:
    root = Message(id=1, parent_id=None, role="root", text="")
    answer = Message(id=2, parent_id=1, role="assistant", text="half", state="streaming")
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    excerpt = Excerpt(conversation, [root, answer], {}, [root, answer])
    _written(excerpt, tmp_path / "out.bough")
    there = Store(tmp_path / "there" / "c.sqlite3")
    import_all(there, tmp_path / "out.bough")
    assert there.messages.shown_by(1)[1].state == "stopped"
    there.close()
