"""Cuts a long text into slices that are cheap enough to be written one at a time. Independent of Qt."""

from __future__ import annotations

import re
from typing import NamedTuple


class Limits(NamedTuple):
    """How much of one message is shown."""

    chars: int
    blocks: int
    """The number of paragraphs, lines of code and the like."""

    @property
    def raised(self) -> Limits:
        """The limits after the user has asked for more."""
        return Limits(self.chars + _MORE_CHARS, self.blocks + _MORE_BLOCKS)


FIRST_LIMITS = Limits(200_000, 3_000)
_MORE_CHARS, _MORE_BLOCKS = 100_000, 4_000
MAX_FORMATTED_COST = 600_000
"""Beyond this cost, the rest of a text is shown as its source. A typical answer of 100,000 characters costs less than
half of it."""
MAX_FRAMES, MAX_CELLS, MAX_FORMULAS = 300, 3_000, 2_000
"""Beyond these numbers of frames around code and tables, of table cells and of formulas, the rest is also shown as its
source."""
MAX_BLOCK_CHARS = 4_000
"""A line of plain text with more characters becomes several blocks, because Qt lays out each block as a whole."""
MAX_TURNS = 500
"""A paragraph or a line of plain text in which the direction of writing changes more often becomes several blocks, too.
Qt lays out the text between two changes as a part of its own."""
MAX_LINE_CHARS = 10_000
"""A line of code with more characters becomes several blocks, too."""
MAX_CELLS_AT_ONCE, MIN_ROWS_AT_ONCE = 120, 7
"""A table that has this many cells and rows is continued as another Qt table."""
MAX_FRAMES_AT_ONCE = 8
"""The number of frames around code or tables that are created at a time. Each has a button or a scroll bar."""
MAX_COLUMNS = 40
"""A table with more columns is shown as its source."""

FIRST_SLICE = 6_000
"""The cost of the text that is written at once: about 4,000 characters of a typical answer."""
_MAX_COST = 2_000
_MAX_CHARS = 2_000
_MIN_CHARS = 100
_LINE_COST = 40
_MARK_COST = 20
_TURN_COST = 3
_PIPE_COST = 20
"""The additional cost of a mark between cells, compared with other marks."""
_MARK = re.compile(r"[\[\]$*_`|<>&~!#\\]")
_TURN = re.compile(r"[A-Za-z0-9]\W{0,2}(?=[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc])")


def num_marks(text: str) -> int:
    """Return the number of characters that may be marks of Markdown."""
    return len(_MARK.findall(text))


def num_turns(text: str) -> int:
    """Return the number of places at which a text changes from left-to-right to right-to-left writing."""
    return 0 if text.isascii() else len(_TURN.findall(text))


def next_slice(text: str) -> tuple[int, int]:
    """Return the length of the first slice of a text that is not empty, and the cost of writing the slice.

    A character costs 1. Line ends and marks of Markdown cost more. A slice ends at a line end, if there is one.
    """
    window = text[:_MAX_CHARS]
    length = cost = 0
    for line in window.splitlines(keepends=True):
        of_line = len(line) + _LINE_COST + _MARK_COST * num_marks(line)
        of_line += _PIPE_COST * line.count("|") + _TURN_COST * num_turns(line)
        if length and cost + of_line > _MAX_COST:
            break
        if of_line > _MAX_COST:
            # The line is too costly even for a slice of its own.
            length = min(len(line), max(_MIN_CHARS, len(line) * _MAX_COST // of_line))
            return length, length * of_line // len(line)
        length += len(line)
        cost += of_line
    if length < len(text) and not text[:length].endswith("\n"):
        # This is the beginning of a longer line, or the last line of the window.
        at = text.rfind("\n", 0, length) + 1
        length = at or length
    return length, cost
