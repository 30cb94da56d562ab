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
from tests.app.ui.conftest import PATIENCE_MS, Person
from tests.app.ui.waiting import is_at_rest


def _focus(person: Person) -> QWidget:
    """What keys go to, once it is seen: a window where nothing in it takes them."""

    def target() -> QWidget | None:
        popup, focus = QApplication.activePopupWidget(), QApplication.focusWidget()
        focus = focus or QApplication.activeWindow()
        return popup if popup is not None and (focus is None or not popup.isAncestorOf(focus)) else focus

    def is_seen() -> bool:
        found = target()
        return found is not None and found.isVisible()

    person.bot.waitUntil(is_seen, timeout=PATIENCE_MS)
    found = target()
    assert found is not None
    return found


def _keys(person: Person, *keys: str) -> None:
    for key in keys:
        person.window.activateWindow()
        person.bot.waitUntil(person.window.isActiveWindow, timeout=PATIENCE_MS)
        QTest.keySequence(_focus(person), QKeySequence(key))


def test_who_regenerates_reads_on_in_the_new_answer(person: Person) -> None:
    person.ask("What is a branch?")
    _keys(person, "Alt+Up", "R")
    second = person.answer()
    assert _focus(person) is person.view(second.id).text
    _keys(person, "R")
    third = person.answer()
    assert len(person.controller.shown.siblings(third.id)) == 3
    _keys(person, "Alt+Left")
    assert _focus(person) is person.view(second.id).text
    _keys(person, "Del")
    assert _focus(person) is person.view(person.controller.shown.path[-1].id).text
    _keys(person, "Ctrl+Z")
    assert len(person.controller.shown.siblings(third.id)) == 3
    _keys(person, "Alt+Down")
    assert _focus(person) is person.window.composer.text


def test_a_fork_and_an_edited_question_are_followed_by_writing(person: Person) -> None:
    answer = person.ask("What is a branch?")
    _keys(person, "Alt+Up", "Alt+Up", "E")
    QTest.keyClicks(_focus(person), " ")
    QTest.keyClick(_focus(person), Qt.Key.Key_Return)
    person.answer()
    assert _focus(person) is person.window.composer.text
    _keys(person, "Alt+Up", "F")
    assert person.controller.shown.path[-1].id != answer.id
    assert _focus(person) is person.window.composer.text


def test_the_tree_is_walked_and_left(person: Person) -> None:
    answer = person.ask("What is a branch?")
    _keys(person, "F6")
    view = person.window.tree_dock.view
    assert _focus(person) is view
    _keys(person, "Up", "Return")
    assert view.hasFocus()
    _keys(person, "F6")
    assert _focus(person) is person.window.composer.text
    _keys(person, "F6", "Ctrl+T")
    assert _focus(person) is person.window.composer.text
    assert person.controller.shown.path[-1].id == answer.id


@pytest.mark.parametrize("action", ["export", "settings", "backups", "trash", "find", "search_all", "palette"])
def test_what_is_closed_by_escape_gives_the_focus_back(person: Person, action: str) -> None:
    person.ask("What is a branch?")
    _keys(person, "Alt+Up")
    before = _focus(person)
    QTest.keySequence(_focus(person), person.window.action(action).shortcut())
    person.bot.waitUntil(lambda: _focus(person) is not before, timeout=PATIENCE_MS)
    QTest.keyClick(_focus(person), Qt.Key.Key_Escape)
    assert not any(opened.isVisible() for kind in (QDialog, Overlay) for opened in person.window.findChildren(kind))
    person.window.activateWindow()
    person.bot.waitUntil(person.window.isActiveWindow, timeout=PATIENCE_MS)
    assert _focus(person) is before


