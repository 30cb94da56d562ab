"""What is folded in a message: what the model thought before its answer, what a note holds."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QVBoxLayout

from app.model.message import MessageId
from app.model.thoughts import Thought, thought_seconds
from app.ui.message.note_view import NoteView
from app.ui.message.reading_modes import ReadingModes
from app.ui.message.shown_message import Shown
from app.ui.message.thought_view import ThoughtView
from app.ui.theme import Theme


class MessageFolds(QObject):
    """Both are made where there is one. Which are open is kept in the reading modes, for whoever shows it again."""

    tab_stops_changed = Signal()

    def __init__(self, page: QVBoxLayout, card: QVBoxLayout, theme: Theme) -> None:
        """`page`: a thought stands above all in it; `card`: what a note holds stands below its label in it."""
        super().__init__()
        self._page = page
        self._card = card
        self._theme = theme
        self._shown_id: MessageId | None = None
        self._modes = ReadingModes()
        self.thought: ThoughtView | None = None
        self.note: NoteView | None = None

    def show_message(self, shown: Shown, modes: ReadingModes, thought: Thought | None) -> None:
        """Show what of a message is folded; `thought`: what was thought before it, as far as it has come."""
        if self.thought is not None and shown.message.id != self._shown_id:
            self.thought.forget()
        self._shown_id, self._modes = shown.message.id, modes
        self._show_thought(shown, thought)
        self._show_note(shown)

    def toggle_thought(self) -> None:
        """Open what the model thought before its answer, or fold it."""
        if self.thought is not None and self.thought.isVisible():
            self.thought.button.click()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for part in (self.thought, self.note):
            if part is not None:
                part.set_theme(theme)

    def _show_thought(self, shown: Shown, thought: Thought | None) -> None:
        if thought is not None and not thought.text and thought.is_closed:
            # Told not to think, models write an empty one.
            thought = None
        if self.thought is None and thought is not None:
            self.thought = ThoughtView(self._theme)
            self.thought.toggled.connect(self._keep_thought)
            self._page.insertWidget(0, self.thought)
            self.tab_stops_changed.emit()
        if self.thought is None:
            return
        self.thought.setVisible(thought is not None)
        if thought is not None:
            recorded_s = None if shown.is_streaming else thought_seconds(shown.message, thought)
            self.thought.show_thought(thought, is_streaming=shown.is_streaming, recorded_s=recorded_s)
            is_open = shown.message.id in self._modes.opened_thoughts
            if is_open != self.thought.is_open:
                self.thought.set_open(is_open)

    def _show_note(self, shown: Shown) -> None:
        is_note = shown.message.role == "note"
        if self.note is None and is_note:
            self.note = NoteView(self._theme)
            self.note.toggled.connect(self._keep_note)
            self._card.addWidget(self.note)
        if self.note is not None:
            self.note.setVisible(is_note)
            if is_note:
                self.note.show_note(shown.message, is_open=shown.message.id in self._modes.opened_notes)

    def _keep_thought(self, is_open: bool) -> None:
        _keep(self._modes.opened_thoughts, self._shown_id, is_open=is_open)

    def _keep_note(self, is_open: bool) -> None:
        _keep(self._modes.opened_notes, self._shown_id, is_open=is_open)


def _keep(opened: set[MessageId], message_id: MessageId | None, *, is_open: bool) -> None:
    if message_id is not None:
        (opened.add if is_open else opened.discard)(message_id)
