"""All conversations, read and written beside the window: each piece of work in a thread with a store of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from app.archive.searching import Searcher
from app.archive.work import Steps, Work
from app.model.store import Store

_PATIENCE_MS = 10_000
"""How long somebody else may write; nobody waits at the window for this one."""
_IS_READ = "This work only reads."


class Archive(QObject):
    """The work that is under way on one store's file. Must be closed."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.searcher = Searcher(path)

    def read(self, begin: Callable[[Store], Steps]) -> Work:
        """Run something that reads conversations."""
        return Work(partial(self._steps, begin, self._open_to_read), self)

    def write(self, begin: Callable[[Store], Steps]) -> Work:
        """Run something that adds conversations."""
        return Work(partial(self._steps, begin, self._open_to_write), self)

    def run(self, begin: Callable[[], Steps]) -> Work:
        """Run something that needs no store."""
        return Work(begin, self)

    def close(self) -> None:
        """Cancel what is under way, and wait until it is taken back."""
        works = [child for child in self.children() if isinstance(child, Work)]
        for work in works:
            work.cancel()
        for work in works:
            work.wait()
        self.searcher.close()

    def _open_to_read(self) -> Store:
        return Store(self.path, read_only_because=_IS_READ)

    def _open_to_write(self) -> Store:
        return Store(self.path, patience_ms=_PATIENCE_MS)

    @staticmethod
    def _steps(begin: Callable[[Store], Steps], open_store: Callable[[], Store]) -> Steps:
        with contextlib.closing(open_store()) as store:
            return (yield from begin(store))
