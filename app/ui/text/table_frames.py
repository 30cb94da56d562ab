"""Tables in a message: as wide as they need, and where that is wider than the page, they scroll in a frame."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QTextFormat, QTextLength, QTextTable
from PySide6.QtWidgets import QScrollBar, QWidget

from app.ui.text.reading_order import is_mirrored
from app.ui.text.side_scroll import SideScroll
from app.ui.theme import Theme

INSET = QTextFormat.Property.UserProperty.value + 20
"""A table's property: how far in it stands, in pixels, while it is not scrolled."""
PADDING_PX = 5
LIFT_PX = 2
"""A line is higher than its letters, and they stand at its foot: so much higher they are in the middle of a cell."""
MARGIN_PX = 8
"""Below a table."""
_NARROW_PX = 140
"""A column is not made narrower than this for want of room, where it has so much to say."""
_WIDE_PX = 260
"""A column of a table that scrolls is no wider, where its words allow it."""
_BAR_ROOM_PX = 15


class TableFrame:
    """One table: how wide it is, and what of it shows."""

    def __init__(self, viewport: QWidget, theme: Theme) -> None:
        self.rect = QRect()
        self._viewport = viewport
        self._theme = theme
        self._table: QTextTable | None = None
        self._size = (0, 0)
        """Its rows and its characters, when it was measured."""
        self._inset_px = 0.0
        self._left_px = 0.0
        """Where it begins while it is not scrolled."""
        self._is_mirrored = False
        self._widths: tuple[tuple[float, float], ...] = ()
        name = QCoreApplication.translate("TableFrame", "Scroll the table sideways")
        self._scroll = SideScroll(viewport, name, self._scroll_to)

    @property
    def bar(self) -> QScrollBar | None:
        return self._scroll.bar

    @property
    def inner(self) -> QRect | None:
        """Where the table shows; None where all of it does."""
        return None if self.bar is None else self.rect.adjusted(1, 0, -1, 0)

    def show(self, table: QTextTable, width_px: int) -> None:
        """Give this table its width on a page that is `width_px` wide."""
        size = (table.rows(), table.lastPosition() - table.firstPosition())
        if table is not self._table or size != self._size:
            # A table that grows gets other rows at its end alone.
            first = max(0, self._size[0] - 1) if table is self._table and size[0] >= self._size[0] else 0
            self._widths = _widths(table, first, self._widths if first else ())
            self._table, self._size = table, size
            self._inset_px = table.format().doubleProperty(INSET)
            self._is_mirrored = is_mirrored(table)
            self._left_px = 0.0 if self._is_mirrored else self._inset_px
        format_ = table.format().toTableFormat()
        paddings = 2 * format_.cellPadding() + format_.border()
        room = width_px - self._inset_px
        least = sum(max(least, min(most, _NARROW_PX)) + paddings for least, most in self._widths)
        # Qt lays a cell out in whole pixels, the part of one that is left over is lost.
        fixed = [math.ceil(max(least, min(most, _WIDE_PX))) for least, most in self._widths] if least > room else []
        constraints = [QTextLength(QTextLength.Type.FixedLength, px + paddings) for px in fixed]
        is_other = constraints != list(format_.columnWidthConstraints())
        is_right = self._is_mirrored and not constraints
        if is_other or is_right != bool(format_.alignment() & Qt.AlignmentFlag.AlignRight):
            format_.setColumnWidthConstraints(constraints)
            format_.setAlignment(Qt.AlignmentFlag.AlignRight if is_right else Qt.AlignmentFlag.AlignLeft)
            format_.setBottomMargin(MARGIN_PX + (_BAR_ROOM_PX if constraints else 0))
            table.setFormat(format_)
        bounds = _bounds(table, paddings / 2)
        shown_px = min(room, bounds.width())
        left_px = bounds.left() if is_right else self._left_px
        self.rect = QRectF(left_px, bounds.top(), shown_px, bounds.height()).toAlignedRect()
        below = self.rect.adjusted(0, 0, 0, _BAR_ROOM_PX)
        self._scroll.show(below, round(bounds.width() - shown_px), round(shown_px), begins_at_end=self._is_mirrored)

    def _scroll_to(self, value: int) -> None:
        if self._table is None:
            return
        format_ = self._table.format().toTableFormat()
        if format_.leftMargin() != self._left_px - value:
            format_.setLeftMargin(self._left_px - value)
            self._table.setFormat(format_)

    def remove(self) -> None:
        self._scroll.remove()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme

    def paint(self, painter: QPainter, _visible: QRect) -> None:
        """Draw the edges at which a table goes on out of sight."""
        bar = self.bar
        if bar is None:
            return
        painter.setPen(QColor(self._theme.line))
        if bar.value() < bar.maximum():
            painter.drawLine(self.rect.topRight(), self.rect.bottomRight())
        if bar.value():
            painter.drawLine(self.rect.topLeft(), self.rect.bottomLeft())


def _bounds(table: QTextTable, padding: float) -> QRectF:
    """Return where a table is; Qt's own answer is where its first cell's text is."""
    layout = table.document().documentLayout()
    first = layout.blockBoundingRect(table.cellAt(0, 0).firstCursorPosition().block())
    row = table.rows() - 1
    cells = (table.cellAt(row, column).lastCursorPosition().block() for column in range(table.columns()))
    last = [layout.blockBoundingRect(cell) for cell in cells]
    bottom = max(rect.bottom() for rect in last)
    inside = QRectF(first.topLeft(), QPointF(last[-1].right(), bottom))
    return inside.adjusted(-padding, LIFT_PX - padding, padding, LIFT_PX + padding)


def _widths(table: QTextTable, first: int, known: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return how narrow and how wide each column can be; `known`: the same of the rows before the first."""
    widths = list(known) or [(0.0, 0.0)] * table.columns()
    for row in range(first, table.rows()):
        for column, (least, most) in enumerate(widths):
            layout = table.cellAt(row, column).firstCursorPosition().block().layout()
            widths[column] = (max(least, layout.minimumWidth()), max(most, layout.maximumWidth()))
    return tuple(widths)
