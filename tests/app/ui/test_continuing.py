"""Continuing answers, and saving edits: by mouse, by keys and by a screen reader, with the real worker."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication

from app.model.message import Message, MessageId
from app.ui.composer.system_prompt_popover import SystemPromptPopover
from app.ui.composer.writing_field import WritingField
from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS

Way = Literal["mouse", "keys", "reader"]
_WAYS = pytest.mark.parametrize("way", ["mouse", *in_long_runs(["keys", "reader"])])


def _edit(user: User, message_id: MessageId, text: str) -> WritingField:
    user.press(message_id, "e")
    editor = user.window.focusWidget()
    assert isinstance(editor, WritingField)
    editor.setPlainText(text)
    return editor


def _finish(user: User, way: Way, message_id: MessageId, label: str, key: Callable[[], None]) -> None:
    match way:
        case "mouse":
            user.bot.mouseClick(user.button(user.view(message_id), label), Qt.MouseButton.LeftButton)
        case "keys":
            key()
        case "reader":
            screen_reader.press(user.bot, user.view(message_id), label)


def _inside_a_word(text: str) -> str:
    """Return the beginning of a text up to the middle of its fifth word."""
    word = [*re.finditer(r"\w{4,}", text)][4]
    return text[: word.start() + 2]


def _num_read(answer: Message) -> int:
    assert answer.record is not None
    return answer.record.figures.read_tokens


def _cost_of_continuing(user: User, message_id: MessageId) -> str:
    user.view(message_id).text.setFocus(Qt.FocusReason.TabFocusReason)
    action, menu = user.window.action("continue"), user.window.menus.menu("Message")
    menu.aboutToShow.emit()
    user.bot.waitUntil(lambda: "(" in action.text(), timeout=PATIENCE_MS)
    return action.text()


@_WAYS
def test_an_answer_that_was_cut_inside_a_word_is_continued(user: User, way: Way) -> None:
    answer = user.ask("What is a branch?")
    cut = _inside_a_word(answer.text)
    editor = _edit(user, answer.id, cut)
    _finish(user, way, answer.id, "Save", lambda: user.bot.keyClick(editor, Qt.Key.Key_Return))
    saved = user.controller.shown.path[-1]
    assert (saved.text, saved.state) == (cut, "complete")
    assert user.controller.shown.streaming_message is None
    # Nothing that the model has read is read again.
    assert "nothing to read" in _cost_of_continuing(user, saved.id)
    _finish(user, way, saved.id, "Continue", lambda: user.press(saved.id, "c"))
    went_on = user.answer()
    assert went_on.id == saved.id
    # Greedy sampling gives the same text as before.
    assert went_on.text == answer.text
    assert _num_read(went_on) == 1
    user.window.action("undo").trigger()
    user.bot.waitUntil(lambda: user.controller.shown.path[-1].text == cut, timeout=PATIENCE_MS)


@pytest.mark.parametrize("way", ["reader", *in_long_runs(["mouse", "keys"])])
def test_an_answer_is_saved_and_continued_in_one_step(user: User, way: Way) -> None:
    answer = user.ask("What is a branch?")
    cut = _inside_a_word(answer.text)
    editor = _edit(user, answer.id, cut)

    def by_key() -> None:
        user.bot.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)

    _finish(user, way, answer.id, "Save and continue", by_key)
    version = user.answer()
    assert list(user.controller.shown.siblings(answer.id)) == [answer.id, version.id]
    assert version.text == answer.text
    assert _num_read(version) == 1
    assert user.controller.shown.message(answer.id).text == answer.text
    user.window.action("undo").trigger()
    user.bot.waitUntil(lambda: user.controller.shown.path[-1].id == answer.id, timeout=PATIENCE_MS)


def test_words_of_the_user_in_an_answer_are_continued(user: User) -> None:
    answer = user.ask("What is a branch?")
    editor = _edit(user, answer.id, "A branch is")
    user.bot.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    version = user.answer()
    assert version.text.startswith("A branch is")
    assert len(version.text) > len("A branch is")


def test_continue_starts_at_the_cursor_and_its_label_says_so(user: User) -> None:
    answer = user.ask("What is a branch?")
    view = user.view(answer.id)
    view.text.setFocus(Qt.FocusReason.TabFocusReason)
    button = user.button(view, "Continue")
    # A click into the text places the cursor.
    place = QPoint(60, 10)
    user.bot.mouseClick(view.text.viewport(), Qt.MouseButton.LeftButton, pos=place)
    kept = answer.text[: view.text.source_position]
    assert 0 < len(kept) < len(answer.text)
    assert user.button(view, "Continue from here") is button
    assert "Continue from here" in _cost_of_continuing(user, answer.id)
    # The cursor leaves with the focus.
    user.bot.mouseClick(user.window.composer.text.viewport(), Qt.MouseButton.LeftButton)
    assert user.button(view, "Continue") is button
    user.bot.mouseClick(view.text.viewport(), Qt.MouseButton.LeftButton, pos=place)
    user.bot.mouseClick(button, Qt.MouseButton.LeftButton)
    version = user.answer()
    assert version.id != answer.id
    assert version.text.startswith(kept)


def test_an_answer_above_others_is_continued_beside_them(user: User) -> None:
    first = user.ask("What is a branch?")
    user.ask("How do I fork?")
    user.press(first.id, "c")
    version = user.answer()
    assert list(user.controller.shown.siblings(first.id)) == [first.id, version.id]
    assert version.text.startswith(first.text)


def test_a_model_that_has_nothing_to_add_is_reported(user: User) -> None:
    answer = user.ask("What is a branch?")
    user.press(answer.id, "c")
    assert user.answer().text == answer.text
    user.bot.waitUntil(lambda: "nothing to add" in user.window.banner.label.text(), timeout=PATIENCE_MS)


def _ctrl_enter(user: User) -> None:
    focus = user.window.focusWidget() if QApplication.activePopupWidget() is None else QApplication.focusWidget()
    user.bot.keyClick(focus, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def test_ctrl_enter_makes_a_sibling_and_asks_in_every_editor(user: User) -> None:
    user.type("What is a branch?")
    _ctrl_enter(user)
    answer = user.answer()
    system, question, _ = user.controller.shown.path
    # A question.
    _edit(user, question.id, "How do I fork?")
    _ctrl_enter(user)
    user.answer()
    other = user.controller.shown.path[1]
    assert (other.text, other.parent_id) == ("How do I fork?", system.id)
    assert user.controller.shown.message(question.id).text == "What is a branch?"
    # The system prompt on the page.
    _edit(user, system.id, "Answer briefly.")
    _ctrl_enter(user)
    user.answer()
    assert [message.text for message in user.controller.shown.path[:2]] == ["Answer briefly.", "How do I fork?"]
    # The system prompt in its panel.
    user.window.action("system_prompt").trigger()
    user.bot.waitUntil(lambda: bool(user.window.findChildren(SystemPromptPopover)), timeout=PATIENCE_MS)
    panel = user.window.findChildren(SystemPromptPopover)[-1]
    panel.editor.setPlainText("Answer at length.")
    user.bot.keyClick(panel.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    user.answer()
    assert [message.text for message in user.controller.shown.path[:2]] == ["Answer at length.", "How do I fork?"]
    assert len(user.controller.shown.siblings(system.id)) == 3
    assert user.controller.shown.message(answer.id).text == answer.text


@pytest.mark.parametrize("way", ["key", *in_long_runs(["menu"])])
def test_a_text_is_replaced_in_place_from_the_menu_and_undone(user: User, way: str) -> None:
    answer = user.ask("What is a branch?")
    action = user.window.action("replace")
    editor = _edit(user, answer.id, "Mine.")
    assert action.isVisible()
    if way == "menu":
        user.window.menus.menu("Message").aboutToShow.emit()
        assert action.isVisible()
        action.trigger()
    else:
        user.bot.keyClick(
            editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        )
    assert list(user.controller.shown.siblings(answer.id)) == [answer.id]
    assert user.controller.shown.path[-1].text == "Mine."
    user.window.menus.menu("Message").aboutToShow.emit()
    assert not action.isVisible()
    user.window.action("undo").trigger()
    assert user.controller.shown.path[-1].text == answer.text
