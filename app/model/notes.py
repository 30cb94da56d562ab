"""The texts of notes: a label as the first line, and below it Markdown or a code block."""

from __future__ import annotations

import re


def note(label: str, text: str) -> str:
    """Return a note's text."""
    return f"{' '.join(label.split())}\n\n{text}" if text else " ".join(label.split())


def fenced(text: str, language: str = "") -> str:
    """Return text as a code block, with a fence longer than any in the text."""
    mark = "`" * (1 + max(map(len, re.findall("`{3,}", text)), default=2))
    return f"{mark}{language}\n{text}\n{mark}"


def fenced_text(text: str) -> str:
    """Return the exact text in the code block of a note; the whole text of a note without a code block."""
    below = text.partition("\n\n")[2]
    head, _, rest = below.partition("\n")
    body, newline, tail = rest.rpartition("\n")
    if newline and head.startswith("```") and tail and head.startswith(tail) and not tail.strip("`"):
        return body
    return below
