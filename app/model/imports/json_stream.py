"""Reads JSON values from a file of any size, one by one. Only one value is in memory at a time.

ijson parses, in C where its backend is installed. `ijson.items` would be shorter, but the cost of each of its events
grows with the depth of the value, so a deeply nested tree of messages would take minutes.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeAlias

import ijson

from app.model.imports.foreign import UnreadableError
from worker.sentence import Sentence

Json: TypeAlias = Any
"""A value as a JSON parser returns it."""

_CHUNK_BYTES = 1 << 16
MAX_ITEM_BYTES = (256 << 20) + 1
"""The size limit of one conversation, because a whole conversation is in memory."""
_MAX_WORD_BYTES = 1_000
"""Longer words are text such as base64, not numbers."""
_WORD = b"+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_SURROGATE = re.compile(
    rb"\\(?:\\|u[dD](?:[89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|([89a-fA-F][0-9a-fA-F]{2})))"
)
"""An escaped backslash, a pair of surrogates, or a lone surrogate. It begins with a literal, so `re` searches fast."""
_HIGH_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_PAIR_BYTES = len(rb"\ud83d\ude00")
_SHAPES = bytes.maketrans(b"123456789E", b"000000000e")
_INVALID = (b"NaN", b"Infinity", b"0" * 19, b"0e000", b"0e+000")
"""One of these is in the shape of any bytes that `_TOKEN` may have to replace."""
_TOKEN = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"?'
    rb"|(?P<literal>-?Infinity\b|NaN\b)"
    rb"|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)",
    re.DOTALL,
)
_MAX_INT = 2**63 - 1
_MAX_DIGITS = len(str(_MAX_INT))


class CountedFile:
    """A file that reports how many bytes are read."""

    def __init__(self, file: IO[bytes], advance: Callable[[int], None], outer: CountedFile | None = None) -> None:
        """`outer`: the file from which `file` is decoded; None if `file` is not decoded."""
        self._file = file
        self._outer = outer
        self._advance = advance
        self._ahead = b""
        self.num_bytes = 0
        self._item_begins = 0
        self.num_replaced = 0
        """The number of characters that were replaced because they can't be read."""
        self.has_ended = False

    def end_item(self) -> None:
        """Note that a conversation was read completely."""
        self._item_begins = self.num_bytes
        if self._outer is not None:
            self._outer.end_item()

    @property
    def num_in_item(self) -> int:
        """The number of bytes of the current conversation that were read."""
        return self.num_bytes - self._item_begins

    def peek(self, size: int) -> bytes:
        self._ahead = self._ahead or self._file.read(size) or b""
        return self._ahead

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; none at the end. Raises `UnreadableError` if a conversation does not end."""
        data = self._ahead[:size]
        self._ahead = self._ahead[size:]
        if len(data) < size:
            # Some system files return None: they have nothing to read now, but have not ended.
            data += self._file.read(size - len(data)) or b""
        self.has_ended = not data
        self.num_bytes += len(data)
        if self.num_in_item > MAX_ITEM_BYTES:
            raise UnreadableError(Sentence("a conversation in it has more than {max_bytes}", max_bytes=MAX_ITEM_BYTES))
        self._advance(len(data))
        return data

    def lines(self) -> Iterator[bytes]:
        begun: list[bytes] = []
        while chunk := self.read(_CHUNK_BYTES):
            first, *others = chunk.split(b"\n")
            begun.append(first)
            if others:
                yield b"".join(begun)
                yield from others[:-1]
                begun = [others[-1]]
        if rest := b"".join(begun):
            yield rest


class MendedJson:
    """A JSON file that corrects mistakes of other programs while it is read.

    Bytes that are not UTF-8 and escapes of lone surrogates become U+FFFD. NaN and the infinities become null. Numbers
    too large for 64 bits become strings, since C parsers refuse them.
    """

    def __init__(self, file: CountedFile) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = b""
        """Bytes to correct together with the next chunk."""
        self._is_in_string = False

    def read(self, size: int = -1) -> bytes:
        """Return about `size` bytes, or b"" at the end of the file."""
        # ijson reads 0 bytes once, to see whether the file is binary.
        if size == 0:
            return b""
        while True:
            # A parser in C reads a long string from its beginning with each chunk, so chunks grow with the value.
            chunk = self._file.read(max(_CHUNK_BYTES if size < 0 else size, self._file.num_in_item // 4))
            text = self._decoder.decode(chunk, final=not chunk)
            if "\ufffd" in text:
                self._file.num_replaced += max(0, text.count("\ufffd") - chunk.count(b"\xef\xbf\xbd"))
            data = self._rest + text.encode()
            end = _safe_end(data) if chunk else len(data)
            data, self._rest = data[:end], data[end:]
            if data or not chunk:
                return self._mended(data)

    def _mend_surrogate(self, found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            return found[0]
        self._file.num_replaced += 1
        return rb"\ufffd"

    def _mended(self, data: bytes) -> bytes:
        if b"\\ud" in data or b"\\uD" in data:
            data = _SURROGATE.sub(self._mend_surrogate, data)
        shape = data.translate(_SHAPES)
        if any(found in shape for found in _INVALID):
            start = b'"' if self._is_in_string else b""
            data = _TOKEN.sub(_mend_token, start + data)[len(start) :]
        unescaped = data.replace(b"\\\\", b"")
        self._is_in_string ^= (unescaped.count(b'"') - unescaped.count(b'\\"')) % 2 == 1
        return data


def _safe_end(data: bytes) -> int:
    """Return the last index at which `data` can be cut: not in an escape, a surrogate pair, a literal or a number."""
    end = data.rfind(b"\\", -_PAIR_BYTES)
    if end < 0:
        tail = data[-_MAX_WORD_BYTES:]
        num_word = len(tail) - len(tail.rstrip(_WORD))
        end = len(data) - (num_word if num_word < _MAX_WORD_BYTES else 0)
    # A run of backslashes stays whole: whether the last one is escaped depends on all of them.
    end = len(data[:end].rstrip(b"\\"))
    if end >= 6 and _HIGH_SURROGATE.fullmatch(data, end - 6, end):
        return len(data[: end - 6].rstrip(b"\\"))
    return end


def _mend_token(found: re.Match[bytes]) -> bytes:
    if found["literal"]:
        return b"null"
    if found["number"] and _is_too_large(found["number"]):
        return b'"%s"' % found["number"]
    return found[0]


def _is_too_large(number: bytes) -> bool:
    digits = number.lstrip(b"-")
    if digits.isdigit():
        return len(digits) > _MAX_DIGITS or int(digits) > _MAX_INT
    return math.isinf(float(number))


def json_values_in(file: CountedFile, num_levels: int, others: Counter[str] | None = None) -> Iterator[Json]:
    """Yield the values at the nesting depth `num_levels`.

    At depth 0 these are all values of the file, at depth 1 the elements of its array, at depth 2 the elements of its
    array `conversations`. The elements of its other arrays are then counted in `others`. Raises `ijson.JSONError` where
    the file is damaged.
    """
    depth, key, is_inside = 0, "", num_levels == 0
    array = ""
    builder = ijson.ObjectBuilder()
    for event, value in ijson.basic_parse(MendedJson(file), use_float=True, multiple_values=num_levels == 0):
        if event in {"end_map", "end_array"}:
            depth -= 1
        if is_inside and depth >= num_levels:
            builder.event(event, value)
            if depth == num_levels and event not in {"start_map", "start_array"}:
                yield builder.value
                builder = ijson.ObjectBuilder()
        elif event == "map_key":
            key = value
        elif depth == num_levels - 1:
            is_inside = event == "start_array" and (num_levels == 1 or key == "conversations")
            array = key if event == "start_array" else ""
        elif depth == num_levels and array and others is not None and event not in {"end_map", "end_array"}:
            others[array] += 1
        if event in {"start_map", "start_array"}:
            depth += 1
