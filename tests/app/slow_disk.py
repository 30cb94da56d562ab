"""A disk that takes as long as a test wants, for what Python flushes."""

from __future__ import annotations

import os
import threading

import pytest

_PATIENCE_S = 60


class SlowDisk:
    """A disk that finishes a flush only when it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
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
        self.threads.append(threading.current_thread())
        self._begun.release()
        assert self._may_finish.acquire(timeout=_PATIENCE_S)
        if self.errors:
            raise OSError(self.errors.pop(0), "Input/output error")
        self._fsync(handle)
