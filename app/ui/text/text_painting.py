"""A message's text on the screen: its document, its cursor, bullets and the bars of quotes."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QPainter,
    QPalette,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QTextEdit

from app.ui.text.block_writer import BULLET_LEVEL, QUOTE_DEPTH, QUOTE_INDENT_PX
from app.ui.text.code_blocks import CODE_LINE, CODE_PADDING_PX
from app.ui.text.tables import LIFT_PX, PADDING_PX
from app.ui.theme import Theme

_CARET_PX = 2
_BAR_PX = 3
_BULLET_PX = 5
_BULLET_GAP_PX = 9


def paint_document(painter: QPainter, text: QTextEdit, visible: QRect) -> None:
    """Paint what is visible as Qt does, with the document's own colours."""
    context = QAbstractTextDocumentLayout.PaintContext()
    context.palette = text.palette()
    context.clip = QRectF(visible)
    context.cursorPosition = -1
    selections = [_painted(lit.cursor, lit.format) for lit in text.extraSelections()]  # pyright: ignore[reportAttributeAccessIssue]
    if text.textCursor().hasSelection():
        look = QTextCharFormat()
        look.setBackground(text.palette().brush(QPalette.ColorRole.Highlight))
        look.setForeground(text.palette().brush(QPalette.ColorRole.HighlightedText))
        selections.append(_painted(text.textCursor(), look))
    context.selections = selections
    layout, first = text.document().documentLayout(), text.document().firstBlock()
    painter.save()
    if first.length() == 1 and first.next().isValid() and QTextCursor(first.next()).currentTable() is not None:
        # Qt's own, above a table that begins a text: nobody wrote it, and selected it would be a spot of colour.
        below = round(layout.blockBoundingRect(first).bottom())
        painter.setClipRect(visible.adjusted(0, max(below - visible.top(), 0), 0, 0), Qt.ClipOperation.IntersectClip)
    layout.draw(painter, context)
    painter.restore()


def paint_cursor(painter: QPainter, text: QTextEdit, theme: Theme) -> None:
    """Paint where in the text somebody is."""
    place = text.cursorRect()
    painter.fillRect(place.left(), place.top() + 2, 1, place.height() - 4, QColor(theme.text))


def paint_caret(painter: QPainter, text: QTextEdit, theme: Theme) -> None:
    """Paint a thin mark at the end: more is to come."""
    cursor = QTextCursor(text.document())
    cursor.movePosition(QTextCursor.MoveOperation.End)
    if cursor.block().length() == 1 and cursor.position() > 0:
        # Below a frame; what grows is its end.
        cursor.setPosition(cursor.position() - 1)
    place = text.cursorRect(cursor)
    painter.fillRect(place.left() + 1, place.top() + 3, _CARET_PX, 16, QColor(theme.accent))


def _painted(cursor: QTextCursor, look: QTextCharFormat) -> QAbstractTextDocumentLayout.Selection:
    selection = QAbstractTextDocumentLayout.Selection()
    selection.cursor = cursor
    selection.format = look
    return selection


class TextOrnaments:
    """Finds in a document where they belong."""

    def __init__(self, text: QTextEdit) -> None:
        self._text = text

    def paint(self, painter: QPainter, visible: QRect, theme: Theme) -> None:
        """Draw those that are visible."""
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
        """One bar for each quote, beside all that stands in it; at the right where it is read from there.

        `visible`: only what stands there is looked at.
        """
        bars: list[QRect] = []
        num_open = 0
        for block in self._blocks(visible):
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
                # Those that end here are out of the way of the ones that go on.
                if depth < num_open:
                    going_on = open_bars[:depth]
                    bars = [bar for bar in bars if not any(bar is other for other in going_on)] + going_on
            num_open = depth
        return bars

    def bullets(self, visible: QRect | None = None) -> list[tuple[QRectF, bool, QColor]]:
        """Where bullets are, whether each is filled (every second level has rings), and the colour of its words."""
        bullets: list[tuple[QRectF, bool, QColor]] = []
        for block in self._blocks(visible):
            level = block.blockFormat().intProperty(BULLET_LEVEL)
            line = block.layout().lineAt(0) if level else None
            if line is not None and line.isValid():
                text = line.naturalTextRect().translated(block.layout().position())
                is_mirrored = block.textDirection() == Qt.LayoutDirection.RightToLeft
                x = text.right() + _BULLET_GAP_PX if is_mirrored else text.left() - _BULLET_GAP_PX - _BULLET_PX
                # In the middle of the small letters.
                middle = (
                    block.layout().position().y() + line.y() + line.ascent() - self._text.fontMetrics().xHeight() / 2
                )
                place = QRectF(x, middle - _BULLET_PX / 2, _BULLET_PX, _BULLET_PX)
                bullets.append((place, level % 2 == 1, block.charFormat().foreground().color()))
        return bullets

    def _blocks(self, visible: QRect | None) -> Iterator[QTextBlock]:
        """The blocks of the document that reach into a part of it."""
        layout = self._text.document().documentLayout()
        block = self._text.document().begin()
        if visible is not None:
            first = layout.hitTest(QPointF(visible.topLeft()), Qt.HitTestAccuracy.FuzzyHit)
            block = self._text.document().findBlock(max(0, first))
        while block.isValid() and (visible is None or layout.blockBoundingRect(block).top() <= visible.bottom()):
            yield block
            block = block.next()
