"""The window as a screen reader finds it: its accessibility tree."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QAccessible, QAccessibleActionInterface, QAccessibleInterface
from PySide6.QtWidgets import QAbstractButton, QComboBox, QMenu, QMenuBar, QWidget
from pytestqt.qtbot import QtBot

from tests.waiting import PATIENCE_MS


def name(widget: QWidget) -> str:
    """Return the name of a widget."""
    QAccessible.setActive(True)
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)


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
    bot.waitUntil(lambda: name in _buttons(root), timeout=PATIENCE_MS)
    interface = _buttons(root)[name]
    actions, button = interface.actionInterface(), interface.object()
    assert actions is not None
    assert isinstance(button, QAbstractButton)
    action = _first(actions)
    if action != QAccessibleActionInterface.pressAction():
        actions.doAction(action)
        return
    # Qt shows the button pressed for a moment.
    with bot.waitSignal(button.clicked, timeout=PATIENCE_MS):
        actions.doAction(action)


def choose(menu: QMenu | QMenuBar, text: str) -> None:
    """Choose an entry of an open menu, or open a menu of a menu bar."""
    entries = QAccessible.queryAccessibleInterface(menu)
    children = [entries.child(number) for number in range(entries.childCount())]
    names = {child.text(QAccessible.Text.Name).split("\t")[0]: child for child in children if child is not None}
    assert text in names, [*names]
    actions = names[text].actionInterface()
    assert actions is not None
    actions.doAction(_first(actions))


def open_choices(box: QComboBox) -> None:
    """Open the list of a combo box."""
    actions = QAccessible.queryAccessibleInterface(box).actionInterface()
    assert actions is not None
    actions.doAction(QAccessibleActionInterface.showMenuAction())


def focused(root: QWidget) -> str:
    """Return the name of the row that has the focus in a list."""
    row = QAccessible.queryAccessibleInterface(root).focusChild()
    return "" if row is None else row.text(QAccessible.Text.Name)


def write(root: QWidget, name: str, text: str) -> None:
    """Replace the text of the field with this name."""
    field = found(root, QAccessible.Role.EditableText)[name]
    field.setText(QAccessible.Text.Value, text)


def _buttons(root: QWidget) -> dict[str, QAccessibleInterface]:
    roles = QAccessible.Role
    return {
        name: each
        for role in (roles.Button, roles.ButtonMenu, roles.ButtonDropDown, roles.CheckBox, roles.RadioButton)
        for name, each in found(root, role).items()
    }


def _first(actions: QAccessibleActionInterface) -> str:
    """Return the main action: a button is pressed, a check box toggled."""
    names = actions.actionNames()
    assert names
    return names[0]


def _below(interface: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
    for number in range(interface.childCount()):
        child = interface.child(number)
        if child is not None and not child.state().invisible:
            yield child
            yield from _below(child)
