"""Parts of one message: an imported answer with tool calls between its texts is treated as one message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.answers.prompt import turns
from app.model.exports.excerpt import selection
from app.model.message import Message, Record, is_part
from app.model.tree import Tree
from app.model.tree_layout import TreeLayout
from tests.app.desk import Desk
from tests.app.model.exports.excerpts import import_all
from worker.protocol import Continuation, Generate

pytestmark = pytest.mark.usefixtures("nothing_leaks")

_CHAT = {
    "uuid": "c1",
    "name": "Leaves",
    "chat_messages": [
        {"uuid": "q1", "sender": "human", "content": [{"type": "text", "text": "Why green?"}]},
        {
            "uuid": "a1",
            "sender": "assistant",
            "parent_message_uuid": "q1",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "name": "search", "input": {"q": "leaves"}},
                {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "Chlorophyll"}]},
                {"type": "text", "text": "Because of chlorophyll."},
            ],
        },
    ],
}


@pytest.fixture
def opened(desk: Desk, tmp_path: Path) -> Desk:
    (tmp_path / "conversations.json").write_text(json.dumps([_CHAT]))
    summary = import_all(desk.store, tmp_path / "conversations.json")
    assert (summary.num_messages, summary.problems) == (2, [])
    desk.controller.shown.open_conversation(summary.conversation_ids[0])
    return desk


def _labels(desk: Desk) -> list[str]:
    return [message.text.partition("\n")[0] for message in desk.controller.shown.path if message.text]


def _siblings(desk: Desk, text: str) -> int:
    first = desk.controller.shown.first_part(desk.by_text(text).id)
    return len(desk.controller.shown.siblings(first))


def _asked(desk: Desk) -> Generate:
    return desk.link.asked[-1]


def _turns(request: Generate) -> list[tuple[str, str]]:
    assert isinstance(request.messages, list)
    return [(message.role, message.content) for message in request.messages]


def test_the_texts_of_an_answer_are_one_turn_for_the_model(opened: Desk) -> None:
    opened.controller.send("And in autumn?")
    assert _turns(_asked(opened)) == [
        ("user", "Why green?"),
        ("assistant", "I look.\n\nBecause of chlorophyll."),
        ("user", "And in autumn?"),
    ]


@pytest.mark.parametrize("text", ["I look.", "Because of chlorophyll."])
def test_regenerating_any_part_makes_another_version_of_the_whole_answer(opened: Desk, text: str) -> None:
    first = opened.by_text("I look.")
    opened.controller.regenerate(opened.by_text(text).id)
    answer = opened.answer("They are.")
    assert _turns(_asked(opened)) == [("user", "Why green?")]
    assert answer.parent_id == first.parent_id
    assert _labels(opened) == ["Why green?", "They are."]


@pytest.mark.parametrize("text", ["I look.", "Because of chlorophyll."])
def test_an_edited_part_is_in_a_copy_of_the_whole_answer(opened: Desk, text: str) -> None:
    before = _labels(opened)
    opened.controller.edit(opened.by_text(text).id, "Edited")
    assert _labels(opened) == ["Edited" if label == text else label for label in before]
    assert _siblings(opened, "Edited") == 2
    parts = opened.controller.shown.parts(opened.by_text("Edited").id)
    assert [is_part(part) for part in parts] == [False, True, True, True]
    opened.controller.undo()
    assert _labels(opened) == before


def test_continuing_an_answer_goes_on_after_all_of_its_texts(opened: Desk) -> None:
    last = opened.by_text("Because of chlorophyll.")
    assert not opened.controller.shown.can_continue(opened.by_text("I look."))
    opened.controller.continue_answer(last.id)
    request = _asked(opened)
    assert _turns(request) == [("user", "Why green?")]
    assert request.continuation == Continuation(text="I look.\n\nBecause of chlorophyll.")
    opened.link.chunk(request, " It is green.")
    opened.link.finished(request, " It is green.")
    grown = opened.controller.shown.path[-1]
    assert (grown.id, grown.text) == (last.id, "Because of chlorophyll. It is green.")
    assert is_part(opened.stored(grown))


def test_continuing_from_a_place_inside_a_part_begins_a_version_of_the_whole_answer(opened: Desk) -> None:
    opened.controller.forks.continue_with(opened.by_text("Because of chlorophyll.").id, "Because of")
    request = _asked(opened)
    assert request.continuation == Continuation(text="I look.\n\nBecause of")
    opened.link.finished(request, " light.")
    assert _labels(opened)[1:] == ["I look.", "Tool call: search", "Tool result: search", "Because of light."]
    assert _siblings(opened, "Because of light.") == 2


def test_deleting_and_forking_take_the_whole_answer(opened: Desk) -> None:
    first = opened.controller.shown.first_part(opened.by_text("Because of chlorophyll.").id)
    assert opened.controller.shown.subtree_size(first) == 1
    opened.controller.fork(first)
    assert _labels(opened)[-1] == "Because of chlorophyll."
    opened.controller.undo_delete(opened.store.conversations.all()[0].id)


def test_the_drawn_tree_has_one_dot_for_an_answer(opened: Desk) -> None:
    opened.controller.send("And in autumn?")
    found = opened.controller.shown.require_open()
    tree, choices = found.tree.without_parts(found.choices)
    layout = TreeLayout(tree, choices)
    texts = [tree[message_id].text for message_id in layout.path]
    assert texts == ["", "Why green?", "I look.", "And in autumn?", ""]
    plain = Tree([message for message in tree.messages if not is_part(message)], tree.root_id)
    assert plain.without_parts(choices)[0] is plain


def test_a_part_that_is_exported_without_its_beginning_is_a_message_of_its_own(opened: Desk) -> None:
    conversation = opened.controller.shown.conversation
    assert conversation is not None
    last = opened.by_text("Because of chlorophyll.")
    excerpt = selection(opened.store, conversation.id, [last.id])
    (message,) = (message for message in excerpt.messages if message.role == "assistant")
    assert not is_part(message)


def test_consecutive_answers_become_one_turn() -> None:
    def said(number: int, role: str, text: str) -> Message:
        return Message(id=number, parent_id=number - 1 or None, role=role, text=text)  # pyright: ignore[reportArgumentType]

    path = [said(1, "user", "Q"), said(2, "assistant", "A"), said(3, "note", "Tool"), said(4, "assistant", "B")]
    assert [(turn.role, turn.content) for turn in turns(path)] == [("user", "Q"), ("assistant", "A\n\nB")]


def test_a_message_that_forks_inside_ends_where_it_forks() -> None:
    part = Record(is_part=True)
    messages = [
        Message(id=1, parent_id=None, role="root", text=""),
        Message(id=2, parent_id=1, role="assistant", text="A"),
        Message(id=3, parent_id=2, role="note", text="N", record=part),
        Message(id=4, parent_id=3, role="assistant", text="B", record=part),
        Message(id=5, parent_id=3, role="assistant", text="C", record=part),
    ]
    tree = Tree(messages, 1)
    assert [[found.id for found in tree.parts(number)] for number in (2, 3, 4, 5)] == [[2, 3], [2, 3], [4], [5]]
    whole, _ = tree.without_parts({})
    assert sorted(message.id for message in whole.messages) == [1, 2, 4, 5]
