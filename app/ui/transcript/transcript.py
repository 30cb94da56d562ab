"""The visible branch on the page: the controller's path, as it grows and as another branch takes its place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, QTimer, Signal
from typing_extensions import override

from app.conversation.controller import Controller
from app.model.message import Message, MessageId
from app.ui.message.message_action import row_actions
from app.ui.message.shown_message import DisplayModes, ShownMessage
from app.ui.theme import Theme
from app.ui.transcript.message_list import MessageList
from app.ui.transcript.message_selection import MessageSelection

if TYPE_CHECKING:
    from app.ui.message.message_editor import MessageEditor
    from app.ui.message.message_view import MessageView

_TICK_MS = 33
_SHOW_WAITING_MS = 400
"""Shorter waits are not worth showing."""
_MOST_ASKED = 3
"""Messages that one action adds below where it was done: a system prompt, a question and its answer."""


class Transcript(MessageList):
    """Shows the controller's path.

    Others find here: `view(id)` and `views` (what has a widget now; `views_changed` tells of others), `message_ids`
    (all of the branch), `current_message_id`, `reveal(id)` and `focus(id)` (which scroll to it and make it), `walk`.
    """

    action_requested = Signal(int, object)
    """A message's id and a `MessageRequest`."""
    editor_opened = Signal(object)
    """The `MessageEditor`."""
    edit_cancelled = Signal(int)
    """The id of a message whose edit was cancelled after changes."""
    refused = Signal(str)
    """Why an editor did not accept a pasted text."""
    focus_lost = Signal()
    """The message that had the focus has left the page."""
    text_changed = Signal(int)
    """A view shows another text, or more of it."""

    def __init__(self, controller: Controller, theme: Theme) -> None:
        self._controller = controller
        self.modes = DisplayModes(controller.shown.tokens_so_far)
        """How its messages are read."""
        super().__init__(theme)
        self.selection = MessageSelection(self)
        """Several messages at once."""
        self.text_changed.connect(self.selection.show_again)
        self.setObjectName("transcript")
        self.setAccessibleName(self.tr("Conversation"))
        self._conversation_id: int | None = None
        self._is_choosing = False
        self._grown: set[MessageId] = set()
        """Messages without a view that text has streamed into."""
        self._ticker = QTimer(self, interval=_TICK_MS, singleShot=True)
        self._ticker.timeout.connect(self._render)
        controller.shown.branch_changed.connect(self.show_branch)
        controller.shown.message_changed.connect(self._show_changed)
        controller.shown.text_appended.connect(self._on_text)
        controller.shown.reading.connect(self._on_reading)
        controller.shown.revealed.connect(self.reveal)
        WaitingAnswers(controller, self)

    def focus(self, message_id: MessageId) -> bool:
        """Scroll to a message and give it the focus; return whether it is on this branch."""
        view = self.reveal(message_id)
        if view is not None:
            view.text.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return view is not None

    def walk(self, step: int) -> bool:
        """Give the focus to the message before or after the one that has it; return whether there is one."""
        focused = self.focused_message_id
        index = (len(self._ids) if focused is None else self._index[focused]) + step
        if not self._ids or index >= len(self._ids):
            return False
        return self.focus(self._ids[max(index, 0)])

    @override
    def focusNextPrevChild(self, next: bool) -> bool:
        """What Tab leads to is seen, be it at the end of a message that is higher than the page."""
        is_moved = super().focusNextPrevChild(next)
        focus, focused = self.window().focusWidget(), self.focused_message_id
        view = None if focused is None else self.view(focused)
        if view is not None and focus is not None and focus is not view.text:
            top = focus.mapTo(view, QPoint(0, 0)).y()
            self.reveal(view.message.id, (top, top + focus.height()))
        return is_moved

    def step_sibling(self, message_id: MessageId, step: int) -> None:
        """Show another version of a message in its place."""
        view = self.view(message_id)
        had_focus = view is not None and self.window().focusWidget() is view.text
        self._is_choosing = True
        chosen = self._controller.shown.choose_sibling(message_id, step)
        self._is_choosing = False
        if had_focus and (view := self.view(chosen)) is not None:
            view.text.setFocus(Qt.FocusReason.ShortcutFocusReason)

    # --- the branch ----------------------------------------------------------------------------------------

    def show_branch(self) -> None:
        """Show the path; messages that stay keep their views, and what is read keeps its place on screen."""
        path, before, sight = self._controller.shown.path, list(self._ids), self._sight
        ids = [message.id for message in path]
        same = _num_same(before, ids)
        was_seen = same < len(before) and sight.is_seen(same)
        place = sight.place(same) if was_seen else 0
        focus = self.window().focusWidget()
        focused = self.focused_message_id
        read = None if focused is None else self.view(focused)
        # Who writes in a message is done with it once it is gone.
        is_read = read is not None and focus is read.text
        conversation = self._controller.shown.conversation
        conversation_id = None if conversation is None else conversation.id
        is_another = same == 0 and conversation_id != self._conversation_id
        self._conversation_id = conversation_id

        self.replace_from(same, path[same:])
        for message_id in list(self._views):
            self._show_again(message_id)
        is_asked = 0 < len(ids) - same <= _MOST_ASKED and self._controller.shown.is_streaming(ids[-1])
        if is_another:
            sight.hold_end()
        elif same < min(len(before), len(ids)):
            # Another version stands where the old one did.
            self._animation.stop()
            sight.hold(same, place if was_seen else 0, follows_end=is_asked and not self._is_choosing)
        elif same < len(before):
            self._keep_what_is_left()
        elif is_asked and (sight.follows_end or self.isActiveWindow()):
            # Who asks wants to see what comes; another window may show the same conversation, and ask there.
            sight.hold_end()
        self.arrange()
        if focused is not None and focus is not None and self.focused_message_id is None:
            place = before.index(focused)
            stays = is_read and not is_another and place < len(ids) and path[place].role == "assistant"
            instead = self.view(ids[place]) if stays else None
            if instead is not None:
                # Who reads an answer goes on with the one that stands there now; who asked writes.
                instead.text.setFocus(Qt.FocusReason.ShortcutFocusReason)
            else:
                self.focus_lost.emit()
        self._maker.start()

    def _keep_what_is_left(self) -> None:
        """The lower messages are gone; those above them stay where they are, as long as any is seen."""
        sight, last = self._sight, len(self._ids) - 1
        if last >= 0 and self._column.bottom(last) > sight.top:
            self._animation.stop()
            sight.hold(last, sight.place(last))
        else:
            sight.hold_end()

    def _show_changed(self, message_id: MessageId) -> None:
        if self.view(message_id) is not None:
            self._show_again(message_id)
            self.arrange()
            self.text_changed.emit(message_id)
        else:
            self._on_text(message_id, "")
        self._maker.start()

    def _show_again(self, message_id: MessageId) -> None:
        view, shown = self._views[message_id], self.shown(message_id)
        if view.shown != shown:
            view.show_message(shown)
            self._column.forget(self._index[message_id])

    def _on_text(self, message_id: MessageId, text: str) -> None:
        view = self.view(message_id)
        if view is not None:
            view.append_text(text)
        elif message_id in self._index:
            self._grown.add(message_id)
        else:
            return
        if not self._ticker.isActive():
            self._ticker.start()

    def _on_reading(self, message_id: MessageId, done: int, total: int, kept: int) -> None:
        view = self.view(message_id)
        if view is not None:
            view.show_reading(done, total, kept)

    def _render(self) -> None:
        rendered = [message_id for message_id, view in self._views.items() if view.render_appended()]
        for message_id in rendered:
            self._column.forget(self._index[message_id])
        for message_id in self._grown & (self._index.keys() - self._views.keys()):
            (height,) = self.estimates([self._controller.shown.message(message_id)])
            self._column.estimate(self._index[message_id], height)
        self._grown.clear()
        self.arrange()
        for message_id in rendered:
            self.text_changed.emit(message_id)

    # --- what the list asks --------------------------------------------------------------------------------

    @override
    def shown(self, message_id: MessageId) -> ShownMessage:
        message = self._controller.shown.message(message_id)
        is_last = message_id == self._ids[-1]
        return ShownMessage(
            message=message,
            # As they are now: the tree's own list grows.
            siblings=tuple(self._controller.shown.siblings(message_id)),
            actions=row_actions(message, can_continue=self._controller.shown.can_continue(message), is_last=is_last),
            is_streaming=self._controller.shown.is_streaming(message_id),
            is_last=is_last,
            modes=self.modes,
        )

    @override
    def all_messages(self) -> Sequence[Message]:
        return self._controller.shown.path

    @override
    def connect_view(self, view: MessageView) -> None:
        super().connect_view(view)
        self.selection.watch(view)
        view.action_requested.connect(self.action_requested)
        view.editor_opened.connect(self._on_editor_opened)
        view.edit_cancelled.connect(self.edit_cancelled)
        view.refused.connect(self.refused)

    def _on_editor_opened(self, editor: MessageEditor) -> None:
        self.editor_opened.emit(editor)
        # Once it has its height.
        QTimer.singleShot(0, editor, partial(self._reveal_editor, editor))

    def _reveal_editor(self, editor: MessageEditor) -> None:
        """In a low window its field is what is to be seen of a message."""
        view = self.view(editor.message.id)
        if view is not None and editor.text.hasFocus():
            top = editor.mapTo(view, QPoint(0, 0)).y()
            self.reveal(editor.message.id, (top, top + editor.height()))

    @property
    @override
    def is_busy(self) -> bool:
        return self._controller.shown.streaming_message is not None


def _num_same(before: Sequence[MessageId], after: Sequence[MessageId]) -> int:
    """How many messages two branches have in common."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((index for index, (old, new) in pairs if old != new), min(len(before), len(after)))


class WaitingAnswers(QObject):
    """Shows what an answer that has not started is waiting for: the model, or the answer in another conversation."""

    def __init__(self, controller: Controller, transcript: Transcript) -> None:
        super().__init__(transcript)
        self._controller = controller
        self._transcript = transcript
        self._timer = QTimer(self, singleShot=True, interval=_SHOW_WAITING_MS)
        self._timer.timeout.connect(self._update)
        controller.shown.branch_changed.connect(self._timer.start)

    def _update(self) -> None:
        waiting = self._controller.shown.streaming_message
        if waiting is None or waiting.text:
            return
        view = self._transcript.view(waiting.id)
        text = self._waits_for(waiting.id)
        if text and view is not None:
            view.show_waiting(text)
        self._timer.start()

    def _waits_for(self, message_id: MessageId) -> str:
        if self._controller.program.session.state == "loading":
            return self.tr("waits for the model to be loaded")
        name = self._controller.shown.waits_for(message_id)
        return "" if name is None else self.tr("waits for the answer in “{name}”").format(name=name)
