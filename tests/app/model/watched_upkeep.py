"""Upkeep whose rounds a test can wait for."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from app.model.cache_folder import CacheFolder
from app.model.upkeep import Upkeep


class WatchedUpkeep(Upkeep):
    def __init__(self, store: Path, cache_folder: CacheFolder, report: Callable[[str], None] = lambda _: None) -> None:
        self._done = threading.Condition()
        self._num_rounds = 0
        super().__init__(store, cache_folder, report)

    def wait_for_round(self, timeout_s: float) -> bool:
        """Ask for a round and wait until it is done; return whether it was."""
        with self._done:
            # A round that has begun already may have missed something.
            target = self._num_rounds + 2
            while self._num_rounds < target:
                self.start_now()
                if not self._done.wait(timeout_s):
                    return False
        return True

    def _round(self, connection: sqlite3.Connection) -> bool:
        try:
            return super()._round(connection)
        finally:
            with self._done:
                self._num_rounds += 1
                self._done.notify_all()
