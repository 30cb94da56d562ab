"""Functions on plain text: cleaning it for storage, escaping it in one line, and its writing direction."""

from __future__ import annotations

import re
import unicodedata


def clean(text: str) -> str:
    """Return text that can be stored and sent: lone surrogates, from a broken paste, become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNESCAPED = {escape[1]: character for character, escape in _ESCAPES.items()}


def escaped(text: str) -> str:
    """Return a text in one line, with `\\n`, `\\t` and `\\r` escaped and backslashes doubled."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def unescaped(text: str) -> str:
    """Undo `escaped`. A backslash before any other character is kept."""
    return re.sub(r"\\([\\ntr])", lambda found: _UNESCAPED[found.group(1)], text)


_FROM_RIGHT = {"R", "AL"}


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter with a direction is written from right to left."""
    directions = (unicodedata.bidirectional(letter) for letter in text)
    return next((direction for direction in directions if direction in {"L", *_FROM_RIGHT}), "L") in _FROM_RIGHT
