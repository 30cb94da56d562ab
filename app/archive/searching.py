"""Search while typing, in a thread with a store of its own.

There are no timers. While one search runs, only the last query that was typed meanwhile is remembered.
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
from app.model.search_filters import split_query
from app.model.store import Store
from worker.sentence import Sentence, SentenceError, verbatim

MAX_HITS = 50
_PATIENCE_MS = 10_000
_READ_ONLY = verbatim("Searching only reads.")


class SearchResult(Struct, frozen=True):
    """The result of a search; `error` says why it failed."""

    query: str
    hits: Sequence[Hit] = ()
    error: Sentence | None = None
    is_complete: bool = True
    """Whether all messages were searched. If not, some old or long ones are still being written into the index."""


class Searcher(QObject):
    """Searches the store at `path`. The owner must call `close`."""

    found = Signal(object)
    """The `SearchResult` of the latest query. Results of older queries may be dropped."""
    _reported = Signal(object)
    """The only signal that crosses from the thread to the window's thread."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._changed = threading.Condition()
        self._query: str | None = None
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._latest = ""
        self._reported.connect(self._on_reported)

    def search(self, query: str) -> None:
        """Search for a query as the user typed it (see `app.model.search_filters`)."""
        self._latest = query
        with self._changed:
            self._query = query
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="search", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _on_reported(self, result: SearchResult) -> None:
        if result.query == self._latest:
            self.found.emit(result)

    # --- in the thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        with contextlib.closing(Store(self._path, read_only_because=_READ_ONLY)) as store:
            while (query := self._next_query()) is not None:
                self._reported.emit(self._result(store, query))

    def _next_query(self) -> str | None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._query is not None)
            query, self._query = self._query, None
            return None if self._is_closed else query

    def _result(self, store: Store, query: str) -> SearchResult:
        try:
            try:
                return _searched(store, query)
            except StoreError:
                # The index may have to be written again, which needs a writable store.
                with contextlib.closing(Store(self._path, patience_ms=_PATIENCE_MS)) as writable:
                    return _searched(writable, query)
        except SentenceError as error:
            return SearchResult(query, error=error.sentence)


def _searched(store: Store, query: str) -> SearchResult:
    words, filters = split_query(query)
    hits = store.search.find(words, filters, limit=MAX_HITS)
    return SearchResult(query, hits, is_complete=store.search.is_complete)
