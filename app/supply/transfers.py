"""Models on their way: fetched from the hub, or made of a GGUF file on this machine. One of each kind at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from PySide6.QtCore import QObject, Signal

from app.archive.archive import Steps, Task
from app.catalog.entry import LocalModel, RemoteModel
from worker.sentence import Sentence

if TYPE_CHECKING:
    from app.catalog.fetching import Fetch, FetchQueue

TransferState: TypeAlias = Literal["queued", "running", "paused", "failed"]
TransferPhase: TypeAlias = Literal["fetching", "checking", "converting"]


@dataclass(frozen=True)
class Transfer:
    """A model on its way, and how far it is."""

    key: str
    """Its name among all transfers."""
    title: str
    state: TransferState
    phase: TransferPhase = "fetching"
    num_bytes: int = 0
    total_bytes: int | None = None
    """None if it is not known yet."""
    bytes_per_s: float | None = None
    """None while it does not run, or is not known yet."""
    seconds_left: float | None = None
    waiting: Sentence | None = None
    """Why nothing comes just now; it is tried again."""
    failure: Sentence | None = None
    failure_kind: str = ""
    """A kind of `HubError`, or "disk", "internal"."""
    model: RemoteModel | None = None
    """The model that is fetched; None: it is made of a local file."""
    source: Path | None = None
    """The local file; None: it is fetched."""

    @property
    def fraction(self) -> float | None:
        """None if the size is not known yet."""
        return min(self.num_bytes / self.total_bytes, 1.0) if self.total_bytes else None


class Transfers(QObject):
    """The queue of fetches, and the conversions of local files. Must be closed."""

    changed = Signal()
    landed = Signal(str, str)
    """A model is here: the key that its transfer had, and what `load_model` takes."""
    _poked = Signal()
    """Crosses from the queue's thread to the window's."""

    def __init__(
        self,
        make_queue: Callable[[Callable[[], None]], FetchQueue],
        models_folder: Path,
        run: Callable[[Callable[[], Steps]], Task],
    ) -> None:
        """`make_queue` gets a function to call after changes, in any thread. `run` starts a background task."""
        super().__init__()
        self._is_poked = threading.Event()
        self._poked.connect(self._on_poked)
        self._queue = make_queue(self._poke)
        self._landed: set[str] = {fetch.id for fetch in self._queue.fetches if fetch.state == "landed"}
        self._conversions = _Conversions(models_folder, run)
        self._conversions.changed.connect(self.changed)
        self._conversions.landed.connect(self.landed)

    @property
    def all(self) -> Sequence[Transfer]:
        """Those that are not here yet, in their order."""
        fetches = [_transfer(fetch) for fetch in self._queue.fetches if fetch.state != "landed"]
        return [*fetches, *self._conversions.all]

    def of(self, model: RemoteModel) -> Transfer | None:
        """Return the transfer of a model on the hub; None without one."""
        return next((one for one in self.all if one.model is not None and one.model.key == model.key), None)

    def fetch(self, model: RemoteModel) -> str:
        """Put a model of the hub into the queue, or resume it there; return the key of its transfer."""
        return self._queue.add(model).id

    def convert(self, model: LocalModel) -> str:
        """Make a model folder of a GGUF model on this machine; return the key of its transfer."""
        return self._conversions.add(model)

    def pause(self, key: str) -> None:
        """Stop a fetch; the bytes that are here are kept."""
        self._queue.pause(key)

    def resume(self, key: str) -> None:
        """Go on with a transfer that is paused or has failed."""
        if not self._conversions.resume(key):
            self._queue.resume(key)

    def cancel(self, key: str) -> int:
        """Remove a transfer and what is here of it; return the bytes freed."""
        return 0 if self._conversions.cancel(key) else self._queue.cancel(key)

    def close(self) -> None:
        """End the running fetch. What is here is kept; the fetch is paused when Bough starts again."""
        self._queue.close()

    def _poke(self) -> None:
        """Let the window's thread look once, however many changes come before it does."""
        if not self._is_poked.is_set():
            self._is_poked.set()
            self._poked.emit()

    def _on_poked(self) -> None:
        self._is_poked.clear()
        for fetch in self._queue.fetches:
            if fetch.state != "landed":
                self._landed.discard(fetch.id)
            elif fetch.id not in self._landed:
                self._landed.add(fetch.id)
                self.landed.emit(fetch.id, fetch.name)
        self.changed.emit()


