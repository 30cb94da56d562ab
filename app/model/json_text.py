"""Lays out growing JSON text with one member per line. Independent of Qt."""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import itemgetter
from typing import Literal, TypeAlias

MAX_CHARS = 30_000
"""Text after this many characters is shown unchanged."""

_BEGINNING = re.compile(r"""\s*(?:\{\s*"|\[\s*(?:[\[{"]|-?\d[\d.eE+-]*\s*,))""")
"""Hardly any other text begins like this."""
_SPACE = re.compile(r"[ \t\r\n]+")
_SCALAR = re.compile(r"[-+.\w]+", re.ASCII)
_WHOLE_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null", re.ASCII)
_BEGUN_SCALAR = re.compile(r"-?(?:(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][-+]?\d*)?)?", re.ASCII)
_CHARACTERS = re.compile(r'[^"\\\x00-\x1f]+')
_ESCAPED = frozenset('"\\/bfnrtu')
_CLOSING = {"{": "}", "[": "]"}
_INDENT = "  "
_MAX_INDENTS = 16
"""Deeper levels are not indented further, so that a text grows only by a factor."""

_Expected: TypeAlias = Literal["value", "first value", "key", "first key", "colon", "comma", "nothing"]


class NotJsonError(ValueError):
    """The text is not JSON, nor the beginning of JSON."""


class JsonLayout:
    """Lays out JSON as it comes. Only white space between tokens changes, and text that was laid out never changes."""

    def __init__(self) -> None:
        self._expected: _Expected = "value"
        self._closing: list[str] = []
        """The brackets that close the open objects and arrays, the innermost one last."""
        self._scalar = ""
        """The number, `true`, `false` or `null` at the end, which may still grow."""
        self._is_in_string = self._is_escaped = self._is_key = False
        self._num_read = self._num_shown = 0
        self._places: list[tuple[int, int, int]] = []
        """For each piece: its start in the shown text, its start in the source, and its length."""

    @property
    def is_whole(self) -> bool:
        """Whether the text so far is one JSON value."""
        is_scalar = not self._closing and _WHOLE_SCALAR.fullmatch(self._scalar) is not None
        return self._expected == "nothing" or (is_scalar and not self._is_in_string)

    def feed(self, text: str) -> str:
        """Return the text to show for the next part of the source. Raises `NotJsonError`."""
        out: list[str] = []
        at = 0
        end = min(len(text), MAX_CHARS - self._num_read)
        laid_out = text[: max(end, 0)]
        while at < len(laid_out):
            at = self._in_string(laid_out, at, out) if self._is_in_string else self._outside(laid_out, at, out)
        if at < len(text):
            self._show(text, at, len(text), out)
        return "".join(out)

    def source_position(self, num_shown: int) -> int:
        """Return how many characters of the source the first `num_shown` shown characters represent."""
        index = bisect_right(self._places, num_shown, key=itemgetter(0)) - 1
        if index < 0:
            return 0
        shown, source, length = self._places[index]
        return source + min(num_shown - shown, length)

    # --- pieces ----------------------------------------------------------------------------------------------

    def _in_string(self, text: str, at: int, out: list[str]) -> int:
        if self._is_escaped:
            if text[at] not in _ESCAPED:
                raise NotJsonError
            self._is_escaped = False
            return self._show(text, at, at + 1, out)
        found = _CHARACTERS.match(text, at)
        if found is not None:
            return self._show(text, at, found.end(), out)
        if text[at] == "\\":
            self._is_escaped = True
        elif text[at] == '"':
            self._is_in_string = False
            if self._is_key:
                self._expected = "colon"
            else:
                self._end_value()
        else:
            raise NotJsonError
        return self._show(text, at, at + 1, out)

    def _outside(self, text: str, at: int, out: list[str]) -> int:
        found = _SCALAR.match(text, at)
        if found is not None:
            return self._grow_scalar(text, at, found.end(), out)
        if self._scalar:
            self._end_scalar()
        found = _SPACE.match(text, at)
        if found is not None:
            self._num_read += found.end() - at
            return found.end()
        match text[at]:
            case '"':
                self._begin_string(out)
            case "{" | "[" as opening:
                self._begin_value(out)
                self._closing.append(_CLOSING[opening])
                self._expected = "first key" if opening == "{" else "first value"
            case "}" | "]" as closing:
                self._close(closing, out)
            case ":" if self._expected == "colon":
                self._expected = "value"
                at = self._show(text, at, at + 1, out)
                self._add(" ", out)
                return at
            case "," if self._expected == "comma":
                self._expected = "key" if self._closing[-1] == "}" else "value"
            case _:
                raise NotJsonError
        at = self._show(text, at, at + 1, out)
        if text[at - 1] == ",":
            self._begin_line(out)
        return at

    def _grow_scalar(self, text: str, start: int, end: int, out: list[str]) -> int:
        if not self._scalar:
            self._begin_value(out)
        self._scalar += text[start:end]
        words = ("true", "false", "null")
        is_begun = _BEGUN_SCALAR.fullmatch(self._scalar) or any(word.startswith(self._scalar) for word in words)
        if not is_begun:
            raise NotJsonError
        return self._show(text, start, end, out)

    def _end_scalar(self) -> None:
        if _WHOLE_SCALAR.fullmatch(self._scalar) is None:
            raise NotJsonError
        self._scalar = ""
        self._end_value()

    def _begin_string(self, out: list[str]) -> None:
        self._is_key = self._expected in {"key", "first key"}
        if self._is_key:
            if self._expected == "first key":
                self._begin_line(out)
        else:
            self._begin_value(out)
        self._is_in_string = True

    def _begin_value(self, out: list[str]) -> None:
        if self._expected == "first value":
            self._begin_line(out)
        elif self._expected != "value":
            raise NotJsonError
        # Until it ends, nothing else may follow.
        self._expected = "value"

    def _end_value(self) -> None:
        self._expected = "comma" if self._closing else "nothing"

    def _close(self, closing: str, out: list[str]) -> None:
        is_empty = self._expected in {"first key", "first value"}
        if not self._closing or self._closing[-1] != closing or not (is_empty or self._expected == "comma"):
            raise NotJsonError
        self._closing.pop()
        if not is_empty:
            self._begin_line(out)
        self._end_value()

    # --- what is shown ---------------------------------------------------------------------------------------

    def _show(self, text: str, start: int, end: int, out: list[str]) -> int:
        self._places.append((self._num_shown, self._num_read, end - start))
        self._num_read += end - start
        self._add(text[start:end], out)
        return end

    def _begin_line(self, out: list[str]) -> None:
        self._add("\n" + _INDENT * min(len(self._closing), _MAX_INDENTS), out)

    def _add(self, text: str, out: list[str]) -> None:
        self._num_shown += len(text)
        out.append(text)


def begun_json(text: str, *, is_certain: bool = False) -> tuple[JsonLayout, str] | None:
    """Return the layout of a text that is JSON or its beginning, and the text to show; None for other texts.

    `is_certain`: JSON was requested, so a bracket or a number at the beginning is enough.
    """
    if not is_certain and text.lstrip()[:1] not in {"{", "["}:
        return None
    layout = JsonLayout()
    try:
        shown = layout.feed(text)
    except NotJsonError:
        return None
    is_json = bool(text.strip()) if is_certain else layout.is_whole or _BEGINNING.match(text) is not None
    return (layout, shown) if is_json else None


def may_become_json(text: str) -> bool:
    """Return whether a short text may still become JSON."""
    return len(text) <= 64 and text.lstrip()[:1] in {"", "{", "["}
