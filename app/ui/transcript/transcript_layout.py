"""The vertical layout of a branch, and the scroll position in it. Independent of Qt widgets; all units are pixels."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable

from app.model.message import Role
from app.ui.theme import LINE_PX

_NEAR_END_PX = 24
_CHAR_PX = 7.4
"""The average width of a character."""
_MAX_CHARS = 200_000
"""The page shows only this many characters of a longer text."""
_AROUND_PX: dict[Role, int] = {"system": 80, "user": 80, "assistant": 58, "note": 80, "file": 40, "root": 0}
"""The height of everything around the text: heading, card, buttons, footer."""
_CARD_PX = 32
"""The left and right margins of a card."""


class Column:
    """The heights of messages one below another, measured or estimated, and their tops."""

    def __init__(self, above_px: int, between_px: int, below_px: int) -> None:
        self._between = between_px
        self._below = below_px
        self._heights: list[int] = []
        self._is_measured = bytearray()
        self._tops = [above_px]
        """The known tops, from the first message on. When a height changes, the tops below it are dropped."""

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def height(self) -> int:
        """The total height, with the space above the first message and below the last."""
        return self.top(len(self)) - (self._between if self._heights else 0) + self._below

    def top(self, index: int) -> int:
        """Return the top of a message. `index` may be the number of messages: the top of the next one."""
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

    def index_at(self, y: int) -> int:
        """Return the index of the message at `y`, or of the one above if `y` is between two; clamped at the ends."""
        self.top(len(self))
        return min(max(bisect_right(self._tops, y) - 1, 0), len(self) - 1)

    def within(self, top: int, bottom: int) -> range:
        """Return the indices of the messages that overlap the range from `top` to `bottom`."""
        if not self._heights or bottom <= top:
            return range(0)
        first = self.index_at(top)
        if self.bottom(first) <= top:
            first += 1
        last = self.index_at(bottom - 1)
        return range(first, last + 1 if self.top(last) < bottom else last)

    def measure(self, index: int, height: int) -> bool:
        """Set the measured height of a message; return whether the height changed."""
        self._is_measured[index] = True
        return self._set_height(index, height)

    def estimate(self, index: int, height: int) -> bool:
        """Set the estimated height of a message; return whether the height changed."""
        self._is_measured[index] = False
        return self._set_height(index, height)

    def invalidate(self, index: int) -> None:
        """Treat the measured height of a message as an estimate."""
        self._is_measured[index] = False

    def replace_from(self, index: int, estimates: Iterable[int]) -> None:
        """Replace the messages from `index` on by others with these estimated heights."""
        del self._tops[index + 1 :]
        self._heights[index:] = estimates
        self._is_measured[index:] = bytes(len(self._heights) - index)

    def _set_height(self, index: int, height: int) -> bool:
        if self._heights[index] == height:
            return False
        self._heights[index] = height
        del self._tops[index + 1 :]
        return True


class ScrollPosition:
    """The visible part of a column. It is anchored to a message or to the end, so nothing jumps when heights change."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.height = 0
        """The height of the viewport."""
        self.covered = 0
        """The height at the top of the viewport that a notice covers. The user can scroll the column below it."""
        self.top = 0
        self.follows_end = True
        self._held: tuple[int, int] | None = None
        """The index of the message to which the position is anchored, and that message's offset.

        None means that the position is anchored to the end.
        """

    @property
    def end(self) -> int:
        """The value of `top` at which the end of the column is at the bottom of the viewport."""
        return max(0, self.column.height - self.height)

    @property
    def max_top(self) -> int:
        """The maximum of the scroll bar. It leaves free space below a new question for the answer."""
        return max(self.end, self.top)

    @property
    def bottom(self) -> int:
        return self.top + self.height

    @property
    def visible(self) -> range:
        """The indices of the visible messages."""
        return self.column.within(self.top, self.bottom)

    def is_visible(self, index: int) -> bool:
        return index in self.visible

    def offset(self, index: int) -> int:
        """Return the distance from the top of the viewport to the top of a message."""
        return self.column.top(index) - self.top

    def scroll_to(self, top: int) -> None:
        """Scroll to `top` for the user. If that is the end, the view stays at the end as the column grows."""
        end, before = self.end, self.top
        self.top = min(max(top, -self.covered), max(end, before))
        self.follows_end = self.top >= (end - _NEAR_END_PX if self.top > before else end)
        self._held = None if self.follows_end and self.top <= end else self._anchor()

    def held_offset(self, index: int) -> int:
        """Return the offset at which a message is held.

        If there is not enough text below, its real offset is greater.
        """
        held = self._held
        return held[1] if held is not None and held[0] == index else self.offset(index)

    def hold(self, index: int, offset: int, *, follows_end: bool = False) -> None:
        """Anchor the position to a message at this offset, if there is enough text below the message.

        `follows_end` means that the text below will grow: the offset is kept with free space below it, and once the
        text reaches the bottom of the viewport, the position follows the end.
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
        """Restore the anchor after heights changed or messages were replaced."""
        end = self.end
        if self._held is not None and self._held[0] >= len(self.column):
            self._held = None
            self.follows_end = True
        if self._held is None:
            self.top = end if self.follows_end else min(max(self.top, -self.covered), end)
            return
        index, offset = self._held
        top = max(-self.covered, self.column.top(index) - offset)
        if not self.follows_end:
            # The anchor is kept: the message returns to its offset when there is more text below.
            top = min(top, end)
        elif end >= top:
            self._held, top = None, end
        self.top = top

    def _anchor(self) -> tuple[int, int] | None:
        """Return the first visible message that is measured: the height of others may change."""
        messages = self.visible
        if not messages:
            return None
        index = next((index for index in messages if self.column.is_measured(index)), messages[0])
        return index, self.offset(index)


def estimated_height(role: Role, text: str, width_px: int) -> int:
    """Return an approximate height for a message at this width."""
    num_chars = len(text)
    if not num_chars or role in {"note", "file"}:
        return _AROUND_PX[role] + (LINE_PX if num_chars else 0)
    if num_chars > _MAX_CHARS:
        num_chars = _MAX_CHARS
    num_lines = (
        text.count("\n") + 1 + int(num_chars * _CHAR_PX / (width_px if role == "assistant" else width_px - _CARD_PX))
    )
    return _AROUND_PX[role] + LINE_PX * num_lines
