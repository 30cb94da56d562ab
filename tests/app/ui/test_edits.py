"""Editing a message in place: the length limit, undisturbed typing, and text that is not lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt, qInstallMessageHandler
from PySide6.QtGui import QGuiApplication, QKeyEvent, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from app.model.message import Message
from app.model.unsent import NOTHING
from app.ui.composer.writing_field import WritingField
from app.ui.message.message_editor import MessageEditor
from app.ui.window import MainWindow
from tests.app.desk import Desk
from tests.app.ui.conftest import User
from tests.driver import ROOT
from tests.waiting import PATIENCE_MS


def _begin(user: User, message: Message) -> WritingField:
    user.press(message.id, "e")
    editor = user.window.focusWidget()
    assert isinstance(editor, WritingField)
    return editor


def _is_whole(editor: WritingField) -> bool:
    return editor.isVisible() and editor.verticalScrollBar().maximum() == 0


def test_an_edit_begins_at_the_end_of_the_text(user: User) -> None:
    user.ask("What is a branch?")
    editor = _begin(user, user.controller.shown.path[1])
    user.bot.keyClicks(editor, " And a fork?")
    assert editor.content == "What is a branch? And a fork?"


def test_a_text_that_is_too_long_cannot_be_pasted_into_an_edit(user: User) -> None:
    user.ask("What is a branch?")
    editor = _begin(user, user.controller.shown.path[1])
    QGuiApplication.clipboard().setText("x" * 60_000)
    editor.paste()
    assert editor.toPlainText() == "What is a branch?"
    assert user.window.banner.isVisible()
    assert "Nothing was pasted" in user.window.banner.label.text()


def test_two_parts_that_are_too_long_together_cannot_be_pasted_either(user: User) -> None:
    field = user.window.composer.text
    QGuiApplication.clipboard().setText("x" * 40_000)
    field.paste()
    assert not user.window.banner.isVisible()
    field.paste()
    assert field.content == "x" * 40_000
    assert user.window.banner.isVisible()


def test_the_message_text_stays_hidden_while_it_is_edited(user: User) -> None:
    user.ask("What is a branch?")
    question = user.controller.shown.path[1]
    editor = _begin(user, question)
    user.ask("How do I fork?")
    assert editor.isVisible()
    assert not user.view(question.id).text.isVisible()


def test_an_edit_is_restored_when_its_conversation_is_opened_again(user: User) -> None:
    user.ask("What is a branch?")
    question = user.controller.shown.path[1]
    conversation = user.controller.shown.conversation
    assert conversation is not None
    _begin(user, question).setPlainText("a draft")
    user.controller.shown.new_conversation()
    user.controller.shown.open_conversation(conversation.id)
    editor = user.view(question.id).findChild(WritingField)
    assert editor is not None
    assert editor.isVisible()
    assert editor.toPlainText() == "a draft"
    assert user.window.focusWidget() is not editor
    user.bot.keyClick(editor, Qt.Key.Key_Escape)
    user.controller.shown.new_conversation()
    user.controller.shown.open_conversation(conversation.id)
    assert user.view(question.id).findChild(WritingField) is None


_KILLED = """
import os, signal, sys
from pathlib import Path
from app.application import make_qt_application
from app.ui.composer.writing_field import WritingField
from tests.attacks.gui import Stage
application = make_qt_application([])
stage = Stage(Path(sys.argv[1]))
stage.view.begin_edit()
stage.view.findChild(WritingField).setPlainText("half an edit")
stage.desk.controller.preparation._timer.timeout.connect(lambda: os.kill(os.getpid(), signal.SIGKILL))
application.exec()
"""


@pytest.mark.long
def test_an_edit_survives_a_kill(qapp: QApplication, tmp_path: Path) -> None:
    assert qapp is not None
    command = [sys.executable, "-c", _KILLED, str(tmp_path)]
    killed = subprocess.run(command, cwd=ROOT, timeout=500, check=False)
    assert killed.returncode == -signal.SIGKILL
    desk = Desk(tmp_path)
    (conversation,) = desk.store.conversations.all()
    window = MainWindow(desk.controller, tmp_path)
    window.show()
    desk.controller.shown.open_conversation(conversation.id)
    (editor,) = window.transcript.findChildren(MessageEditor)
    assert editor.draft == "half an edit"
    editor.text.setPlainText("Hello.")
    assert desk.controller.preparation.unsent == NOTHING
    editor.text.setPlainText("another")
    QTest.keyClick(editor.text, Qt.Key.Key_Escape)
    assert desk.controller.preparation.unsent == NOTHING
    window.close()
    window.deleteLater()
    desk.close()


def test_an_open_edit_is_stored_and_a_sent_message_leaves_it_alone(user: User) -> None:
    user.ask("What is a branch?")
    question = user.controller.shown.path[1]
    _begin(user, question).setPlainText("a draft")
    user.ask("How do I fork?")
    user.controller.preparation.save()
    conversation = user.controller.shown.conversation
    assert conversation is not None
    stored = user.controller.program.store.preparations.get(conversation.id)
    assert stored.unsent.edit_of(question.id) == "a draft"


def test_an_unchanged_edit_adds_no_message(user: User) -> None:
    user.window.composer.text.setPlainText("two\u00a0words and\nlines")
    user.window.composer.send()
    user.answer()
    question = user.controller.shown.path[1]
    editor = _begin(user, question)
    user.bot.keyClick(editor, Qt.Key.Key_Return)
    assert list(user.controller.shown.siblings(question.id)) == [question.id]


def test_escape_in_an_edit_does_not_trigger_a_shortcut_of_the_window(user: User) -> None:
    user.ask("What is a branch?")
    editor = _begin(user, user.controller.shown.path[1])
    event = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    event.ignore()
    QApplication.sendEvent(editor, event)
    assert event.isAccepted()


def test_a_saved_edit_leaves_the_tab_order_whole(user: User) -> None:
    """Arrows appear at a question whose editor was closed; Qt said that they can't follow the editor's button."""
    user.ask("What is a branch?")
    question = user.controller.shown.path[1]
    editor = _begin(user, question)
    editor.setPlainText("How do I fork?")
    said: list[str] = []
    before = qInstallMessageHandler(lambda _kind, _context, text: said.append(text))
    try:
        user.bot.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        user.answer()
        user.window.action("previous_sibling").trigger()
    finally:
        qInstallMessageHandler(before)
    assert user.controller.shown.path[1].id == question.id
    assert [text for text in said if "setTabOrder" in text] == []


def test_an_edit_is_as_high_as_its_text(user: User) -> None:
    answer = user.ask("What is a branch?")
    user.controller.replace(answer.id, "Some words that go on. " * 30)
    editor = _begin(user, user.controller.shown.path[-1])
    is_whole = partial(_is_whole, editor)
    user.bot.waitUntil(is_whole, timeout=PATIENCE_MS)
    low = editor.height()
    editor.moveCursor(QTextCursor.MoveOperation.End)
    user.bot.keyClicks(editor, " And some more of them." * 8)
    user.bot.waitUntil(is_whole, timeout=PATIENCE_MS)
    assert low < editor.height() < user.window.transcript.height()


def test_escape_closes_an_edit_from_its_buttons_too(user: User) -> None:
    answer = user.ask("What is a branch?")
    editor = _begin(user, user.controller.shown.path[-1])
    user.bot.waitUntil(editor.isVisible, timeout=PATIENCE_MS)
    user.bot.keyClick(editor, Qt.Key.Key_Tab)
    button = user.window.focusWidget()
    assert isinstance(button, QPushButton)
    assert button.parentWidget() is editor.parentWidget()
    user.bot.keyClick(button, Qt.Key.Key_Escape)
    assert not user.view(answer.id).is_edited
    assert user.window.focusWidget() is user.view(answer.id).text
    # Nothing had been typed, so there is nothing to restore.
    assert not user.window.banner.isVisible()


def test_the_text_of_a_cancelled_edit_can_be_restored(user: User) -> None:
    user.ask("What is a branch?")
    question = user.controller.shown.path[1]
    banner = user.window.banner
    editor = _begin(user, question)
    editor.setPlainText("two\u00a0words\nand more")
    user.bot.keyClick(editor, Qt.Key.Key_Escape)
    assert not user.view(question.id).is_edited
    assert banner.isVisible()
    assert banner.button.text() == "Continue editing"
    user.bot.mouseClick(banner.button, Qt.MouseButton.LeftButton)
    editor = user.window.focusWidget()
    assert isinstance(editor, WritingField)
    assert editor.content == "two\u00a0words\nand more"
    user.bot.keyClick(editor, Qt.Key.Key_Escape)
    # The undo key restores it too, and the notice disappears.
    editor = _begin(user, question)
    assert not banner.isVisible()
    assert editor.content == "two\u00a0words\nand more"
    editor.undo()
    assert editor.content == question.text
    user.bot.keyClick(editor, Qt.Key.Key_Escape)
    assert not banner.isVisible()
    assert _begin(user, question).content == question.text


def test_the_offer_to_restore_an_edit_disappears_with_its_conversation(user: User) -> None:
    user.ask("What is a branch?")
    editor = _begin(user, user.controller.shown.path[1])
    editor.setPlainText("other words")
    user.bot.keyClick(editor, Qt.Key.Key_Escape)
    assert user.window.banner.isVisible()
    user.controller.shown.new_conversation()
    assert not user.window.banner.isVisible()


@pytest.mark.parametrize("text", ["10\u00a0000\u202fkm", "a\tb", "  two  spaces  ", "one\ntwo"])
def test_a_text_is_sent_unchanged(user: User, text: str) -> None:
    user.window.composer.text.setPlainText(text)
    user.window.composer.send()
    user.answer()
    assert user.controller.shown.path[1].text == text
