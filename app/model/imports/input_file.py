"""Opens a file that the user chose, unless reading it would never end."""

from __future__ import annotations

import io
import os
import select
import stat
import time
from pathlib import Path
from typing import BinaryIO

from typing_extensions import Buffer, override

from app.model.imports.foreign import UnreadableError
from worker.sentence import Sentence

_WRITER_S = 3.0
"""How long to wait for a program that writes into a pipe."""
_POLL_S = 0.05


def opened(path: Path) -> BinaryIO:
    """Open a file, or a pipe into which a program writes. Raises `OSError` or `UnreadableError`."""
    # Opening a device may already do something.
    _check(path.stat().st_mode)
    # Otherwise opening a pipe would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        _check(mode)
        if stat.S_ISFIFO(mode):
            begin = _first_bytes(descriptor)
            os.set_blocking(descriptor, True)
            return io.BufferedReader(_Pipe(descriptor, begin))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check(mode: int) -> None:
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise UnreadableError(Sentence("it is a device or a terminal, not a file"))
    if stat.S_ISSOCK(mode):
        raise UnreadableError(Sentence("it is a socket, not a file"))


def _first_bytes(descriptor: int) -> bytes:
    """Return the bytes that can be read from a pipe now; empty if its writer has written nothing yet."""
    ends_s = time.monotonic() + _WRITER_S
    while True:
        try:
            data = os.read(descriptor, io.DEFAULT_BUFFER_SIZE)
        except BlockingIOError:
            return b""
        if data:
            return data
        # The pipe has ended, or no writer has opened it yet: both look the same.
        if time.monotonic() > ends_s:
            raise UnreadableError(Sentence("it is a pipe that no program writes into"))
        select.select([], [], [], _POLL_S)


class _Pipe(io.RawIOBase):
    """A pipe whose first bytes have already been read."""

    def __init__(self, descriptor: int, begin: bytes) -> None:
        self._descriptor = descriptor
        self._begin = begin

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self._begin[: len(view)] if self._begin else os.read(self._descriptor, len(view))
        self._begin = self._begin[len(data) :]
        view[: len(data)] = data
        return len(data)

    @override
    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()
