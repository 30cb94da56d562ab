"""Actions: each works by menu, key, palette and mouse, and its key can be changed."""

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
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS

Way = Literal["menu", "key", "palette", "mouse"]
_MIN_PX = 28


def _by_menu(user: User, name: str) -> None:
    """Open the menu that contains the action and click it there."""
    action = user.window.action(name)
    menu = next(
        menu
        for title in ("File", "Edit", "Message", "Ask", "View", "Help")
        if action in (menu := user.window.menus.menu(title)).actions()
    )
    menu.popup(user.window.mapToGlobal(user.window.rect().center()))
    user.bot.waitUntil(menu.isVisible, timeout=PATIENCE_MS)
    user.bot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())


def _by_key(user: User, name: str) -> None:
    entry = next(entry for entry in all_entries() if entry.name == name)
    focus = user.window.focusWidget()
    if entry.letter:
        user.bot.keyClicks(focus, entry.letter.lower())
    else:
        QTest.keySequence(focus, QKeySequence(entry.key))


def _by_palette(user: User, name: str) -> None:
    text = label(user.window.action(name))
    QTest.keySequence(user.window.focusWidget(), QKeySequence("Ctrl+K"))
    palette = user.window.findChild(Palette)
    assert isinstance(palette, Palette)
    user.bot.keyClicks(palette.field, text.rstrip("…"))
    assert palette.shown[0].text == text
    user.bot.keyClick(palette.field, Qt.Key.Key_Return)


_WAYS: dict[Way, Callable[[User, str], None]] = {"menu": _by_menu, "key": _by_key, "palette": _by_palette}


def _do(user: User, way: Way, name: str, button: Callable[[], QWidget]) -> None:
    if way == "mouse":
        user.bot.mouseClick(button(), Qt.MouseButton.LeftButton)
    else:
        _WAYS[way](user, name)


@pytest.mark.parametrize("way", ["menu", "key", "palette", "mouse"])
def test_an_answer_is_regenerated(user: User, way: Way) -> None:
    answer = user.ask("What is a branch?")
    user.view(answer.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    _do(user, way, "regenerate", lambda: user.button(user.view(answer.id), "Regenerate"))
    user.answer()
    assert len(user.controller.shown.siblings(answer.id)) == 2


@pytest.mark.parametrize("way", ["menu", "key", "palette", "mouse"])
def test_a_new_conversation_is_started(user: User, way: Way) -> None:
    user.ask("What is a branch?")
    _do(user, way, "new", lambda: user.window.sidebar.new_button)
    assert user.controller.shown.conversation is None
    assert user.window.composer.text.hasFocus()


@pytest.mark.parametrize("way", ["menu", "key", "palette", "mouse"])
def test_settings_are_opened(user: User, way: Way) -> None:
    user.window.composer.text.setFocus()
    _do(user, way, "settings", lambda: user.window.sidebar.settings_button)
    _settings(user).close()
    user.window.activateWindow()
    user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)


def test_every_action_has_its_own_key() -> None:
    keyless = [entry.name for entry in all_entries() if not entry.key and not entry.letter]
    assert keyless == []
    keys = Counter(QKeySequence(entry.key).toString() for entry in all_entries() if entry.key)
    letters = Counter(entry.letter for entry in all_entries() if entry.letter)
    assert [key for key, times in (keys + letters).items() if times > 1] == []


def _settings(user: User) -> SettingsWindow:
    opened = [one for one in user.window.findChildren(SettingsWindow) if one.isVisible()]
    if not opened:
        user.window.action("settings").trigger()
        opened = [one for one in user.window.findChildren(SettingsWindow) if one.isVisible()]
    return opened[0]


def test_a_key_can_be_changed_removed_and_reset(user: User) -> None:
    keys = _settings(user).keys
    try:
        keys.select("sidebar")
        keys.field.setKeySequence(QKeySequence("Ctrl+Alt+S"))
        keys.field.editingFinished.emit()
        assert user.window.action("sidebar").shortcut() == QKeySequence("Ctrl+Alt+S")
        assert user.controller.program.settings.keys == {"sidebar": "Ctrl+Alt+S"}
        # A key that another action has, or that types or edits text, is refused.
        for taken, why in (
            *(("Ctrl+N", "New conversation"), ("A", "types text"), ("Alt+F", "“File”")),
            *((key, "needed for typing") for key in ("Ctrl+C", "Ctrl+Left", "Ctrl+Backspace", "Ctrl+Shift+Home")),
        ):
            keys.field.setKeySequence(QKeySequence(taken))
            keys.field.editingFinished.emit()
            assert why in keys.warning.text()
            assert keys.field.keySequence() == QKeySequence("Ctrl+Alt+S")
        user.bot.mouseClick(keys.none_button, Qt.MouseButton.LeftButton)
        assert user.window.action("sidebar").shortcut().isEmpty()
        user.bot.mouseClick(keys.reset_button, Qt.MouseButton.LeftButton)
        assert user.window.action("sidebar").shortcut() == QKeySequence("Ctrl+B")
        assert user.controller.program.settings.keys == {}
    finally:
        user.controller.program.preferences.change(keys={})
        _settings(user).close()


