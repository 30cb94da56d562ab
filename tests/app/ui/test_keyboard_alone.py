"""Keyboard only: where the focus goes while the user asks, reads, forks, opens panels and returns."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QRadioButton, QWidget

from app.ui.parts.overlay import Overlay
from app.ui.parts.popover import Popover
from app.ui.text.message_text import MessageText
from tests.app.ui.conftest import User
from tests.app.ui.waiting import is_at_rest
from tests.waiting import PATIENCE_MS


def _focus(user: User) -> QWidget:
    """Wait until the widget that receives the keys is visible and return it; it may be the window itself."""

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


def test_the_focus_moves_to_the_new_answer_after_regenerating(user: User) -> None:
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


def test_the_composer_has_the_focus_after_a_fork_and_an_edited_question(user: User) -> None:
    answer = user.ask("What is a branch?")
    _keys(user, "Alt+Up", "Alt+Up", "E")
    QTest.keyClicks(_focus(user), " ")
    QTest.keyClick(_focus(user), Qt.Key.Key_Return)
    user.answer()
    assert _focus(user) is user.window.composer.text
    _keys(user, "Alt+Up", "F")
    assert user.controller.shown.path[-1].id != answer.id
    assert _focus(user) is user.window.composer.text


def test_the_tree_is_entered_and_left_by_keys(user: User) -> None:
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
def test_escape_restores_the_previous_focus(user: User, action: str) -> None:
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


def test_escape_closes_side_by_side_and_the_comparison(user: User) -> None:
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
    # Escape works from the buttons and from the texts.
    while not isinstance(_focus(user), MessageText):
        assert page.isAncestorOf(_focus(user))
        _keys(user, "Shift+Tab")
    QTest.keyClick(_focus(user), Qt.Key.Key_Escape)
    assert not page.isVisible()
    assert _focus(user).isVisible()
    assert user.controller.shown.path[-1].id == answer.id


def test_enter_presses_the_focused_button_in_the_window_and_in_a_panel(user: User) -> None:
    # A closed search must not take keys.
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


def test_page_keys_scroll_the_conversation_from_the_composer(user: User) -> None:
    user.ask("What is a branch?")
    answer = user.controller.shown.path[-1]
    user.controller.replace(answer.id, "A paragraph.\n\n" * 200)
    bar = user.window.transcript.verticalScrollBar()
    # The page grows after the text is written. Each paragraph is at least 20 pixels high.
    user.bot.waitUntil(lambda: is_at_rest(user.window.transcript) and bar.maximum() > 200 * 20, timeout=PATIENCE_MS)
    bar.setValue(bar.maximum())
    _keys(user, "Ctrl+L")
    end = bar.value()
    _keys(user, "PgUp")
    user.bot.waitUntil(lambda: is_at_rest(user.window.transcript) and bar.value() < end, timeout=PATIENCE_MS)
    _keys(user, "PgDown")
    user.bot.waitUntil(lambda: bar.value() == end, timeout=PATIENCE_MS)
    assert _focus(user) is user.window.composer.text
    # A text longer than its field is scrolled instead.
    field = user.window.composer.text
    field.setPlainText("line\n" * 100)
    user.bot.waitUntil(lambda: field.verticalScrollBar().maximum() > 0, timeout=PATIENCE_MS)
    _keys(user, "Ctrl+End", "PgUp")
    # The field has grown and the page has become lower, but its end stays in sight.
    user.bot.waitUntil(lambda: is_at_rest(user.window.transcript) and bar.value() == bar.maximum(), timeout=PATIENCE_MS)
    assert field.textCursor().blockNumber() < 99


def test_clicking_a_conversation_focuses_the_composer(user: User) -> None:
    user.ask("What is a branch?")
    user.controller.shown.new_conversation()
    rows = user.window.sidebar.list
    rows.setFocus()
    opened = rows.rows.index(0, 0, rows.rows.index(0, 0))
    QTest.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=rows.visualRect(opened).center())
    assert user.controller.shown.conversation is not None
    assert _focus(user) is user.window.composer.text
