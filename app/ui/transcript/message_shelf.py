"""Views of messages, made ahead and used again; where they stand and what they show is not known here.

Nobody else imports them: Markdown, formulas and colours of code come with the first one, which no empty page needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.model.message import Message, Role
from app.ui.message.shown_message import Shown
from app.ui.theme import Theme

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView

_AHEAD: dict[Role, int] = {"system": 1, "user": 3, "assistant": 3}
"""Making a view takes three times as long as filling it, so some lie ready."""
_MOST_KEPT = 6
"""Of each role; the others are deleted when nobody needs them."""


class MessageShelf:
    """Hands out views and takes them back."""

    def __init__(self, page: QAbstractScrollArea, theme: Theme, connect: Callable[[MessageView], None]) -> None:
        """`connect` is called with each view that is made."""
        self._page = page
        self._theme = theme
        self._connect = connect
        self._kept: dict[Role, list[MessageView]] = {}

    def take(self, shown: Shown) -> MessageView:
        """Return a view of a message, hidden yet."""
        kept = self._kept.get(shown.message.role)
        if not kept:
            return self._new(shown)
        view = kept.pop()
        view.show_message(shown)
        return view

    def give_back(self, view: MessageView) -> None:
        """Nobody needs a view any more; it is hidden."""
        view.hide()
        kept = self._kept.setdefault(view.message.role, [])
        if view.is_edited or len(kept) >= _MOST_KEPT:
            view.deleteLater()
            return
        cursor = view.text.textCursor()
        cursor.clearSelection()
        view.text.setTextCursor(cursor)
        kept.append(view)

    def make_one_ahead(self) -> bool:
        """Make a view that somebody will need; return whether one was lacking."""
        lacking: list[Role] = [role for role, number in _AHEAD.items() if len(self._kept.get(role, ())) < number]
        if not lacking:
            return False
        role = min(lacking, key=lambda role: len(self._kept.get(role, ())))
        blank = Message(id=0, parent_id=None, role=role, text="")
        view = self._new(Shown(blank, (0,), (), is_streaming=False, is_last=False))
        view.hide()
        for part in (view, *view.findChildren(QWidget)):
            part.ensurePolished()
        self._kept.setdefault(role, []).append(view)
        return True

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for kept in self._kept.values():
            for view in kept:
                view.set_theme(theme)

    def _new(self, shown: Shown) -> MessageView:
        from app.ui.message.message_view import MessageView

        view = MessageView(shown, self._theme, self._page.viewport())
        self._connect(view)
        return view
