"""Flushes a store's log to the disk in a thread, because a busy disk takes hundreds of milliseconds."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from app.model.database import set_up
from app.model.message import MessageId
from app.model.own_files import LatestWriter, beside
from worker.sentence import Sentence


class Flusher:
    """Flushes the changes of one connection in their order. A change has the number of the flush that includes it."""

    def __init__(self, store: Path) -> None:
        self.on_asked: Callable[[], None] = lambda: None
        """Called by `flush`, in its thread."""
        self.on_ended: Callable[[], None] = lambda: None
        """Called in the writing thread after each attempt to flush."""
        self.num_asked = 0
        self.num_done = 0
        """All changes up to this number are on the disk."""
        self.problem: Sentence | None = None
        """Why the last attempt failed; None if it succeeded."""
        self._store = store
        self._log = beside(store, "-wal")
        self._writer = LatestWriter(self._write)
        self._numbers: dict[MessageId, int] = {}
        """The messages that may not be on the disk yet, with the number of their flush."""

    def note(self, message_id: MessageId) -> None:
        """Count a message as waiting until the next flush is done."""
        self._numbers[message_id] = self.num_asked + 1

    def flush(self) -> None:
        """Start to flush all changes. After a failure, this tries another way."""
        self.num_asked += 1
        self._writer.put(self.num_asked)
        self.on_asked()

    def number_of(self, message_ids: Iterable[MessageId]) -> int:
        """Return the number of the flush after which all these messages are on the disk."""
        return max((self._numbers.get(message_id, 0) for message_id in message_ids), default=0)

    def waiting(self, up_to: int | None = None) -> set[MessageId]:
        """Return the messages of flushes up to `up_to` (None means all flushes) that may not be on the disk yet."""
        done = self.num_done
        self._numbers = {message_id: number for message_id, number in self._numbers.items() if number > done}
        return {message_id for message_id, number in self._numbers.items() if up_to is None or number <= up_to}

    def close(self) -> None:
        """Wait until the flushes that were begun have ended."""
        self.on_asked = self.on_ended = lambda: None
        self._writer.finish()

    def _write(self, number: int) -> None:
        try:
            if self.problem is None:
                _flush(self._log)
                is_done = True
            else:
                is_done = _copy(self._store)
        except (OSError, sqlite3.Error) as error:
            self.problem = Sentence(
                "The disk did not store the changes of {path} ({error}). Check the disk.",
                path=self._store,
                error=error,
            )
        else:
            if is_done:
                self.problem = None
                self.num_done = number
        self.on_ended()


def _flush(log: Path) -> None:
    # If the log is missing, the background work on the store reports it.
    with contextlib.suppress(FileNotFoundError):
        handle = os.open(log, os.O_RDONLY)
        try:
            if hasattr(fcntl, "F_FULLFSYNC"):
                # As `PRAGMA fullfsync`: `fsync` of macOS does not wait for the disk.
                fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            else:
                os.fsync(handle)
        finally:
            os.close(handle)


def _copy(store: Path) -> bool:
    """Copy the log into the file and wait for the disk; return whether all of it was copied.

    After a failure, a second `fsync` of the log may succeed although the disk has nothing of what was written before.
    """
    uri = f"{store.absolute().as_uri()}?mode=rw"
    with contextlib.closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        set_up(connection)
        is_busy, num_pages, num_copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return not is_busy and num_copied == num_pages
