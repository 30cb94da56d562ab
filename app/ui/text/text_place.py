"""Where on a message's view a place of its text stands, and the other way round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint
from PySide6.QtGui import QTextCursor

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView
    from app.ui.text.message_text import MessageText


def position_at(view: MessageView, y: int) -> int:
    """Return the position in the text of the line that stands so many pixels below the view's top."""
    return view.text.cursorForPosition(view.text.viewport().mapFrom(view, QPoint(1, y))).position()


def top_of(view: MessageView, text: MessageText, position: int) -> int:
    """Return how far below the view's top the line with this position of one of its texts begins."""
    cursor = QTextCursor(text.document())
    cursor.setPosition(position)
    return text.viewport().mapTo(view, text.cursorRect(cursor).topLeft()).y()
