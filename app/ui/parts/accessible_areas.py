"""Areas that scroll, for screen readers, in place of Qt's own description of them.

Qt's asks for the children of an area by their number without looking how many there are (6.11): a scroll bar that has
gone since a screen reader counted them ends the program.
"""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAbstractScrollArea, QAccessibleWidget

_DESCRIBED = {"QScrollArea", "QAbstractScrollArea"}
"""Lists and texts are other classes to Qt, with descriptions of their own."""


@cache
def install() -> None:
    """Let Qt find such areas here; once a program."""
    QAccessible.installFactory(_interface_of)


def _interface_of(class_name: str, found: QObject) -> QAccessibleInterface | None:
    # Qt deletes it with its widget. It asks about each class of an object, the most special one first.
    if class_name in _DESCRIBED and isinstance(found, QAbstractScrollArea):
        return QAccessibleWidget(found, QAccessible.Role.Client)
    return None
