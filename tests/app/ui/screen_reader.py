"""The window as a screen reader finds it: its accessibility tree."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QAccessible, QAccessibleActionInterface, QAccessibleInterface
from PySide6.QtWidgets import QAbstractButton, QWidget
from pytestqt.qtbot import QtBot

from tests.waiting import PATIENCE_MS


def found(root: QWidget, role: QAccessible.Role) -> dict[str, QAccessibleInterface]:
    """Return the visible objects with this role below a widget, by name."""
    QAccessible.setActive(True)
    return {
        each.text(QAccessible.Text.Name): each
        for each in _below(QAccessible.queryAccessibleInterface(root))
        if each.role() == role
    }


def press(bot: QtBot, root: QWidget, name: str) -> None:
    """Wait until there is a button with this name, and press it."""
    bot.waitUntil(lambda: name in found(root, QAccessible.Role.Button), timeout=PATIENCE_MS)
    interface = found(root, QAccessible.Role.Button)[name]
    actions, button = interface.actionInterface(), interface.object()
    assert actions is not None
    assert isinstance(button, QAbstractButton)
    # Qt shows the button pressed for a moment.
    with bot.waitSignal(button.clicked, timeout=PATIENCE_MS):
        actions.doAction(QAccessibleActionInterface.pressAction())


def _below(interface: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
    for number in range(interface.childCount()):
        child = interface.child(number)
        if child is not None and not child.state().invisible:
            yield child
            yield from _below(child)
