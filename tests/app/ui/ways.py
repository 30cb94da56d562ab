"""The same operation by mouse, by keys alone, and through the accessibility tree."""

from __future__ import annotations

from typing import Literal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QWidget

from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS

Way = Literal["mouse", "keys", "reader"]
ALL: tuple[Way, ...] = ("mouse", "keys", "reader")

each_way = pytest.mark.parametrize("way", ALL)
_MAX_STEPS = 120


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
            user.bot.mouseClick(button(root, name), Qt.MouseButton.LeftButton)
        case "keys":
            tab_to(user, name)
            keys(user, "Space")
        case "reader":
            screen_reader.press(user.bot, root, name)


def button(root: QWidget, name: str) -> QAbstractButton:
    """Return the visible button with this name."""
    found = [one for one in root.findChildren(QAbstractButton) if one.isVisible() and name_of(one) == name]
    assert found, f"There is no button {name!r}"
    return found[0]


def choose(user: User, way: Way, *texts: str) -> None:
    """Choose an entry of the open menu, by its text; before it those of the menus that lead there."""
    for text in texts:
        user.bot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu), timeout=PATIENCE_MS)
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        action = _entry(menu, text)
        match way:
            case "mouse":
                user.bot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())
            case "keys":
                while menu.activeAction() is not action:
                    keys(user, "Down")
                keys(user, "Right" if action.menu() else "Return")
            case "reader":
                screen_reader.choose(menu, text)


def _entry(menu: QMenu, text: str) -> QAction:
    found = [one for one in menu.actions() if one.isVisible() and one.text().replace("&", "").split("\t")[0] == text]
    assert found, f"There is no entry {text!r}"
    return found[0]
