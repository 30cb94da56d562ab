"""How wide a text of several lines is to be so that no word is left alone on the last one; it knows no widget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable


def narrowest_px(height_at: Callable[[int], int], least_px: int, most_px: int) -> int:
    """Return the least width at which a text is no higher than at the most.

    `height_at`: how high it is at a width; never higher at a larger one.
    """
    wanted = height_at(most_px)
    return least_px + bisect_left(range(least_px, most_px), True, key=lambda width: height_at(width) <= wanted)
