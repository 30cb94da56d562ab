"""Messages one below another, of which those in sight have views; what is read stays in its place. No controller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from typing_extensions import override

from app.model.message import Message, MessageId
from app.numbers import counted
from app.ui.message.shown_message import ShownMessage
from app.ui.theme import COLUMN_PX, LINE_PX, Theme, scaled
from app.ui.transcript.message_views import MessageViews, put_in_order
from app.ui.transcript.smooth_scroll_area import SmoothScrollArea
from app.ui.transcript.transcript_layout import Column, Sight, estimated_height

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView

_ABOVE_PX, _BETWEEN_PX, _BELOW_PX = 16, 4, 24
_LEAST_PX = 120
_REVEALED_PX = 8
"""How far from the edge a message stands that was brought into sight."""


class MessageList(SmoothScrollArea):
    """A view is there for each message in sight, for the one with the focus, and for those beside it."""

    views_changed = Signal()
    """Other messages have views now."""

    def __init__(self, theme: Theme) -> None:
        self._column = Column(_ABOVE_PX, _BETWEEN_PX, _BELOW_PX)
        super().__init__(Sight(self._column))
        self._ids: list[MessageId] = []
        self._index: dict[MessageId, int] = {}
        self._views = MessageViews(self, theme, self.connect_view)
        self._width = COLUMN_PX
        self._side = 0
        self._maker = QTimer(self, interval=0, singleShot=True)
        self._maker.timeout.connect(self._make_one_more)
        self._makes_ahead = False

    # --- what who shows messages says ----------------------------------------------------------------------

    def shown(self, message_id: MessageId) -> ShownMessage:
        """Return a message as it is to be shown now."""
        raise NotImplementedError

    def all_messages(self) -> Sequence[Message]:
        raise NotImplementedError

    def connect_view(self, view: MessageView) -> None:
        """Listen to a view that was made."""
        view.focused.connect(self._on_focused)
        view.installEventFilter(self)

    @property
    def is_busy(self) -> bool:
        """Whether there are better things to do than to make views ahead."""
        return False

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing moves, and all views are there that may be needed soon."""
        return not (self._animation.is_moving or self._maker.isActive())

    # --- views ---------------------------------------------------------------------------------------------

    def view(self, message_id: MessageId) -> MessageView | None:
        """Return the view of a message, if it has one now."""
        return self._views.get(message_id)

    @property
    def views(self) -> list[MessageView]:
        """The messages that have views now, from top to bottom: those in sight and a few around them."""
        return sorted(self._views.values(), key=lambda view: self._index[view.message.id])

    @property
    def message_ids(self) -> Sequence[MessageId]:
        """All messages from top to bottom."""
        return self._ids

    def message_at(self, y: int) -> MessageId | None:
        """Return the message that stands at a height of the viewport, or the nearest one; None on an empty page."""
        return self._ids[self._column.at(self._sight.top + y)] if self._ids else None

    @property
    def first_in_sight(self) -> int:
        """The index of the uppermost message that is seen."""
        return self._sight.messages.start

    @property
    def focused_message_id(self) -> MessageId | None:
        """The message in which the focus is."""
        return self._views.focused

    @property
    def current_message_id(self) -> MessageId | None:
        """The message that has the focus, else the last one; None on an empty page."""
        return self.focused_message_id or (self._ids[-1] if self._ids else None)

    def make_ahead(self) -> None:
        """Make views that nobody needs yet, from now on: there is time for it once the window was painted."""
        self._makes_ahead = True
        self._maker.start()

    def set_theme(self, theme: Theme) -> None:
        self._views.set_theme(theme)
        # The text may be of another size, too.
        self._estimate_again()
        self.arrange()

    def replace_from(self, index: int, messages: Iterable[Message]) -> None:
        """Let other messages stand from `index` on."""
        for message_id in self._ids[index:]:
            self._views.release(message_id)
        below = list(messages)
        self._ids[index:] = [message.id for message in below]
        self._index = {message_id: at for at, message_id in enumerate(self._ids)}
        self._column.replace_from(index, self.estimates(below))

    def estimates(self, messages: Iterable[Message]) -> list[int]:
        """Return about how high messages will be."""
        scale = scaled(100) / 100
        width = round(self._width / scale)
        return [round(scale * estimated_height(message.role, message.text, width)) for message in messages]

    def _estimate_again(self) -> None:
        for index, height in zip(range(len(self._column)), self.estimates(self.all_messages()), strict=False):
            self._column.estimate(index, height)

    def _made(self, index: int) -> MessageView:
        """Return a message's view, made and measured if it was not."""
        message_id = self._ids[index]
        view = self._views.get(message_id)
        if view is None:
            view = self._views.make(self.shown(message_id))
            self._column.forget(index)
            # A screen reader finds those alone that have views; this tells where among all it is.
            view.text.setAccessibleDescription(self.tr("Message {number}").format(number=counted(index + 1)))
        if not self._column.is_measured(index):
            self._column.measure(index, view.settled_height(self._width))
        return view

    @override
    def arrange(self) -> None:
        """Give each message in sight a view in its place, and move nothing that is read."""
        if self._is_arranging or not self.isVisible():
            return
        before = set(self._views)
        self._is_arranging = True
        try:
            self._make_what_is_seen()
            self._let_go()
            self._place()
            if before != self._views.keys():
                put_in_order(self.views)
        finally:
            self._is_arranging = False
        if before != self._views.keys():
            self.views_changed.emit()
            self._maker.start()

    def _make_what_is_seen(self) -> None:
        while True:
            self._sight.settle()
            wanted = {*self._sight.messages, *self._beside_focus}
            if not (missing := [index for index in wanted if not self._is_there(index)]):
                return
            for index in missing:
                self._made(index)

    @property
    def _beside_focus(self) -> range:
        """The message with the focus and those beside it: there Tab leads to."""
        focused = self.focused_message_id
        if focused is None:
            return range(0)
        index = self._index[focused]
        return range(max(index - 1, 0), min(index + 2, len(self._ids)))

    def _is_there(self, index: int) -> bool:
        return self._column.is_measured(index) and self._ids[index] in self._views

    def _let_go(self) -> None:
        """Take back the views that are far out of sight."""
        sight = self._sight
        near = self._column.within(sight.top - sight.height, sight.bottom + sight.height)
        beside = self._beside_focus
        for message_id, view in list(self._views.items()):
            index = self._index[message_id]
            if index not in near and index not in beside and not view.is_edited:
                self._views.release(message_id)

    def _place(self) -> None:
        self._update_scroll_bar()
        for message_id, view in self._views.items():
            index = self._index[message_id]
            height = self._column.message_height(index)
            view.setGeometry(self._side, self._sight.offset(index), self._width, height)

    def _make_one_more(self) -> None:
        """Make one view that may be needed soon, whenever there is nothing else to do."""
        sight = self._sight
        around = self._column.within(sight.top - sight.height // 2, sight.bottom + sight.height // 2)
        missing = [index for index in around if not self._is_there(index)] if self.isVisible() else []
        if missing:
            middle = (sight.messages.start + sight.messages.stop) / 2
            self._made(min(missing, key=lambda index: abs(index - middle)))
            put_in_order(self.views)
            self.arrange()
            self.views_changed.emit()
            self._maker.start()
        elif self._makes_ahead and not self.is_busy and self._views.make_one_ahead():
            self._maker.start()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and not self._is_arranging:
            message_id = self._views.id_of(watched)
            if message_id is not None:
                self._column.forget(self._index[message_id])
                self.arrange()
        return super().eventFilter(watched, event)

    # --- scrolling -----------------------------------------------------------------------------------------

    def reveal(self, message_id: MessageId, part: tuple[int, int] | None = None) -> MessageView | None:
        """Scroll to a message, make its view if need be, and return it; None where it is not here.

        `part`: what is to be seen of it, from and to so many pixels below its top.
        """
        index = self._index.get(message_id)
        if index is None or not self.isVisible():
            return None
        sight, column = self._sight, self._column
        self._animation.stop()
        # From far away the last part of the way is what is seen of it.
        if column.top(index) > sight.bottom + sight.height:
            sight.hold(index, sight.height)
        elif column.bottom(index) < sight.top - sight.height:
            sight.hold(index, -column.message_height(index))
        view = self._made(index)
        self.arrange()
        start, end = part or (0, column.message_height(index))
        top, bottom = column.top(index) + start - _REVEALED_PX, column.top(index) + end + _REVEALED_PX
        if top < sight.top or (bottom > sight.bottom and bottom - top > sight.height):
            self._go(top - sight.top)
        elif bottom > sight.bottom:
            self._go(bottom - sight.bottom)
        return view

    def _on_focused(self, message_id: MessageId) -> None:
        """A view was given the focus; who clicks at one sees it already."""
        if not self._views[message_id].underMouse():
            self.reveal(message_id)
        self.arrange()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.arrange()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._sight.height = self.viewport().height()
        # In the middle of the whole width: a scroll bar that comes and goes moves nothing.
        side = max(16, (self.width() - COLUMN_PX) // 2 - 8)
        scroll_bar = self.width() - self.viewport().width()
        width = max(self.viewport().width() - side - max(8, side - scroll_bar), _LEAST_PX)
        self._side = side
        # Where nothing is wrapped anew, the message that is read stays where it is.
        line = self._line_at_top() if width != self._width else None
        if width != self._width:
            self._width = width
            self._estimate_again()
        self.arrange()
        if line is not None:
            self._hold_line(*line)

    def _line_at_top(self) -> tuple[MessageId, int, int] | None:
        """The line that is read where its message began further up, or the last one before it; and where it stands."""
        held, sight = self._sight.held, self._sight
        view = None if held is None or sight.offset(held[0]) >= 0 else self._views.get(self._ids[held[0]])
        if view is None or not view.text.isVisibleTo(view):
            return None  # Nothing was written there, or it is written anew.
        position = view.text.position_at(LINE_PX // 2 - view.y(), view)
        return view.message.id, position, view.y() + view.text.y_of(position, view)

    def _hold_line(self, message_id: MessageId, position: int, y: int) -> None:
        view = self._views.get(message_id)
        if view is not None:
            self._sight.hold(self._index[message_id], y - view.text.y_of(position, view))
            self.arrange()
