"""A parsed table into a text document; how wide it may be is not known here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from markdown_it.token import Token
from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlockFormat,
    QTextCursor,
    QTextFrameFormat,
    QTextTable,
    QTextTableFormat,
)

from app.model.direction import is_right_to_left
from app.ui.text.inline_writer import InlineWriter
from app.ui.text.reading_order import is_mirrored
from app.ui.text.table_frames import INSET, LIFT_PX, MARGIN_PX, PADDING_PX
from app.ui.text.text_formats import TextFormats
from app.ui.theme import LINE_PX, Theme, scaled

Cell: TypeAlias = tuple[Token, Any]
"""What stands in it, and where it stands."""


def write_table(
    cursor: QTextCursor, tokens: list[Token], theme: Theme, *, inset_px: int, top_px: int, quote: tuple[int, int]
) -> tuple[QTextTable, list[int]]:
    """Write a table and put the cursor behind it; return it, and where formulas stand in it.

    Where its head is read from right to left, so are its columns.
    `quote` is a property that says how deep a block is quoted, and how deep.
    """
    rows = rows_of(tokens)
    mirrored = is_right_to_left(" ".join(inline.content for inline, _ in rows[0]))
    table = cursor.insertTable(len(rows), max(map(len, rows)), _format(theme, inset_px, top_px, is_mirrored=mirrored))
    places: list[int] = []
    for row, cells in enumerate(rows):
        places += write_row(table, row, cells, theme, quote)
    cursor.setPosition(table.lastPosition() + 1)
    return table, places


def write_row(table: QTextTable, row: int, cells: Sequence[Cell], theme: Theme, quote: tuple[int, int]) -> list[int]:
    """Write a row, which is empty; return where formulas stand in it."""
    formats = TextFormats(theme)
    places: list[int] = []
    mirrored = is_mirrored(table)
    # Qt has no such tables: in the document the columns stand as they are seen.
    for column, (inline, align) in enumerate(reversed(cells) if mirrored else cells):
        cell = table.cellAt(row, column)
        look = formats.text(is_quoted=bool(quote[1]))
        ground = cell.format().toTableCellFormat()
        ground.setTopPadding(PADDING_PX - LIFT_PX)
        ground.setBottomPadding(PADDING_PX + LIFT_PX)
        if row == 0:
            look.setFontWeight(QFont.Weight.DemiBold)
            ground.setBackground(QBrush(QColor(theme.sunken)))
        cell.setFormat(ground)
        block = QTextBlockFormat()
        block.setAlignment(_from_right(align) if mirrored else align)
        block.setLineHeight(scaled(LINE_PX), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        block.setProperty(*quote)
        inside = cell.firstCursorPosition()
        inside.setBlockFormat(block)
        words = InlineWriter(inside, formats)
        words.write(inline, look)
        places += words.formula_places
    return places


def _from_right(align: Qt.AlignmentFlag) -> Qt.AlignmentFlag:
    """Where a cell's words stand in a column that begins at the right, be they from left to right or figures."""
    is_centred = align == Qt.AlignmentFlag.AlignHCenter
    return align if is_centred else Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute


def _format(theme: Theme, inset_px: int, top_px: int, *, is_mirrored: bool) -> QTextTableFormat:
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
    format_.setProperty(INSET, float(inset_px))
    format_.setTopMargin(top_px)
    format_.setBottomMargin(MARGIN_PX)
    format_.setHeaderRowCount(1)
    return format_


def rows_of(tokens: list[Token]) -> list[list[Cell]]:
    """Return the cells of a parsed table, row by row."""
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
