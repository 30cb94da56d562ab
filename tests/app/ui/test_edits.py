"""An edit in a message's place: it takes no more than it can show, nothing else disturbs it, and it is not lost."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QApplication, QPushButton

from app.model.message import Message
from app.ui.composer.writing_field import WritingField
from tests.app.ui.conftest import PATIENCE_MS, Person


def _begin(person: Person, message: Message) -> WritingField:
    person.press(message.id, "e")
    editor = person.window.focusWidget()
    assert isinstance(editor, WritingField)
    return editor


def _is_whole(editor: WritingField) -> bool:
    return editor.isVisible() and editor.verticalScrollBar().maximum() == 0


def test_what_is_too_long_is_not_pasted_into_an_edit(person: Person) -> None:
    person.ask("What is a branch?")
    editor = _begin(person, person.controller.shown.path[1])
    QGuiApplication.clipboard().setText("x" * 60_000)
    editor.paste()
    assert editor.toPlainText() == "What is a branch?"
    assert person.window.banner.isVisible()
    assert "Nothing was pasted" in person.window.banner.label.text()


def test_what_is_too_long_in_two_parts_is_not_pasted_either(person: Person) -> None:
    field = person.window.composer.text
    QGuiApplication.clipboard().setText("x" * 40_000)
    field.paste()
    assert not person.window.banner.isVisible()
    field.paste()
    assert field.toPlainText() == "x" * 40_000
    assert person.window.banner.isVisible()


def test_the_text_stays_hidden_behind_its_edit_when_the_conversation_goes_on(person: Person) -> None:
    person.ask("What is a branch?")
    question = person.controller.shown.path[1]
    editor = _begin(person, question)
    person.ask("How do I fork?")
    assert editor.isVisible()
    assert not person.view(question.id).text.isVisible()


def test_an_edit_that_leaves_the_page_is_there_when_the_message_comes_back(person: Person) -> None:
    person.ask("What is a branch?")
    question = person.controller.shown.path[1]
    conversation = person.controller.shown.conversation
    assert conversation is not None
    _begin(person, question).setPlainText("a draft")
    person.controller.shown.new_conversation()
    person.controller.shown.open_conversation(conversation.id)
    editor = person.view(question.id).findChild(WritingField)
    assert editor is not None
    assert editor.isVisible()
    assert editor.toPlainText() == "a draft"
    assert person.window.focusWidget() is not editor
    person.bot.keyClick(editor, Qt.Key.Key_Escape)
    person.controller.shown.new_conversation()
    person.controller.shown.open_conversation(conversation.id)
    assert person.view(question.id).findChild(WritingField) is None


def test_an_edit_without_a_change_adds_nothing(person: Person) -> None:
    person.window.composer.text.setPlainText("two\u00a0words and\nlines")
    person.window.composer.send()
    person.answer()
    question = person.controller.shown.path[1]
    editor = _begin(person, question)
    person.bot.keyClick(editor, Qt.Key.Key_Return)
    assert list(person.controller.shown.siblings(question.id)) == [question.id]


def test_escape_in_an_edit_is_no_shortcut_of_the_window(person: Person) -> None:
    person.ask("What is a branch?")
    editor = _begin(person, person.controller.shown.path[1])
    event = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    event.ignore()
    QApplication.sendEvent(editor, event)
    assert event.isAccepted()


def test_an_edit_is_as_high_as_what_is_written_in_it(person: Person) -> None:
    answer = person.ask("What is a branch?")
    person.controller.replace(answer.id, "Some words that go on. " * 30)
    editor = _begin(person, person.controller.shown.path[-1])
    is_whole = partial(_is_whole, editor)
    person.bot.waitUntil(is_whole, timeout=PATIENCE_MS)
    low = editor.height()
    editor.moveCursor(QTextCursor.MoveOperation.End)
    person.bot.keyClicks(editor, " And some more of them." * 8)
    person.bot.waitUntil(is_whole, timeout=PATIENCE_MS)
    assert low < editor.height() < person.window.transcript.height()


def test_escape_ends_an_edit_from_its_buttons_too(person: Person) -> None:
    answer = person.ask("What is a branch?")
    editor = _begin(person, person.controller.shown.path[-1])
    person.bot.waitUntil(editor.isVisible, timeout=PATIENCE_MS)
    person.bot.keyClick(editor, Qt.Key.Key_Tab)
    button = person.window.focusWidget()
    assert isinstance(button, QPushButton)
    assert button.parentWidget() is editor.parentWidget()
    person.bot.keyClick(button, Qt.Key.Key_Escape)
    assert not person.view(answer.id).is_edited
    assert person.window.focusWidget() is person.view(answer.id).text
    # Nothing had been written.
    assert not person.window.banner.isVisible()


def test_what_was_written_in_an_edit_that_is_given_up_can_be_got_back(person: Person) -> None:
    person.ask("What is a branch?")
    question = person.controller.shown.path[1]
    banner = person.window.banner
    editor = _begin(person, question)
    editor.setPlainText("two\u00a0words\nand more")
    person.bot.keyClick(editor, Qt.Key.Key_Escape)
    assert not person.view(question.id).is_edited
    assert banner.isVisible()
    assert banner.button.text() == "Bring back"
    person.bot.mouseClick(banner.button, Qt.MouseButton.LeftButton)
    editor = person.window.focusWidget()
    assert isinstance(editor, WritingField)
    assert editor.content == "two\u00a0words\nand more"
    person.bot.keyClick(editor, Qt.Key.Key_Escape)
    # And by the key, which takes the offer away.
    editor = _begin(person, question)
    assert not banner.isVisible()
    assert editor.content == "two\u00a0words\nand more"
    editor.undo()
    assert editor.content == question.text
    person.bot.keyClick(editor, Qt.Key.Key_Escape)
    assert not banner.isVisible()
    assert _begin(person, question).content == question.text


def test_the_offer_to_bring_an_edit_back_goes_with_its_conversation(person: Person) -> None:
    person.ask("What is a branch?")
    editor = _begin(person, person.controller.shown.path[1])
    editor.setPlainText("other words")
    person.bot.keyClick(editor, Qt.Key.Key_Escape)
    assert person.window.banner.isVisible()
    person.controller.shown.new_conversation()
    assert not person.window.banner.isVisible()


@pytest.mark.parametrize("text", ["10\u00a0000\u202fkm", "a\tb", "  two  spaces  ", "one\ntwo"])
def test_what_is_written_is_sent_to_the_letter(person: Person, text: str) -> None:
    person.window.composer.text.setPlainText(text)
    person.window.composer.send()
    person.answer()
    assert person.controller.shown.path[1].text == text
