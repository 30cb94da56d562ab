"""The visible branch as a column of messages; it follows the end only while the person is there."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget
from typing_extensions import override

from app.controller import Controller
from app.model.message import Message, MessageId, Role
from app.ui.message_actions import ActionName
from app.ui.message_view import MessageView, Shown
from app.ui.theme import COLUMN_PX, Theme

_TICK_MS = 33
_NEAR_END_PX = 24
_AT_ONCE = 48
"""Messages of another conversation that are laid out before it is shown; more than fit on a screen."""
_CHUNK = 8
"""Messages that are added above them, whenever there is nothing else to do."""
_NEXT: tuple[Role, ...] = ("system", "user", "assistant")


class Transcript(QScrollArea):
    """Shows the controller's path, one widget a message."""

    action_asked = Signal(int, str)
    refused = Signal(str)
    """Why a text was not taken into an edit."""
    focus_orphaned = Signal()
    """The message that had the focus has left the page."""

    def __init__(self, controller: Controller, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("transcript")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._controller = controller
        self._theme = theme
        self._views: dict[MessageId, MessageView] = {}
        self._next: dict[Role, MessageView] = {}
        """Views of messages still to come: a small model's first words are there before a view would be made."""
        self._drafts: dict[MessageId, str] = {}
        """Edits begun in messages that are out of sight."""
        self._follows_end = True
        self._anchor: tuple[MessageId, int] | None = None
        """A message and its distance from the top, to be kept when the branch changes below or above it."""

        page = QWidget()
        self._column = QVBoxLayout(page)
        self._column.setContentsMargins(24, 16, 24, 24)
        self._column.setSpacing(4)
        self._column.addStretch(1)
        self.setWidget(page)
        page.installEventFilter(self)

        self._ticker = QTimer(self)
        self._ticker.setInterval(_TICK_MS)
        self._ticker.setSingleShot(True)
        self._ticker.timeout.connect(self._render)
        self._filler = QTimer(self)
        self._filler.timeout.connect(self._fill_above)
        self._next_maker = QTimer(self, singleShot=True, interval=0)
        self._next_maker.timeout.connect(self._make_next)
        self._next_maker.start()
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        controller.branch_changed.connect(self.show_branch)
        controller.message_changed.connect(self._show_changed)
        controller.text_appended.connect(self._on_text)
        controller.reading.connect(self._on_reading)

    def view(self, message_id: MessageId) -> MessageView | None:
        return self._views.get(message_id)

    @property
    def views(self) -> list[MessageView]:
        """The visible messages from top to bottom."""
        return [self._views[message.id] for message in self._controller.path if message.id in self._views]

    def show_branch(self) -> None:
        """Show the path; the widgets of messages that stay are kept, and so is the place on screen."""
        path = self._controller.path
        if not any(message.id in self._views for message in path):
            # Another conversation: no place in the one before is worth keeping.
            self._follows_end, self._anchor = True, None
        wanted = {message.id for message in path}
        focus = self.window().focusWidget()
        had_focus = any(view.isAncestorOf(focus) for view in self._views.values()) if focus is not None else False
        for message_id in [known for known in self._views if known not in wanted]:
            view = self._views.pop(message_id)
            if view.draft is not None:
                self._drafts[message_id] = view.draft
            self._column.removeWidget(view)
            view.hide()
            view.deleteLater()
        first = self._first_shown(path)
        for index, message in enumerate(path[first:]):
            shown = self._shown(message, is_last=message is path[-1])
            view = self._views.get(message.id) or self._next.pop(message.role, None) or self._new_view(shown)
            if view.shown != shown:
                view.show_message(shown)
            self._know(view)
            if self._column.indexOf(view) != index:
                self._column.removeWidget(view)
                self._column.insertWidget(index, view)
                view.show()
                if index > 0:
                    view.follow(self._views[path[first + index - 1].id])
        if had_focus and not any(view.isAncestorOf(self.window().focusWidget()) for view in self._views.values()):
            self.focus_orphaned.emit()
        if path and self._controller.is_streaming(path[-1].id) and self._anchor is None:
            self._follows_end = True
        self._next_maker.start()

    def _first_shown(self, path: Sequence[Message]) -> int:
        """Return the index of the first message that is laid out now; those above it follow by and by."""
        known = next((index for index, message in enumerate(path) if message.id in self._views), None)
        first = known if known is not None and self._filler.isActive() else 0
        if known is None:
            first = max(0, len(path) - _AT_ONCE)
        if first > 0:
            self._filler.start()
        else:
            self._filler.stop()
        return first

    def _fill_above(self) -> None:
        path = self._controller.path
        first = next((index for index, message in enumerate(path) if message.id in self._views), 0)
        for message in reversed(path[max(0, first - _CHUNK) : first]):
            view = self._new_view(self._shown(message, is_last=False))
            self._know(view)
            self._column.insertWidget(0, view)
        if first <= _CHUNK:
            self._filler.stop()
            for above, below in itertools.pairwise(self.views):
                below.follow(above)

    def keep_place_of(self, message_id: MessageId) -> None:
        """Whatever changes next, this message's top stays where it is on screen."""
        view = self._views.get(message_id)
        if view is not None:
            self._follows_end = False
            self._anchor = (message_id, view.y() - self.verticalScrollBar().value())

    def move_anchor(self, message_id: MessageId) -> None:
        """The anchored message gave its place to another version."""
        if self._anchor is not None:
            self._anchor = (message_id, self._anchor[1])
            self._hold_place()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for view in (*self._views.values(), *self._next.values()):
            view.set_theme(theme)

    def scroll_to_end(self) -> None:
        self._follows_end = True
        self._hold_place()

    def _know(self, view: MessageView) -> None:
        self._views[view.message.id] = view
        if (draft := self._drafts.pop(view.message.id, None)) is not None:
            view.begin_edit(draft)

    def _new_view(self, shown: Shown) -> MessageView:
        view = MessageView(shown, self._theme, self.widget())
        view.action_asked.connect(self.action_asked)
        view.edited.connect(self._controller.edit)
        view.sibling_asked.connect(self.step_sibling)
        view.focused.connect(self._reveal)
        view.refused.connect(self.refused)
        return view

    def _make_next(self) -> None:
        """Make a view for what is asked next, one at a time; while an answer streams there are better things to do."""
        role: Role | None = next((role for role in _NEXT if role not in self._next), None)
        if role is None or self._controller.streaming_message is not None:
            return
        blank = Message(id=0, parent_id=None, role=role, text="")
        view = self._next[role] = self._new_view(Shown(blank, (0,), (), is_streaming=False, is_last=False))
        view.hide()
        for part in (view, *view.findChildren(QWidget)):
            part.ensurePolished()
        self._next_maker.start()

    def step_sibling(self, message_id: MessageId, step: int) -> None:
        """Show another version of a message in its place."""
        view = self._views.get(message_id)
        had_focus = view is not None and self.window().focusWidget() is view.text
        self.keep_place_of(message_id)
        anchor = self._anchor
        chosen = self._controller.choose_sibling(message_id, step)
        # Of the first message, another version is another page; its place is kept all the same.
        self._follows_end, self._anchor = anchor is None, anchor
        self.move_anchor(chosen)
        if had_focus and (view := self._views.get(chosen)) is not None:
            view.text.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _shown(self, message: Message, *, is_last: bool) -> Shown:
        is_streaming = self._controller.is_streaming(message.id)
        return Shown(
            message=message,
            # As they are now: the tree's own list grows.
            siblings=tuple(self._controller.siblings(message.id)),
            actions=_actions(message, self._controller.can_continue(message), is_last=is_last),
            is_streaming=is_streaming,
            is_last=is_last,
        )

    def _show_changed(self, message_id: MessageId) -> None:
        view = self._views.get(message_id)
        if view is not None:
            path = self._controller.path
            view.show_message(self._shown(self._controller.message(message_id), is_last=path[-1].id == message_id))
        self._next_maker.start()

    def _on_text(self, message_id: MessageId, text: str) -> None:
        view = self._views.get(message_id)
        if view is not None:
            view.append_text(text)
            if not self._ticker.isActive():
                self._ticker.start()

    def _on_reading(self, message_id: MessageId, done: int, total: int, kept: int) -> None:
        view = self._views.get(message_id)
        if view is not None:
            view.show_reading(done, total, kept)

    def _render(self) -> None:
        for view in self._views.values():
            view.render_appended()

    # --- scrolling -----------------------------------------------------------------------------------------

    def _on_scrolled(self, value: int) -> None:
        if self._anchor is None or abs(self._anchor_value() - value) > 1:
            self._anchor = None
            self._follows_end = value >= self.verticalScrollBar().maximum() - _NEAR_END_PX
            if self._filler.isActive() and not self._follows_end:
                # What comes in above must not move what is read.
                seen = next((view for view in self.views if view.geometry().bottom() >= value), None)
                if seen is not None:
                    self.keep_place_of(seen.message.id)

    def _anchor_value(self) -> int:
        if self._anchor is None or (view := self._views.get(self._anchor[0])) is None:
            return self.verticalScrollBar().value()
        return view.y() - self._anchor[1]

    def _hold_place(self) -> None:
        bar = self.verticalScrollBar()
        if self._anchor is not None:
            bar.setValue(self._anchor_value())
        elif self._follows_end:
            bar.setValue(bar.maximum())

    def _reveal(self, message_id: MessageId) -> None:
        view = self._views.get(message_id)
        if view is not None and not view.is_streaming:
            self.ensureWidgetVisible(view, 0, 8)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.widget() and event.type() in {QEvent.Type.Resize, QEvent.Type.LayoutRequest}:
            # After the layout has settled, not in the middle of it.
            QTimer.singleShot(0, self, self._hold_place)
        return super().eventFilter(watched, event)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # In the middle of the whole width: a scroll bar that comes and goes moves nothing.
        side = max(16, (self.width() - COLUMN_PX) // 2 - 8)
        scroll_bar = self.width() - self.viewport().width()
        self._column.setContentsMargins(side, 16, max(8, side - scroll_bar), 24)


def _actions(message: Message, can_continue: bool, *, is_last: bool) -> list[ActionName]:
    if message.role == "system":
        return ["edit"]
    if message.role == "user":
        return ["edit", *(["regenerate"] if is_last else []), "fork", "copy"]
    return ["edit", "regenerate", "fork", *(["continue"] if can_continue else []), "copy"]
