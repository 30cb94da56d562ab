"""The widget of one message: its text, and everything above and below it."""

from __future__ import annotations

import itertools

from msgspec import structs
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget
from shiboken6 import isValid
from typing_extensions import override

from app.model.message import Message, Role
from app.model.token_pieces import are_tokens_known, token_pieces
from app.ui.field_commands import COPIES_ALL
from app.ui.message.action_row import ACTION_KEYS, MORE_KEYS, ActionName, ActionRow
from app.ui.message.foldable_parts import FoldableParts, NoteView, ThoughtView
from app.ui.message.message_editor import InPlaceEdit, MessageEditor
from app.ui.message.message_footer import MessageFooter, MissingTokenData
from app.ui.message.shown_message import DisplayModes, ShownMessage, role_name
from app.ui.text.growing_blocks import split_open_cluster
from app.ui.text.message_text import MessageText
from app.ui.theme import Theme


class MessageView(QFrame):
    """The widget of one message."""

    action_asked = Signal(int, str)
    """A message's id and the name of what is to be done with it."""
    more_asked = Signal(int, QPoint)
    """A message's id and a place on the screen: what can be done with it is to be listed there."""
    edited = Signal(int, str)
    replaced = Signal(int, str)
    """A message's id and the text that is to stand in its place."""
    edit_given_up = Signal(int)
    """A message's id: what was written there stands there again when it is edited anew."""
    sibling_asked = Signal(int, int)
    """A message's id and the step to another version."""
    token_chosen = Signal(int, int, int)
    """A message's id, the index of a token, and the id of the one from which the answer is to go on instead."""
    go_on_asked = Signal(int, int)
    """A message's id, and after how many of its characters the answer is to go on in another way."""
    focused = Signal(int)
    refused = Signal(str)
    """Why a text was not taken into an edit."""
    edit_begun = Signal(object)
    """The `MessageEditor` in which another version is written."""

    def __init__(self, shown: ShownMessage, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("focus_ring")
        self.shown = shown
        self._unrendered: list[str] = []
        role = shown.message.role
        self.text = MessageText(theme, is_markdown=role == "assistant")
        self.text.key_pressed.connect(self._on_key)
        self.text.setProperty(COPIES_ALL, True)
        # The menu is the message's.
        self.text.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.text.token_chosen.connect(self._choose_token)
        self.text.tab_stops_changed.connect(self._order_tabs)
        self._modes = shown.modes or DisplayModes()
        self._is_listening = False
        self._tokens_shown: tuple[int, str, bool] | None = None
        """Of which text the tokens are shown, and whether it was one that grows."""
        self._card = MessageCard(role, self.text)
        self._edit = InPlaceEdit(self._card.column)
        self._edit.opened.connect(self._on_edit_begun)
        self._edit.closed.connect(self._on_edit_ended)
        self._edit.saved.connect(self._tell_saved)
        self._edit.replaced.connect(self._tell_replaced)
        self._edit.cancelled.connect(self._keep_given_up)
        self._edit.refused.connect(self.refused)
        self._row = ActionRow(theme, self.text)
        self._row.asked.connect(self._ask)
        self._row.sibling_asked.connect(self._ask_sibling)
        self._row.more_asked.connect(self._ask_more)

        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 8, 0)
        layout.setSpacing(2)
        inset = QVBoxLayout()
        inset.setContentsMargins(8, 0, 0, 0)
        inset.setSpacing(2)
        inset.addWidget(self._card)
        layout.addLayout(inset)
        # The icons stand under the text's edge; their buttons reach out by a padding.
        layout.addWidget(self._row)
        self._folds = FoldableParts(layout, self._card.column, theme)
        self._folds.tab_stops_changed.connect(self._order_tabs)
        self.footer = MessageFooter(inset)
        self.footer.cancelled.connect(self._ask_to_stop)
        self._focus = FocusTracker(self, self.text)
        self._focus.changed.connect(self._show_row)
        self._focus.focused.connect(self._tell_focused)
        self.text.set_text(shown.text)
        self.show_message(shown)

    @property
    def message(self) -> Message:
        return self.shown.message

    @property
    def thought(self) -> ThoughtView | None:
        """What the model thought before it; None where there was nothing yet."""
        return self._folds.thought

    @property
    def note(self) -> NoteView | None:
        """What it holds, where it is a note."""
        return self._folds.note

    @property
    def is_streaming(self) -> bool:
        return self.shown.is_streaming

    def settled_height(self, width_px: int) -> int:
        """Put all parts in their places at this width; return how high the message is then. It must be visible."""
        self.resize(width_px, self.height())
        layout = self.layout()
        assert layout is not None
        for inner in (self._card.column, layout):
            inner.activate()
        # A sentence below a message may need several lines.
        return layout.totalHeightForWidth(width_px) if layout.hasHeightForWidth() else layout.totalSizeHint().height()

    @property
    def is_edited(self) -> bool:
        """Whether another version is being written here."""
        return self._edit.is_open

    def follow(self, above: MessageView) -> None:
        """Let Tab come here from the message above."""
        QWidget.setTabOrder(above._row.tab_stops[-1], self.text)
        self._order_tabs()

    def _order_tabs(self) -> None:
        """From the text to what it thought before, to its code, to the actions."""
        stops: list[QWidget] = [self.text, *self.text.frames.tab_stops]
        if self.thought is not None:
            stops.insert(1, self.thought.button)
        for before, after in itertools.pairwise(stops):
            QWidget.setTabOrder(before, after)
        self._row.follow(stops[-1])

    def show_message(self, shown: ShownMessage) -> None:
        """Show a message's present state; its text is laid out again only where it is another one."""
        self.shown = shown
        self._use(shown.modes or self._modes)
        message = shown.message
        self.render_appended()
        if not shown.is_streaming:
            self._unrendered.clear()
        are_tokens_wanted = self._modes.are_tokens_shown and message.role == "assistant"
        # Of what has none to show nothing is gained by what was written in the place of what is meant.
        are_tokens_shown = are_tokens_wanted and (shown.is_streaming or are_tokens_known(message))
        is_raw = message.id in self._modes.raw or are_tokens_shown
        if self.text.content + "".join(self._unrendered) != shown.text or self.text.is_raw != is_raw:
            self.text.set_text(shown.text, is_raw=is_raw)
        self._card.show_text(shown, is_edited=self._edit.is_open)
        self.text.set_caret(shown.is_streaming)
        self._show_tokens(are_tokens_shown)
        self._show_folds()
        self.footer.show_message(
            message, is_streaming=shown.is_streaming, missing=self._missing_token_data() if are_tokens_wanted else ""
        )
        self._row.show_siblings(shown.siblings, message.id)
        self._row.show_marks(message)
        self._row.show_actions(shown.actions, message)
        self._show_row()
        self.text.setAccessibleName(shown.name)

    def _use(self, modes: DisplayModes) -> None:
        if modes is not self._modes or not self._is_listening:
            if self._is_listening:
                self._modes.tokens_toggled.disconnect(self._show_otherwise)
            self._modes, self._is_listening = modes, True
            modes.tokens_toggled.connect(self._show_otherwise)

    def append_text(self, text: str) -> None:
        """Take text that has streamed in; it is on screen at the next `render_appended`."""
        self._unrendered.append(text)

    def render_appended(self) -> bool:
        """Show what was appended; return whether there was anything."""
        text, waiting = split_open_cluster("".join(self._unrendered))
        self._unrendered = [waiting] if waiting else []
        if not text:
            return False
        self.footer.hide_progress()
        self.text.append(text)
        if self.text.tokens is not None:
            self.text.show_more_tokens(self._modes.tokens_so_far(self.message.id))
        if self.text.thought is not None or self.thought is not None:
            self._show_folds()
        return True

    def _show_tokens(self, are_shown: bool) -> None:
        """Tint its tokens, or no more; of an answer that grows, those that have come."""
        message, grows = self.message, self.is_streaming
        shown = (message.id, message.text, grows) if are_shown else None
        if shown != self._tokens_shown:
            self._tokens_shown = shown
            pieces = self._modes.tokens_so_far(message.id) if grows else token_pieces(message)
            self.text.show_tokens(pieces if are_shown else None, can_fork=not grows)

    def _missing_token_data(self) -> MissingTokenData:
        """What of its tokens is looked for, and not known."""
        if not self.message.text:
            return ""
        pieces = self.text.tokens.pieces if self.text.tokens is not None else ()
        if not pieces:
            return "tokens"
        return "" if any(piece.logprob is not None for piece in pieces) else "probabilities"

    def _show_otherwise(self) -> None:
        """Show the message in another way, with all that has streamed in."""
        message = self.message
        if self.is_streaming:
            message = structs.replace(message, text=self.text.content + "".join(self._unrendered))
        self.show_message(structs.replace(self.shown, message=message))

    def _choose_token(self, index: int, token_id: int) -> None:
        self.token_chosen.emit(self.message.id, index, token_id)

    def go_on_from_here(self) -> None:
        """Ask for the answer to go on in another way from where the cursor is."""
        if self.message.role == "assistant" and not self.is_streaming:
            self.go_on_asked.emit(self.message.id, self.text.source_position)

    def toggle_raw(self) -> None:
        """Show the text as it was written, or as what is meant again."""
        self._modes.raw ^= {self.message.id}
        self._show_otherwise()

    def toggle_thought(self) -> None:
        """Open what the model thought before its answer, or fold it."""
        self._folds.toggle_thought()

    def _show_folds(self) -> None:
        self._folds.show_message(self.shown, self._modes, self.text.thought)

    def show_reading(self, done: int, total: int, kept: int) -> None:
        """Tell how much of the prompt is read."""
        if not self.text.content:
            self.footer.show_progress(done, total, kept)

    def show_waiting(self, text: str) -> None:
        """Tell what the answer waits for before it is begun."""
        if not self.text.content:
            self.footer.show_waiting(text)

    def set_theme(self, theme: Theme) -> None:
        self.text.set_theme(theme)
        self._row.set_theme(theme)
        self._folds.set_theme(theme)

    @property
    def draft(self) -> str | None:
        """What has been written of another version, None where nothing has."""
        return self._edit.draft

    def begin_edit(self, draft: str | None = None) -> None:
        """Let the person write another version in the place of the text, or go on with a draft of it."""
        if not self._edit.is_open:
            given_up = self._modes.cancelled_edits.pop(self.message.id, None)
            self._edit.open(self.message, draft, given_up if draft is None else None)

    def _on_edit_begun(self, editor: MessageEditor) -> None:
        self._card.show_text(self.shown, is_edited=True)
        self._show_row()
        self.edit_begun.emit(editor)

    def _on_edit_ended(self) -> None:
        self.show_message(self.shown)
        self.text.setFocus()

    def _tell_saved(self, text: str) -> None:
        self.edited.emit(self.message.id, text)

    def _keep_given_up(self, text: str) -> None:
        self._modes.cancelled_edits[self.message.id] = text
        self.edit_given_up.emit(self.message.id)

    def _tell_replaced(self, text: str) -> None:
        self.replaced.emit(self.message.id, text)

    def _tell_focused(self) -> None:
        self.focused.emit(self.message.id)

    def _ask_sibling(self, step: int) -> None:
        self.sibling_asked.emit(self.message.id, step)

    def _ask_to_stop(self) -> None:
        self.action_asked.emit(self.message.id, "stop")

    def _ask_more(self, place: QPoint) -> None:
        self.text.setFocus()
        self.more_asked.emit(self.message.id, place)

    def _ask(self, name: ActionName) -> None:
        if name == "edit":
            self.begin_edit()
        self.action_asked.emit(self.message.id, name)

    def _on_key(self, event: QKeyEvent) -> None:
        is_copy = event.matches(QKeySequence.StandardKey.Copy)
        name = "copy" if is_copy else ACTION_KEYS.get(event.text().lower())
        if name is not None and name in self.shown.actions:
            self._ask(name)
        elif event.text().lower() == "m" and self.message.role == "assistant":
            self.toggle_raw()
        elif event.text().lower() == "t":
            self.toggle_thought()
        elif event.text().lower() == "g":
            self.go_on_from_here()
        elif event.text().lower() == "l":
            self.text.links.show_next()
        elif event.key() == Qt.Key.Key_Delete:
            self.action_asked.emit(self.message.id, "prune")
        elif (more := MORE_KEYS.get(event.text().lower())) is not None:
            self.action_asked.emit(self.message.id, more)
        elif event.key() == Qt.Key.Key_Escape:
            # It is meant for what the message lies in.
            event.ignore()

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the message; where words are selected or a link is, with these."""
        text = self.text
        place = text.viewport().mapFromGlobal(event.globalPos())
        if text.textCursor().hasSelection() or text.anchorAt(place) or not self.shown.actions:
            menu = text.createStandardContextMenu(place)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(event.globalPos())
            return
        if event.reason() == QContextMenuEvent.Reason.Mouse and text.rect().contains(place):
            # To go on from here means this place.
            text.setTextCursor(text.cursorForPosition(place))
        self._ask_more(event.globalPos())

    def _show_row(self) -> None:
        is_at_rest = not self.shown.is_streaming and not self._edit.is_open
        self._row.show_buttons((self.shown.is_last or self._focus.is_active) and is_at_rest)


class MessageCard(QFrame):
    """The frame around the text: a card with the role as heading, or the bare page for an answer."""

    def __init__(self, role: Role, text: QWidget) -> None:
        super().__init__()
        self._text = text
        is_answer = role == "assistant"
        self.setObjectName("answer" if is_answer else "card")
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(*((0, 0, 0, 0) if is_answer else (16, 10, 16, 10)))
        self.column.setSpacing(4)
        if not is_answer:
            label = QLabel(role_name(role))
            label.setObjectName("role")
            self.column.addWidget(label)
        self.column.addWidget(text)

    def show_text(self, shown: ShownMessage, *, is_edited: bool) -> None:
        """Show the text if there is any, unless the editor takes its place."""
        message = shown.message
        has_text = bool(message.text) or message.role != "assistant" or shown.is_streaming
        self._text.setVisible(has_text and not is_edited)
        # An empty system prompt is shown as a line in the footer, without a card.
        self.setVisible(message.role != "system" or bool(message.text) or is_edited)


_POINTER_REASONS = {Qt.FocusReason.MouseFocusReason, Qt.FocusReason.PopupFocusReason}
"""The focus did not arrive by a key, so no ring is drawn."""
_RETURN_REASONS = {
    Qt.FocusReason.ActiveWindowFocusReason,
    Qt.FocusReason.PopupFocusReason,
    Qt.FocusReason.MenuBarFocusReason,
}
"""The focus returned from a window, a menu or a popup."""
_WATCHED_EVENTS = {QEvent.Type.Enter, QEvent.Type.Leave, QEvent.Type.FocusIn, QEvent.Type.FocusOut}


class FocusTracker(QObject):
    """Tracks whether a widget has the pointer or the focus, and draws a ring around it for keyboard focus."""

    changed = Signal()
    """The pointer or the focus may have entered or left."""
    focused = Signal()
    """The focus proxy got the focus, and not merely back from a menu or another window."""

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
