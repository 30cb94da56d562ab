"""The first paint of a window. Work that it does not need is done afterwards."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget
from typing_extensions import override

_MAX_WAIT_MS = 1000
"""A window that has not been painted after this many milliseconds is taken to be covered or minimized."""


class FirstPaint(QObject):
    """Watches a new window until it has been painted."""

    over = Signal()
    """The window was painted, or will not be painted soon because it is not visible."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._is_over = False
        window.installEventFilter(self)
        QTimer.singleShot(0, self, self._on_loop)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            # All widgets of the window have been painted once this event has been handled.
            self._window.removeEventFilter(self)
            QTimer.singleShot(0, self, self._end)
        return False

    def _on_loop(self) -> None:
        if self._window.isVisible():
            QTimer.singleShot(_MAX_WAIT_MS, self, self._end)
        else:
            self._end()

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._window.removeEventFilter(self)
            self.over.emit()
