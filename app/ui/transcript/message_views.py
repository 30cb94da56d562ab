"""The views of messages by message id: created on demand or ahead of time, reused, and put in tab order.

`MessageView` is imported with the first view. It needs Markdown, formulas and syntax colours, which an empty page does
not need.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QAbstractScrollArea, QWidget
from typing_extensions import override

from app.model.message import Message, MessageId, Role
from app.ui.message.shown_message import ShownMessage
from app.ui.parts.qt_workarounds import discard
from app.ui.theme import Theme

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView

_NUM_AHEAD: dict[Role, int] = {"system": 1, "user": 3, "assistant": 3}
"""The number of spare views by role. Creating a view takes three times as long as filling it."""
_MAX_SPARE = 6
"""The maximum number of spare views by role. Further released views are deleted."""


class MessageViews(Mapping[MessageId, "MessageView"]):
    """The messages that have a view now. The caller decides which messages need a view."""

    def __init__(self, page: QAbstractScrollArea, theme: Theme, connect: Callable[[MessageView], None]) -> None:
        """`connect` is called with each new view."""
        self._page = page
        self._theme = theme
        self._connect = connect
        self._views: dict[MessageId, MessageView] = {}
        self._spare: dict[Role, list[MessageView]] = {}

    @override
    def __getitem__(self, key: MessageId) -> MessageView:
        return self._views[key]

    @override
    def __iter__(self) -> Iterator[MessageId]:
        return iter(self._views)

    @override
    def __len__(self) -> int:
        return len(self._views)

    @property
    def focused(self) -> MessageId | None:
        """The message that contains the focus; None if there is none."""
        focus = self._page.window().focusWidget()
        return next((id_ for id_, view in self.items() if focus is not None and view.isAncestorOf(focus)), None)

    def id_of(self, widget: QObject) -> MessageId | None:
        """Return the message that has this view; None if the widget is not a view."""
        return next((message_id for message_id, view in self.items() if view is widget), None)

    def make(self, shown: ShownMessage, draft: str | None = None) -> MessageView:
        """Return a visible view for a message that has none: a spare view if there is one, else a new one.

        `draft` is the text of an edit that was begun in another view.
        """
        message_id = shown.message.id
        if spare := self._spare.get(shown.message.role):
            view = spare.pop()
            view.show_message(shown)
        else:
            view = self._new(shown)
        self._views[message_id] = view
        if draft is not None:
            view.begin_edit(draft)
        view.show()
        return view

    def release(self, message_id: MessageId) -> None:
        """Hide the view of a message, if it has one, and keep it for another message."""
        view = self._views.pop(message_id, None)
        if view is None:
            return
        focus = self._page.window().focusWidget()
        if focus is not None and view.isAncestorOf(focus):
            focus.clearFocus()
        view.hide()
        if view.text.is_long:
            view.text.set_text("")
        spare = self._spare.setdefault(view.message.role, [])
        if view.is_edited or len(spare) >= _MAX_SPARE:
            view.deleteLater()
            return
        cursor = view.text.textCursor()
        cursor.clearSelection()
        view.text.setTextCursor(cursor)
        spare.append(view)

    def make_one_ahead(self) -> bool:
        """Create a spare view for the role that has the fewest; return False if there are enough of all."""
        lacking: list[Role] = [role for role, number in _NUM_AHEAD.items() if len(self._spare.get(role, ())) < number]
        if not lacking:
            return False
        role = min(lacking, key=lambda role: len(self._spare.get(role, ())))
        blank = Message(id=0, parent_id=None, role=role, text="")
        view = self._new(ShownMessage(blank, (0,), (), is_streaming=False, is_last=False))
        view.hide()
        for part in (view, *view.findChildren(QWidget)):
            part.ensurePolished()
        self._spare.setdefault(role, []).append(view)
        return True

    def unload_long_texts(self) -> bool:
        """Remove parts of long texts from the page until the next `set_theme`, so that Qt does not lay them out again.

        Return whether there were any. Spare views are deleted, too, because styling them takes as long as styling
        visible views.
        """
        for spare in itertools.chain.from_iterable(self._spare.values()):
            discard(spare)
        self._spare.clear()
        return sum(view.unload_long_texts() for view in self.values()) > 0

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for view in itertools.chain(*self._spare.values(), self.values()):
            view.set_theme(theme)

    def _new(self, shown: ShownMessage) -> MessageView:
        from app.ui.message.message_view import MessageView

        view = MessageView(shown, self._theme, self._page.viewport())
        self._connect(view)
        return view


def put_in_order(views: Sequence[MessageView]) -> None:
    """Set the order in which Tab and screen readers reach the views."""
    for above, below in itertools.pairwise(views):
        below.follow(above)
    for below, above in itertools.pairwise(reversed(views)):
        above.stackUnder(below)
