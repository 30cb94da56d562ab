"""Which part of a text is laid out: behind a thought, up to a limit, and not before it is known what it is."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.model.thoughts import Thought, may_become_thought, may_end_thought, split_thought
from app.numbers import counted

_MOST_CHARS = 200_000
"""Beyond them the layout takes seconds."""


@dataclass(frozen=True)
class ShownPart:
    """What is laid out of a text, and what must be known to lay out more of it."""

    text: str = ""
    """With a line below it that tells of the rest, where it is cut."""
    thought: Thought | None = None
    """What the model thought before it; it is no part of it."""
    is_cut: bool = False
    goes_on: bool = False
    """Whether what follows is appended to it, whatever it may be."""

    @property
    def start(self) -> int:
        """Where in the whole text it begins."""
        return 0 if self.thought is None else self.thought.answer_start

    @property
    def end(self) -> int:
        """Where it ends at the latest."""
        return self.start + _MOST_CHARS

    def appended(self, before: str, text: str) -> tuple[str, bool]:
        """Return what is laid out of `text`, which follows `before`, and whether it is cut.

        Where the part was cut already, that is the line below it that takes the last one's place.
        """
        room = self.end - len(before)
        if self.is_cut:
            return _rest(len(text) - room), True
        is_cut = len(text) > room
        return (f"{text[:room]}\n\n{_rest(len(text) - room)}" if is_cut else text), is_cut

    def may_be_other(self, whole: str, num_new: int) -> bool:
        """Whether the last characters may have made a thought of what stands before them."""
        return self.thought is None and may_end_thought(whole, num_new)


def part_as_written(whole: str) -> ShownPart:
    """Return what is laid out of a text that is shown as it was written."""
    text, is_cut = ShownPart().appended("", whole)
    return ShownPart(text, None, is_cut, goes_on=True)


def part_as_meant(whole: str, *, grows: bool) -> ShownPart:
    """Return what is laid out of an answer: not what was thought before it, nor what may yet become a thought."""
    thought = split_thought(whole)
    may_be_mark = may_become_thought(whole)
    part = ShownPart(thought=thought)
    shown = "" if may_be_mark and grows else whole[part.start :]
    text, is_cut = ShownPart().appended("", shown)
    return ShownPart(text, thought, is_cut, goes_on=not may_be_mark and (thought is None or bool(shown)))


def _rest(num_chars: int) -> str:
    words = QCoreApplication.translate(
        "MessageText", "… and {count} characters more. Copy and Export have the whole text."
    )
    return words.format(count=counted(num_chars))
