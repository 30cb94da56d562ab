"""Tables in a message: written into its document, fitted to the page, and scrolled if they are wider."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from markdown_it.token import Token
from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QPainter,
    QTextBlockFormat,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableFormat,
)
from PySide6.QtWidgets import QScrollBar, QWidget

from app.model.text import is_right_to_left
from app.ui.parts.qt_workarounds import discard
from app.ui.text.document_text import is_mirrored
from app.ui.text.formulas import PlacedFormula
from app.ui.text.inline_writer import InlineWriter
from app.ui.text.slices import MAX_COLUMNS
from app.ui.text.text_formats import QUOTE_DEPTH, TextFormats
from app.ui.theme import LINE_PX, Theme, scaled

PADDING_PX = 5
LIFT_PX = 2
"""Pixels by which text is raised to centre it in its cell, because Qt puts extra line height above the letters."""
_MARGIN_PX = 8
"""The margin below a table."""
_INSET = QTextFormat.Property.UserProperty.value + 20
"""Table property: the table's indentation in pixels when it is not scrolled."""
_CONTINUES = _INSET + 1
"""Table property: the rows continue the table above."""
_NARROW_PX = 140
"""The minimum width of columns with long text. A table that needs more than the page's width then scrolls."""
_WIDE_PX = 260
"""The maximum column width of a table that scrolls, unless a word is longer."""
_BAR_PX = 10
_STEP_PX = 24
_BAR_ROOM_PX = 15
Cell: TypeAlias = tuple[Token, Any]
"""The inline token of a cell, and its alignment."""


class SideScroll:
    """A scroll bar at the lower edge of a frame, shown while part of the content is hidden."""

    def __init__(self, viewport: QWidget, name: str, scrolled: Callable[[int], None]) -> None:
        self._viewport = viewport
        self._name = name
        self._scrolled = scrolled
        self._bar: QScrollBar | None = None

    @property
    def bar(self) -> QScrollBar | None:
        """The scroll bar; None while all of the content is visible."""
        return self._bar if self._bar is not None and self._bar.maximum() > 0 else None

    def show(self, frame: QRect, hidden_px: int, page_px: int, *, begins_at_end: bool = False) -> None:
        """Show the bar at the lower edge of `frame` if `hidden_px` of its content do not fit.

        `begins_at_end` means that the content is read from the right, and stays at the right while it grows.
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

    def hide(self) -> None:
        if self._bar is not None:
            self._bar.setRange(0, 0)
            self._bar.hide()

    def remove(self) -> None:
        if self._bar is not None:
            discard(self._bar)
            self._bar = None


class TableFrame:
    """The width of one table, and the part of it that is visible."""

    def __init__(self, viewport: QWidget, theme: Theme) -> None:
        self.rect = QRect()
        self._viewport = viewport
        self._theme = theme
        self._table: QTextTable | None = None
        self._size = (0, 0)
        """The table's number of rows and of characters when it was measured."""
        self._inset_px = 0.0
        self._left_px = 0.0
        """The table's left edge when it is not scrolled."""
        self._is_mirrored = self._continues = False
        self._widths: tuple[tuple[float, float], ...] = ()
        self._fixed: Sequence[float] = ()
        self._fitted: tuple[float, Sequence[float]] | None = None
        """The width of the page beside the inset, and the widths of the columns above, for which it was fitted."""
        self._paddings_px = 0.0
        name = QCoreApplication.translate("TableFrame", "Scroll table horizontally")
        self._scroll = SideScroll(viewport, name, self._scroll_to)

    @property
    def bar(self) -> QScrollBar | None:
        return self._scroll.bar

    @property
    def inner(self) -> QRect | None:
        """The visible rectangle of the table; None if all of it is visible."""
        return None if self.bar is None else self.rect.adjusted(1, 0, -1, 0)

    def show(self, table: QTextTable, width_px: int, above: TableFrame | None) -> None:
        """Fit a table into a page of `width_px`. The table may continue the table of the frame `above`."""
        size = (table.rows(), table.lastPosition() - table.firstPosition())
        is_other = table is not self._table or size != self._size
        if is_other:
            # A growing table changes only at its end.
            first = max(0, self._size[0] - 1) if table is self._table and size[0] >= self._size[0] else 0
            self._widths = _widths(table, first, self._widths if first else ())
            self._table, self._size = table, size
            self._inset_px = table.format().doubleProperty(_INSET)
            self._continues = table.format().boolProperty(_CONTINUES)
            self._is_mirrored = is_mirrored(table)
            self._left_px = 0.0 if self._is_mirrored else self._inset_px
        room = width_px - self._inset_px
        above_px = above.column_widths() if above is not None and self._continues else ()
        if is_other or (room, above_px) != self._fitted:
            self._fitted = room, above_px
            self._fit(table, room, above_px)
        bounds = _bounds(table, self._paddings_px / 2)
        shown_px = min(room, bounds.width())
        left_px = bounds.left() if self._is_mirrored and not self._fixed else self._left_px
        self.rect = QRectF(left_px, bounds.top(), shown_px, bounds.height()).toAlignedRect()
        below = self.rect.adjusted(0, 0, 0, _BAR_ROOM_PX)
        self._scroll.show(below, round(bounds.width() - shown_px), round(shown_px), begins_at_end=self._is_mirrored)

    def _fit(self, table: QTextTable, room: float, above_px: Sequence[float]) -> None:
        """Set the widths of the columns. `above_px` are those of the table above, which this one may continue."""
        format_ = table.format().toTableFormat()
        paddings = self._paddings_px = 2 * format_.cellPadding() + format_.border()
        least = sum(max(least, min(most, _NARROW_PX)) + paddings for least, most in self._widths)
        # Qt rounds cell widths down to whole pixels.
        fixed = [math.ceil(max(least, min(most, _WIDE_PX))) for least, most in self._widths] if least > room else []
        if above_px:
            fixed = above_px
        self._fixed = fixed
        constraints = [QTextLength(QTextLength.Type.FixedLength, px + paddings) for px in fixed]
        is_other = constraints != list(format_.columnWidthConstraints())
        is_right = self._is_mirrored and not constraints
        if is_other or is_right != bool(format_.alignment() & Qt.AlignmentFlag.AlignRight):
            format_.setColumnWidthConstraints(constraints)
            format_.setAlignment(Qt.AlignmentFlag.AlignRight if is_right else Qt.AlignmentFlag.AlignLeft)
            format_.setBottomMargin(_MARGIN_PX + (_BAR_ROOM_PX if constraints else 0))
            table.setFormat(format_)

    def column_widths(self) -> Sequence[float]:
        """Return the widths of the text in the columns, in pixels."""
        return self._fixed or ([] if self._table is None else _column_widths(self._table))

    def _scroll_to(self, value: int) -> None:
        if self._table is None:
            return
        format_ = self._table.format().toTableFormat()
        if format_.leftMargin() != self._left_px - value:
            format_.setLeftMargin(self._left_px - value)
            self._table.setFormat(format_)

    def hide(self) -> None:
        """Hide the frame, so that it can be used for another table."""
        self._table, self._size, self._fixed = None, (0, 0), ()
        self._scroll.hide()

    def remove(self) -> None:
        self._scroll.remove()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme

    def paint(self, painter: QPainter, _visible: QRect) -> None:
        """Draw a line at each edge where the table continues."""
        bar = self.bar
        if bar is None:
            return
        painter.setPen(QColor(self._theme.line))
        if bar.value() < bar.maximum():
            painter.drawLine(self.rect.topRight(), self.rect.bottomRight())
        if bar.value():
            painter.drawLine(self.rect.topLeft(), self.rect.bottomLeft())


