"""Models on their way: fetched from the hub, or made of a GGUF file on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from PySide6.QtCore import QObject, Signal

from app.catalog.entry import LocalGguf, LocalModel, RemoteModel
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
    is_held: bool = False
    """Whether the user has paused it."""
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
    num_ahead: int = 0
    """How many of its kind wait before it, if it waits."""

    @property
    def fraction(self) -> float | None:
        """None if the size is not known yet."""
        return min(self.num_bytes / self.total_bytes, 1.0) if self.total_bytes else None


class Transfers(QObject):
    """The queue of fetches and conversions. Must be closed."""

    changed = Signal()
    landed = Signal(str, str)
    """A model can be used: the key that its transfer had, and the name that `load_model` takes."""
    _poked = Signal()
    """Crosses from the queue's thread to the window's."""

    def __init__(
        self,
        make_queue: Callable[[Callable[[], None]], FetchQueue],
    ) -> None:
        """`make_queue` gets a function to call after changes, in any thread."""
        super().__init__()
        self._is_poked = threading.Event()
        self._poked.connect(self._on_poked)
        self._queue = make_queue(self._poke)
        self._landed: set[str] = {fetch.id for fetch in self._queue.fetches if fetch.state == "landed"}

    @property
    def all(self) -> Sequence[Transfer]:
        """Those that are not here yet, in their order."""
        fetches = [fetch for fetch in self._queue.fetches if fetch.state != "landed"]
        return [_transfer(fetch, fetches[:number]) for number, fetch in enumerate(fetches)]

    @property
    def interrupted(self) -> Sequence[Transfer]:
        """Those that ended with an earlier Bough, though the user had not paused them."""
        return [one for one in self.all if one.state == "paused" and not one.is_held]

    def of(self, model: RemoteModel) -> Transfer | None:
        """Return the transfer of a model on the hub; None without one."""
        return next((one for one in self.all if one.model is not None and one.model.key == model.key), None)

    def fetch(self, model: RemoteModel) -> str:
        """Put a model of the hub into the queue, or resume it there; return the key of its transfer."""
        return self._add(model)

    def convert(self, model: LocalModel) -> str:
        """Make a model folder of a GGUF model on this machine; return the key of its transfer."""
        return self._add(LocalGguf(path=model.path, title=model.title, num_bytes=model.num_bytes))

    def _add(self, model: RemoteModel | LocalGguf) -> str:
        key = self._queue.add(model).id
        self._landed.discard(key)
        return key

    def pause(self, key: str) -> None:
        """Stop a transfer; its finished part is kept."""
        self._queue.pause(key)

    def resume(self, key: str) -> None:
        """Go on with a transfer that is paused or has failed."""
        self._queue.resume(key)

    def run_next(self, key: str) -> None:
        """Let a waiting transfer be the next one of its kind."""
        self._queue.run_next(key)

    def cancel(self, key: str) -> int:
        """Remove a transfer and the files that it has fetched so far. Return the bytes freed."""
        return self._queue.cancel(key)

    def close(self) -> None:
        """End what runs. The finished parts are kept; all is paused when Bough starts again."""
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


def _transfer(fetch: Fetch, before: Sequence[Fetch]) -> Transfer:
    """Return an entry of the queue, of which these stand before it."""
    assert fetch.state != "landed"
    remote = fetch.model if isinstance(fetch.model, RemoteModel) else None
    ahead = [one for one in before if one.state == "queued" and one.is_local == fetch.is_local]
    return Transfer(
        key=fetch.id,
        title=fetch.model.title or ("" if remote is None else remote.repo.rpartition("/")[2]),
        state=fetch.state,
        is_held=fetch.is_held,
        phase=fetch.phase,
        num_bytes=fetch.num_bytes,
        total_bytes=fetch.model.num_bytes if fetch.total_bytes is None else fetch.total_bytes,
        bytes_per_s=fetch.bytes_per_s,
        seconds_left=fetch.seconds_left,
        waiting=fetch.waiting,
        failure=fetch.failure,
        failure_kind=fetch.failure_kind,
        model=remote,
        source=None if isinstance(fetch.model, RemoteModel) else fetch.model.path,
        num_ahead=len(ahead) if fetch.state == "queued" else 0,
    )
