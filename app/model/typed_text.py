"""What a person typed or pasted, made fit to be stored, sent and named."""

from __future__ import annotations

_NAME_LENGTH = 48


def clean(text: str) -> str:
    """Return text that can be stored and sent: a lone surrogate (half a character, from a broken paste) is U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def name_from(text: str) -> str:
    """Return a conversation's name, from its first question."""
    line = " ".join(text[: 20 * _NAME_LENGTH].split())
    return line if len(line) <= _NAME_LENGTH else f"{line[: _NAME_LENGTH - 1].rstrip()}…"
