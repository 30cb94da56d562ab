"""Scrolling sideways inside a frame on the page, by the hand, the wheel and the arrow keys."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QScrollBar, QWidget

_BAR_PX = 10
_STEP_PX = 24


class SideScroll:
    """A scroll bar at a frame's lower edge, which is there only while something is hidden."""

    def __init__(self, viewport: QWidget, name: str, scrolled: Callable[[int], None]) -> None:
        self._viewport = viewport
        self._name = name
        self._scrolled = scrolled
        self._bar: QScrollBar | None = None

    @property
    def bar(self) -> QScrollBar | None:
        """The bar; None while nothing is hidden."""
        return self._bar if self._bar is not None and self._bar.maximum() > 0 else None

    def show(self, frame: QRect, hidden_px: int, page_px: int, *, begins_at_end: bool = False) -> None:
        """Stand at the lower edge of `frame`, of whose content so much is out of sight.

        `begins_at_end`: it is read from the right, and stays there while it grows.
        """
        if hidden_px <= 0 and self._bar is None:
            return
        if self._bar is None:
            self._bar = QScrollBar(Qt.Orientation.Horizontal, self._viewport)
            self._bar.setObjectName("frame_scroll")
            self._bar.setAccessibleName(self._name)
            self._bar.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self._bar.setCursor(Qt.CursorShape.ArrowCursor)
            self._bar.valueChanged.connect(self._scrolled)
            self._bar.setSingleStep(_STEP_PX)
            self._bar.setMaximum(0)
        from_end_px = self._bar.maximum() - self._bar.value()
        self._bar.setRange(0, max(0, hidden_px))
        if begins_at_end:
            self._bar.setValue(self._bar.maximum() - from_end_px)
        self._bar.setPageStep(max(1, page_px))
        self._bar.setGeometry(frame.left() + _BAR_PX, frame.bottom() - _BAR_PX, frame.width() - 2 * _BAR_PX, _BAR_PX)
        self._bar.setVisible(hidden_px > 0)
        self._scrolled(self._bar.value())

    def remove(self) -> None:
        if self._bar is not None:
            self._bar.hide()
            self._bar.deleteLater()
            self._bar = None
