"""Whether other programs have the same conversations open, told by a lock that ends with the process that holds it."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Generator
from pathlib import Path


class Presence:
    """This program's presence, from now until it is closed."""

    def __init__(self, path: Path) -> None:
        """`path`: the lock's file, made where there is none. Raises `OSError`."""
        self._file = path.open("ab")
        self._share()

    def close(self) -> None:
        self._file.close()

    @contextlib.contextmanager
    def alone(self) -> Generator[bool]:
        """Tell whether no other program is here; where none is, none comes in meanwhile."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_alone = False
        except OSError:
            # A file system without locks; who would share it then?
            is_alone = True
        else:
            is_alone = True
        try:
            yield is_alone
        finally:
            # Also where it failed: asking for more may have given up what there was.
            self._share()

    def _share(self) -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_SH)