class _Conversions(QObject):
    """Model folders that are made of local GGUF files, one at a time."""

    changed = Signal()
    landed = Signal(str, str)

    def __init__(self, models_folder: Path, run: Callable[[Callable[[], Steps]], Task]) -> None:
        super().__init__()
        self._models_folder = models_folder
        self._run = run
        self._transfers: dict[str, Transfer] = {}
        self._running: tuple[str, Task] | None = None

    @property
    def all(self) -> Sequence[Transfer]:
        return list(self._transfers.values())

    def add(self, model: LocalModel) -> str:
        key = f"convert:{model.path}"
        if key not in self._transfers:
            self._transfers[key] = Transfer(
                key, model.title, "queued", "converting", total_bytes=model.num_bytes, source=model.path
            )
        self.resume(key)
        return key

    def resume(self, key: str) -> bool:
        """Return whether there is such a conversion."""
        found = self._transfers.get(key)
        if found is None:
            return False
        if found.state in {"failed", "paused"}:
            self._transfers[key] = replace(found, state="queued", failure=None)
        self._run_next()
        return True

    def cancel(self, key: str) -> bool:
        """Return whether there was such a conversion."""
        if self._running is not None and self._running[0] == key:
            self._running[1].cancel()
            return True
        is_known = self._transfers.pop(key, None) is not None
        if is_known:
            self.changed.emit()
        return is_known

    def _run_next(self) -> None:
        queued = next((one for one in self._transfers.values() if one.state == "queued"), None)
        if self._running is None and queued is not None and queued.source is not None:
            source = queued.source
            task = self._run(lambda: _convert(source, self._models_folder))
            self._running = (queued.key, task)
            self._transfers[queued.key] = replace(queued, state="running")
            task.progressed.connect(self._on_progress)
            task.done.connect(self._on_done)
            task.failed.connect(self._on_failed)
            task.cancelled.connect(self._on_cancelled)
            task.ended.connect(self._on_ended)
        self.changed.emit()

    @property
    def _key(self) -> str:
        assert self._running is not None
        return self._running[0]

    def _on_progress(self, progress: tuple[int, int]) -> None:
        running = self._transfers[self._key]
        self._transfers[self._key] = replace(running, num_bytes=progress[0], total_bytes=progress[1])
        self.changed.emit()

    def _on_done(self, folder: Path) -> None:
        del self._transfers[self._key]
        self.landed.emit(self._key, str(folder))

    def _on_failed(self, why: Sentence) -> None:
        self._transfers[self._key] = replace(self._transfers[self._key], state="failed", failure=why)

    def _on_cancelled(self) -> None:
        del self._transfers[self._key]

    def _on_ended(self) -> None:
        self._running = None
        self._run_next()


def _convert(source: Path, models_folder: Path) -> Steps:
    # Reads large libraries.
    from worker.gguf.conversion import convert

    folder = free_folder(models_folder, source.stem)
    for progress in convert(source, folder):
        yield progress.done_bytes, progress.total_bytes
    return folder


def free_folder(models_folder: Path, name: str) -> Path:
    """Return a path below Bough's folder that nothing has yet."""
    folder = models_folder / name
    number = 2
    while folder.exists():
        folder = models_folder / f"{name}-{number}"
        number += 1
    return folder


def _transfer(fetch: Fetch) -> Transfer:
    assert fetch.state != "landed"
    return Transfer(
        key=fetch.id,
        title=fetch.model.title or fetch.model.repo.rpartition("/")[2],
        state=fetch.state,
        phase=fetch.phase,
        num_bytes=fetch.num_bytes,
        total_bytes=fetch.total_bytes if fetch.total_bytes is not None else fetch.model.num_bytes,
        bytes_per_s=fetch.bytes_per_s,
        seconds_left=fetch.seconds_left,
        waiting=fetch.waiting,
        failure=fetch.failure,
        failure_kind=fetch.failure_kind,
        model=fetch.model,
    )
