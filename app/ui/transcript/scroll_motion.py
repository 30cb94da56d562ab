"""Scrolling as a movement: distances that are covered in a few frames, or at once where less motion is asked for."""

from __future__ import annotations

import math
import time

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from app.ui.theme import LINE_PX, is_animated

_FRAME_MS = 16
_PACE_MS = 45
"""After so long a good third of a distance is left."""
_NOTCH = 120
"""What Qt calls a wheel's notch, in eighths of a degree."""
_NOTCH_PX = 3 * LINE_PX


class ScrollMotion(QObject):
    """What is left to go is a distance, not a place: heights may be corrected on the way."""

    moved = Signal(int)
    """So many pixels further down."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._left = 0.0
        self._last_s = 0.0
        self._timer = QTimer(self, interval=_FRAME_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._step)

    @property
    def is_animated(self) -> bool:
        """Whether the system likes movements."""
        return is_animated(self._widget)

    @property
    def is_moving(self) -> bool:
        return self._timer.isActive()

    def go(self, distance_px: int) -> None:
        """Go so much further than where the last movement ends."""
        if not self.is_animated:
            self.moved.emit(distance_px)
            return
        # Who turns back does not first go to the end of what was begun.
        self._left = distance_px if self._left * distance_px < 0 else self._left + distance_px
        if not self.is_moving and abs(self._left) >= 1:
            self._last_s = time.monotonic() - _FRAME_MS / 1000
            self._timer.start()
            self._step()

    def stop(self) -> None:
        self._left = 0.0
        self._timer.stop()

    def _step(self) -> None:
        now_s = time.monotonic()
        part = 1 - math.exp((self._last_s - now_s) * 1000 / _PACE_MS)
        self._last_s = now_s
        step = round(self._left * part) or int(math.copysign(1, self._left))
        self._left -= step
        if abs(self._left) < 1:
            self.stop()
        self.moved.emit(step)


def wheel_distance(event: QWheelEvent) -> tuple[int, bool]:
    """Return how far down a wheel scrolls, and whether that is a touch pad's exact figure."""
    if not event.pixelDelta().isNull():
        return -event.pixelDelta().y(), True
    return round(-event.angleDelta().y() / _NOTCH * _NOTCH_PX), False


def key_distance(event: QKeyEvent, page_px: int) -> int | None:
    """Return how far down a key scrolls, None where it does not."""
    # Two lines of the page before stay in sight.
    page_px = max(page_px - 2 * LINE_PX, LINE_PX)
    distances: dict[int, int] = {
        Qt.Key.Key_PageUp: -page_px,
        Qt.Key.Key_PageDown: page_px,
        Qt.Key.Key_Up: -2 * LINE_PX,
        Qt.Key.Key_Down: 2 * LINE_PX,
    }
    return distances.get(event.key())
