"""Files that only the user may read, whatever the umask or their former modes. Also writes files in a thread."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

RETRY_MS = 5000
"""The interval after which a failed write is tried again."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_T = TypeVar("_T")


def restrict(*paths: Path) -> None:
    """Let only the owner use these files and folders.

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


def sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk. Raises `OSError`."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_own(path: str, flags: int) -> int:
    """Open or create a file and return its descriptor. Only the owner may read a new file. A pipe does not block."""
    return os.open(path, flags | os.O_NONBLOCK, 0o600)


def beside(store: Path, end: str) -> Path:
    """Return the file with this ending that SQLite keeps beside a database: beside its real file, not beside a link."""
    return Path(os.path.realpath(store) + end)


def real_file(path: Path) -> Path:
    """Return the regular file that a link leads to. If `path` is no such link, return `path`."""
    real = Path(os.path.realpath(path))
    return real if real.is_file() else path


def set_aside(path: Path) -> Path | None:
    """Rename a file, so that it is not read again; return its new path, or None if that is not possible."""
    for kept in (path.with_suffix(".damaged"), path.with_suffix(f".{time.time_ns()}.damaged")):
        with contextlib.suppress(OSError):
            if not os.path.lexists(kept):
                path.rename(kept)
                return kept
    return None


class LatestWriter(Generic[_T]):
    """Writes the latest contents of a file in a thread, as a busy disk takes hundreds of milliseconds."""

    def __init__(self, write: Callable[[_T], None]) -> None:
        """`write` is called in the thread, for one value after another, and must not raise."""
        self._write = write
        self._lock = threading.Lock()
        self._next: list[_T] = []
        """The value that is written next; empty if there is none."""
        self._thread: threading.Thread | None = None

    def put(self, value: _T) -> None:
        """Write `value` next. A value that still waits is dropped."""
        with self._lock:
            self._next = [value]
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="file writer")
                self._thread.start()

    def finish(self) -> None:
        """Wait until everything is written."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._next:
                    self._thread = None
                    return
                value = self._next.pop()
            self._write(value)
