"""The views that messages have now, by their ids: made when one is needed, given back with what was begun in it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QAbstractScrollArea
from typing_extensions import override

from app.model.message import MessageId
from app.ui.message.shown_message import Shown
from app.ui.theme import Theme
from app.ui.transcript.message_shelf import MessageShelf

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView


class MessageViews(Mapping[MessageId, "MessageView"]):
    """Which messages need views is not known here."""

    def __init__(self, page: QAbstractScrollArea, theme: Theme, connect: Callable[[MessageView], None]) -> None:
        """`connect` is called with each view that is made."""
        self._page = page
        self._shelf = MessageShelf(page, theme, connect)
        self._views: dict[MessageId, MessageView] = {}
        self._drafts: dict[MessageId, str] = {}
        """Edits begun in messages that have no view now."""

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
        """The message in which the focus is."""
        focus = self._page.window().focusWidget()
        return next((id_ for id_, view in self.items() if focus is not None and view.isAncestorOf(focus)), None)

    def id_of(self, widget: QObject) -> MessageId | None:
        """Return the message of which this is the view, if it is one's."""
        return next((message_id for message_id, view in self.items() if view is widget), None)

    def make(self, shown: Shown) -> MessageView:
        """Return a view of a message that had none."""
        message_id = shown.message.id
        view = self._views[message_id] = self._shelf.take(shown)
        if (draft := self._drafts.pop(message_id, None)) is not None:
            view.begin_edit(draft)
        view.show()
        return view

    def give_back(self, message_id: MessageId) -> None:
        """Let a message have a view no more, if it has one."""
        view = self._views.pop(message_id, None)
        if view is None:
            return
        if view.draft is not None:
            self._drafts[message_id] = view.draft
        focus = self._page.window().focusWidget()
        if focus is not None and view.isAncestorOf(focus):
            focus.clearFocus()
        self._shelf.give_back(view)

    def make_one_ahead(self) -> bool:
        """Make a view that some message will need; return whether one was lacking."""
        return self._shelf.make_one_ahead()

    def set_theme(self, theme: Theme) -> None:
        self._shelf.set_theme(theme)
        for view in self.values():
            view.set_theme(theme)


def put_in_order(views: Sequence[MessageView]) -> None:
    """Let Tab and a screen reader come to the views one after another."""
    for above, below in itertools.pairwise(views):
        below.follow(above)
    for below, above in itertools.pairwise(reversed(views)):
        above.stackUnder(below)