def _column_widths(table: QTextTable) -> list[float]:
    """Return the width in pixels that Qt gave the text in each column."""
    layout = table.document().documentLayout()
    cells = (table.cellAt(0, column).firstCursorPosition().block() for column in range(table.columns()))
    return [layout.blockBoundingRect(cell).width() for cell in cells]


def _bounds(table: QTextTable, padding: float) -> QRectF:
    """Return the rectangle of a table. (Qt only returns the rectangle of the first cell's text.)"""
    layout = table.document().documentLayout()
    first = layout.blockBoundingRect(table.cellAt(0, 0).firstCursorPosition().block())
    row = table.rows() - 1
    cells = (table.cellAt(row, column).lastCursorPosition().block() for column in range(table.columns()))
    last = [layout.blockBoundingRect(cell) for cell in cells]
    bottom = max(rect.bottom() for rect in last)
    inside = QRectF(first.topLeft(), QPointF(last[-1].right(), bottom))
    return inside.adjusted(-padding, LIFT_PX - padding, padding, LIFT_PX + padding)


def _widths(table: QTextTable, first: int, known: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the minimum and maximum width of each column; `known` are the widths for the rows before `first`."""
    widths = list(known) or [(0.0, 0.0)] * table.columns()
    for row in range(first, table.rows()):
        for column, (least, most) in enumerate(widths):
            layout = table.cellAt(row, column).firstCursorPosition().block().layout()
            widths[column] = (max(least, layout.minimumWidth()), max(most, layout.maximumWidth()))
    return tuple(widths)


def write_table(
    cursor: QTextCursor, tokens: list[Token], theme: Theme, *, inset_px: int, top_px: int, quote_depth: int
) -> tuple[QTextTable, list[PlacedFormula]]:
    """Write a table and move the cursor after it; return the table and the formulas in it.

    The columns run from right to left if the header does.
    """
    rows = rows_of(tokens)
    mirrored = is_right_to_left(" ".join(inline.content for inline, _ in rows[0]))
    format_ = _table_format(theme, inset_px, top_px, is_mirrored=mirrored)
    table = cursor.insertTable(len(rows), max(map(len, rows)), format_)
    placed: list[PlacedFormula] = []
    for row, cells in enumerate(rows):
        placed += write_row(table, row, cells, theme, quote_depth=quote_depth)
    cursor.setPosition(table.lastPosition() + 1)
    return table, placed


def continued(table: QTextTable) -> QTextTable:
    """Begin a table that continues `table`, which is at the end of a document.

    The new table has one empty row, and columns of the same widths.
    """
    format_ = table.format().toTableFormat()
    above = QTextTableFormat(format_)
    above.setBottomMargin(0)
    table.setFormat(above)
    format_.setProperty(_CONTINUES, True)
    format_.setHeaderRowCount(0)
    format_.setTopMargin(0)
    cursor = QTextCursor(table.document())
    cursor.setPosition(table.lastPosition() + 1)
    low = cursor.blockFormat()
    below = cursor.insertTable(1, table.columns(), format_)
    cursor.setPosition(below.lastPosition() + 1)
    cursor.setBlockFormat(low)
    return below


def clear_row(table: QTextTable, row: int) -> None:
    for column in range(table.columns()):
        cell = table.cellAt(row, column)
        cursor = cell.firstCursorPosition()
        cursor.setPosition(cell.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()


def is_too_wide(tokens: Sequence[Token]) -> bool:
    """Return whether a parsed table has too many columns to be shown as a table."""
    return sum(token.type == "th_open" for token in tokens) > MAX_COLUMNS


def write_row(
    table: QTextTable, row: int, cells: Sequence[Cell], theme: Theme, *, quote_depth: int
) -> list[PlacedFormula]:
    """Write the cells of an empty row; return the formulas in it."""
    formats = TextFormats(theme)
    placed: list[PlacedFormula] = []
    mirrored = is_mirrored(table)
    # Qt cannot mirror tables, so the document has the cells of a row in visual order.
    for column, (inline, align) in enumerate(reversed(cells) if mirrored else cells):
        cell = table.cellAt(row, column)
        text_format = formats.text(is_quoted=bool(quote_depth))
        cell_format = cell.format().toTableCellFormat()
        cell_format.setTopPadding(PADDING_PX - LIFT_PX)
        cell_format.setBottomPadding(PADDING_PX + LIFT_PX)
        if row == 0 and not table.format().boolProperty(_CONTINUES):
            text_format.setFontWeight(QFont.Weight.DemiBold)
            cell_format.setBackground(QBrush(QColor(theme.sunken)))
        cell.setFormat(cell_format)
        block = QTextBlockFormat()
        block.setAlignment(_mirrored_alignment(align) if mirrored else align)
        block.setLineHeight(scaled(LINE_PX), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        block.setProperty(QUOTE_DEPTH, quote_depth)
        cursor = cell.firstCursorPosition()
        cursor.setBlockFormat(block)
        writer = InlineWriter(cursor, formats)
        writer.write(inline, text_format)
        placed += writer.formulas
    return placed


def _mirrored_alignment(align: Qt.AlignmentFlag) -> Qt.AlignmentFlag:
    """Return the alignment of a cell in a mirrored table: even left-to-right text and numbers are at the right."""
    is_centred = align == Qt.AlignmentFlag.AlignHCenter
    return align if is_centred else Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute


def _table_format(theme: Theme, inset_px: int, top_px: int, *, is_mirrored: bool) -> QTextTableFormat:
    format_ = QTextTableFormat()
    format_.setBorderCollapse(True)
    format_.setBorder(1)
    format_.setBorderBrush(QBrush(QColor(theme.line)))
    format_.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    format_.setCellPadding(PADDING_PX)
    if is_mirrored:
        format_.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        format_.setRightMargin(inset_px)
    else:
        format_.setLeftMargin(inset_px)
    format_.setProperty(_INSET, float(inset_px))
    format_.setTopMargin(top_px)
    format_.setBottomMargin(_MARGIN_PX)
    format_.setHeaderRowCount(1)
    return format_


def rows_of(tokens: list[Token]) -> list[list[Cell]]:
    """Return the cells of a parsed table by row."""
    alignments = {
        "text-align:right": Qt.AlignmentFlag.AlignRight,
        "text-align:center": Qt.AlignmentFlag.AlignHCenter,
    }
    rows: list[list[Cell]] = []
    for index, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in {"th_open", "td_open"}:
            align = alignments.get(str(token.attrs.get("style", "")), Qt.AlignmentFlag.AlignLeft)
            rows[-1].append((tokens[index + 1], align))
    return rows
