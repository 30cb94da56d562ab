"""Parses text that comes in pieces. Each parser is a generator that yields where it needs more text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from typing import TypeAlias

MAX_DEPTH = 200
"""The maximum depth of nested values. Python's stack can hold at least this many nested parsers."""
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_BLANKS = " \t\r\n"
_SPACE = re.compile(r"[ \t\r\n]+")
JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_ESCAPES = frozenset('"\\/bfnrt')
_HEX = frozenset("0123456789abcdefABCDEF")

Sink: TypeAlias = Callable[[str], None]


class BrokenError(Exception):
    """The text does not continue as its beginning requires, or it ended too early."""


class Incoming:
    """The text so far, and the position up to which it is parsed."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self._num_dropped = 0
        """How many characters before `_text` were dropped, because they will not be parsed again."""
        self._has_ended = False
        self._is_cut = False
        self._has_run_out = False
        """Whether the text ended where more text could follow."""
        self.left_out = ""
        """The end of a cut text that was not passed on: the beginning of a marker, or of a call."""

    @property
    def is_cut_here(self) -> bool:
        """Whether the text was cut at the present position, so that it may be the beginning of a longer text."""
        return self._is_cut and self._has_run_out

    def add(self, text: str) -> None:
        """Append text."""
        self._text += text

    def end(self, *, is_cut: bool = False) -> None:
        """Note that no more text comes. `is_cut`: the text is incomplete."""
        self._has_ended = True
        self._is_cut = is_cut

    def mark(self) -> int:
        """Return the position, and drop the text before it."""
        self._num_dropped += self._at
        self._text = self._text[self._at :]
        self._at = 0
        return self._num_dropped

    def go_back(self, position: int) -> None:
        """Go back to an earlier position, which must be after the last mark."""
        self._at = max(0, position - self._num_dropped)

    def give_back(self, text: str) -> None:
        """Go back to before `text`, which was parsed last."""
        self._at -= len(text)

    def since(self, position: int) -> str:
        """Return the text between `position`, which must be after the last mark, and the present one."""
        return self._text[position - self._num_dropped : self._at]

    def all_since(self, position: int) -> str:
        """Go to the end of the text. Return the text from `position` on, which must be after the last mark."""
        self._at = len(self._text)
        self.left_out = ""
        return self.since(position)

    # --- text ----------------------------------------------------------------------------------------------

    def until(
        self, markers: Sequence[str], sink: Sink, *, trims: bool = True, keeps: bool = False
    ) -> Generator[None, None, str | None]:
        """Pass on text up to the first of `markers`, and skip the marker. Return it; None at the end of the text.

        If several markers begin at the same place, the longest counts. `trims`: white space before a marker is dropped.
        `keeps`: the caller can go back in the text. If the text is cut in a marker, the marker's beginning is left out.
        """
        pattern, beginnings = _search(tuple(markers))
        while True:
            found = pattern.search(self._text, self._at) if markers else None
            if found is not None and not (self._may_be_longer(found, markers)):
                before = self._text[self._at : found.start()]
                sink(before.rstrip(_BLANKS) if trims else before)
                self._at = found.end()
                if not keeps:
                    self.mark()
                return found[0]
            end = len(self._text) if found is None else found.start()
            if markers and (self._is_cut or not self._has_ended):
                end -= _num_held(self._text, beginnings, self._at) if found is None else 0
                if trims and (end < len(self._text) or not self._has_ended):
                    end = self._at + len(self._text[self._at : end].rstrip(_BLANKS))
            if end > self._at:
                sink(self._text[self._at : end])
                self._at = end
            if self._has_ended:
                self._has_run_out = True
                self.left_out += self._text[end:]
                self._at = len(self._text)
            if not keeps:
                self.mark()
            if self._has_ended:
                return None
            yield

    def _may_be_longer(self, found: re.Match[str], markers: Sequence[str]) -> bool:
        """Return whether the text may become a longer marker than the one found."""
        rest = self._text[found.start() :]
        return not self._has_ended and any(len(each) > len(rest) and each.startswith(rest) for each in markers)

    def peek(self) -> Generator[None, None, str]:
        """Return the next character. Raises `BrokenError` at the end of the text."""
        while self._at >= len(self._text):
            yield from self._more()
        return self._text[self._at]

    def _more(self) -> Generator[None]:
        if self._has_ended:
            self._has_run_out = True
            raise BrokenError
        yield

    def starts_with(self, literal: str) -> Generator[None, None, bool]:
        """Return whether `literal` comes next, without skipping it."""
        while True:
            rest = self._text[self._at : self._at + len(literal)]
            if len(rest) == len(literal) or self._has_ended or not literal.startswith(rest):
                self._has_run_out = self._has_run_out or (rest != literal and literal.startswith(rest))
                return rest == literal
            yield

    def takes(self, literal: str) -> Generator[None, None, bool]:
        """Skip `literal` if it comes next. Return whether it did."""
        if not (yield from self.starts_with(literal)):
            return False
        self._at += len(literal)
        return True

    def take(self, literal: str) -> Generator[None]:
        """Skip `literal`. Raises `BrokenError` if other text comes next."""
        if not (yield from self.takes(literal)):
            raise BrokenError

    def take_lines(self, literal: str) -> Generator[None]:
        """Skip `literal`, with any white space at its ends and in place of its line breaks."""
        for line in literal.split("\n"):
            yield from self.skip_space()
            yield from self.take(line)
        if not literal.endswith(('"', "'", ">")):
            yield from self.skip_space()

    def skip_space(self) -> Generator[None]:
        """Skip white space, up to other text or the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            if found is not None:
                self._at = found.end()
            if self._at < len(self._text) or self._has_ended:
                return
            yield

    def take_while(self, pattern: re.Pattern[str]) -> Generator[None, None, str]:
        """Skip and return all next characters that `pattern`, a set of characters, matches."""
        taken = ""
        while True:
            found = pattern.match(self._text, self._at)
            if found is not None:
                taken += found[0]
                self._at = found.end()
            if self._at < len(self._text):
                return taken
            if self._has_ended:
                self._has_run_out = True
                return taken
            yield

    def collect(self, *ends: str, most: int = 256) -> Generator[None, None, tuple[str, str]]:
        """Skip the text up to and including the first of `ends`. Return the text before that end, and the end.

        Raises `BrokenError` if no end comes within `most` characters.
        """
        start = self._at
        while True:
            places = [(place, end) for end in ends if (place := self._text.find(end, start)) >= 0]
            if places:
                place, end = min(places)
                if place - start > most:
                    raise BrokenError
                self._at = place + len(end)
                return self._text[start:place], end
            if len(self._text) - start > most + max(map(len, ends)):
                raise BrokenError
            yield from self._more()

    # --- JSON ----------------------------------------------------------------------------------------------

    def json_value(self, sink: Sink, depth: int = 0) -> Generator[None]:
        """Pass on one JSON value. Raw control characters in texts are escaped. Raises `BrokenError`."""
        match (yield from self.peek()):
            case "{":
                yield from self._json_items(sink, "}", depth)
            case "[":
                yield from self._json_items(sink, "]", depth)
            case '"':
                yield from self._json_text(sink)
            case "t":
                yield from self._json_word("true", sink)
            case "f":
                yield from self._json_word("false", sink)
            case "n":
                yield from self._json_word("null", sink)
            case _:
                number = yield from self.take_while(_NUMBER_CHARACTERS)
                if JSON_NUMBER.fullmatch(number) is None:
                    raise BrokenError
                sink(number)

    def json_string(self) -> Generator[None, None, str]:
        """Parse a JSON string and return its text. Raises `BrokenError`."""
        if (yield from self.peek()) != '"':
            raise BrokenError
        pieces: list[str] = []
        yield from self._json_text(pieces.append)
        return json.loads("".join(pieces))

    def _json_word(self, word: str, sink: Sink) -> Generator[None]:
        yield from self.take(word)
        sink(word)

    def _json_items(self, sink: Sink, closer: str, depth: int) -> Generator[None]:
        if depth >= MAX_DEPTH:
            raise BrokenError
        sink(self._text[self._at])
        self._at += 1
        yield from self._pass_space(sink)
        if (yield from self.takes(closer)):
            sink(closer)
            return
        while True:
            if closer == "}":
                if (yield from self.peek()) != '"':
                    raise BrokenError
                yield from self._json_text(sink)
                yield from self._pass_space(sink)
                yield from self.take(":")
                sink(":")
                yield from self._pass_space(sink)
            yield from self.json_value(sink, depth + 1)
            yield from self._pass_space(sink)
            if (yield from self.takes(closer)):
                sink(closer)
                return
            yield from self.take(",")
            sink(",")
            yield from self._pass_space(sink)

    def _pass_space(self, sink: Sink) -> Generator[None]:
        while True:
            found = _SPACE.match(self._text, self._at)
            if found is not None:
                sink(found[0])
                self._at = found.end()
            if self._at < len(self._text) or self._has_ended:
                return
            yield

    def _json_text(self, sink: Sink) -> Generator[None]:
        sink('"')
        self._at += 1
        while True:
            found = _PLAIN.match(self._text, self._at)
            if found is not None:
                sink(found[0])
                self._at = found.end()
            character = yield from self.peek()
            if character == '"':
                sink('"')
                self._at += 1
                return
            if character == "\\":
                yield from self._json_escape(sink)
            elif character < " ":
                sink(json.dumps(character)[1:-1])
                self._at += 1

    def _json_escape(self, sink: Sink) -> Generator[None]:
        length = 2
        while len(self._text) < self._at + length:
            yield from self._more()
        if self._text[self._at + 1] == "u":
            length = 6
            while len(self._text) < self._at + length:
                yield from self._more()
            if not _HEX.issuperset(self._text[self._at + 2 : self._at + 6]):
                raise BrokenError
        elif self._text[self._at + 1] not in _ESCAPES:
            raise BrokenError
        sink(self._text[self._at : self._at + length])
        self._at += length


_NUMBER_CHARACTERS = re.compile(r"[-+.0-9eE]+")


@lru_cache(maxsize=64)
def _search(markers: tuple[str, ...]) -> tuple[re.Pattern[str], frozenset[str]]:
    """Return a pattern for the first and longest of `markers`, and all proper prefixes of the markers."""
    ordered = sorted(markers, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, ordered)))
    return pattern, frozenset(marker[:length] for marker in markers for length in range(1, len(marker)))


def _num_held(text: str, beginnings: frozenset[str], start: int) -> int:
    """Return the length of the longest suffix of `text`, from `start` on, with which a marker may begin."""
    longest = max(map(len, beginnings), default=0)
    for length in range(min(longest, len(text) - start), 0, -1):
        if text[len(text) - length :] in beginnings:
            return length
    return 0
