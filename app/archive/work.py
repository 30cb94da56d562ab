"""Long work in a thread of its own, as the window's thread sees it: how far it is, what came of it."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

from PySide6.QtCore import QEventLoop, QObject, Signal

from app.model.database import StoreError

_log = logging.getLogger(__name__)

Steps: TypeAlias = Generator[Any, None, Any]
"""Work that yields how far it is, and returns what came of it; closed early it leaves everything as it was."""


class Work(QObject):
    """Runs a generator. Of `done`, `failed` and `cancelled` one comes, then `ended`."""

    progressed = Signal(object)
    """What was yielded last."""
    done = Signal(object)
    """What was returned."""
    failed = Signal(str)
    """Why, as a sentence."""
    cancelled = Signal()
    ended = Signal()
    _came = Signal(str, object)
    """Out of the thread; the one signal that crosses."""

    def __init__(self, begin: Callable[[], Steps], parent: QObject) -> None:
        """`begin` is called in the thread."""
        super().__init__(parent)
        self._came.connect(self._on_came)
        self._is_cancelled = threading.Event()
        self._latest: Any = None
        self._is_news = False
        self._thread = threading.Thread(target=self._run, args=(begin,), name="work beside the window", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Give it up at its next step; what was begun is taken back."""
        self._is_cancelled.set()

    def wait(self) -> None:
        """Return when the thread has ended."""
        self._thread.join()

    # --- in the thread -------------------------------------------------------------------------------------

    def _run(self, begin: Callable[[], Steps]) -> None:
        # Qt's documents look for a thread's timers, which are there with this, and stay longer than they do.
        timers = QEventLoop()
        self._take_steps(begin)
        del timers

    def _take_steps(self, begin: Callable[[], Steps]) -> None:
        try:
            with contextlib.closing(begin()) as steps:
                while not self._is_cancelled.is_set():
                    self._tell(next(steps))
            self._came.emit("cancelled", None)
        except StopIteration as end:
            self._came.emit("done", end.value)
        except StoreError as error:
            self._came.emit("failed", str(error))
        except OSError as error:
            place = f"{error.filename} " if error.filename else ""
            self._came.emit("failed", f"{place}could not be used ({error.strerror or error}). Nothing was changed.")
        except Exception as error:  # noqa: BLE001 (whoever waits for it is told, whatever it is)
            _log.error("Work beside the window failed", exc_info=error)
            self._came.emit("failed", f"That went wrong ({type(error).__name__}: {error}). Nothing was changed.")

    def _tell(self, progress: Any) -> None:
        """The window hears of the latest alone, however fast they come."""
        self._latest = progress
        if not self._is_news:
            self._is_news = True
            self._came.emit("progressed", None)

    # --- in the window's thread ----------------------------------------------------------------------------

    def _on_came(self, what: str, value: Any) -> None:
        match what:
            case "progressed":
                self._is_news = False
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
