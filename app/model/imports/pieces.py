"""The parts of one message in their order: texts, reasoning, and notes for tool calls, their results and files."""

from __future__ import annotations

from app.model.imports.blocks import with_reasoning
from app.model.imports.foreign import ForeignRole, Piece


class Pieces:
    """Takes the parts of a message one by one. Texts between two notes are one part, after their reasoning."""

    def __init__(self, role: ForeignRole) -> None:
        """`role` is the role of the message, which its texts get."""
        self._role: ForeignRole = role
        self._ended: list[Piece] = []
        self._thoughts: list[str] = []
        self._texts: list[str] = []

    @property
    def all(self) -> list[Piece]:
        """The parts that were added so far."""
        return [*self._ended, *self._open()]

    def add_text(self, text: str) -> None:
        if text.strip():
            self._texts.append(text)

    def add_thought(self, text: str) -> None:
        if text.strip():
            if self._texts:
                self._end()
            self._thoughts.append(text)

    def add_note(self, text: str) -> None:
        self._end()
        self._ended.append(Piece("note", text))

    def _end(self) -> None:
        self._ended += self._open()
        self._thoughts, self._texts = [], []

    def _open(self) -> list[Piece]:
        """Return the part that may still grow; an empty list if there is none."""
        if not self._thoughts and not self._texts:
            return []
        return [Piece(self._role, with_reasoning("\n\n".join(self._thoughts), "\n\n".join(self._texts)))]