@pytest.mark.parametrize("action", ["sampling", "answer_format", "system_prompt"])
def test_a_panel_is_walked_by_tab_and_closed_by_escape(person: Person, action: str) -> None:
    person.ask("What is a branch?")
    QTest.keySequence(_focus(person), person.window.action(action).shortcut())
    person.bot.waitUntil(lambda: QApplication.activePopupWidget() is not None, timeout=PATIENCE_MS)
    panel = QApplication.activePopupWidget()
    assert isinstance(panel, Popover)
    first, seen = _focus(person), set[QWidget]()
    while _focus(person) not in seen:
        seen.add(_focus(person))
        assert panel.isAncestorOf(_focus(person))
        QTest.keyClick(_focus(person), Qt.Key.Key_Tab)
    assert first in seen
    QTest.keyClick(_focus(person), Qt.Key.Key_Escape)
    person.window.activateWindow()
    person.bot.waitUntil(person.window.isActiveWindow, timeout=PATIENCE_MS)
    assert _focus(person) is person.window.composer.text


def test_side_by_side_and_compared_versions_are_left_by_escape(person: Person) -> None:
    person.ask("What is a branch?")
    _keys(person, "Alt+Up", "R")
    answer = person.answer()
    _keys(person, "D")
    person.bot.waitUntil(lambda: QApplication.activeWindow() is not person.window, timeout=PATIENCE_MS)
    QTest.keyClick(_focus(person), Qt.Key.Key_Escape)
    _keys(person, "V")
    page = person.window.side_by_side
    assert page.isVisible()
    assert page.isAncestorOf(_focus(person))
    # From its buttons, and from the texts.
    _keys(person, "Tab")
    assert isinstance(_focus(person), MessageText)
    QTest.keyClick(_focus(person), Qt.Key.Key_Escape)
    assert not page.isVisible()
    assert _focus(person).isVisible()
    assert person.controller.shown.path[-1].id == answer.id


def test_enter_presses_the_button_that_has_the_focus_in_the_window_and_in_a_panel(person: Person) -> None:
    # A search that was closed takes no key any more.
    person.window.action("search_all").trigger()
    QTest.keyClick(_focus(person), Qt.Key.Key_Escape)
    answer = person.ask("What is a branch?")
    regenerate = person.button(person.view(answer.id), "Regenerate")
    person.bot.waitUntil(regenerate.isVisible, timeout=PATIENCE_MS)
    regenerate.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(_focus(person), Qt.Key.Key_Return)
    assert len(person.controller.shown.siblings(person.answer().id)) == 2
    _keys(person, "Ctrl+J")
    panel = QApplication.activePopupWidget()
    assert panel is not None
    choice = panel.findChildren(QRadioButton)[1]
    choice.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(choice, Qt.Key.Key_Enter)
    assert choice.isChecked()
    panel.close()


def test_who_writes_turns_the_pages_of_the_conversation(person: Person) -> None:
    person.ask("What is a branch?")
    answer = person.controller.shown.path[-1]
    person.controller.replace(answer.id, "A paragraph.\n\n" * 200)
    bar = person.window.transcript.verticalScrollBar()
    bar.setValue(bar.maximum())
    _keys(person, "Ctrl+L")
    end = bar.value()
    _keys(person, "PgUp")
    person.bot.waitUntil(lambda: is_at_rest(person.window.transcript) and bar.value() < end, timeout=PATIENCE_MS)
    _keys(person, "PgDown")
    person.bot.waitUntil(lambda: bar.value() == end, timeout=PATIENCE_MS)
    assert _focus(person) is person.window.composer.text
    # In a text that is longer than its field they turn that one's pages.
    person.window.composer.text.setPlainText("line\n" * 100)
    _keys(person, "Ctrl+End", "PgUp")
    assert bar.value() == bar.maximum()
    assert person.window.composer.text.textCursor().blockNumber() < 99


def test_who_opens_a_conversation_with_the_pointer_writes_in_it(person: Person) -> None:
    person.ask("What is a branch?")
    person.controller.shown.new_conversation()
    rows = person.window.sidebar.list
    rows.setFocus()
    opened = rows.rows.index(0, 0, rows.rows.index(0, 0))
    QTest.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=rows.visualRect(opened).center())
    assert person.controller.shown.conversation is not None
    assert _focus(person) is person.window.composer.text
