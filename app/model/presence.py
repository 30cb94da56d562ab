"""A file lock that shows whether other programs have the same store open. It is released when its process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Generator
from pathlib import Path

from app.model.own_files import open_own, restrict


class Presence:
    """This program's shared lock, held until `close`."""

    def __init__(self, path: Path) -> None:
        """Take the lock on the file `path`, which is created if missing. Raises `OSError`."""
        restrict(path)
        self._file = os.fdopen(open_own(str(path), os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab")
        self._share()

    def close(self) -> None:
        self._file.close()

    @contextlib.contextmanager
    def alone(self) -> Generator[bool]:
        """Yield whether no other program has the store open. If True, no other can open it inside the block."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_alone = False
        except OSError:
            # The file system has no locks, so another program is unlikely.
            is_alone = True
        else:
            is_alone = True
        try:
            yield is_alone
        finally:
            # Take the shared lock again even after a failure, which may have released it.
            self._share()

    def _share(self) -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_SH)