def test_settings_take_effect_without_a_further_click(user: User) -> None:
    settings = _settings(user)
    general, program = settings.general, user.controller.program
    try:
        small = user.window.composer.text.font().pixelSize()
        general.text_size.setValue(15)
        user.bot.waitUntil(lambda: user.window.composer.text.font().pixelSize() > small, timeout=PATIENCE_MS)
        general.theme.choose(2)
        assert program.settings.theme == "dark"
        settings.answers.overflow.choose(1)
        assert program.settings.overflow == "drop_oldest"
    finally:
        program.preferences.change(text_percent=100, theme="system", overflow="fail")
        settings.close()


_CONTROLS = (QAbstractButton, QAbstractSpinBox, QLineEdit, QTextEdit, QAbstractItemView)


def _faults(root: QWidget) -> list[str]:
    """Return what is wrong with the visible controls: no name, not reachable by Tab, too small to click."""
    faults: list[str] = []
    for control in root.findChildren(QWidget):
        is_part = isinstance(control.parent(), QAbstractSpinBox) or control.objectName().startswith("qt_")
        if not control.isVisible() or is_part or not isinstance(control, _CONTROLS):
            continue
        text = control.text() if isinstance(control, QAbstractButton | QLineEdit) else ""
        name = control.accessibleName() or (text if isinstance(control, QAbstractButton) else "")
        control_name = f"{type(control).__name__} {name!r} {control.objectName()}"
        if not name:
            faults.append(f"{control_name}: no name")
        if isinstance(control, QAbstractButton):
            if min(control.width(), control.height()) < _MIN_PX:
                faults.append(f"{control_name}: {control.width()} × {control.height()}")
            if control.focusPolicy() == Qt.FocusPolicy.NoFocus:
                faults.append(f"{control_name}: no focus")
            if not text and not control.toolTip():
                faults.append(f"{control_name}: no tool tip")
    return faults


def test_controls_on_every_settings_page_have_names_take_the_focus_and_are_large_enough(user: User) -> None:
    settings = _settings(user)
    for row in range(settings.list.count()):
        settings.list.setCurrentRow(row)
        assert _faults(settings) == [], settings.list.item(row).text()
    settings.close()


@pytest.mark.parametrize("name", ["trash", "backups"])
def test_controls_of_a_sheet_have_names_take_the_focus_and_are_large_enough(user: User, name: str) -> None:
    user.window.action(name).trigger()
    sheets = [one for one in user.window.findChildren(QDialog) if one.isVisible()]
    assert len(sheets) == 1
    assert _faults(sheets[0]) == []
    sheets[0].close()


def test_controls_of_the_window_have_names_take_the_focus_and_are_large_enough(user: User) -> None:
    answer = user.ask("What is a branch?")
    user.press(answer.id, "r")
    user.answer()
    assert _faults(user.window) == []


@pytest.mark.parametrize("action", ["name", "folder"])
def test_the_field_for_a_name_is_wide_enough_for_a_name(user: User, action: str) -> None:
    answer = user.ask("What is a branch?")
    conversation = user.controller.shown.conversation
    assert conversation is not None
    user.controller.program.conversations.put_into_folder(conversation.id, "Plants")
    seen: list[tuple[int, str]] = []

    def write() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, QInputDialog)
        field = dialog.findChild(QLineEdit)
        assert isinstance(field, QLineEdit)
        seen.append((field.width(), field.text()))
        field.setText("A name of some words, as people give them")
        user.bot.keyClick(field, Qt.Key.Key_Return)

    user.view(answer.id).text.setFocus()
    QTimer.singleShot(0, write)
    user.window.action(action).trigger()
    width, before = seen[0]
    assert width >= user.window.fontMetrics().horizontalAdvance("A name of some words, as people give them")
    conversation = user.controller.shown.conversation
    assert conversation is not None
    named = {"name": user.controller.shown.message(answer.id).name, "folder": conversation.folder}
    assert named[action] == "A name of some words, as people give them"
    assert before == {"name": "", "folder": "Plants"}[action]


