"""Incremental UTF-8 decoding. Independent of tokens and stop strings.

Invalid bytes become U+FFFD at once, one for each maximal subpart, as in `bytes.decode("utf-8", "replace")`.
"""

from __future__ import annotations

from bisect import bisect_right
from codecs import utf_8_decode


def split_characters(data: bytes) -> tuple[str, bytes]:
    """Return the characters of `data`, and the bytes of an unfinished character at its end (at most 3)."""
    text, num_bytes = utf_8_decode(data, "replace")
    if num_bytes == len(data):
        return text, b""
    rest = data[num_bytes:]
    # Python's decoder waits for the end of a surrogate (ED A0 to ED BF), which UTF-8 does not have.
    if len(rest) == 2 and rest[0] == 0xED and rest[1] >= 0xA0:
        return text + rest.decode("utf-8", "replace"), b""
    return text, rest


def num_bytes_of(data: bytes, num_chars: int) -> int:
    """Return the length in bytes of the first `num_chars` characters of `data`."""

    def num_chars_within(num_bytes: int) -> int:
        return len(data[:num_bytes].decode("utf-8", "replace"))

    return bisect_right(range(len(data) + 1), num_chars, key=num_chars_within) - 1
