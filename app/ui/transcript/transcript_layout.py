"""Where the messages of a branch stand, and which part of them is seen; figures alone, no widget."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable

from app.model.message import Role
from app.ui.theme import LINE_PX

_NEAR_END_PX = 24
_CHAR_PX = 7.4
"""How wide a character is on average."""
_MOST_CHARS = 200_000
"""Of a longer text the beginning is shown alone."""
_AROUND_PX: dict[Role, int] = {"system": 80, "user": 80, "assistant": 58, "note": 80, "root": 0}
"""What a message needs beside its lines: its role, its card, its actions, what it cost."""
_CARD_PX = 32


class Column:
    """Messages one below another: how high each is, as measured or (before that) as estimated, and where it begins."""

    def __init__(self, above_px: int, between_px: int, below_px: int) -> None:
        self._between = between_px
        self._below = below_px
        self._heights: list[int] = []
        self._is_measured = bytearray()
        self._tops = [above_px]
        """Of the first messages, as many as are known; a change forgets those below it."""

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def height(self) -> int:
        """Of all, with the space above the first and below the last."""
        return self.top(len(self)) - (self._between if self._heights else 0) + self._below

    def top(self, index: int) -> int:
        """Return where a message begins; for the number of messages, where the next one would."""
        tops = self._tops
        if index >= len(tops):
            heights = self._heights[len(tops) - 1 : index]
            last = tops.pop()
            tops += itertools.accumulate((height + self._between for height in heights), initial=last)
        return tops[index]

    def bottom(self, index: int) -> int:
        return self.top(index) + self._heights[index]

    def message_height(self, index: int) -> int:
        return self._heights[index]

    def is_measured(self, index: int) -> bool:
        return bool(self._is_measured[index])

    def at(self, y: int) -> int:
        """Return the message that stands at a place, or whose space below does; the first or last one beyond them."""
        self.top(len(self))
        return min(max(bisect_right(self._tops, y) - 1, 0), len(self) - 1)

    def within(self, top: int, bottom: int) -> range:
        """Return the messages of which anything lies between two places."""
        if not self._heights or bottom <= top:
            return range(0)
        first = self.at(top)
        if self.bottom(first) <= top:
            first += 1
        last = self.at(bottom - 1)
        return range(first, last + 1 if self.top(last) < bottom else last)

    def measure(self, index: int, height: int) -> bool:
        """Take in how high a message is; return whether it was not known."""
        self._is_measured[index] = True
        return self._set_height(index, height)

    def estimate(self, index: int, height: int) -> bool:
        """Take in how high a message may be that is not there to be measured."""
        self._is_measured[index] = False
        return self._set_height(index, height)

    def forget(self, index: int) -> None:
        """What was measured is not so any more; it stays the best estimate."""
        self._is_measured[index] = False

    def replace_from(self, index: int, estimates: Iterable[int]) -> None:
        """Let other messages stand from `index` on."""
        del self._tops[index + 1 :]
        self._heights[index:] = estimates
        self._is_measured[index:] = bytes(len(self._heights) - index)

    def _set_height(self, index: int, height: int) -> bool:
        if self._heights[index] == height:
            return False
        self._heights[index] = height
        del self._tops[index + 1 :]
        return True


class Sight:
    """Which part of a column is seen. It holds to a message, or to the end; so nothing jumps as heights change."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.height = 0
        """Of what is seen at once."""
        self.top = 0
        self.follows_end = True
        self._held: tuple[int, int] | None = None
        """A message and how far below the upper edge it begins; None: the end is held alone."""

    @property
    def end(self) -> int:
        """The top at which the end of the column is at the lower edge."""
        return max(0, self.column.height - self.height)

    @property
    def max_top(self) -> int:
        """How far one can scroll. What is asked for may need more room below it than there is yet."""
        return max(self.end, self.top)

    @property
    def bottom(self) -> int:
        return self.top + self.height

    @property
    def messages(self) -> range:
        """Those of which anything is seen."""
        return self.column.within(self.top, self.bottom)

    def is_seen(self, index: int) -> bool:
        return index in self.messages

    def offset(self, index: int) -> int:
        """Return how far below the upper edge a message begins."""
        return self.column.top(index) - self.top

    def scroll_to(self, top: int) -> None:
        """A person goes to a place; one who comes down to the end stays there as it grows."""
        end, before = self.end, self.top
        self.top = min(max(top, 0), max(end, before))
        self.follows_end = self.top >= (end - _NEAR_END_PX if self.top > before else end)
        self._held = None if self.follows_end and self.top <= end else self._holdable()

    def place(self, index: int) -> int:
        """Return how far below the upper edge a message is to begin; it may be further down, for want of text below."""
        held = self._held
        return held[1] if held is not None and held[0] == index else self.offset(index)

    def hold(self, index: int, offset: int, *, follows_end: bool = False) -> None:
        """Keep a message where it is on screen, as far as there is anything to be seen below it.

        `follows_end`: it is yet to grow. There is room below it for that, until it grows out of sight.
        """
        self._held = (index, offset)
        self.follows_end = follows_end
        self.settle()

    def hold_end(self) -> None:
        self._held = None
        self.follows_end = True
        self.settle()

    @property
    def held(self) -> tuple[int, int] | None:
        return self._held

    def settle(self) -> None:
        """Be where what is held is, after heights have changed or messages were replaced."""
        end = self.end
        if self._held is not None and self._held[0] >= len(self.column):
            self._held = None
            self.follows_end = True
        if self._held is None:
            self.top = end if self.follows_end else min(self.top, end)
            return
        index, offset = self._held
        top = max(0, self.column.top(index) - offset)
        if not self.follows_end:
            # What is held is remembered: it goes back there as soon as there is more below it.
            top = min(top, end)
        elif end >= top:
            self._held, top = None, end
        self.top = top

    def _holdable(self) -> tuple[int, int] | None:
        """The first message in sight that is measured: those above it may turn out to be higher or lower."""
        messages = self.messages
        if not messages:
            return None
        index = next((index for index in messages if self.column.is_measured(index)), messages[0])
        return index, self.offset(index)


def estimated_height(role: Role, text: str, width_px: int) -> int:
    """Return about how high a message will be at this width; it is near enough for a scroll bar."""
    num_chars = len(text)
    if not num_chars or role == "note":
        return _AROUND_PX[role] + (LINE_PX if num_chars else 0)
    if num_chars > _MOST_CHARS:
        num_chars = _MOST_CHARS
    num_lines = (
        text.count("\n") + 1 + int(num_chars * _CHAR_PX / (width_px if role == "assistant" else width_px - _CARD_PX))
    )
    return _AROUND_PX[role] + LINE_PX * num_lines
