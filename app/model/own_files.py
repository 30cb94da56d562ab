"""Files that only the user may read, whatever the umask says and whatever modes they had."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

RETRY_MS = 5000
"""The interval at which to try again to write what could not be written."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def restrict(*paths: Path) -> None:
    """Take all rights to these files and folders from everyone but their owner.

    Missing files are skipped, and so are those whose mode can't be changed: some file systems have no modes.
    """
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            mode = path.stat().st_mode
            if mode & _OTHERS and (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                path.chmod(stat.S_IMODE(mode) & ~_OTHERS)


def make_folder(path: Path) -> None:
    """Make a folder if there is none. Raises `OSError`."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def open_own(path: str, flags: int) -> int:
    """Open or create a file and return its descriptor. Only the owner may read a new file. A pipe does not block."""
    return os.open(path, flags | os.O_NONBLOCK, 0o600)


def read_own(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a file. Raises `OSError`, also for a folder, a pipe, a device or a larger file."""
    handle = open_own(str(path), os.O_RDONLY)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        if found.st_size > max_bytes:
            raise OSError(errno.EFBIG, f"it has more than {max_bytes >> 20} MB")
        return file.read(max_bytes)
