"""Enter presses the button that has the focus, where no dialog does that: Qt alone leaves it to Space there."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QWidget
from typing_extensions import override

_ENTER = {Qt.Key.Key_Return, Qt.Key.Key_Enter}


class EnterKey(QObject):
    """Sees the keys of a window that nothing in it took."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in _ENTER:
            focus = watched.focusWidget() if isinstance(watched, QWidget) else None
            if isinstance(focus, QAbstractButton):
                focus.click()
                return True
        return super().eventFilter(watched, event)
