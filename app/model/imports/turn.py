"""A file lock for imports into one store: they come one after another, so that each sees what the others added."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from app.model.own_files import open_own

_POLL_S = 0.05


class Turn:
    """A place in the line of imports. `close` ends it, as does the end of the process."""

    def __init__(self, store: Path) -> None:
        """`store`: the store's file. Raises `OSError`."""
        path = store.with_suffix(".import.lock")
        self._file = os.fdopen(open_own(str(path), os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab")

    def has_come(self) -> bool:
        """Return whether no other import is running; if one is, wait a moment first."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_POLL_S)
            return False
        except OSError:
            # The file system has no locks, so another import is unlikely.
            return True
        return True

    def close(self) -> None:
        self._file.close()
