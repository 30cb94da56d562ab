"""`.bough`: whatever the tree, it comes back as it was: content, ids and order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from app.export.exporting import export, export_together
from app.model.exports.excerpt import Excerpt, Options, whole_tree
from app.model.message import Conversation, Message, Record
from app.model.store import Store
from tests.app.model.exports.parts import brought_in, parts, stored
from tests.app.trees import drawn, plant


def _written(part: Excerpt, path: Path) -> bytes:
    for _ in export(part, "bough", path, Options()):
        pass
    return path.read_bytes()


@given(part=parts())
@settings(max_examples=60)
def test_any_tree_comes_back_as_it_was(part: Excerpt) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        data = _written(part, folder / "out.bough")
        store = Store(folder / "there" / "c.sqlite3")
        summary = brought_in(store, folder / "out.bough")
        assert summary.problems == []
        (conversation_id,) = summary.conversation_ids
        back = whole_tree(store, conversation_id)
        assert back.messages == part.messages
        assert back.conversation == part.conversation
        assert back.choices == part.choices
        assert _written(back, folder / "again.bough") == data
        store.close()


@given(part=parts(), there=parts())
@settings(max_examples=25)
def test_beside_other_conversations_the_ids_are_others_and_the_rest_is_the_same(part: Excerpt, there: Excerpt) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _written(part, folder / "out.bough")
        store = Store(folder / "c.sqlite3")
        before = whole_tree(store, stored(store, there))
        summary = brought_in(store, folder / "out.bough")
        if not summary.twins:
            back = whole_tree(store, summary.conversation_ids[0])
            assert _without_ids(back) == _without_ids(part)
        assert whole_tree(store, before.conversation.id).messages == before.messages
        store.close()


def _without_ids(part: Excerpt) -> list[object]:
    places: dict[int | None, int] = {message.id: place for place, message in enumerate(part.messages)}
    told: list[object] = [
        (places.get(message.parent_id), message.role, message.text, message.record, message.created_ms, message.name)
        for message in part.messages
    ]
    return [*told, sorted((places[parent], child and places[child]) for parent, child in part.choices.items())]


def test_a_file_of_a_bough_that_knew_no_pins_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "here" / "c.sqlite3")
    planted = plant(store, "u1-a1")
    store.messages.pin_branch(planted.ids["a1"])
    written = _written(whole_tree(store, planted.conversation_id), tmp_path / "out.bough").decode()
    store.close()
    # Conversations had pins before.
    head, _, rest = written.partition('"messages"')
    older, num = re.subn(r',"pinned_ms":(null|\d+)', "", rest)
    assert num == len(older.splitlines()) - 3
    (tmp_path / "older.bough").write_text(f'{head}"messages"{older}')
    there = Store(tmp_path / "there" / "c.sqlite3")
    summary = brought_in(there, tmp_path / "older.bough")
    assert (summary.problems, summary.remarks) == ([], {})
    assert [message.pinned_ms for message in there.messages.shown_by(summary.conversation_ids[0])] == [None] * num
    there.close()


def test_conversations_that_share_messages_share_them_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "here" / "c.sqlite3")
    planted = plant(store, "u1-a1-u2-a2 | u1-a3")
    store.fork_conversation("forked", planted.ids["a1"])
    conversations = sorted(store.conversations.all(), key=lambda conversation: conversation.id)
    excerpts = (whole_tree(store, conversation.id) for conversation in conversations)
    for _ in export_together(excerpts, len(conversations), "bough", tmp_path / "all.bough", Options()):
        pass
    # The second time beside something else, where ids must be others.
    for folder in ("empty", "used"):
        there = Store(tmp_path / folder / "c.sqlite3")
        if folder == "used":
            plant(there, "u7-a7-u8-a8-u9-a9")
        summary = brought_in(there, tmp_path / "all.bough")
        first, second = summary.conversation_ids
        shared = {message.id for message in there.messages.shown_by(first)} & {
            message.id for message in there.messages.shown_by(second)
        }
        assert len(shared) == len(there.messages.shown_by(second)) == 6
        assert drawn(there.messages.shown_by(first)) == "u1-a1-u2-a2 | u1-a3"
        assert there.conversations.get(second).name == "forked"
        assert brought_in(there, tmp_path / "all.bough").conversation_ids == []
        there.close()
    store.close()


def test_the_file_is_read_by_eye_a_message_a_line_with_characters_as_they_are(tmp_path: Path) -> None:
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
def test_what_can_not_be_is_told_and_nothing_is_imported(tmp_path: Path, change: str, why: str) -> None:
    store = Store(tmp_path / "c.sqlite3")
    conversation, _ = store.create_conversation("n", "", "a question")
    data = _written(whole_tree(store, conversation.id), tmp_path / "out.bough").decode()
    assert change in data
    (tmp_path / "out.bough").write_text(data.replace(change, why, 1), encoding="utf-8")
    there = Store(tmp_path / "there" / "c.sqlite3")
    summary = brought_in(there, tmp_path / "out.bough")
    assert len(summary.problems) == 1
    assert there.conversations.all() == []
    store.close()
    there.close()


def test_fields_that_a_later_bough_added_are_told(tmp_path: Path) -> None:
    store = Store(tmp_path / "c.sqlite3")
    conversation, question = store.create_conversation("n", "", "a question")
    store.add(conversation.id, question.id, "assistant", "an answer", record=Record(model="guide"))
    data = _written(whole_tree(store, conversation.id), tmp_path / "out.bough").decode()
    data = data.replace('"role":', '"mood":"glad","role":').replace('"model":', '"colour":"red","model":')
    (tmp_path / "out.bough").write_text(data, encoding="utf-8")
    there = Store(tmp_path / "there" / "c.sqlite3")
    summary = brought_in(there, tmp_path / "out.bough")
    assert dict(summary.remarks) == {
        "unknown fields of messages (mood)": 4,
        "unknown fields of answer records (colour)": 1,
    }
    assert [message.text for message in there.messages.shown_by(1)] == ["", "", "a question", "an answer"]
    assert there.messages.shown_by(1)[-1].record == Record(model="guide")
    store.close()
    there.close()


def test_what_was_pruned_is_in_no_export_and_a_conversation_keeps_its_folder(tmp_path: Path) -> None:
    store = Store(tmp_path / "here" / "c.sqlite3")
    planted = plant(store, "u1-a1-u2 | u1-a2")
    store.messages.prune([planted.ids["a1"]])
    store.conversations.put_into_folder(planted.conversation_id, "Work/Trips")
    store.conversations.archive(planted.conversation_id)
    data = _written(whole_tree(store, planted.conversation_id), tmp_path / "out.bough").decode()
    assert [line for line in data.splitlines() if '"a1"' in line or '"u2"' in line] == []
    there = Store(tmp_path / "there" / "c.sqlite3")
    brought_in(there, tmp_path / "out.bough")
    (conversation,) = there.conversations.all()
    assert drawn(there.messages.shown_by(conversation.id)) == "u1-a2"
    assert conversation == store.conversations.get(planted.conversation_id)
    store.close()
    there.close()


def test_an_answer_that_streamed_when_it_was_exported_is_a_stopped_one(tmp_path: Path) -> None:
    root = Message(id=1, parent_id=None, role="root", text="")
    answer = Message(id=2, parent_id=1, role="assistant", text="half", state="streaming")
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    part = Excerpt(conversation, [root, answer], {}, [root, answer])
    _written(part, tmp_path / "out.bough")
    there = Store(tmp_path / "there" / "c.sqlite3")
    brought_in(there, tmp_path / "out.bough")
    assert there.messages.shown_by(1)[1].state == "stopped"
    there.close()