def test_the_edit_menu_works_on_the_focused_field_as_the_keys_do(user: User) -> None:
    answer = user.ask("What is a branch?")
    window, field = user.window, user.window.composer.text
    field.setFocus()
    user.bot.keyClicks(field, "some words")
    for name in ("select_all", "cut"):
        window.action(name).trigger()
    assert QGuiApplication.clipboard().text() == "some words"
    assert field.content == ""
    for name in ("paste", "paste", "select_all", "copy_text"):
        window.action(name).trigger()
    assert field.content == QGuiApplication.clipboard().text() == "some words" * 2
    # The entries have no shortcuts of their own, which would take the keys away from the fields.
    assert all(window.action(name).shortcut().isEmpty() for name in ("cut", "copy_text", "paste", "select_all"))
    # A message is read-only. Without a selection all of it is copied, as by Ctrl+C.
    user.view(answer.id).text.setFocus()
    assert not window.action("cut").isEnabled()
    assert not window.action("paste").isEnabled()
    window.action("copy_text").trigger()
    assert QGuiApplication.clipboard().text() == user.controller.shown.message(answer.id).text
    window.sidebar.list.setFocus()
    assert not window.action("select_all").isEnabled()
    field.setFocus()
    field.clear()


def test_a_message_opens_its_menu_at_the_pointer_and_a_selection_opens_its_own(user: User) -> None:
    answer = user.ask("What is a branch?")
    view = user.view(answer.id)
    text = view.text

    def opened() -> QMenu:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        assert 0 < len(menu.actions()) <= 9
        assert all(action.isEnabled() for action in menu.actions())
        return menu

    def ask_at(place: QPoint, reason: QContextMenuEvent.Reason) -> None:
        event = QContextMenuEvent(reason, place, text.viewport().mapToGlobal(place))
        QApplication.sendEvent(text.viewport(), event)

    half = len(answer.text) // 2
    cursor = text.textCursor()
    cursor.setPosition(half)
    ask_at(text.cursorRect(cursor).center(), QContextMenuEvent.Reason.Mouse)
    menu = opened()
    assert abs(text.source_position - half) <= 1
    assert user.window.focusWidget() is text
    menu.close()
    ask_at(QPoint(1, 1), QContextMenuEvent.Reason.Keyboard)
    menu = opened()
    assert abs(text.source_position - half) <= 1
    menu.close()
    text.selectAll()
    ask_at(QPoint(1, 1), QContextMenuEvent.Reason.Mouse)
    own = QApplication.activePopupWidget()
    assert isinstance(own, QMenu)
    assert own.objectName() != "message_menu"
    own.actions()[0].trigger()
    assert QGuiApplication.clipboard().text() == text.toPlainText()
    own.close()


def test_the_edit_menu_offers_cut_and_copy_only_where_they_apply(user: User) -> None:
    answer = user.ask("What is a branch?")
    window, field = user.window, user.window.composer.text
    window.action("find").trigger()
    find = window.find_bar.field
    text = user.view(answer.id).text

    def offered(focus: QWidget) -> list[str]:
        focus.setFocus()
        menu = window.menus.menu("Edit")
        menu.popup(window.pos())
        user.bot.waitUntil(menu.isVisible, timeout=PATIENCE_MS)
        names = [name for name in ("cut", "copy_text", "paste", "select_all") if window.action(name).isEnabled()]
        menu.close()
        return names

    for one in (field, find):
        one.clear()
        user.bot.keyClicks(one, "some words")
        assert offered(one) == ["paste", "select_all"]
        one.selectAll()
        assert offered(one) == ["cut", "copy_text", "paste", "select_all"]
        one.clear()
    # Without a selection the whole message is copied.
    assert offered(text) == ["copy_text", "select_all"]
    assert offered(window.sidebar.list) == []
    # Once the menu is closed, a user's own key can trigger its actions again, even if nothing was selected before.
    user.bot.keyClicks(field, "more")
    assert offered(field) == ["paste", "select_all"]
    field.selectAll()
    window.action("cut").trigger()
    assert field.content == ""
    window.find_bar.close_button.click()
