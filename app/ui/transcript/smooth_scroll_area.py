"""A scroll area that animates scrolling by wheel and keys. Independent of its content."""

from __future__ import annotations

import math
import time

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget
from typing_extensions import override

from app.ui.theme import LINE_PX, is_animated
from app.ui.transcript.transcript_layout import ScrollPosition

_FRAME_MS = 16
_DECAY_MS = 45
"""The time constant of the animation in milliseconds: after this time, 1/e of the distance is left."""
_NOTCH = 120
"""One notch of a wheel, in eighths of a degree."""
_NOTCH_PX = 3 * LINE_PX


class ScrollAnimation(QObject):
    """Covers a distance in several frames, or at once if the user prefers less motion.

    It keeps the distance left, not a target position, because heights may be corrected on the way.
    """

    moved = Signal(int)
    """Scroll this many pixels down."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._left_px = 0.0
        self._last_s = 0.0
        self._timer = QTimer(self, interval=_FRAME_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._step)

    @property
    def is_moving(self) -> bool:
        return self._timer.isActive()

    def go(self, distance_px: int) -> None:
        """Add a distance to the distance left. If it has the opposite direction, it replaces the distance left."""
        if not is_animated(self._widget):
            self.moved.emit(distance_px)
            return
        self._left_px = distance_px if self._left_px * distance_px < 0 else self._left_px + distance_px
        if not self.is_moving and abs(self._left_px) >= 1:
            self._last_s = time.monotonic() - _FRAME_MS / 1000
            self._timer.start()
            self._step()

    def stop(self) -> None:
        self._left_px = 0.0
        self._timer.stop()

    def _step(self) -> None:
        now_s = time.monotonic()
        part = 1 - math.exp((self._last_s - now_s) * 1000 / _DECAY_MS)
        self._last_s = now_s
        step = round(self._left_px * part) or int(math.copysign(1, self._left_px))
        self._left_px -= step
        if abs(self._left_px) < 1:
            self.stop()
        self.moved.emit(step)


class SmoothScrollArea(QAbstractScrollArea):
    """Scrolls a `ScrollPosition`. Subclasses show the content in `arrange`."""

    def __init__(self, position: ScrollPosition) -> None:
        super().__init__()
        self._position = position
        self._is_arranging = False
        """Whether the scroll bar is being set by the program, not moved by the user."""
        self._is_going_to_end = False
        self._animation = ScrollAnimation(self)
        self._animation.moved.connect(self._scroll_by)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.verticalScrollBar().setSingleStep(LINE_PX)

    def arrange(self) -> None:
        """Show the visible part of the content."""
        raise NotImplementedError

    def _go(self, distance_px: int, *, to_end: bool = False) -> None:
        self._is_going_to_end = to_end
        self._animation.go(distance_px)

    def _scroll_by(self, distance_px: int) -> None:
        before = self._position.top
        self._position.scroll_to(before + distance_px)
        if self._is_going_to_end and not self._animation.is_moving:
            self._position.hold_end()
        elif self._position.top == before:
            self._animation.stop()
        self.arrange()

    def _go_to_end(self) -> None:
        if self._position.end - self._position.top > 2 * self._position.height:
            self._position.scroll_to(self._position.end - self._position.height)
            self.arrange()
        self._go(self._position.end - self._position.top, to_end=True)

    def _go_to_start(self) -> None:
        if self._position.top > 2 * self._position.height:
            self._position.scroll_to(self._position.height)
            self.arrange()
        self._go(-self._position.top - self._position.covered)

    @override
    def scrollContentsBy(self, dx: int, dy: int) -> None:
        # The user moved the scroll bar.
        if not self._is_arranging:
            self._animation.stop()
            self._position.scroll_to(self.verticalScrollBar().value())
            self.arrange()

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()
        elif not event.pixelDelta().isNull():
            # A touch pad gives exact distances, and animates by itself.
            self._animation.stop()
            self._scroll_by(-event.pixelDelta().y())
        else:
            self._go(round(-event.angleDelta().y() / _NOTCH * _NOTCH_PX))

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Two lines of the previous page remain visible.
        page_px = max(self._position.height - 2 * LINE_PX, LINE_PX)
        match event.key():
            case Qt.Key.Key_PageUp:
                self._go(-page_px)
            case Qt.Key.Key_PageDown:
                self._go(page_px)
            case Qt.Key.Key_Up:
                self._go(-2 * LINE_PX)
            case Qt.Key.Key_Down:
                self._go(2 * LINE_PX)
            case Qt.Key.Key_Home:
                self._go_to_start()
            case Qt.Key.Key_End:
                self._go_to_end()
            case _:
                event.ignore()

    def _update_scroll_bar(self) -> None:
        bar = self.verticalScrollBar()
        bar.setPageStep(self._position.height)
        # Without a bar for the covered height alone: the page would get narrower when a notice appears.
        bar.setRange(-self._position.covered if self._position.end else 0, self._position.max_top)
        bar.setValue(self._position.top)
