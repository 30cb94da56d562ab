"""Parts of one message in the window: an imported answer with tool calls has one row of actions, versions and a dot."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from app.ui.message.action_row import ActionRow
from tests.app.model.exports.excerpts import import_all
from tests.app.ui.conftest import User


def _answer(answer_id: str, *texts: str) -> dict[str, object]:
    call = {"type": "tool_use", "name": "search", "input": {"q": "leaves"}}
    first, *others = ({"type": "text", "text": text} for text in texts)
    return {"uuid": answer_id, "sender": "assistant", "parent_message_uuid": "q", "content": [first, call, *others]}


def _opened(user: User, folder: Path) -> list[int]:
    """Import a question with two answers, show it, and return the ids of the parts that are shown."""
    question = {"uuid": "q", "sender": "human", "content": [{"type": "text", "text": "Why green?"}]}
    messages = [question, _answer("a", "One", "More of one"), _answer("b", "Two", "More of two")]
    chat = {"uuid": str(folder), "name": "Leaves", "chat_messages": messages, "current_leaf_message_uuid": "b"}
    (folder / "conversations.json").write_text(json.dumps([chat]))
    (conversation_id,) = import_all(user.application.store, folder / "conversations.json").conversation_ids
    user.controller.shown.open_conversation(conversation_id)
    return [message.id for message in user.controller.shown.path[2:]]


def _row(user: User, message_id: int) -> ActionRow:
    row = user.view(message_id).findChild(ActionRow)
    assert isinstance(row, ActionRow)
    return row


def _copy(user: User, message_id: int) -> None:
    text = user.view(message_id).text
    text.setFocus(Qt.FocusReason.TabFocusReason)
    user.bot.keyClick(text, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)


def test_the_row_and_the_versions_of_an_answer_are_below_its_last_part(user: User, tmp_path: Path) -> None:
    parts = _opened(user, tmp_path)
    assert [_row(user, part).isVisible() for part in parts] == [False, False, True]
    user.bot.mouseClick(user.button(_row(user, parts[-1]), "Previous version"), Qt.MouseButton.LeftButton)
    assert [text.partition("\n")[0] for text in user.texts][-3:] == ["One", "Tool call: search", "More of one"]


def test_keys_work_on_the_whole_answer_from_each_of_its_parts(user: User, tmp_path: Path) -> None:
    first, note, last = _opened(user, tmp_path)
    for part in (first, last):
        _copy(user, part)
        assert QGuiApplication.clipboard().text() == "Two\n\nMore of two"
    _copy(user, note)
    assert QGuiApplication.clipboard().text().startswith("Tool call: search\n")
    user.press(last, "s")
    assert user.controller.shown.message(first).starred_ms is not None
    user.press(note, "e")
    assert user.view(last).is_edited
    user.bot.keyClick(user.window.focusWidget(), Qt.Key.Key_Escape)
    user.bot.keyClick(user.view(last).text, Qt.Key.Key_Delete)
    assert user.controller.shown.path[-1].text == "More of one"
    assert len(user.controller.shown.siblings(user.controller.shown.path[2].id)) == 1


def test_the_tree_has_a_dot_for_each_answer_and_not_for_its_parts(user: User, tmp_path: Path) -> None:
    parts = _opened(user, tmp_path)
    user.window.action("tree").trigger()
    layout = user.window.tree_dock.view.layout_shown
    assert layout is not None
    assert (parts[0] in layout, [part in layout for part in parts[1:]]) == (True, [False, False])
