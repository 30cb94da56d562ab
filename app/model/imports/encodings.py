"""Reads files that are compressed with gzip or written in UTF-16; they are recognised by their first bytes."""

from __future__ import annotations

import codecs
import gzip
from typing import IO, cast

from app.model.imports.json_stream import CountedFile

_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 16


def plain(file: CountedFile) -> CountedFile:
    """Return a file's content in UTF-8, without a byte order mark."""
    head = file.peek(_HEAD_BYTES)
    if head.startswith(_GZIP):
        unzipped = gzip.GzipFile(fileobj=cast("IO[bytes]", file))
        return plain(CountedFile(cast("IO[bytes]", unzipped), lambda _: None, outer=file))
    if head.startswith(codecs.BOM_UTF8):
        file.read(len(codecs.BOM_UTF8))
        return file
    encoding = _utf_16(head)
    if encoding is None:
        return file
    return CountedFile(cast("IO[bytes]", _Transcoded(file, encoding)), lambda _: None, outer=file)


def _utf_16(head: bytes) -> str | None:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # JSON and transcripts begin with ASCII characters.
    if len(head) >= 4 and head[1] == head[3] == 0 and head[0] and head[2]:
        return "utf-16-le"
    if len(head) >= 4 and head[0] == head[2] == 0 and head[1] and head[3]:
        return "utf-16-be"
    return None


class _Transcoded:
    """A file's text in UTF-8."""

    def __init__(self, file: CountedFile, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ahead = bytearray()
        self._has_ended = False

    def read(self, size: int) -> bytes:
        while len(self._ahead) < size and not self._has_ended:
            chunk = self._file.read(_CHUNK_BYTES)
            self._has_ended = not chunk
            self._ahead += self._decoder.decode(chunk, final=self._has_ended).encode("utf-8", "replace")
        data = bytes(self._ahead[:size])
        del self._ahead[:size]
        return data
