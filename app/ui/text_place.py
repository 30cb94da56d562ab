"""Where on a message's view a place of its text stands, and the other way round."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtGui import QTextCursor

from app.ui.message_view import MessageView


def position_at(view: MessageView, y: int) -> int:
    """Return the position in the text of the line that stands so many pixels below the view's top."""
    return view.text.cursorForPosition(view.text.viewport().mapFrom(view, QPoint(1, y))).position()


def top_of(view: MessageView, position: int) -> int:
    """Return how far below the view's top the line with this position begins."""
    cursor = QTextCursor(view.text.document())
    cursor.setPosition(position)
    return view.text.viewport().mapTo(view, view.text.cursorRect(cursor).topLeft()).y()
