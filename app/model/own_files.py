"""Files that only the user may read, whatever the umask says and whatever modes they had."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def restrict(*paths: Path) -> None:
    """Take all rights to these files and folders from everyone but their owner.

    Missing ones are left out, and those whose mode can't be changed: some file systems have no modes.
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
    """Open a file, a new one for its owner alone; return its descriptor. A pipe in its place does not block."""
    return os.open(path, flags | os.O_NONBLOCK, 0o600)
