"""A layout that wraps its rows, an area that scrolls, and the tab order of widgets that are made later."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QFrame, QLayout, QLayoutItem, QScrollArea, QWidget
from typing_extensions import override

_GAP_PX = 6


class FlowLayout(QLayout):
    """Lays widgets out from left to right and wraps to the next row when a row is full."""

    def __init__(self, parent: QWidget | None = None, *, is_at_end: bool = False) -> None:
        """`is_at_end`: rows end at the right edge."""
        super().__init__(parent)
        self._is_at_end = is_at_end
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(_GAP_PX)

    @override
    def addItem(self, item: QLayoutItem, /) -> None:
        self._items.append(item)

    @override
    def count(self) -> int:
        return len(self._items)

    @override
    def itemAt(self, index: int, /) -> QLayoutItem | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._items[index] if 0 <= index < len(self._items) else None

    @override
    def takeAt(self, index: int, /) -> QLayoutItem | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    @override
    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int, /) -> int:
        margins = self.contentsMargins()
        inner = QRect(0, 0, width - margins.left() - margins.right(), 0)
        return self._place(inner, is_dry_run=True) + margins.top() + margins.bottom()

    @override
    def setGeometry(self, rect: QRect, /) -> None:
        super().setGeometry(rect)
        self._place(rect.marginsRemoved(self.contentsMargins()), is_dry_run=False)

    @override
    def sizeHint(self) -> QSize:
        """Return the size of all widgets in one row at the right edge; else the least size, as rows fill the width."""
        if not self._is_at_end:
            return self.minimumSize()
        return QSize(self.width_of_one_row, self.minimumSize().height())

    @property
    def width_of_one_row(self) -> int:
        """The width that all widgets take in one row, with the margins."""
        sizes = [item.sizeHint() for item in self._items if not item.isEmpty()]
        margins = self.contentsMargins().left() + self.contentsMargins().right()
        return sum(size.width() for size in sizes) + self.spacing() * max(len(sizes) - 1, 0) + margins

    @override
    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def _place(self, rect: QRect, *, is_dry_run: bool) -> int:
        """Position the widgets, unless `is_dry_run`, and return the height they need."""
        y = rect.y()
        for row in self._rows(rect.width()):
            x, row_px = rect.x(), max(size.height() for _, size in row)
            if self._is_at_end:
                x += rect.width() - sum(size.width() for _, size in row) - self.spacing() * (len(row) - 1)
            for item, size in () if is_dry_run else row:
                # In the middle of the row, so that texts of different heights stand beside each other.
                item.setGeometry(QRect(QPoint(x, y + (row_px - size.height()) // 2), size))
                x += size.width() + self.spacing()
            y += row_px + self.spacing()
        return max(y - self.spacing() - rect.y(), 0)

    def _rows(self, room: int) -> list[list[tuple[QLayoutItem, QSize]]]:
        """Return the rows of a width, each with its items and their sizes."""
        rows: list[list[tuple[QLayoutItem, QSize]]] = []
        used = 0
        for item in self._items:
            if not item.isEmpty():
                size = item.sizeHint().boundedTo(QSize(room, item.sizeHint().height()))
                if not rows or used + size.width() > room:
                    rows.append([])
                    used = 0
                rows[-1].append((item, size))
                used += size.width() + self.spacing()
        return rows


def order_tabs(place: QWidget, stops: Sequence[QWidget]) -> None:
    """Let Tab reach `stops`, which were just made, before `place` and what is inside it.

    Without this, Qt would put them at the end.
    """
    before = place.previousInFocusChain() or place
    while before is not place and (before in stops or not before.focusPolicy() & Qt.FocusPolicy.TabFocus):
        before = before.previousInFocusChain() or place
    chain = (*stops, place) if before is place else (before, *stops)
    for one, other in itertools.pairwise(chain):
        QWidget.setTabOrder(one, other)


def tab_stops(root: QWidget) -> list[QWidget]:
    """Return the widgets inside `root` that Tab reaches, in the order in which they were made."""
    inside = root.findChildren(QWidget)
    return [
        one
        for one in inside
        if one.focusPolicy() & Qt.FocusPolicy.TabFocus and one.focusProxy() is None and one.window() is root.window()
    ]


def scrolled(page: QWidget, name: str = "settings_scroll") -> QScrollArea:
    """Return a frameless area in which `page` scrolls; `name` is its object name.

    It scrolls sideways only where large text leaves the page no other way to fit.
    """
    scroll = QScrollArea()
    scroll.setObjectName(name)
    scroll.setFrameShape(QFrame.Shape.NoFrame)
    scroll.setWidgetResizable(True)
    # The style hides all other horizontal bars.
    scroll.horizontalScrollBar().setObjectName("frame_scroll")
    scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    scroll.setWidget(page)
    return scroll
