"""A step of the tour: the other theme, chosen in the settings, holds at once."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton

from app.tour.visitor import Visitor, expect
from app.ui.settings.settings_window import SettingsWindow


def change_the_theme(visitor: Visitor) -> dict[str, Any]:
    """Go through the pages of the settings, then choose the theme that is not shown."""
    visitor.press_key_of("settings")
    settings = visitor.opened(SettingsWindow)
    for number in range(settings.list.count()):
        settings.list.setFocus()
        expect(settings.list.currentRow() == number, "the keys do not walk the pages")
        visitor.picture(f"settings {settings.list.item(number).text().lower()}", settings)
        QTest.keyClick(settings.list, Qt.Key.Key_Down)
    QTest.keyClick(settings.list, Qt.Key.Key_Home)
    was_dark = _is_dark(visitor)
    visitor.click(settings.general.theme.buttons[1 if was_dark else 2])
    expect(_is_dark(visitor) != was_dark, "the theme is the one that it was")
    QTest.keyClick(settings, Qt.Key.Key_Escape)
    visitor.click(visitor.find(QToolButton, "Close the notice"))
    visitor.press_key_of("write")
    visitor.press_key_of("tree")
    visitor.wait("what is kept", lambda: _all_costs_are_known(visitor))
    return {"theme": visitor.controller.program.settings.theme}


def _all_costs_are_known(visitor: Visitor) -> bool:
    said = [one for one in visitor.window.tree_dock.view.in_sight() if visitor.controller.message(one).text]
    return bool(said) and all(visitor.controller.costs.get(one) is not None for one in said)


def _is_dark(visitor: Visitor) -> bool:
    return visitor.window.palette().color(QPalette.ColorRole.Window).lightnessF() < 0.5
