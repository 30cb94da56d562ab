"""A disk that takes as long as a test wants to flush the log of a store."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

_PATIENCE_S = 60


class SlowDisk:
    """A disk that finishes a flush of a store's log only when it may. Other files, which threads write, are flushed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        """`folder` is the folder of the store."""
        self._folder = folder
        self.errors: list[int] = []
        """The errors of the next flushes."""
        self.threads: list[threading.Thread] = []
        """The threads that have waited."""
        self._begun = threading.Semaphore(0)
        self._may_finish = threading.Semaphore(0)
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self._wait)

    def wait_for_flush(self) -> None:
        """Wait until one more flush has begun."""
        assert self._begun.acquire(timeout=_PATIENCE_S)

    def finish(self, number: int = 1) -> None:
        """Finish flushes."""
        self._may_finish.release(number)

    def _wait(self, handle: int) -> None:
        flushed = os.fstat(handle)
        if not any(os.path.samestat(flushed, log.stat()) for log in self._folder.glob("*-wal")):
            self._fsync(handle)
            return
        self.threads.append(threading.current_thread())
        self._begun.release()
        assert self._may_finish.acquire(timeout=_PATIENCE_S)
        if self.errors:
            raise OSError(self.errors.pop(0), "Input/output error")
        self._fsync(handle)
