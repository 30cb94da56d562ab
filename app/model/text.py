"""Functions on plain text: cleaning it for storage, escapes in one line, writing direction."""

from __future__ import annotations

import re
import unicodedata


def clean(text: str) -> str:
    """Return text that can be stored and sent: a lone surrogate (half a character, from a broken paste) is U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_SPELLED = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_MEANT = {spelled[1]: meant for meant, spelled in _SPELLED.items()}


def spelled(text: str) -> str:
    """Return a text as one line in which line breaks and tabs can be seen (`\\n`, `\\t`), and backslashes are two."""
    return "".join(_SPELLED.get(character, character) for character in text)


def meant(text: str) -> str:
    """Return what `spelled` made a line of; a backslash before anything else is itself."""
    return re.sub(r"\\([\\ntr])", lambda found: _MEANT[found.group(1)], text)


_FROM_RIGHT = {"R", "AL"}


def is_right_to_left(text: str) -> bool:
    """Whether a text is of a script that is written from right to left."""
    directions = (unicodedata.bidirectional(letter) for letter in text)
    return next((direction for direction in directions if direction in {"L", *_FROM_RIGHT}), "L") in _FROM_RIGHT
