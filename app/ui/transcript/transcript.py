"""The transcript: shows the visible branch while it grows, and when another branch replaces it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from typing_extensions import override

from app.answers.sessions import GUIDE
from app.conversation.controller import Controller
from app.model.message import Message, MessageId
from app.ui.menus import opened_entry
from app.ui.message.message_action import row_actions
from app.ui.message.shown_message import DisplayModes, ShownMessage
from app.ui.message.waiting_answers import WaitingAnswers
from app.ui.theme import Theme
from app.ui.transcript.message_list import MessageList
from app.ui.transcript.message_selection import MessageSelection

if TYPE_CHECKING:
    from app.ui.message.message_editor import MessageEditor
    from app.ui.message.message_view import MessageView

_TICK_MS = 33
_MAX_ADDED = 3
"""The maximum number of messages that one request adds: a system prompt, a question and its answer."""


class Transcript(MessageList):
    """The list of messages on the controller's visible branch. It renders streamed text about 30 times a second."""

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
    """The id of a message whose view shows another text, or more of its text."""

    def __init__(self, controller: Controller, theme: Theme) -> None:
        self._conversation = controller.shown
        self._preparation = controller.preparation
        self.modes = DisplayModes(controller.shown.tokens_so_far, controller.program.of_models.marks_of)
        super().__init__(theme)
        self.selection = MessageSelection(self)
        self.text_changed.connect(self.selection.show_again)
        self.setObjectName("transcript")
        self.setAccessibleName(self.tr("Conversation"))
        self._conversation_id: int | None = None
        self._is_switching_version = False
        self._grown: set[MessageId] = set()
        """Messages without a view that have received streamed text since the last tick."""
        self._ticker = QTimer(self, interval=_TICK_MS, singleShot=True)
        self._ticker.timeout.connect(self._render)
        controller.shown.branch_changed.connect(self.show_branch)
        controller.shown.message_changed.connect(self._show_changed)
        controller.shown.text_appended.connect(self._on_text)
        controller.shown.revealed.connect(self.reveal)
        controller.program.of_models.marks_changed.connect(self.show_branch)
        WaitingAnswers(controller, self, messages=lambda: controller.shown.path, view=self.view, shown=self.shown)
        self._sizes = controller.file_sizes
        self._sizes.changed.connect(self._show_sizes)

    # --- focus and versions --------------------------------------------------------------------------------

    def focus(self, message_id: MessageId) -> bool:
        """Scroll to a message and focus it; return False if it is not on the visible branch."""
        view = self.reveal(message_id)
        if view is not None:
            view.text.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return view is not None

    def walk(self, step: int) -> bool:
        """Focus the message before (-1) or after (1) the focused message; return False after the last message."""
        focused = self.focused_message_id
        index = (len(self._ids) if focused is None else self._index[focused]) + step
        if not self._ids or index >= len(self._ids):
            return False
        return self.focus(self._ids[max(index, 0)])

    @override
    def focusNextPrevChild(self, next: bool) -> bool:
        """Scroll to the widget that Tab focuses, even at the end of a message taller than the page."""
        is_moved = super().focusNextPrevChild(next)
        focus, focused = self.window().focusWidget(), self.focused_message_id
        view = None if focused is None else self.view(focused)
        if view is not None and focus is not None and focus is not view.text:
            top = focus.mapTo(view, QPoint(0, 0)).y()
            self.reveal(view.message.id, (top, top + focus.height()))
        return is_moved

    def step_sibling(self, message_id: MessageId, step: int) -> None:
        """Show the next version of a message (1) or the previous one (-1)."""
        view = self.view(message_id)
        had_focus = view is not None and self.window().focusWidget() is view.text
        self._is_switching_version = True
        chosen = self._conversation.choose_sibling(message_id, step)
        self._is_switching_version = False
        if had_focus and (view := self.view(chosen)) is not None:
            view.text.setFocus(Qt.FocusReason.ShortcutFocusReason)

    # --- the branch ----------------------------------------------------------------------------------------

    def show_branch(self) -> None:
        """Show the visible branch. Messages on the old and new branch keep their views, and the text does not jump."""
        path, before = self._conversation.path, list(self._ids)
        ids = [message.id for message in path]
        num_same = _num_same(before, ids)
        was_visible = num_same < len(before) and self._position.is_visible(num_same)
        offset = self._position.held_offset(num_same) if was_visible else 0
        focused = self.focused_message_id
        # Otherwise the focus is in an editor or on a button, which goes with its message.
        is_text_focused = focused is not None and self.window().focusWidget() is self._views[focused].text
        conversation = self._conversation.conversation
        conversation_id = None if conversation is None else conversation.id
        is_other_conversation = num_same == 0 and conversation_id != self._conversation_id
        self._conversation_id = conversation_id

        self.replace_from(num_same, path[num_same:])
        for message_id in list(self._views):
            self._show_again(message_id)
        is_answering = 0 < len(ids) - num_same <= _MAX_ADDED and self._conversation.is_streaming(ids[-1])
        if is_other_conversation:
            self._position.hold_end()
        elif num_same < min(len(before), len(ids)):
            # Another version takes the place of the old one.
            self._animation.stop()
            follows_end = is_answering and not self._is_switching_version
            self._position.hold(num_same, offset, follows_end=follows_end)
        elif num_same < len(before):
            self._hold_last()
        elif is_answering and (self._position.follows_end or self.isActiveWindow()):
            # An inactive window that shows the same conversation does not scroll to the new answer.
            self._position.hold_end()
        self.arrange()
        if focused is not None and self.focused_message_id is None:
            index = before.index(focused)
            is_replaced = is_text_focused and not is_other_conversation and index < len(ids)
            self._move_focus(path[index] if is_replaced else None)
        self._idle_timer.start()

    def _move_focus(self, replacement: Message | None) -> None:
        """Focus the answer that replaces the focused message. If it is a question, the focus goes to the composer."""
        is_answer = replacement is not None and replacement.role == "assistant"
        view = self.view(replacement.id) if replacement is not None and is_answer else None
        if view is not None:
            view.text.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            self.focus_lost.emit()

    def _hold_last(self) -> None:
        """After the last messages were removed, keep the messages above in place if any of them is visible."""
        position, last = self._position, len(self._ids) - 1
        if last >= 0 and self._column.bottom(last) > position.top:
            self._animation.stop()
            position.hold(last, position.held_offset(last))
        else:
            position.hold_end()

    def _show_sizes(self) -> None:
        for message_id, view in self._views.items():
            if view.message.role == "file":
                self._show_again(message_id)

    def _show_changed(self, message_id: MessageId) -> None:
        if self.view(message_id) is not None:
            self._show_again(message_id)
            self.arrange()
            self.text_changed.emit(message_id)
        else:
            self._on_text(message_id, "")
        self._idle_timer.start()

    def _show_again(self, message_id: MessageId) -> None:
        view, shown = self._views[message_id], self.shown(message_id)
        if view.shown != shown:
            view.show_message(shown)
            self._column.invalidate(self._index[message_id])

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

    def _render(self) -> None:
        rendered = [message_id for message_id, view in self._views.items() if view.render_appended()]
        for message_id in rendered:
            self._column.invalidate(self._index[message_id])
        for message_id in self._grown & (self._index.keys() - self._views.keys()):
            (height,) = self.estimates([self._conversation.message(message_id)])
            self._column.estimate(self._index[message_id], height)
        self._grown.clear()
        self.arrange()
        for message_id in rendered:
            self.text_changed.emit(message_id)

    # --- for the message list ------------------------------------------------------------------------------

    @override
    def shown(self, message_id: MessageId) -> ShownMessage:
        message = self._conversation.message(message_id)
        is_last = message_id == self._ids[-1]
        can_continue = self._conversation.can_continue(message)
        parts = self._conversation.parts(message_id)
        whole = message if len(parts) == 1 else self._conversation.whole(message_id)
        return ShownMessage(
            message=message,
            first=parts[0] if len(parts) > 1 else None,
            is_end=message_id == parts[-1].id,
            # A copy, because the tree appends to its own list.
            siblings=tuple(self._conversation.siblings(parts[0].id)),
            actions=row_actions(whole, can_continue=can_continue, is_last=is_last),
            is_streaming=self._conversation.is_streaming(message_id),
            is_waiting=self._conversation.is_without_new_text(message_id),
            is_queued=self._conversation.is_queued(message_id),
            is_last=is_last,
            modes=self.modes,
            is_saved=self._conversation.is_saved(message_id),
            opens=opened_entry(message.text) if is_last and self._is_of_guide(message) else None,
            num_tokens=self._sizes.num_tokens(message) if message.role == "file" else None,
        )

    def _is_of_guide(self, message: Message) -> bool:
        """Return whether a message is a finished answer of the guide."""
        is_answer = message.record is not None and message.record.model == GUIDE
        return is_answer and message.role == "assistant" and not self._conversation.is_streaming(message.id)

    @override
    def draft_of(self, message_id: MessageId) -> str | None:
        return self._preparation.unsent.edit_of(message_id)

    @override
    def all_messages(self) -> Sequence[Message]:
        return self._conversation.path

    @override
    def connect_view(self, view: MessageView) -> None:
        super().connect_view(view)
        self.selection.watch(view)
        view.action_requested.connect(self.action_requested)
        view.editor_opened.connect(self._on_editor_opened)
        view.draft_changed.connect(self._preparation.keep_edit)
        view.edit_cancelled.connect(self.edit_cancelled)
        view.refused.connect(self.refused)

    def _on_editor_opened(self, editor: MessageEditor) -> None:
        self.editor_opened.emit(editor)
        # The editor gets its height in the next turn of the event loop.
        QTimer.singleShot(0, editor, partial(self._reveal_editor, editor))

    def _reveal_editor(self, editor: MessageEditor) -> None:
        view = self.view(editor.message.id)
        if view is not None and editor.text.hasFocus():
            top = editor.mapTo(view, QPoint(0, 0)).y()
            self.reveal(editor.message.id, (top, top + editor.height()))

    @property
    @override
    def is_busy(self) -> bool:
        return self._conversation.streaming_message is not None


def _num_same(before: Sequence[MessageId], after: Sequence[MessageId]) -> int:
    """Return the number of messages that two branches have in common."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((index for index, (old, new) in pairs if old != new), min(len(before), len(after)))
