"""An oracle for the text of an answer: written as plainly as possible, without an automaton, and slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


def _beginnings() -> frozenset[bytes]:
    """Return every proper prefix of every character's UTF-8. All but the last byte are the same for 64 characters."""
    characters = [chr(code).encode() for code in range(0x80, 0x110000, 64) if not 0xD800 <= code < 0xE000]
    return frozenset(data[:length] for data in characters for length in range(1, len(data)))


BEGINNINGS = _beginnings()


def split(data: bytes) -> tuple[str, bytes]:
    """Rule 5: return the text of some bytes, and the bytes of an unfinished character at their end."""
    for length in (3, 2, 1):
        if data[-length:] in BEGINNINGS:
            return data[:-length].decode("utf-8", "replace"), data[-length:]
    return data.decode("utf-8", "replace"), b""


def ends_of_characters(data: bytes) -> list[int]:
    """Return where the bytes of each character of `data` end, decoding one character after another."""
    ends: list[int] = []
    start = 0
    while start < len(data):
        start += _length_of_first(data[start : start + 4])
        ends.append(start)
    return ends


def _length_of_first(data: bytes) -> int:
    for length in range(1, len(data) + 1):
        try:
            data[:length].decode()
        except UnicodeDecodeError:
            continue
        return length
    # U+FFFD stands for a maximal subpart: as many bytes as a prefix of some character has, at least one.
    return max([1, *(length for length in range(1, len(data) + 1) if data[:length] in BEGINNINGS)])


class Expected(NamedTuple):
    """The state after some tokens: the text to show, the text held back, the stop string that ended it or None."""

    shown: str
    held: str
    stop: str | None


def expected(stops: Sequence[str], given: bytes, tokens: Sequence[bytes]) -> Expected:
    """Rules 1 to 6, for an answer that has not ended."""
    text, _ = split(given + b"".join(tokens))
    num_given = len(split(given)[0])
    for end in range(num_given + 1, len(text) + 1):
        complete = [stop for stop in stops if text.endswith(stop, 0, end)]
        if complete:
            stop = max(complete, key=len)
            return Expected(text[num_given : max(num_given, end - len(stop))], "", stop)
    begins = [
        length for stop in stops for length in range(1, min(len(stop), len(text) + 1)) if text.endswith(stop[:length])
    ]
    safe = max(num_given, len(text) - max(begins, default=0))
    return Expected(text[num_given:safe], text[safe:], None)


def expected_kept(given: bytes, tokens: Sequence[bytes], num_shown: int) -> tuple[int, bytes]:
    """Rule 7: return how many tokens are whole in the first `num_shown` new characters, and the bytes of the next one.

    A token without bytes keeps its position.
    """
    if not num_shown:
        return 0, b""
    ends = ends_of_characters(given + b"".join(tokens))
    left = ends[len(split(given)[0]) + num_shown - 1] - len(given)
    for index, data in enumerate(tokens):
        if left < len(data):
            return index, data[:left]
        left -= len(data)
    return len(tokens), b""
