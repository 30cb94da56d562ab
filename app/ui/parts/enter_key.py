"""Enter presses the button that has the focus, where no dialog does that: Qt alone leaves it to Space there."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QWidget


def press_by_enter(event: QKeyEvent, window: QWidget) -> bool:
    """Press the button with the focus if that is what the key means, which nothing inside took; return whether so."""
    focus = window.focusWidget()
    if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter} or not isinstance(focus, QAbstractButton):
        return False
    focus.click()
    return True
