"""Long tasks on the store: each runs in a thread with a store of its own, so that the window stays responsive."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from PySide6.QtCore import QEventLoop, QObject, Signal

from app.archive.searching import Searcher
from app.model.store import Store
from worker.sentence import Sentence, SentenceError, verbatim

_log = logging.getLogger(__name__)

_PATIENCE_MS = 10_000
"""How long to wait while another program writes the store. The window does not wait for a task."""
_READ_ONLY = verbatim("A task that only reads")

Steps: TypeAlias = Generator[Any, None, Any]
"""A task's generator. It yields the progress and returns the result. If it is closed early, nothing is changed."""


def _reason(error: OSError) -> Sentence:
    reason = error.strerror or error
    if error.filename:
        return Sentence("{file} could not be used ({error}). Nothing was changed.", file=error.filename, error=reason)
    return Sentence("A file could not be used ({error}). Nothing was changed.", error=reason)


class Task(QObject):
    """Runs a generator in a thread. It emits one of `done`, `failed` and `cancelled`, then `ended`."""

    progressed = Signal(object)
    """The latest progress."""
    done = Signal(object)
    """The generator's result."""
    failed = Signal(object)
    """Why the task failed, as a `Sentence`."""
    cancelled = Signal()
    ended = Signal()
    _reported = Signal(str, object)
    """The only signal that crosses from the thread to the window's thread."""

    def __init__(self, begin: Callable[[], Steps], parent: QObject, *, may_be_left: bool = False) -> None:
        """`begin` is called in the thread. `may_be_left`: whether the program may end without waiting for it."""
        super().__init__(parent)
        self.may_be_left = may_be_left
        self._reported.connect(self._on_reported)
        self._is_cancelled = threading.Event()
        self._latest: Any = None
        self._is_progress_pending = False
        self._thread = threading.Thread(target=self._run, args=(begin,), name="task", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Close the generator at its next step."""
        self._is_cancelled.set()

    def wait(self) -> None:
        """Return when the thread has ended."""
        self._thread.join()

    # --- in the thread -------------------------------------------------------------------------------------

    def _report(self, kind: str, value: object) -> None:
        # A task that was left goes on for a moment after the program has ended its objects.
        with contextlib.suppress(*((RuntimeError,) if self.may_be_left else ())):
            self._reported.emit(kind, value)

    def _run(self, begin: Callable[[], Steps]) -> None:
        # Qt's documents need the thread's event dispatcher for their timers; it must outlive them.
        dispatcher = QEventLoop()
        self._take_steps(begin)
        del dispatcher

    def _take_steps(self, begin: Callable[[], Steps]) -> None:
        try:
            with contextlib.closing(begin()) as steps:
                while not self._is_cancelled.is_set():
                    self._report_progress(next(steps))
            self._report("cancelled", None)
        except StopIteration as end:
            self._report("done", end.value)
        except SentenceError as error:
            self._report("failed", error.sentence)
        except OSError as error:
            self._report("failed", _reason(error))
        except Exception as error:  # noqa: BLE001 (the caller waits for an end, whatever the error)
            _log.error("A task failed", exc_info=error)
            sentence = Sentence(
                "An error in Bough stopped this ({kind}: {error}). Nothing was changed.",
                kind=type(error).__name__,
                error=error,
            )
            self._report("failed", sentence)

    def _report_progress(self, progress: Any) -> None:
        """Report only the latest progress, no matter how fast the steps are."""
        self._latest = progress
        if not self._is_progress_pending:
            self._is_progress_pending = True
            self._report("progressed", None)

    # --- in the window's thread ----------------------------------------------------------------------------

    def _on_reported(self, kind: str, value: Any) -> None:
        match kind:
            case "progressed":
                self._is_progress_pending = False
                self.progressed.emit(self._latest)
                return
            case "done":
                self.done.emit(value)
            case "failed":
                self.failed.emit(value)
            case _:
                self.cancelled.emit()
        self.ended.emit()
        self.deleteLater()


class Archive(QObject):
    """Runs tasks on the file of one store. The owner must call `close`."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.searcher = Searcher(path)

    def read(self, begin: Callable[[Store], Steps]) -> Task:
        """Run a task that reads conversations."""
        return Task(partial(self._steps, begin, self._open_to_read), self)

    def write(self, begin: Callable[[Store], Steps]) -> Task:
        """Run a task that adds conversations."""
        return Task(partial(self._steps, begin, self._open_to_write), self)

    def run(self, begin: Callable[[], Steps], *, may_be_left: bool = False) -> Task:
        """Run a task that needs no store. `may_be_left`: it undoes nothing, so that `close` need not wait for it."""
        return Task(begin, self, may_be_left=may_be_left)

    def close(self) -> None:
        """Cancel all tasks, and wait until their changes are undone."""
        tasks = [child for child in self.children() if isinstance(child, Task)]
        for task in tasks:
            task.cancel()
        for task in tasks:
            if not task.may_be_left:
                task.wait()
        self.searcher.close()

    def _open_to_read(self) -> Store:
        return Store(self.path, read_only_because=_READ_ONLY)

    def _open_to_write(self) -> Store:
        return Store(self.path, patience_ms=_PATIENCE_MS)

    @staticmethod
    def _steps(begin: Callable[[Store], Steps], open_store: Callable[[], Store]) -> Steps:
        with contextlib.closing(open_store()) as store:
            return (yield from begin(store))
