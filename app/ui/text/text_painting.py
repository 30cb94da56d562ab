"""Paints a message's text: its document, the text cursor, the caret of streaming, bullets and quote bars."""

from __future__ import annotations

import math
from collections.abc import Iterator

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QPainter,
    QPalette,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QTextEdit

from app.ui.text.block_writer import QUOTE_INDENT_PX
from app.ui.text.code_blocks import CODE_LINE, CODE_PADDING_PX
from app.ui.text.tables import LIFT_PX, PADDING_PX
from app.ui.text.text_formats import BULLET_LEVEL, QUOTE_DEPTH
from app.ui.theme import LINE_PX, Theme

_CARET_PX = 2
_BAR_PX = 3
_BULLET_PX = 5
_BULLET_GAP_PX = 9
MAX_PAINTED_CHARS = 30_000
"""The number of characters that are painted at a time. A page of ordinary text has 3,000, but thousands of combining
marks may be in one line."""


def part_to_paint(text: QTextEdit, rect: QRect) -> QRect:
    """Return the upper part of a rectangle that can be painted at once: all of it unless the text is very dense."""
    document = text.document()
    if document.characterCount() <= MAX_PAINTED_CHARS:
        return rect
    room = MAX_PAINTED_CHARS
    for block in blocks_in(document, rect):
        place = document.documentLayout().blockBoundingRect(block)
        top, bottom = max(place.top(), rect.top()), min(place.bottom(), rect.bottom())
        chars_per_px = block.length() / max(place.height(), 1)
        if chars_per_px * (bottom - top) > room:
            height = max(math.ceil(top + room / chars_per_px) - rect.top(), LINE_PX)
            return rect.intersected(QRect(rect.topLeft(), QSize(rect.width(), height)))
        room -= round(chars_per_px * max(bottom - top, 0))
    return rect


def paint_document(painter: QPainter, text: QTextEdit, visible: QRect) -> None:
    """Paint the visible part of the document with its highlights and its selection."""
    context = QAbstractTextDocumentLayout.PaintContext()
    context.palette = text.palette()
    context.clip = QRectF(visible)
    context.cursorPosition = -1
    selections = [_selection(extra.cursor, extra.format) for extra in text.extraSelections()]  # pyright: ignore[reportAttributeAccessIssue]
    if text.textCursor().hasSelection():
        format_ = QTextCharFormat()
        format_.setBackground(text.palette().brush(QPalette.ColorRole.Highlight))
        format_.setForeground(text.palette().brush(QPalette.ColorRole.HighlightedText))
        selections.append(_selection(text.textCursor(), format_))
    context.selections = selections
    layout, first = text.document().documentLayout(), text.document().firstBlock()
    painter.save()
    table = QTextCursor(first.next()).currentTable() if first.length() == 1 and first.next().isValid() else None
    if table is not None:
        # Clip the empty block that Qt needs above a table at the top. If selected, it would be a coloured spot.
        # Its line is higher than the block and begins above it. The block's rectangle would reach into the table.
        below = math.ceil(first.layout().lineAt(0).rect().bottom())
        painter.setClipRect(visible.adjusted(0, max(below - visible.top(), 0), 0, 0), Qt.ClipOperation.IntersectClip)
    layout.draw(painter, context)
    painter.restore()


def paint_cursor(painter: QPainter, text: QTextEdit, theme: Theme) -> None:
    """Paint the text cursor."""
    rect = text.cursorRect()
    painter.fillRect(rect.left(), rect.top() + 2, 1, rect.height() - 4, QColor(theme.text))


def paint_caret(painter: QPainter, text: QTextEdit, theme: Theme) -> None:
    """Paint the caret at the end of a streaming answer."""
    cursor = QTextCursor(text.document())
    cursor.movePosition(QTextCursor.MoveOperation.End)
    if cursor.block().length() == 1 and cursor.position() > 0:
        # The last block is the filler below a frame; the frame's end is what grows.
        cursor.setPosition(cursor.position() - 1)
    rect = text.cursorRect(cursor)
    painter.fillRect(rect.left() + 1, rect.top() + 3, _CARET_PX, 16, QColor(theme.accent))


