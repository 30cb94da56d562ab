"""The widget of one message: its text, and everything above and below it."""

from __future__ import annotations

import itertools

from msgspec import structs
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget
from shiboken6 import isValid
from typing_extensions import override

from app.answers.answer_stream import Reading
from app.model.message import Message, Role
from app.model.token_pieces import are_tokens_known, token_pieces
from app.ui.composer.writing_field import why_not_editable
from app.ui.field_commands import COPIES_ALL
from app.ui.message.action_row import ActionRow
from app.ui.message.foldable_parts import FoldableParts, ThoughtView
from app.ui.message.message_action import (
    ROW_ACTIONS,
    ContinueAfter,
    DisplayAction,
    ForkAtToken,
    MessageAction,
    MessageRequest,
    OpenMenu,
    action_of_key,
)
from app.ui.message.message_editor import InPlaceEdit, MessageEditor
from app.ui.message.message_footer import MessageFooter, MissingTokenData
from app.ui.message.shown_message import DisplayModes, ShownMessage, role_name
from app.ui.text.growing_blocks import split_open_cluster
from app.ui.text.message_text import MessageText
from app.ui.theme import Theme


class MessageView(QFrame):
    """Displays a message. It requests actions on the message and carries out none of them."""

    action_requested = Signal(int, object)
    """The message's id and a `MessageRequest`."""
    editor_opened = Signal(object)
    draft_changed = Signal(int, object)
    """A message's id, and the changed text in its editor; None if the editor is closed or its text unchanged."""
    """The `MessageEditor`."""
    edit_cancelled = Signal(int)
    """The message's id. The next edit of the message starts with the text of this one."""
    focused = Signal(int)
    """The message's id."""
    refused = Signal(str)
    """Why the editor did not accept a pasted text."""

    def __init__(self, shown: ShownMessage, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("focus_ring")
        self.shown = shown
        self._modes: DisplayModes | None = None
        self._own_modes = DisplayModes()
        self._unrendered: list[str] = []
        role = shown.message.role
        self.text = MessageText(theme, is_markdown=role == "assistant")
        self.text.setProperty(COPIES_ALL, True)
        # The view handles the context menu.
        self.text.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self._card = MessageCard(role, self.text)
        self._tokens = TokenDisplay(self.text)
        self._row = ActionRow(theme, self.text)
        self._edit = InPlaceEdit(self._card.column)
        self._focus = FocusTracker(self, self.text)

        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 8, 0)
        layout.setSpacing(2)
        inset = QVBoxLayout()
        inset.setContentsMargins(8, 0, 0, 0)
        inset.setSpacing(2)
        inset.addWidget(self._card)
        layout.addLayout(inset)
        # The padding of the row's buttons aligns their icons with the text.
        layout.addWidget(self._row)
        self._foldable = FoldableParts(layout, self._card.column, theme)
        self.footer = MessageFooter(inset)

        self._connect()
        self.text.set_text(shown.text, marks=self.modes.marks_of(shown.message), is_json_asked=shown.is_json_asked)
        self.show_message(shown)

    def _connect(self) -> None:
        self.text.key_pressed.connect(self._on_key)
        self.text.token_chosen.connect(self._fork_at_token)
        self.text.tab_stops_changed.connect(self._order_tabs)
        self.text.cursor_moved.connect(self._show_place_to_continue)
        self._foldable.tab_stops_changed.connect(self._order_tabs)
        self._edit.opened.connect(self._on_edit_opened)
        self._edit.closed.connect(self._on_edit_closed)
        self._edit.finished.connect(self._request)
        self._edit.cancelled.connect(self._on_edit_cancelled)
        self._edit.refused.connect(self.refused)
        self._row.requested.connect(self._request)
        self.footer.tab_stops_changed.connect(self._order_tabs)
        self.footer.requested.connect(self._request)
        self._focus.changed.connect(self._show_buttons)
        self._focus.focused.connect(self._on_focused)

    # --- the message ---------------------------------------------------------------------------------------

    @property
    def message(self) -> Message:
        return self.shown.message

    @property
    def modes(self) -> DisplayModes:
        return self.shown.modes or self._own_modes

    @property
    def thought(self) -> ThoughtView | None:
        """The view of the model's thought; None until there has been one."""
        return self._foldable.thought

    def show_message(self, shown: ShownMessage) -> None:
        """Show a message in its present state. The text is laid out again only if it has changed."""
        self.shown = shown
        self._watch_modes()
        message, modes = shown.message, self.modes
        self.render_appended()
        if not shown.is_streaming:
            self._unrendered.clear()
        # An answer without known tokens keeps its formatted text.
        are_tokens_shown = modes.are_tokens_shown and (shown.is_streaming or are_tokens_known(message))
        are_tokens_shown = are_tokens_shown and message.role == "assistant"
        is_raw = message.id in modes.raw or are_tokens_shown
        marks = modes.marks_of(message)
        is_other = self.text.content + "".join(self._unrendered) != shown.text
        if is_other or self.text.is_raw != is_raw or self.text.marks != marks:
            self.text.set_text(shown.text, is_raw=is_raw, marks=marks, is_json_asked=shown.is_json_asked)
        self._card.show_text(shown, is_edited=self._edit.is_open)
        self.text.set_caret(shown.is_streaming and not shown.is_queued)
        self._tokens.show(shown, modes, are_shown=are_tokens_shown)
        self._show_foldable()
        missing = self._tokens.missing(shown, modes)
        self.footer.show_message(
            message,
            is_streaming=shown.is_streaming,
            is_waiting=self._is_without_new_text,
            missing=missing,
            is_saved=shown.is_saved,
            has_all_figures=modes.are_all_figures_shown,
            opens=shown.opens,
        )
        first = shown.first or message
        self._row.setVisible(shown.is_end and (message.role != "file" or len(shown.siblings) > 1))
        self._row.show_siblings(shown.siblings, first.id)
        self._row.show_marks(first)
        self._row.show_actions(shown.actions, message)
        self._show_place_to_continue()
        self._show_buttons()
        self.text.setAccessibleName(shown.name)

    def append_text(self, text: str) -> None:
        """Add text that has streamed in. The next `render_appended` shows it."""
        self._unrendered.append(text)

    def render_appended(self) -> bool:
        """Show the appended text, up to its last complete character; return whether there was any."""
        text, waiting = split_open_cluster("".join(self._unrendered))
        self._unrendered = [waiting] if waiting else []
        if not text:
            return False
        self.footer.hide_progress()
        # An answer that waited for another one has begun.
        self.text.set_caret(self.shown.is_streaming)
        self.text.append(text)
        if self.text.tokens is not None:
            self.text.show_more_tokens(self.modes.tokens_so_far(self.message.id))
        if self.text.thought is not None or self.thought is not None:
            self._show_foldable()
        return True

    def show_reading(self, reading: Reading) -> None:
        """Show how much of the prompt has been processed, until the answer starts."""
        if self._is_without_new_text:
            self.footer.show_reading(reading, is_continued=bool(self.shown.text))

    def show_waiting(self, text: str, fraction: float | None = None) -> None:
        """Show what the answer waits for, until it starts. `fraction` says how much of that is done, if known."""
        if self._is_without_new_text:
            self.footer.show_waiting(text, fraction)

    def show_stopping(self) -> None:
        """Show that the answer is being stopped, unless some of its text is already shown."""
        if self._is_without_new_text:
            self.footer.show_stopping()

    @property
    def _is_without_new_text(self) -> bool:
        return self.shown.is_waiting and not self._unrendered and len(self.text.content) <= len(self.shown.text)

    def unload_long_texts(self) -> bool:
        """Remove parts of long texts from the page until the next `set_theme`, so that nothing lays them out again.

        Return whether there were any.
        """
        thought = None if self.thought is None else self.thought.text
        return any([self.text.unload_long(), thought is not None and thought.unload_long()])

    def set_theme(self, theme: Theme) -> None:
        self.text.set_theme(theme)
        self._row.set_theme(theme)
        self._foldable.set_theme(theme)

    def _watch_modes(self) -> None:
        if self.modes is not self._modes:
            if self._modes is not None:
                self._modes.tokens_toggled.disconnect(self._refresh)
                self._modes.figures_toggled.disconnect(self._refresh)
            self._modes = self.modes
            self._modes.tokens_toggled.connect(self._refresh)
            self._modes.figures_toggled.connect(self._refresh)

    def _refresh(self) -> None:
        """Show the message again after a change of the modes, with all text that has streamed in."""
        message = self.message
        if self.shown.is_streaming:
            message = structs.replace(message, text=self.text.content + "".join(self._unrendered))
        self.show_message(structs.replace(self.shown, message=message))

    def _show_foldable(self) -> None:
        self._foldable.show_message(self.shown, self.modes, self.text.thought)

    def _show_place_to_continue(self) -> None:
        self._row.show_place_to_continue(is_inside=self.text.is_cursor_inside)

    def _show_buttons(self) -> None:
        is_editable = not self.shown.is_streaming and not self._edit.is_open
        # An empty system prompt is shown only as its button.
        is_empty_prompt = self.message.role == "system" and not self.message.text
        self._row.show_buttons((self.shown.is_last or is_empty_prompt or self._focus.is_active) and is_editable)

    # --- layout and tab order ------------------------------------------------------------------------------

    def settled_height(self, width_px: int) -> int:
        """Lay out all parts at this width and return the resulting height. The view must be visible."""
        self.resize(width_px, self.height())
        layout = self.layout()
        assert layout is not None
        for inner in (self._card.column, layout):
            inner.activate()
        # Lines of the footer may be wrapped.
        return layout.totalHeightForWidth(width_px) if layout.hasHeightForWidth() else layout.totalSizeHint().height()

    @property
    def is_long(self) -> bool:
        """Whether the texts of the view take long to lay out."""
        return any(text.is_long for text in self._texts)

    def lay_out_ahead(self, width_px: int) -> bool:
        """Lay out a part of long texts for a width that the view will have; return whether nothing is left to do."""
        wider_px = width_px - self.width()
        return all(text.lay_out_ahead(text.viewport().width() + wider_px) for text in self._texts)

    def leave_ahead(self) -> None:
        """Show the texts in the present width, and drop what was laid out ahead for another width."""
        for text in self._texts:
            text.leave_ahead()

    @property
    def _texts(self) -> list[MessageText]:
        """The texts that are shown."""
        thought = None if self.thought is None else self.thought.text
        return [text for text in (self.text, thought) if text is not None and text.isVisibleTo(self)]

    def follow(self, above: MessageView) -> None:
        """Put this view after another one in the tab order."""
        QWidget.setTabOrder(above._row.tab_stops[-1], self.text)
        self._order_tabs()

    def _order_tabs(self) -> None:
        """Set the tab order: the text or its editor, the thought, code and tables in the text, the footer, the row."""
        stops = [
            self.text,
            *self._edit.tab_stops,
            *self._foldable.tab_stops,
            *self.text.frames.tab_stops,
            *self.footer.tab_stops,
        ]
        for before, after in itertools.pairwise(stops):
            QWidget.setTabOrder(before, after)
        self._row.follow(stops[-1])

    # --- editing -------------------------------------------------------------------------------------------

    @property
    def is_edited(self) -> bool:
        """Whether the editor is open."""
        return self._edit.is_open

    @property
    def draft(self) -> str | None:
        """The changed text in the editor; None if it is closed or unchanged."""
        return self._edit.draft

    def begin_edit(self, draft: str | None = None) -> None:
        """Open the editor in place of the text. `draft` is the text of an edit that continues in this view."""
        if why := why_not_editable(self.message.text):
            instead = self.tr("It can be copied and exported, but not edited here.")
            self.refused.emit(f"{why} {instead}")
        elif not self._edit.is_open:
            cancelled = self.modes.cancelled_edits.pop(self.message.id, None)
            self._edit.open(self.message, draft, cancelled if draft is None else None)

    def _on_edit_opened(self, editor: MessageEditor) -> None:
        self._card.show_text(self.shown, is_edited=True)
        self._order_tabs()
        self._show_buttons()
        editor.text.textChanged.connect(self._announce_draft)
        self._announce_draft()
        self.editor_opened.emit(editor)

    def _announce_draft(self) -> None:
        self.draft_changed.emit(self.message.id, self.draft)

    def _on_edit_closed(self) -> None:
        # The row stood behind the editor, which is gone.
        self._order_tabs()
        self._announce_draft()
        self.show_message(self.shown)
        self.text.setFocus()

    def _on_edit_cancelled(self, text: str) -> None:
        self.modes.cancelled_edits[self.message.id] = text
        self.edit_cancelled.emit(self.message.id)

    # --- actions -------------------------------------------------------------------------------------------

    def perform(self, action: DisplayAction) -> None:
        """Carry out an action on the display."""
        match action:
            case DisplayAction.TOGGLE_RAW:
                self.toggle_raw()
            case DisplayAction.TOGGLE_THOUGHT:
                self.toggle_thought()
            case DisplayAction.WALK_LINKS:
                self.text.links.show_next()

    def toggle_raw(self) -> None:
        """Show an answer as plain source text, or formatted again."""
        if self.message.role == "assistant":
            self.modes.raw ^= {self.message.id}
            self._refresh()

    def toggle_thought(self) -> None:
        self._foldable.toggle_thought()

    @property
    def position_to_continue(self) -> int | None:
        """The number of characters before the user's cursor inside the answer.

        None means that Continue starts at the answer's end.
        """
        if self.message.role != "assistant" or not self.text.is_cursor_inside:
            return None
        num_chars = self.text.source_position
        text = self.message.text
        return num_chars if text[:num_chars].strip() and text[num_chars:].strip() else None

    def replace_text(self) -> None:
        """Replace the old text by the text in the editor, if the editor is open."""
        self._edit.replace()

    def _request(self, request: MessageRequest) -> None:
        if isinstance(request, OpenMenu):
            # The menu works on the focused message.
            self.text.setFocus()
        if request is MessageAction.CONTINUE and (num_chars := self.position_to_continue) is not None:
            request = ContinueAfter(num_chars)
        self.action_requested.emit(self.message.id, request)

    def _fork_at_token(self, index: int, token_id: int) -> None:
        self._request(ForkAtToken(index, token_id))

    def _on_focused(self) -> None:
        self.focused.emit(self.message.id)

    def _on_key(self, event: QKeyEvent) -> None:
        action = action_of_key(event)
        if isinstance(action, DisplayAction):
            self.perform(action)
        elif action is not None and (action in self.shown.actions or action not in ROW_ACTIONS):
            self._request(action)
        elif event.key() == Qt.Key.Key_Escape:
            # The parent handles Esc.
            event.ignore()

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the Message menu; over a selection or a link, or if no action is possible, the menu of the text."""
        text = self.text
        position = text.viewport().mapFromGlobal(event.globalPos())
        if text.textCursor().hasSelection() or text.anchorAt(position) or not self.shown.actions:
            menu = text.createStandardContextMenu(position)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(event.globalPos())
            return
        if event.reason() == QContextMenuEvent.Reason.Mouse and text.rect().contains(position):
            # "Continue" works from the clicked position.
            text.setTextCursor(text.cursorForPosition(position))
        self._request(OpenMenu(event.globalPos()))


class TokenDisplay:
    """Tints the tokens in the text of a message view."""

    def __init__(self, text: MessageText) -> None:
        self._text = text
        self._shown_for: tuple[int, str, bool, bool] | None = None
        """The message's id and text, whether it streamed, and whether it could be continued, when the tokens were last
        set; None if hidden."""

    def show(self, shown: ShownMessage, modes: DisplayModes, *, are_shown: bool) -> None:
        """Show or hide the tokens. A streaming answer shows those that have come so far."""
        message, is_streaming = shown.message, shown.is_streaming
        # An answer with another token is a continued one.
        can_fork = not is_streaming and MessageAction.CONTINUE in shown.actions
        shown_for = (message.id, message.text, is_streaming, can_fork) if are_shown else None
        if shown_for == self._shown_for:
            return
        self._shown_for = shown_for
        if are_shown:
            pieces = modes.tokens_so_far(message.id) if is_streaming else token_pieces(message)
            self._text.show_tokens(pieces, can_fork=can_fork)
        else:
            self._text.show_tokens(None)

    def missing(self, shown: ShownMessage, modes: DisplayModes) -> MissingTokenData:
        """Return which token data the record lacks although the user wants to see it; empty if none."""
        message = shown.message
        if not modes.are_tokens_shown or message.role != "assistant" or not message.text:
            return ""
        pieces = self._text.tokens.pieces if self._text.tokens is not None else ()
        if not pieces:
            return "tokens"
        return "" if any(piece.logprob is not None for piece in pieces) else "probabilities"


class MessageCard(QFrame):
    """The frame around the text: a card with the role as its heading; for an answer, no visible frame.

    Notes and files are low cards without a heading: their first line says what they are, and many of them may stand
    between two texts of an answer.
    """

    def __init__(self, role: Role, text: QWidget) -> None:
        super().__init__()
        self._text = text
        is_answer = role == "assistant"
        self.setObjectName("answer" if is_answer else "card")
        self.column = QVBoxLayout(self)
        is_low = role in {"note", "file"}
        self.column.setContentsMargins(*((0, 0, 0, 0) if is_answer else (16, 5, 16, 0) if is_low else (16, 10, 16, 10)))
        self.column.setSpacing(0 if is_low else 4)
        if not is_answer and not is_low:
            label = QLabel(role_name(role))
            label.setObjectName("role")
            self.column.addWidget(label)
        self.column.addWidget(text)

    def show_text(self, shown: ShownMessage, *, is_edited: bool) -> None:
        """Show the text, also an empty one, because it takes the focus for the message.

        While the editor is open, hide it.
        """
        message = shown.message
        self._text.setVisible(not is_edited)
        # An empty system prompt is only a button.
        self.setVisible(message.role != "system" or bool(message.text) or is_edited)


_POINTER_REASONS = {Qt.FocusReason.MouseFocusReason, Qt.FocusReason.PopupFocusReason}
"""Reasons for a focus change other than a key. No ring is drawn for them."""
_RETURN_REASONS = {
    Qt.FocusReason.ActiveWindowFocusReason,
    Qt.FocusReason.PopupFocusReason,
    Qt.FocusReason.MenuBarFocusReason,
}
"""Reasons for a focus change when the focus returns from a window, a menu or a popup."""
_WATCHED_EVENTS = {QEvent.Type.Enter, QEvent.Type.Leave, QEvent.Type.FocusIn, QEvent.Type.FocusOut}


class FocusTracker(QObject):
    """Tracks whether a widget has the pointer or the focus, and draws a ring around it for keyboard focus."""

    changed = Signal()
    """The pointer or the focus may have entered or left."""
    focused = Signal()
    """The focus proxy got the focus, except when the focus only returned from a menu or another window."""

    def __init__(self, widget: QWidget, focus_proxy: QWidget) -> None:
        """`focus_proxy` is the descendant of `widget` that takes the focus for it."""
        super().__init__(widget)
        self._widget = widget
        self._focus_proxy = focus_proxy
        widget.installEventFilter(self)
        focus_proxy.installEventFilter(self)

    @property
    def is_active(self) -> bool:
        """Whether the pointer or the focus is in the widget."""
        widget = self._widget
        focus = widget.window().focusWidget() if widget.isVisible() else None
        return widget.underMouse() or (focus is not None and widget.isAncestorOf(focus))

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # While a widget is destroyed, its children lose the focus.
        if event.type() in _WATCHED_EVENTS and isValid(self._widget):
            focus = event if watched is self._focus_proxy and isinstance(event, QFocusEvent) else None
            if focus is not None:
                self._draw_ring(focus.gotFocus() and focus.reason() not in _POINTER_REASONS)
            self.changed.emit()
            if focus is not None and focus.gotFocus() and focus.reason() not in _RETURN_REASONS:
                self.focused.emit()
        return super().eventFilter(watched, event)

    def _draw_ring(self, has_ring: bool) -> None:
        widget = self._widget
        widget.setProperty("ring", has_ring)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
