"""The moment from which on a window is seen: what is not on its first picture waits for it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget
from typing_extensions import override

_PATIENCE_MS = 1000
"""A window that is shown so long and not painted is covered or minimized: nobody waits for its picture."""


class FirstPaint(QObject):
    """Watches a window that was just made."""

    over = Signal()
    """The window was painted; or it will not be soon, for nobody showed it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._is_over = False
        window.installEventFilter(self)
        QTimer.singleShot(0, self, self._on_loop)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            # Behind this event all that is in the window is painted.
            self._window.removeEventFilter(self)
            QTimer.singleShot(0, self, self._end)
        return False

    def _on_loop(self) -> None:
        if self._window.isVisible():
            QTimer.singleShot(_PATIENCE_MS, self, self._end)
        else:
            self._end()

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._window.removeEventFilter(self)
            self.over.emit()
