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
