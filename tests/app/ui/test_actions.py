"""Every action: reached by menu, key, palette and mouse alike, and by another key where somebody wants one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QDialog,
    QInputDialog,
    QLineEdit,
    QMenu,
    QTextEdit,
    QWidget,
)

from app.ui.menus import all_entries, label
from app.ui.palette import Palette
from app.ui.settings.settings_window import SettingsWindow
from tests.app.ui.conftest import PATIENCE_MS, Person

Way = Literal["menu", "key", "palette", "mouse"]
_LEAST_PX = 28


def _by_menu(person: Person, name: str) -> None:
    """Open the menu that has it, and choose it there."""
    action = person.window.action(name)
    menu = next(
        menu
        for title in ("File", "Edit", "Message", "Ask", "View", "Help")
        if action in (menu := person.window.menus.menu(title)).actions()
    )
    menu.popup(person.window.mapToGlobal(person.window.rect().center()))
    person.bot.waitUntil(menu.isVisible, timeout=PATIENCE_MS)
    person.bot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())


def _by_key(person: Person, name: str) -> None:
    entry = next(entry for entry in all_entries() if entry.name == name)
    focus = person.window.focusWidget()
    if entry.letter:
        person.bot.keyClicks(focus, entry.letter.lower())
    else:
        QTest.keySequence(focus, QKeySequence(entry.key))


def _by_palette(person: Person, name: str) -> None:
    text = label(person.window.action(name))
    QTest.keySequence(person.window.focusWidget(), QKeySequence("Ctrl+K"))
    palette = person.window.findChild(Palette)
    assert isinstance(palette, Palette)
    person.bot.keyClicks(palette.field, text.rstrip("…"))
    assert palette.shown[0].text == text
    person.bot.keyClick(palette.field, Qt.Key.Key_Return)


_WAYS: dict[Way, Callable[[Person, str], None]] = {"menu": _by_menu, "key": _by_key, "palette": _by_palette}


def _do(person: Person, way: Way, name: str, button: Callable[[], QWidget]) -> None:
    if way == "mouse":
        person.bot.mouseClick(button(), Qt.MouseButton.LeftButton)
    else:
        _WAYS[way](person, name)


@pytest.mark.parametrize("way", ["menu", "key", "palette", "mouse"])
def test_an_answer_is_asked_for_anew(person: Person, way: Way) -> None:
    answer = person.ask("What is a branch?")
    person.view(answer.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    _do(person, way, "regenerate", lambda: person.button(person.view(answer.id), "Regenerate"))
    person.answer()
    assert len(person.controller.shown.siblings(answer.id)) == 2


@pytest.mark.parametrize("way", ["menu", "key", "palette", "mouse"])
def test_a_new_conversation_is_begun(person: Person, way: Way) -> None:
    person.ask("What is a branch?")
    _do(person, way, "new", lambda: person.window.sidebar.new_button)
    assert person.controller.shown.conversation is None
    assert person.window.composer.text.hasFocus()


@pytest.mark.parametrize("way", ["menu", "key", "palette", "mouse"])
def test_settings_are_opened(person: Person, way: Way) -> None:
    person.window.composer.text.setFocus()
    _do(person, way, "settings", lambda: person.window.sidebar.settings_button)
    _settings(person).close()
    person.window.activateWindow()
    person.bot.waitUntil(person.window.isActiveWindow, timeout=PATIENCE_MS)


def test_every_action_has_a_key_of_its_own_that_its_menu_shows() -> None:
    keyless = [entry.name for entry in all_entries() if not entry.key and not entry.letter]
    assert keyless == []
    keys = Counter(QKeySequence(entry.key).toString() for entry in all_entries() if entry.key)
    letters = Counter(entry.letter for entry in all_entries() if entry.letter)
    assert [key for key, times in (keys + letters).items() if times > 1] == []


def _settings(person: Person) -> SettingsWindow:
    opened = [one for one in person.window.findChildren(SettingsWindow) if one.isVisible()]
    if not opened:
        person.window.action("settings").trigger()
        opened = [one for one in person.window.findChildren(SettingsWindow) if one.isVisible()]
    return opened[0]


def test_an_action_works_by_another_key_until_it_gets_its_own_back(person: Person) -> None:
    keys = _settings(person).keys
    try:
        keys.select("sidebar")
        keys.field.setKeySequence(QKeySequence("Ctrl+Alt+S"))
        keys.field.editingFinished.emit()
        assert person.window.action("sidebar").shortcut() == QKeySequence("Ctrl+Alt+S")
        assert person.controller.program.settings.keys == {"sidebar": "Ctrl+Alt+S"}
        # What belongs to another one, or is typed, is not taken.
        for taken, why in (
            *(("Ctrl+N", "New conversation"), ("A", "typed"), ("Alt+F", "“File”")),
            *((key, "text is written") for key in ("Ctrl+C", "Ctrl+Left", "Ctrl+Backspace", "Ctrl+Shift+Home")),
        ):
            keys.field.setKeySequence(QKeySequence(taken))
            keys.field.editingFinished.emit()
            assert why in keys.warning.text()
            assert keys.field.keySequence() == QKeySequence("Ctrl+Alt+S")
        person.bot.mouseClick(keys.none_button, Qt.MouseButton.LeftButton)
        assert person.window.action("sidebar").shortcut().isEmpty()
        person.bot.mouseClick(keys.reset_button, Qt.MouseButton.LeftButton)
        assert person.window.action("sidebar").shortcut() == QKeySequence("Ctrl+B")
        assert person.controller.program.settings.keys == {}
    finally:
        person.controller.program.preferences.change(keys={})
        _settings(person).close()


def test_settings_hold_at_once(person: Person) -> None:
    settings = _settings(person)
    general, program = settings.general, person.controller.program
    try:
        small = person.window.composer.text.font().pixelSize()
        general.text_size.setValue(15)
        assert person.window.composer.text.font().pixelSize() > small
        general.theme.choose(2)
        assert program.settings.theme == "dark"
        settings.answers.overflow.choose(1)
        assert program.settings.overflow == "drop_oldest"
    finally:
        program.preferences.change(text_percent=100, theme="system", overflow="fail")
        settings.close()


_CONTROLS = (QAbstractButton, QAbstractSpinBox, QLineEdit, QTextEdit, QAbstractItemView)


def _faults(root: QWidget) -> list[str]:
    """What is wrong with what can be seen: no name, no way there by Tab, too small for a finger."""
    faults: list[str] = []
    for control in root.findChildren(QWidget):
        is_part = isinstance(control.parent(), QAbstractSpinBox) or control.objectName().startswith("qt_")
        if not control.isVisible() or is_part or not isinstance(control, _CONTROLS):
            continue
        text = control.text() if isinstance(control, QAbstractButton | QLineEdit) else ""
        name = control.accessibleName() or (text if isinstance(control, QAbstractButton) else "")
        what = f"{type(control).__name__} {name!r} {control.objectName()}"
        if not name:
            faults.append(f"{what}: no name")
        if isinstance(control, QAbstractButton):
            if min(control.width(), control.height()) < _LEAST_PX:
                faults.append(f"{what}: {control.width()} × {control.height()}")
            if control.focusPolicy() == Qt.FocusPolicy.NoFocus:
                faults.append(f"{what}: no focus")
            if not text and not control.toolTip():
                faults.append(f"{what}: no tool tip")
    return faults


def test_every_control_of_every_page_of_the_settings_can_be_found_reached_and_hit(person: Person) -> None:
    settings = _settings(person)
    for row in range(settings.list.count()):
        settings.list.setCurrentRow(row)
        assert _faults(settings) == [], settings.list.item(row).text()
    settings.close()


@pytest.mark.parametrize("name", ["trash", "backups"])
def test_every_control_of_a_sheet_can_be_found_reached_and_hit(person: Person, name: str) -> None:
    person.window.action(name).trigger()
    sheets = [one for one in person.window.findChildren(QDialog) if one.isVisible()]
    assert len(sheets) == 1
    assert _faults(sheets[0]) == []
    sheets[0].close()


def test_every_control_of_the_window_can_be_found_reached_and_hit(person: Person) -> None:
    answer = person.ask("What is a branch?")
    person.press(answer.id, "r")
    person.answer()
    assert _faults(person.window) == []


@pytest.mark.parametrize("action", ["name", "folder"])
def test_a_name_is_asked_for_in_a_field_as_wide_as_names_are(person: Person, action: str) -> None:
    answer = person.ask("What is a branch?")
    conversation = person.controller.shown.conversation
    assert conversation is not None
    person.controller.program.conversations.put_into_folder(conversation.id, "Plants")
    seen: list[tuple[int, str]] = []

    def write() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, QInputDialog)
        field = dialog.findChild(QLineEdit)
        assert isinstance(field, QLineEdit)
        seen.append((field.width(), field.text()))
        field.setText("A name of some words, as people give them")
        person.bot.keyClick(field, Qt.Key.Key_Return)

    person.view(answer.id).text.setFocus()
    QTimer.singleShot(0, write)
    person.window.action(action).trigger()
    width, before = seen[0]
    assert width >= person.window.fontMetrics().horizontalAdvance("A name of some words, as people give them")
    conversation = person.controller.shown.conversation
    assert conversation is not None
    named = {"name": person.controller.shown.message(answer.id).name, "folder": conversation.folder}
    assert named[action] == "A name of some words, as people give them"
    assert before == {"name": "", "folder": "Plants"}[action]


def test_the_edit_menu_works_in_the_field_with_the_focus_as_the_keys_do(person: Person) -> None:
    answer = person.ask("What is a branch?")
    window, field = person.window, person.window.composer.text
    field.setFocus()
    person.bot.keyClicks(field, "some words")
    for name in ("select_all", "cut"):
        window.action(name).trigger()
    assert QGuiApplication.clipboard().text() == "some words"
    assert field.content == ""
    for name in ("paste", "paste", "select_all", "copy_text"):
        window.action(name).trigger()
    assert field.content == QGuiApplication.clipboard().text() == "some words" * 2
    # None of them takes a key away from the fields.
    assert all(window.action(name).shortcut().isEmpty() for name in ("cut", "copy_text", "paste", "select_all"))
    # A message is read; without a selection the whole of it is copied, as by Ctrl+C.
    person.view(answer.id).text.setFocus()
    assert not window.action("cut").isEnabled()
    assert not window.action("paste").isEnabled()
    window.action("copy_text").trigger()
    assert QGuiApplication.clipboard().text() == person.controller.shown.message(answer.id).text
    window.sidebar.list.setFocus()
    assert not window.action("select_all").isEnabled()
    field.setFocus()
    field.clear()


def test_a_message_has_its_menu_at_the_pointer_and_what_is_selected_in_it_has_its_own(person: Person) -> None:
    answer = person.ask("What is a branch?")
    view = person.view(answer.id)
    text, menu = view.text, person.window.menus.menu("Message")

    def ask_at(place: QPoint, reason: QContextMenuEvent.Reason) -> None:
        event = QContextMenuEvent(reason, place, text.viewport().mapToGlobal(place))
        QApplication.sendEvent(text.viewport(), event)

    half = len(answer.text) // 2
    cursor = text.textCursor()
    cursor.setPosition(half)
    ask_at(text.cursorRect(cursor).center(), QContextMenuEvent.Reason.Mouse)
    assert menu.isVisible()
    assert abs(text.source_position - half) <= 1
    assert person.window.focusWidget() is text
    menu.close()
    ask_at(QPoint(1, 1), QContextMenuEvent.Reason.Keyboard)
    assert menu.isVisible()
    assert abs(text.source_position - half) <= 1
    menu.close()
    text.selectAll()
    ask_at(QPoint(1, 1), QContextMenuEvent.Reason.Mouse)
    assert not menu.isVisible()
    own = QApplication.activePopupWidget()
    assert isinstance(own, QMenu)
    own.actions()[0].trigger()
    assert QGuiApplication.clipboard().text() == text.toPlainText()
    own.close()


def test_the_edit_menu_offers_cut_and_copy_where_there_is_something_selected(person: Person) -> None:
    answer = person.ask("What is a branch?")
    window, field = person.window, person.window.composer.text
    window.action("find").trigger()
    find = window.find_bar.field
    text = person.view(answer.id).text

    def offered(focus: QWidget) -> list[str]:
        focus.setFocus()
        menu = window.menus.menu("Edit")
        menu.popup(window.pos())
        person.bot.waitUntil(menu.isVisible, timeout=PATIENCE_MS)
        names = [name for name in ("cut", "copy_text", "paste", "select_all") if window.action(name).isEnabled()]
        menu.close()
        return names

    for one in (field, find):
        one.clear()
        person.bot.keyClicks(one, "some words")
        assert offered(one) == ["paste", "select_all"]
        one.selectAll()
        assert offered(one) == ["cut", "copy_text", "paste", "select_all"]
        one.clear()
    # Of a message the whole is copied where nothing is selected.
    assert offered(text) == ["copy_text", "select_all"]
    assert offered(window.sidebar.list) == []
    # With the menu closed they work by a key of one's own, whatever was selected when it was open.
    person.bot.keyClicks(field, "more")
    assert offered(field) == ["paste", "select_all"]
    field.selectAll()
    window.action("cut").trigger()
    assert field.content == ""
    window.find_bar.close_button.click()
