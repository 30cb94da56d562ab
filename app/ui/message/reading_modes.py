"""How messages are read: which of them as they were written, which thoughts are open, whether tokens are tinted, which
edits were given up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from app.model.message import MessageId
from app.model.token_pieces import TokenPiece


def _none(_: MessageId) -> Sequence[TokenPiece]:
    return ()


class ReadingModes(QObject):
    """Shared by the views of a transcript: a message comes back as it was left."""

    tokens_changed = Signal(bool)

    def __init__(self, tokens_so_far: Callable[[MessageId], Sequence[TokenPiece]] = _none) -> None:
        super().__init__()
        self.tokens_so_far = tokens_so_far
        """The tokens of an answer that grows, where they stand in its text."""
        self.raw: set[MessageId] = set()
        """Messages whose text is shown as it was written."""
        self.opened_thoughts: set[MessageId] = set()
        self.opened_notes: set[MessageId] = set()
        self.given_up: dict[MessageId, str] = {}
        """What was written in edits that were given up: it stands there again when they are begun anew."""
        self._are_tokens_shown = False

    @property
    def are_tokens_shown(self) -> bool:
        return self._are_tokens_shown

    def show_tokens(self, shown: bool) -> None:
        """Tint the tokens of answers, or no more."""
        if shown != self._are_tokens_shown:
            self._are_tokens_shown = shown
            self.tokens_changed.emit(shown)
