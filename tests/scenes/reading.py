"""The text that a screen reader would read of a widget: roles, names, descriptions and texts, in tree order."""

from __future__ import annotations

from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QWidget


def read_aloud(widget: QWidget) -> str:
    """Return it with one line for each object, indented by depth."""
    root = QAccessible.queryAccessibleInterface(widget)
    return "" if root is None else "\n".join(_lines(root, 0)) + "\n"


def _lines(node: QAccessibleInterface, depth: int) -> list[str]:
    if node.state().invisible:
        return []
    name, text = node.text(QAccessible.Text.Name), node.text(QAccessible.Text.Value)
    spoken = node.textInterface()
    text = spoken.text(0, spoken.characterCount()) if spoken is not None else text
    said = [part for part in (name, text, node.text(QAccessible.Text.Description)) if part]
    line = "  " * depth + f"{node.role().name}: " + " | ".join(said)
    children = [node.child(number) for number in range(node.childCount())]
    below = [line for child in children if child is not None for line in _lines(child, depth + 1)]
    return [line, *below] if said else below
