"""How messages are read: which of them as they were written, which thoughts are open, whether tokens are tinted."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.model.message import MessageId


class ReadingModes(QObject):
    """Shared by the views of a transcript: a message comes back as it was left."""

    tokens_changed = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.raw: set[MessageId] = set()
        """Messages whose text is shown as it was written."""
        self.opened_thoughts: set[MessageId] = set()
        self.opened_notes: set[MessageId] = set()
        self._are_tokens_shown = False

    @property
    def are_tokens_shown(self) -> bool:
        return self._are_tokens_shown

    def show_tokens(self, shown: bool) -> None:
        """Tint the tokens of answers, or no more."""
        if shown != self._are_tokens_shown:
            self._are_tokens_shown = shown
            self.tokens_changed.emit(shown)
