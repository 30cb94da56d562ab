"""In which direction a text is read: its first letter that has one says it."""

from __future__ import annotations

import unicodedata

_FROM_RIGHT = {"R", "AL"}


def is_right_to_left(text: str) -> bool:
    """Whether a text is of a script that is written from right to left."""
    directions = (unicodedata.bidirectional(letter) for letter in text)
    return next((direction for direction in directions if direction in {"L", *_FROM_RIGHT}), "L") in _FROM_RIGHT
