"""Files that only the user may read, whatever the umask says and whatever modes they had."""

from __future__ import annotations

import contextlib
import os
import stat
import time
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


def set_aside(path: Path) -> Path | None:
    """Rename a file, so that it is not read again; return its new path, or None if that is not possible."""
    for kept in (path.with_suffix(".damaged"), path.with_suffix(f".{time.time_ns()}.damaged")):
        with contextlib.suppress(OSError):
            if not os.path.lexists(kept):
                path.rename(kept)
                return kept
    return None
