"""Nothing but keys: where the focus goes as one asks, reads, forks, looks and comes back."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QRadioButton, QWidget

from app.ui.parts.overlay import Overlay
from app.ui.parts.popover import Popover
from app.ui.text.message_text import MessageText
from tests.app.ui.conftest import PATIENCE_MS, User
from tests.app.ui.waiting import is_at_rest


def _focus(user: User) -> QWidget:
    """What keys go to, once it is seen: a window where nothing in it takes them."""

    def target() -> QWidget | None:
        popup, focus = QApplication.activePopupWidget(), QApplication.focusWidget()
        focus = focus or QApplication.activeWindow()
        return popup if popup is not None and (focus is None or not popup.isAncestorOf(focus)) else focus

    def is_seen() -> bool:
        found = target()
        return found is not None and found.isVisible()

    user.bot.waitUntil(is_seen, timeout=PATIENCE_MS)
    found = target()
    assert found is not None
    return found


def _keys(user: User, *keys: str) -> None:
    for key in keys:
        user.window.activateWindow()
        user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
        QTest.keySequence(_focus(user), QKeySequence(key))


def test_who_regenerates_reads_on_in_the_new_answer(user: User) -> None:
    user.ask("What is a branch?")
    _keys(user, "Alt+Up", "R")
    second = user.answer()
    assert _focus(user) is user.view(second.id).text
    _keys(user, "R")
    third = user.answer()
    assert len(user.controller.shown.siblings(third.id)) == 3
    _keys(user, "Alt+Left")
    assert _focus(user) is user.view(second.id).text
    _keys(user, "Del")
    assert _focus(user) is user.view(user.controller.shown.path[-1].id).text
    _keys(user, "Ctrl+Z")
    assert len(user.controller.shown.siblings(third.id)) == 3
    _keys(user, "Alt+Down")
    assert _focus(user) is user.window.composer.text


def test_a_fork_and_an_edited_question_are_followed_by_writing(user: User) -> None:
    answer = user.ask("What is a branch?")
    _keys(user, "Alt+Up", "Alt+Up", "E")
    QTest.keyClicks(_focus(user), " ")
    QTest.keyClick(_focus(user), Qt.Key.Key_Return)
    user.answer()
    assert _focus(user) is user.window.composer.text
    _keys(user, "Alt+Up", "F")
    assert user.controller.shown.path[-1].id != answer.id
    assert _focus(user) is user.window.composer.text


def test_the_tree_is_walked_and_left(user: User) -> None:
    answer = user.ask("What is a branch?")
    _keys(user, "F6")
    view = user.window.tree_dock.view
    assert _focus(user) is view
    _keys(user, "Up", "Return")
    assert view.hasFocus()
    _keys(user, "F6")
    assert _focus(user) is user.window.composer.text
    _keys(user, "F6", "Ctrl+T")
    assert _focus(user) is user.window.composer.text
    assert user.controller.shown.path[-1].id == answer.id


@pytest.mark.parametrize("action", ["export", "settings", "backups", "trash", "find", "search_all", "palette"])
def test_what_is_closed_by_escape_gives_the_focus_back(user: User, action: str) -> None:
    user.ask("What is a branch?")
    _keys(user, "Alt+Up")
    before = _focus(user)
    QTest.keySequence(_focus(user), user.window.action(action).shortcut())
    user.bot.waitUntil(lambda: _focus(user) is not before, timeout=PATIENCE_MS)
    QTest.keyClick(_focus(user), Qt.Key.Key_Escape)
    assert not any(opened.isVisible() for kind in (QDialog, Overlay) for opened in user.window.findChildren(kind))
    user.window.activateWindow()
    user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
    assert _focus(user) is before


@pytest.mark.parametrize("action", ["sampling", "answer_format", "system_prompt"])
def test_a_panel_is_walked_by_tab_and_closed_by_escape(user: User, action: str) -> None:
    user.ask("What is a branch?")
    QTest.keySequence(_focus(user), user.window.action(action).shortcut())
    user.bot.waitUntil(lambda: QApplication.activePopupWidget() is not None, timeout=PATIENCE_MS)
    panel = QApplication.activePopupWidget()
    assert isinstance(panel, Popover)
    first, seen = _focus(user), set[QWidget]()
    while _focus(user) not in seen:
        seen.add(_focus(user))
        assert panel.isAncestorOf(_focus(user))
        QTest.keyClick(_focus(user), Qt.Key.Key_Tab)
    assert first in seen
    QTest.keyClick(_focus(user), Qt.Key.Key_Escape)
    user.window.activateWindow()
    user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
    assert _focus(user) is user.window.composer.text


def test_side_by_side_and_compared_versions_are_left_by_escape(user: User) -> None:
    user.ask("What is a branch?")
    _keys(user, "Alt+Up", "R")
    answer = user.answer()
    _keys(user, "D")
    user.bot.waitUntil(lambda: QApplication.activeWindow() is not user.window, timeout=PATIENCE_MS)
    QTest.keyClick(_focus(user), Qt.Key.Key_Escape)
    _keys(user, "V")
    page = user.window.side_by_side
    assert page.isVisible()
    assert page.isAncestorOf(_focus(user))
    # From its buttons, and from the texts.
    _keys(user, "Tab")
    assert isinstance(_focus(user), MessageText)
    QTest.keyClick(_focus(user), Qt.Key.Key_Escape)
    assert not page.isVisible()
    assert _focus(user).isVisible()
    assert user.controller.shown.path[-1].id == answer.id


def test_enter_presses_the_button_that_has_the_focus_in_the_window_and_in_a_panel(user: User) -> None:
    # A search that was closed takes no key any more.
    user.window.action("search_all").trigger()
    QTest.keyClick(_focus(user), Qt.Key.Key_Escape)
    answer = user.ask("What is a branch?")
    regenerate = user.button(user.view(answer.id), "Regenerate")
    user.bot.waitUntil(regenerate.isVisible, timeout=PATIENCE_MS)
    regenerate.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(_focus(user), Qt.Key.Key_Return)
    assert len(user.controller.shown.siblings(user.answer().id)) == 2
    _keys(user, "Ctrl+J")
    panel = QApplication.activePopupWidget()
    assert panel is not None
    choice = panel.findChildren(QRadioButton)[1]
    choice.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(choice, Qt.Key.Key_Enter)
    assert choice.isChecked()
    panel.close()


def test_who_writes_turns_the_pages_of_the_conversation(user: User) -> None:
    user.ask("What is a branch?")
    answer = user.controller.shown.path[-1]
    user.controller.replace(answer.id, "A paragraph.\n\n" * 200)
    bar = user.window.transcript.verticalScrollBar()
    bar.setValue(bar.maximum())
    _keys(user, "Ctrl+L")
    end = bar.value()
    _keys(user, "PgUp")
    user.bot.waitUntil(lambda: is_at_rest(user.window.transcript) and bar.value() < end, timeout=PATIENCE_MS)
    _keys(user, "PgDown")
    user.bot.waitUntil(lambda: bar.value() == end, timeout=PATIENCE_MS)
    assert _focus(user) is user.window.composer.text
    # In a text that is longer than its field they turn that one's pages.
    user.window.composer.text.setPlainText("line\n" * 100)
    _keys(user, "Ctrl+End", "PgUp")
    assert bar.value() == bar.maximum()
    assert user.window.composer.text.textCursor().blockNumber() < 99


def test_who_opens_a_conversation_with_the_pointer_writes_in_it(user: User) -> None:
    user.ask("What is a branch?")
    user.controller.shown.new_conversation()
    rows = user.window.sidebar.list
    rows.setFocus()
    opened = rows.rows.index(0, 0, rows.rows.index(0, 0))
    QTest.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=rows.visualRect(opened).center())
    assert user.controller.shown.conversation is not None
    assert _focus(user) is user.window.composer.text
