"""A message's text on the screen: its document with what is lit and selected in it, its cursor, its caret."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QAbstractTextDocumentLayout, QColor, QPainter, QPalette, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit

from app.ui.theme import Theme

_CARET_PX = 2


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
