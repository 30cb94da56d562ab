"""The bytes of a file that is imported: counted as they are read, and what is no character in them mended."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from typing import IO

_CHUNK_BYTES = 1 << 16
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_FIRST_HALF = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_LITERAL = re.compile(rb"-?\bInfinity\b|\bNaN\b")
_LITERAL_BEGUN = re.compile(rb"[-A-Za-z]{1,9}\Z")
_LONGEST_ESCAPE = len(rb"\ud83d\ude00")


class CountedFile:
    """A file that tells how much of it is read."""

    def __init__(self, file: IO[bytes], advance: Callable[[int], None]) -> None:
        self._file = file
        self._advance = advance
        self._ahead = b""
        self._begin = 0
        self.num_bytes = 0

    def peek(self, size: int) -> bytes:
        self._ahead = self._ahead or self._file.read(size)
        return self._ahead

    def read(self, size: int) -> bytes:
        data = self._ahead[:size]
        self._ahead = self._ahead[size:]
        if len(data) < size:
            data += self._file.read(size - len(data))
        self.num_bytes += len(data)
        self._advance(len(data))
        return data

    def skip(self, size: int) -> None:
        """Read on from there, whenever it begins."""
        self._begin = len(self.read(size))

    def begin_again(self) -> bool:
        """Read it from its beginning once more; return whether that can be."""
        if not self._file.seekable():
            return False
        self._file.seek(self._begin)
        self._ahead, self._advance = b"", _say_nothing
        self.num_bytes = self._begin
        return True

    def lines(self) -> Iterator[bytes]:
        rest = b""
        while chunk := self.read(_CHUNK_BYTES):
            if b"\n" not in chunk:
                rest += chunk
                continue
            *whole, rest_of_chunk = chunk.split(b"\n")
            yield rest + whole[0]
            yield from whole[1:]
            rest = rest_of_chunk
        if rest:
            yield rest


def _say_nothing(_num_bytes: int) -> None:
    pass


class MendedFile:
    """A file of JSON in which what is no character is U+FFFD: bytes that are no UTF-8, at which its parser gives up,
    and halves of characters (lone surrogates, as escapes), of which it makes `?`.
    """

    def __init__(self, file: CountedFile) -> None:
        self._file = file
        self._rest = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, size: int = -1) -> bytes:
        # ijson asks for nothing once, to see what kind of file it is.
        if size == 0:
            return b""
        chunk = self._file.read(_CHUNK_BYTES if size < 0 else size)
        data = self._rest + self._decoder.decode(chunk, final=not chunk).encode()
        self._rest = b""
        if chunk and not data:
            # Less than a character.
            return self.read(size)
        if b"\\u" not in data and not data.endswith(b"\\"):
            return data
        # An escape may be cut by the chunk's end, or parted from its other half; it is mended with the next chunk.
        end = data.rfind(b"\\", -_LONGEST_ESCAPE) if chunk else -1
        if end >= 0:
            end = _run_start(data, end)
            while end >= 6 and _FIRST_HALF.fullmatch(data, end - 6, end):
                end = _run_start(data, end - 6)
            data, self._rest = data[:end], data[end:]
            if not data:
                return self.read(size)
        return _ESCAPE.sub(_mended, data)


def _run_start(data: bytes, end: int) -> int:
    """Where the backslashes before a place begin: no escape goes on across that."""
    while end > 0 and data[end - 1 : end] == b"\\":
        end -= 1
    return end


def _mended(found: re.Match[bytes]) -> bytes:
    return found[0] if found[1] is None else rb"\ufffd"


class NoLiterals:
    """A file of JSON in which NaN and the infinities, as Python and JavaScript's kin write them, are null."""

    def __init__(self, file: MendedFile) -> None:
        self._file = file
        self._rest = b""
        self._is_in_string = False

    def read(self, size: int = -1) -> bytes:
        if size == 0:
            return b""
        while True:
            chunk = self._file.read(size)
            data, self._rest = self._rest + chunk, b""
            mended = b"".join(self._mended(data, is_end=not chunk))
            if mended or not chunk:
                return mended

    def _mended(self, data: bytes, *, is_end: bool) -> Iterator[bytes]:
        place = 0
        while place < len(data):
            if self._is_in_string:
                end = _string_end(data, place)
                self._is_in_string = end is None
                if end is None:
                    # What a backslash at the end means is said by what comes.
                    end = len(data) if is_end or not _is_escaping(data, len(data)) else len(data) - 1
                    self._rest = data[end:]
                    yield data[place:end]
                    return
                yield data[place:end]
            else:
                end = data.find(b'"', place) + 1
                self._is_in_string = end > 0
                if not end:
                    begun = None if is_end else _LITERAL_BEGUN.search(data, max(place, len(data) - len(b"-Infinity")))
                    end = len(data) if begun is None else begun.start()
                    self._rest = data[end:]
                    yield _LITERAL.sub(b"null", data[place:end])
                    return
                yield _LITERAL.sub(b"null", data[place:end])
            place = end


def _string_end(data: bytes, place: int) -> int | None:
    """Where a string ends that goes on at a place; None: not here."""
    quote = data.find(b'"', place)
    while quote >= 0 and _is_escaping(data, quote):
        quote = data.find(b'"', quote + 1)
    return quote + 1 if quote >= 0 else None


def _is_escaping(data: bytes, end: int) -> bool:
    """Whether what stands before a place, in a string, takes its meaning from what stands there."""
    return (end - _run_start(data, end)) % 2 == 1
