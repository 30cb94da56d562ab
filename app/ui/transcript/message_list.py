"""A scrolling list of messages. Only messages near the viewport have views. Independent of the controller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from typing_extensions import override

from app.model.message import Message, MessageId
from app.numbers import counted
from app.ui.message.shown_message import ShownMessage
from app.ui.theme import COLUMN_PX, LINE_PX, Theme, scaled
from app.ui.transcript.message_views import MessageViews, put_in_order
from app.ui.transcript.smooth_scroll_area import SmoothScrollArea
from app.ui.transcript.transcript_layout import Column, ScrollPosition, estimated_height

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView

_ABOVE_PX, _BETWEEN_PX, _BELOW_PX = 16, 4, 24
_MIN_WIDTH_PX = 120
_REVEAL_MARGIN_PX = 8


class _NextWidth(NamedTuple):
    """The left edge and width that the messages will have, once their texts have been laid out for that width."""

    left: int
    width: int
    line: tuple[MessageId, int, int] | None
    """The first visible line before the change, see `_line_at_top`."""
    top: int
    """The scroll position before the change."""


class MessageList(SmoothScrollArea):
    """Visible messages have views, and so have the focused message and its neighbours, which Tab can reach.

    Heights of messages without a view are estimated. When heights change, the text at the top of the page stays there.
    """

    views_changed = Signal()
    """Views were created or released."""

    def __init__(self, theme: Theme) -> None:
        self._column = Column(_ABOVE_PX, _BETWEEN_PX, _BELOW_PX)
        super().__init__(ScrollPosition(self._column))
        self._ids: list[MessageId] = []
        self._index: dict[MessageId, int] = {}
        self._views = MessageViews(self, theme, self.connect_view)
        self._width = COLUMN_PX
        self._left = 0
        self._idle_timer = QTimer(self, interval=0, singleShot=True)
        """Creates one view at a time while the event loop is idle."""
        self._idle_timer.timeout.connect(self._make_one_more)
        self._makes_ahead = False
        self._fit_timer = QTimer(self, interval=0, singleShot=True)
        """Lays out the messages for a new width."""
        self._fit_timer.timeout.connect(self._fit_width)
        self._next: _NextWidth | None = None
        """The width for which long texts are being laid out; None if there is none."""

    # --- to be overridden ----------------------------------------------------------------------------------

    def shown(self, message_id: MessageId) -> ShownMessage:
        """Return a message as it is to be shown now."""
        raise NotImplementedError

    def draft_of(self, message_id: MessageId) -> str | None:
        """Return the text of an open edit in a message that has no view now; None if there is no such edit."""
        raise NotImplementedError

    def all_messages(self) -> Sequence[Message]:
        raise NotImplementedError

    def connect_view(self, view: MessageView) -> None:
        """Connect the signals of a new view."""
        view.focused.connect(self._on_focused)
        view.installEventFilter(self)

    @property
    def is_busy(self) -> bool:
        """Whether an answer streams, so that the time is needed for it and not for spare views."""
        return False

    # --- messages and views --------------------------------------------------------------------------------

    def view(self, message_id: MessageId) -> MessageView | None:
        """Return the view of a message; None if the message has no view now."""
        return self._views.get(message_id)

    @property
    def views(self) -> list[MessageView]:
        """The existing views from top to bottom."""
        return sorted(self._views.values(), key=lambda view: self._index[view.message.id])

    @property
    def message_ids(self) -> Sequence[MessageId]:
        """All messages from top to bottom."""
        return self._ids

    def message_at(self, y: int) -> MessageId | None:
        """Return the message at `y` in the viewport, or the nearest one; None if there are no messages."""
        return self._ids[self._column.index_at(self._position.top + y)] if self._ids else None

    @property
    def first_visible(self) -> int:
        """The index of the first visible message."""
        return self._position.visible.start

    @property
    def focused_message_id(self) -> MessageId | None:
        """The message that contains the focus; None if there is none."""
        return self._views.focused

    @property
    def current_message_id(self) -> MessageId | None:
        """The focused message, else the last message; None if there are no messages."""
        return self.focused_message_id or (self._ids[-1] if self._ids else None)

    def make_ahead(self) -> None:
        """Start to create spare views while idle. To be called once the window has been painted."""
        self._makes_ahead = True
        self._idle_timer.start()

    def unload_long_texts(self) -> bool:
        """Remove parts of long texts from the page until the next `set_theme`; return whether there were any."""
        return self._views.unload_long_texts()

    def set_theme(self, theme: Theme) -> None:
        self._views.set_theme(theme)
        # The size of the text may have changed, too.
        self._estimate_again()
        self.arrange()
        # `unload_long_texts` deleted the spare views.
        self._idle_timer.start()

    def replace_from(self, index: int, messages: Iterable[Message]) -> None:
        """Replace the messages from `index` on."""
        for message_id in self._ids[index:]:
            self._views.release(message_id)
        below = list(messages)
        self._ids[index:] = [message.id for message in below]
        self._index = {message_id: at for at, message_id in enumerate(self._ids)}
        self._column.replace_from(index, self.estimates(below))

    def estimates(self, messages: Iterable[Message]) -> list[int]:
        """Return approximate heights of messages, in pixels."""
        scale = scaled(100) / 100
        width = round(self._width / scale)
        return [round(scale * estimated_height(message.role, message.text, width)) for message in messages]

    def _estimate_again(self) -> None:
        for index, height in zip(range(len(self._column)), self.estimates(self.all_messages()), strict=False):
            self._column.estimate(index, height)

    # --- arranging views -----------------------------------------------------------------------------------

    @override
    def arrange(self) -> None:
        """Create, release and place views to fit the scroll position."""
        if self._is_arranging or not self.isVisible():
            return
        before = set(self._views)
        self._is_arranging = True
        try:
            self._make_visible_views()
            self._release_far_views()
            self._place_views()
            if before != self._views.keys():
                put_in_order(self.views)
        finally:
            self._is_arranging = False
        if before != self._views.keys():
            self.views_changed.emit()
            self._idle_timer.start()

    def _make_visible_views(self) -> None:
        # Measuring changes heights, so other messages may become visible.
        while True:
            self._position.settle()
            wanted = {*self._position.visible, *self._around_focus}
            if not (missing := [index for index in wanted if not self._is_ready(index)]):
                return
            for index in missing:
                self._measured_view(index)

    def _measured_view(self, index: int) -> MessageView:
        """Return the view of a message; create and measure it if necessary."""
        message_id = self._ids[index]
        view = self._views.get(message_id)
        if view is None:
            view = self._views.make(self.shown(message_id), self.draft_of(message_id))
            self._column.invalidate(index)
            # Screen readers see only messages with views, so each says its number in the conversation.
            view.text.setAccessibleDescription(self.tr("Message {number}").format(number=counted(index + 1)))
        if not self._column.is_measured(index):
            self._column.measure(index, view.settled_height(self._width))
        return view

    def _is_ready(self, index: int) -> bool:
        return self._column.is_measured(index) and self._ids[index] in self._views

    @property
    def _around_focus(self) -> range:
        """The indices of the focused message and its neighbours."""
        focused = self.focused_message_id
        if focused is None:
            return range(0)
        index = self._index[focused]
        return range(max(index - 1, 0), min(index + 2, len(self._ids)))

    def _release_far_views(self) -> None:
        position = self._position
        near = self._column.within(position.top - position.height, position.bottom + position.height)
        around_focus = self._around_focus
        for message_id, view in list(self._views.items()):
            index = self._index[message_id]
            if index not in near and index not in around_focus and not view.is_edited:
                self._views.release(message_id)

    def _place_views(self) -> None:
        self._update_scroll_bar()
        for message_id, view in self._views.items():
            index = self._index[message_id]
            height = self._column.message_height(index)
            view.setGeometry(self._left, self._position.offset(index), self._width, height)

    def _make_one_more(self) -> None:
        """Create one view just outside the viewport; if none is missing there, create a spare view."""
        position = self._position
        around = self._column.within(position.top - position.height // 2, position.bottom + position.height // 2)
        missing = [index for index in around if not self._is_ready(index)] if self.isVisible() else []
        if missing:
            middle = (position.visible.start + position.visible.stop) / 2
            self._measured_view(min(missing, key=lambda index: abs(index - middle)))
            put_in_order(self.views)
            self.arrange()
            self.views_changed.emit()
            self._idle_timer.start()
        elif self._makes_ahead and not self.is_busy and self._views.make_one_ahead():
            self._idle_timer.start()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and not self._is_arranging:
            message_id = self._views.id_of(watched)
            if message_id is not None:
                self._column.invalidate(self._index[message_id])
                self.arrange()
        return super().eventFilter(watched, event)

    # --- scrolling -----------------------------------------------------------------------------------------

    def reveal(self, message_id: MessageId, part: tuple[int, int] | None = None) -> MessageView | None:
        """Scroll to a message and return its view; None if the message is not in the list.

        `part` is the range to make visible, in pixels below the message's top; None means the whole message.
        """
        index = self._index.get(message_id)
        if index is None or not self.isVisible():
            return None
        position, column = self._position, self._column
        self._animation.stop()
        # From far away, only the last part of the way is animated.
        if column.top(index) > position.bottom + position.height:
            position.hold(index, position.height)
        elif column.bottom(index) < position.top - position.height:
            position.hold(index, -column.message_height(index))
        view = self._measured_view(index)
        self.arrange()
        start, end = part or (0, column.message_height(index))
        top, bottom = column.top(index) + start - _REVEAL_MARGIN_PX, column.top(index) + end + _REVEAL_MARGIN_PX
        visible_top = position.top + position.covered
        if top < visible_top or (bottom > position.bottom and bottom - top > position.bottom - visible_top):
            self._go(top - visible_top)
        elif bottom > position.bottom:
            self._go(bottom - position.bottom)
        return view

    def cover(self, height_px: int) -> None:
        """Set the height at the top of the page that a notice covers. Nothing moves, but the user can scroll there."""
        if self._position.covered != height_px:
            self._position.covered = height_px
            self.arrange()

    def _on_focused(self, message_id: MessageId) -> None:
        view = self._views.get(message_id)
        if view is None:
            # It is being released: Qt moved the focus there from another one that was released.
            return
        # A message that was clicked is visible already.
        if not view.underMouse():
            self.reveal(message_id)
        self.arrange()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.arrange()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._position.height = self.viewport().height()
        if any(view.is_long for view in self._views.values()):
            # Several changes of the width in one turn lay out a text once, from the next turn on.
            self._fit_timer.start()
            self.arrange()
        else:
            self._next = None
            self._fit_width()

    def _fit_width(self) -> None:
        """Lay out the messages for the present width of the page. Long texts are laid out first, in steps."""
        left, width = self._place_of_messages()
        if self._next is None:
            line = self._line_at_top() if width != self._width else None
            self._next = _NextWidth(left, width, line, self._position.top)
        following = self._next
        is_other = following.width != self._width
        if is_other and not all(view.lay_out_ahead(following.width) for view in self._views.values()):
            self._fit_timer.start()
            return
        self._next = None
        has_scrolled = following.top != self._position.top
        self._left = following.left
        if is_other:
            self._width = following.width
            self._estimate_again()
        self.arrange()
        for view in self._views.values():
            view.leave_ahead()
        if following.line is not None and not has_scrolled:
            self._hold_line(*following.line)
        if (left, width) != (following.left, following.width):
            # The width has changed meanwhile.
            self._fit_timer.start()

    def _place_of_messages(self) -> tuple[int, int]:
        """Return the left edge and the width that the messages should have, in pixels."""
        # Centred in the widget, not in the viewport: messages do not move when the scroll bar appears.
        left = max(16, (self.width() - COLUMN_PX) // 2 - 8)
        scroll_bar = self.width() - self.viewport().width()
        return left, max(self.viewport().width() - left - max(8, left - scroll_bar), _MIN_WIDTH_PX)

    def _line_at_top(self) -> tuple[MessageId, int, int] | None:
        """Return the message, text position and y of the first visible line, if its message starts above the viewport.

        That line keeps its place when a new width wraps the text differently.
        """
        held = self._position.held
        is_cut = held is not None and self._position.offset(held[0]) < 0
        view = self._views.get(self._ids[held[0]]) if held is not None and is_cut else None
        if view is None or not view.text.isVisibleTo(view):
            return None
        text_position = view.text.position_at(LINE_PX // 2 - view.y(), view)
        return view.message.id, text_position, view.y() + view.text.y_of(text_position, view)

    def _hold_line(self, message_id: MessageId, text_position: int, y: int) -> None:
        view = self._views.get(message_id)
        if view is not None:
            self._position.hold(self._index[message_id], y - view.text.y_of(text_position, view))
            self.arrange()
