"""The same operation by mouse, by keys alone, and through the accessibility tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QAction, QContextMenuEvent, QKeySequence
from PySide6.QtPrintSupport import QPrintDialog
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QMenu,
    QRadioButton,
    QWidget,
)

from app.model.message import Message
from app.ui.composer.writing_field import WritingField
from app.ui.menus import label
from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS

_W = TypeVar("_W", bound=QWidget)

Way = Literal["mouse", "keys", "reader"]
ALL: tuple[Way, ...] = ("mouse", "keys", "reader")

each_way = pytest.mark.parametrize("way", ALL)
_MAX_STEPS = 120
_IN_BOX_PX = 8
_LONGEST_MS = 20_000
"""A dialog that nothing closes is closed after this time, so that the test fails and does not hang."""


def mostly(way: Way) -> pytest.MarkDecorator:
    """Parametrize by all ways, of which `make test` runs this one."""
    return pytest.mark.parametrize("way", [way, *in_long_runs([other for other in ALL if other != way])])


def focus(user: User) -> QWidget:
    """Wait until the widget that receives the keys is visible and return it; it may be a menu or a window."""

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


def keys(user: User, *sequences: str) -> None:
    """Press keys, each in the widget that has the focus then."""
    for sequence in sequences:
        # As between a person's keys: what was just made is shown by an event.
        QApplication.processEvents()
        QTest.keySequence(focus(user), QKeySequence(sequence))


def name_of(widget: QWidget) -> str:
    """Return the name of a widget as a screen reader reads it."""
    return screen_reader.name(widget)


def tab_to(user: User, name: str, key: str = "Tab") -> QWidget:
    """Press Tab until a widget with this name has the focus."""
    for _ in range(_MAX_STEPS):
        if name_of(focus(user)) == name:
            return focus(user)
        keys(user, key)
    raise AssertionError(f"Tab does not reach {name!r}")


def press(user: User, way: Way, root: QWidget, name: str) -> None:
    """Press the visible button with this name."""
    match way:
        case "mouse":
            # A layout shows a new button a moment later.
            user.bot.waitUntil(lambda: bool(_buttons(root, name)), timeout=PATIENCE_MS)
            found = button(root, name)
            # A wide check box takes clicks only on its box and its text.
            is_box = isinstance(found, QCheckBox | QRadioButton)
            place = QPoint(_IN_BOX_PX, found.height() // 2) if is_box else found.rect().center()
            user.bot.mouseClick(found, Qt.MouseButton.LeftButton, pos=place)
        case "keys":
            tab_to(user, name)
            keys(user, "Space")
        case "reader":
            screen_reader.press(user.bot, root, name)


def button(root: QWidget, name: str) -> QAbstractButton:
    """Return the visible button with this name."""
    found = _buttons(root, name)
    assert found, f"There is no button {name!r}"
    return found[0]


def _buttons(root: QWidget, name: str) -> list[QAbstractButton]:
    return [one for one in root.findChildren(QAbstractButton) if one.isVisible() and name_of(one) == name]


def while_open(user: User, kind: type[_W], act: Callable[[_W], object], opens: Callable[[], object]) -> None:
    """Call `opens`, which may return only after the widget that it opens has closed, and `act` on that widget."""
    failures: list[BaseException] = []
    timer = QTimer(interval=5)

    def look() -> None:
        found = [one for one in QApplication.topLevelWidgets() if isinstance(one, kind) and one.isVisible()]
        if found:
            timer.stop()
            QTimer.singleShot(_LONGEST_MS, found[0], found[0].close)
            try:
                act(found[0])
            except BaseException as failure:  # noqa: BLE001 (it is raised below)
                failures.append(failure)
                found[0].close()

    timer.timeout.connect(look)
    timer.start()
    opens()
    user.bot.waitUntil(lambda: not timer.isActive(), timeout=PATIENCE_MS)
    if failures:
        raise failures[0]


def choose_from(user: User, way: Way, root: QWidget, name: str, *texts: str) -> None:
    """Press the button with this name, and choose an entry of its menu as `choose` does."""
    while_open(user, QMenu, lambda _menu: choose(user, way, *texts), lambda: press(user, way, root, name))


def from_menu(user: User, way: Way, title: str, text: str) -> None:
    """Choose an entry of the menu bar; by keys alone with its shortcut."""
    bar, menu = user.window.menuBar(), user.window.menus.menu(title)
    match way:
        case "mouse":
            user.bot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.actionGeometry(menu.menuAction()).center())
            choose(user, way, text)
        case "keys":
            user.window.activateWindow()
            user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
            action = next(one for one in menu.actions() if label(one) == text)
            QTest.keySequence(focus(user), action.shortcut())
        case "reader":
            screen_reader.choose(bar, title)
            choose(user, way, text)


def choose(user: User, way: Way, *texts: str) -> None:
    """Choose an entry of the open menu, by its text; before it those of the menus that lead there."""
    for text in texts:
        user.bot.waitUntil(lambda text=text: bool(_entries(text)), timeout=PATIENCE_MS)
        menu, action = _entries(text)[0]
        match way:
            case "mouse":
                user.bot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())
            case "keys":
                while menu.activeAction() is not action:
                    user.bot.keyClick(menu, Qt.Key.Key_Down)
                user.bot.keyClick(menu, Qt.Key.Key_Right if action.menu() else Qt.Key.Key_Return)
            case "reader":
                screen_reader.choose(menu, text)
    # An entry that a screen reader presses leaves its menu open.
    while isinstance(left := QApplication.activePopupWidget(), QMenu):
        left.close()


def _entries(text: str) -> list[tuple[QMenu, QAction]]:
    """Return the entries with this text in the menu that is open."""
    menu = QApplication.activePopupWidget()
    actions = menu.actions() if isinstance(menu, QMenu) else []
    return [
        (menu, one)
        for one in actions
        if isinstance(menu, QMenu) and one.isVisible() and one.text().replace("&", "").split("\t")[0] == text
    ]


def edit(user: User, way: Way, message: Message, text: str) -> None:
    """Open the editor of a message and replace its text."""
    view = user.view(message.id)
    view.text.setFocus(Qt.FocusReason.TabFocusReason)
    press(user, way, view, "Edit")
    field = focus(user)
    assert isinstance(field, WritingField)
    assert name_of(field) == "New version"
    if way == "reader":
        screen_reader.write(view, "New version", text)
    else:
        keys(user, "Ctrl+A")
        user.bot.keyClicks(field, text)


def fill(user: User, way: Way, path: Path, accept: str, dialog: QFileDialog | QPrintDialog) -> None:
    """Type a path into a dialog and accept it."""
    field = dialog.findChild(QLineEdit, "fileNameEdit" if isinstance(dialog, QFileDialog) else "filename")
    assert isinstance(field, QLineEdit)
    dialog.activateWindow()
    user.bot.waitUntil(dialog.isActiveWindow, timeout=PATIENCE_MS)
    match way:
        case "mouse":
            user.bot.mouseClick(field, Qt.MouseButton.LeftButton)
            _type(user, field, path)
            user.bot.mouseClick(button(dialog, accept), Qt.MouseButton.LeftButton)
        case "keys":
            while not field.hasFocus():
                keys(user, "Tab")
            _type(user, field, path)
            user.bot.keyClick(field, Qt.Key.Key_Return)
        case "reader":
            field.setFocus()
            _type(user, field, path)
            keys(user, "Tab")
            screen_reader.press(user.bot, dialog, accept)


def _type(user: User, field: QLineEdit, path: Path) -> None:
    if field.completer() is not None:
        # Completions would open while it is typed, and take the next click.
        field.setText(str(path))
        return
    field.selectAll()
    user.bot.keyClicks(field, str(path))


def open_section_menu(user: User, way: Way, folder: str) -> None:
    """Open the menu of a project's section in the sidebar."""
    rows = user.window.sidebar.list
    index = next(one for row in range(rows.rows.rowCount()) if (one := rows.rows.index(row, 0)).data() == folder)
    if way == "mouse":
        place = rows.visualRect(index).center()
        reason = QContextMenuEvent.Reason.Mouse
        QApplication.sendEvent(rows.viewport(), QContextMenuEvent(reason, place, rows.viewport().mapToGlobal(place)))
    else:
        user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
        tab_to(user, "Conversations")
        keys(user, "Home")
        while screen_reader.focused(rows) != folder and rows.indexBelow(rows.currentIndex()).isValid():
            keys(user, "Down")
        assert screen_reader.focused(rows) == folder
        keys(user, "Menu")


def pick(user: User, way: Way, box: QComboBox, text: str) -> None:
    """Choose an entry of a combo box."""
    match way:
        case "mouse":
            # Qt ignores a click in the list that comes as fast as the second one of a double click.
            interval = QApplication.doubleClickInterval()
            QApplication.setDoubleClickInterval(0)
            user.bot.mouseClick(box, Qt.MouseButton.LeftButton)
            view = box.view()
            place = view.visualRect(box.model().index(box.findText(text), 0)).center()
            QApplication.processEvents()
            user.bot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
            QApplication.setDoubleClickInterval(interval)
        case "keys":
            tab_to(user, name_of(box))
            keys(user, "Home")
            while box.currentText() != text:
                keys(user, "Down")
        case "reader":
            screen_reader.open_choices(box)
            user.bot.waitUntil(box.view().isVisible, timeout=PATIENCE_MS)
            user.bot.keyClick(box.view(), Qt.Key.Key_Home)
            while screen_reader.focused(box.view()) != text:
                user.bot.keyClick(box.view(), Qt.Key.Key_Down)
            user.bot.keyClick(box.view(), Qt.Key.Key_Return)
