"""Frames in a pipe: each is its length in four bytes, then its bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator

_HEAD_BYTES = 4
_READ_BYTES = 1 << 16


def framed(data: bytes) -> bytes:
    """Return the frame of a message."""
    return len(data).to_bytes(_HEAD_BYTES, "big") + data


class FrameReader:
    """Splits the bytes from a pipe into messages."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = bytearray()

    def read(self) -> None:
        """Read the available bytes. Raises `EOFError` at the pipe's end, and `OSError`, such as `BlockingIOError`."""
        data = os.read(self._descriptor, _READ_BYTES)
        if not data:
            raise EOFError
        self._rest += data

    def messages(self) -> Iterator[bytes]:
        """Yield the complete messages."""
        place = 0
        try:
            while len(self._rest) - place >= _HEAD_BYTES:
                begin = place + _HEAD_BYTES
                end = begin + int.from_bytes(self._rest[place:begin], "big")
                if end > len(self._rest):
                    return
                place = end
                yield bytes(self._rest[begin:end])
        finally:
            del self._rest[:place]
