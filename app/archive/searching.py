"""Searching as one types: a thread with a store of its own, in which the latest question takes the place of older ones.

Nothing is waited for and nothing is timed: while one question is looked up, those that are typed meanwhile are
forgotten but for the last.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QObject, Signal

from app.model.database import StoreError
from app.model.search import Hit
from app.model.search_words import understood
from app.model.store import Store

MAX_HITS = 50
_PATIENCE_MS = 10_000
_IS_READ = "Searching only reads."


class Found(Struct, frozen=True):
    """What answers a question; `trouble`: why nothing could be looked up."""

    typed: str
    hits: Sequence[Hit] = ()
    trouble: str = ""


class Searcher(QObject):
    """Looks into the store at `path`. Must be closed."""

    found = Signal(object)
    """The `Found` of the last question; those of older ones may not come."""
    _came = Signal(object)
    """Out of the thread; the one signal that crosses."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._news = threading.Condition()
        self._asked: str | None = None
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._latest = ""
        self._came.connect(self._on_came)

    def ask(self, typed: str) -> None:
        """Look for what is typed (see `app.model.search_words`)."""
        self._latest = typed
        with self._news:
            self._asked = typed
            self._news.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="search", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        with self._news:
            self._is_closed = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _on_came(self, found: Found) -> None:
        if found.typed == self._latest:
            self.found.emit(found)

    # --- in the thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        with contextlib.closing(Store(self._path, read_only_because=_IS_READ)) as store:
            while (typed := self._next()) is not None:
                self._came.emit(self._looked_up(store, typed))

    def _next(self) -> str | None:
        with self._news:
            self._news.wait_for(lambda: self._is_closed or self._asked is not None)
            typed, self._asked = self._asked, None
            return None if self._is_closed else typed

    def _looked_up(self, store: Store, typed: str) -> Found:
        words, filters = understood(typed)
        try:
            try:
                return Found(typed, store.search(words, filters, limit=MAX_HITS))
            except StoreError:
                # The index may have to be made again, which takes somebody who may write.
                with contextlib.closing(Store(self._path, patience_ms=_PATIENCE_MS)) as writable:
                    return Found(typed, writable.search(words, filters, limit=MAX_HITS))
        except StoreError as error:
            return Found(typed, trouble=str(error))