def _selection(cursor: QTextCursor, format_: QTextCharFormat) -> QAbstractTextDocumentLayout.Selection:
    selection = QAbstractTextDocumentLayout.Selection()
    selection.cursor = cursor
    selection.format = format_
    return selection


class TextOrnaments:
    """Paints the bullets and quote bars of a document."""

    def __init__(self, text: QTextEdit) -> None:
        self._text = text

    def paint(self, painter: QPainter, visible: QRect, theme: Theme) -> None:
        """Paint the visible bullets and bars."""
        for bar in self.quote_bars(visible):
            if bar.intersects(visible):
                painter.fillRect(bar, QColor(theme.control_line))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for bullet, is_filled, colour in self.bullets(visible):
            if bullet.toAlignedRect().intersects(visible):
                painter.setPen(colour)
                painter.setBrush(colour if is_filled else Qt.BrushStyle.NoBrush)
                painter.drawEllipse(bullet)

    def quote_bars(self, visible: QRect | None = None) -> list[QRect]:
        """Return a bar for each quote, on the left of its blocks, or on the right of right-to-left blocks.

        `visible` limits the result to the blocks in that part of the document.
        """
        bars: list[QRect] = []
        num_open = 0
        for block in blocks_in(self._text.document(), visible):
            depth = block.blockFormat().intProperty(QUOTE_DEPTH)
            open_bars = bars[len(bars) - num_open :]
            if depth or open_bars:
                cursor = QTextCursor(block)
                top = self._text.cursorRect(cursor).top()
                cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
                bottom = self._text.cursorRect(cursor).bottom()
                if block.blockFormat().hasProperty(CODE_LINE):
                    bottom += CODE_PADDING_PX
                elif cursor.currentTable() is not None:
                    bottom += PADDING_PX + LIFT_PX
                for bar in open_bars[:depth]:
                    bar.setBottom(max(bar.bottom(), bottom))
                is_mirrored = block.textDirection() == Qt.LayoutDirection.RightToLeft
                for level in range(min(num_open, depth), depth):
                    x = QUOTE_INDENT_PX * level + 4
                    left = self._text.viewport().width() - x - _BAR_PX if is_mirrored else x
                    bars.append(QRect(QPoint(left, top), QPoint(left + _BAR_PX - 1, bottom)))
                # Keep the bars that continue at the end of the list.
                if depth < num_open:
                    continuing = open_bars[:depth]
                    bars = [bar for bar in bars if not any(bar is other for other in continuing)] + continuing
            num_open = depth
        return bars

    def bullets(self, visible: QRect | None = None) -> list[tuple[QRectF, bool, QColor]]:
        """Return the rectangle of each bullet, whether it is filled, and its colour.

        Every second level is not filled.
        """
        bullets: list[tuple[QRectF, bool, QColor]] = []
        for block in blocks_in(self._text.document(), visible):
            level = block.blockFormat().intProperty(BULLET_LEVEL)
            line = block.layout().lineAt(0) if level else None
            if line is not None and line.isValid():
                text = line.naturalTextRect().translated(block.layout().position())
                is_mirrored = block.textDirection() == Qt.LayoutDirection.RightToLeft
                x = text.right() + _BULLET_GAP_PX if is_mirrored else text.left() - _BULLET_GAP_PX - _BULLET_PX
                # Centred on the lower-case letters.
                middle = (
                    block.layout().position().y() + line.y() + line.ascent() - self._text.fontMetrics().xHeight() / 2
                )
                rect = QRectF(x, middle - _BULLET_PX / 2, _BULLET_PX, _BULLET_PX)
                bullets.append((rect, level % 2 == 1, block.charFormat().foreground().color()))
        return bullets


def blocks_in(document: QTextDocument, visible: QRect | None) -> Iterator[QTextBlock]:
    """Yield the blocks that intersect `visible`; None means all blocks."""
    layout = document.documentLayout()
    block = document.begin()
    if visible is not None:
        first = layout.hitTest(QPointF(visible.topLeft()), Qt.HitTestAccuracy.FuzzyHit)
        block = document.findBlock(max(0, first))
    while block.isValid() and (visible is None or layout.blockBoundingRect(block).top() <= visible.bottom()):
        yield block
        block = block.next()
