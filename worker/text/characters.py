"""UTF-8 that arrives in pieces, as whole characters; it knows neither tokens nor stop strings.

Bytes that no following byte could make a character are U+FFFD at once, one for each maximal subpart, as
`bytes.decode("utf-8", "replace")` counts them.
"""

from __future__ import annotations

from bisect import bisect_right
from codecs import utf_8_decode


def split_characters(data: bytes) -> tuple[str, bytes]:
    """Return the characters of `data` and the bytes at its end that may yet become one (at most 3)."""
    text, num_bytes = utf_8_decode(data, "replace")
    if num_bytes == len(data):
        return text, b""
    rest = data[num_bytes:]
    # Python's automaton waits for the end of a surrogate (ED A0 to ED BF), though UTF-8 has none.
    if len(rest) == 2 and rest[0] == 0xED and rest[1] >= 0xA0:
        return text + rest.decode("utf-8", "replace"), b""
    return text, rest


def num_bytes_of(data: bytes, num_chars: int) -> int:
    """Return how many bytes of `data` its first `num_chars` characters take, each U+FFFD its maximal subpart."""

    def num_chars_within(num_bytes: int) -> int:
        return len(data[:num_bytes].decode("utf-8", "replace"))

    return bisect_right(range(len(data) + 1), num_chars, key=num_chars_within) - 1
