"""What a person typed or pasted, made fit to be stored, sent and named."""

from __future__ import annotations

import re

_NAME_LENGTH = 48


def clean(text: str) -> str:
    """Return text that can be stored and sent: a lone surrogate (half a character, from a broken paste) is U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def name_from(text: str) -> str:
    """Return a conversation's name, from its first question."""
    line = " ".join(text[: 20 * _NAME_LENGTH].split())
    return line if len(line) <= _NAME_LENGTH else f"{line[: _NAME_LENGTH - 1].rstrip()}…"


_SPELLED = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_MEANT = {spelled[1]: meant for meant, spelled in _SPELLED.items()}


def spelled(text: str) -> str:
    """Return a text as one line in which line breaks and tabs can be seen (`\\n`, `\\t`), and backslashes are two."""
    return "".join(_SPELLED.get(character, character) for character in text)


def meant(text: str) -> str:
    """Return what `spelled` made a line of; a backslash before anything else is itself."""
    return re.sub(r"\\([\\ntr])", lambda found: _MEANT[found.group(1)], text)
