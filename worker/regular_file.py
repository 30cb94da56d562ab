"""Reads regular files of a limited size. Pipes, devices and folders are refused at once: reading them may never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a file. Raises `OSError`, also for a folder, a pipe, a device or a file above `max_bytes`."""
    handle = os.open(path, os.O_RDONLY | _NO_WAITING)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        if found.st_size > max_bytes:
            raise OSError(errno.EFBIG, f"it has more than {max_bytes >> 20} MB")
        return file.read(max_bytes)
