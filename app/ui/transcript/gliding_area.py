"""A scroll area that moves by wheel, keys and scroll bar, in movements; what it shows is not known here."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame
from typing_extensions import override

from app.ui.theme import LINE_PX
from app.ui.transcript.scroll_motion import ScrollMotion, key_distance, wheel_distance
from app.ui.transcript.transcript_layout import Sight


class GlidingArea(QAbstractScrollArea):
    """Its place is a `Sight`; who shows something in it says how (`arrange`)."""

    def __init__(self, sight: Sight) -> None:
        super().__init__()
        self._sight = sight
        self._is_arranging = False
        """Whether what scrolls is not the person but the place of what is seen."""
        self._heads_for_end = False
        self._motion = ScrollMotion(self)
        self._motion.moved.connect(self._scroll_by)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.verticalScrollBar().setSingleStep(LINE_PX)

    def arrange(self) -> None:
        """Show what is in sight now."""
        raise NotImplementedError

    def _go(self, distance_px: int, *, to_end: bool = False) -> None:
        self._heads_for_end = to_end
        self._motion.go(distance_px)

    def _scroll_by(self, distance_px: int) -> None:
        before = self._sight.top
        self._sight.scroll_to(before + distance_px)
        if self._heads_for_end and not self._motion.is_moving:
            self._sight.hold_end()
        elif self._sight.top == before:
            self._motion.stop()
        self.arrange()

    def _go_to_end(self) -> None:
        if self._sight.end - self._sight.top > 2 * self._sight.height:
            self._sight.scroll_to(self._sight.end - self._sight.height)
            self.arrange()
        self._go(self._sight.end - self._sight.top, to_end=True)

    def _go_to_start(self) -> None:
        if self._sight.top > 2 * self._sight.height:
            self._sight.scroll_to(self._sight.height)
            self.arrange()
        self._go(-self._sight.top)

    @override
    def scrollContentsBy(self, dx: int, dy: int) -> None:
        # By the scroll bar itself.
        if not self._is_arranging:
            self._motion.stop()
            self._sight.scroll_to(self.verticalScrollBar().value())
            self.arrange()

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        distance_px, is_exact = wheel_distance(event)
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()
        elif is_exact:
            self._motion.stop()
            self._scroll_by(distance_px)
        else:
            self._go(distance_px)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        distance_px = key_distance(event, self._sight.height)
        if distance_px is not None:
            self._go(distance_px)
        elif event.key() == Qt.Key.Key_Home:
            self._go_to_start()
        elif event.key() == Qt.Key.Key_End:
            self._go_to_end()
        else:
            event.ignore()

    def _tell_scroll_bar(self) -> None:
        bar = self.verticalScrollBar()
        bar.setPageStep(self._sight.height)
        bar.setRange(0, self._sight.most)
        bar.setValue(self._sight.top)
