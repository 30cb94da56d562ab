"""Makes text safe for terminals and file names: no control characters, no reordering, no invisible characters."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from typing import Any, TextIO, cast

_ACTING = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb"
"""Control characters, line and paragraph separators, overrides of the writing direction, halves of characters."""
_UNSEEN = (
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters without width. Text could be hidden in them."""
_JOINERS = r"\u200c\u200d"
"""Joiners connect the letters of some scripts and the parts of an emoji. Elsewhere they are invisible."""
_JOINED = {"Ll", "Lu", "Lt", "Lm", "Lo", "Mn", "Mc", "So", "Sk"}

_UNWANTED = re.compile(f"[{_ACTING}{_UNSEEN}{_JOINERS}]")
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_IS_ACTING = re.compile(f"[{_ACTING}]")


def printable(text: str, instead: str = "\ufffd") -> str:
    """Return `text` made safe to print on a terminal. Line feeds and tabs are kept.

    Other control characters are replaced by `instead`, and invisible characters are removed.
    """

    def replaced(found: re.Match[str]) -> str:
        character, before = found[0], found.string[found.start() - 1 : found.start()]
        if character in "\u200c\u200d":
            return character if before and unicodedata.category(before) in _JOINED else ""
        return instead if _IS_ACTING.match(character) else ""

    return _UNWANTED.sub(replaced, text)


def one_line(text: str, instead: str = "\ufffd") -> str:
    """Return a text as one printable line. Spaces are kept."""
    return printable(_BREAKS.sub(" ", text), instead)


def printable_json(json: bytes) -> bytes:
    """Return equivalent JSON, with escapes for the characters that `printable` would replace or remove."""
    text = json.decode()
    return _UNWANTED.sub(lambda found: _escape(found[0]), text).encode()


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


class PrintableStream:
    """Writes text to another stream in printable form. Everything else is passed on unchanged."""

    def __init__(self, behind: TextIO) -> None:
        """`behind`: the stream to write to."""
        self.behind = behind

    def write(self, text: str) -> int:
        self.behind.write(printable(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


def print_printable_text() -> None:
    """From now on write only printable text to standard output and standard error.

    This includes logs, tracebacks and messages of libraries, but not bytes.
    """
    # Python would colour its tracebacks and argparse its help with escape sequences.
    os.environ["PYTHON_COLORS"] = "0"
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        # A program without a console has no streams.
        if stream is not None and not isinstance(cast("object", stream), PrintableStream):
            setattr(sys, name, PrintableStream(stream))
