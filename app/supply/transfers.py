"""Downloads of models from the hub, and conversions of GGUF files on this machine."""

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
    from app.catalog.download_queue import Download, DownloadQueue

TransferState: TypeAlias = Literal["queued", "running", "paused", "failed"]
TransferPhase: TypeAlias = Literal["downloading", "checking", "converting"]


@dataclass(frozen=True)
class Transfer:
    """A download or conversion of a model, and its progress."""

    key: str
    """The key of the transfer among all transfers."""
    title: str
    state: TransferState
    is_held: bool = False
    """Whether the user has paused the transfer."""
    phase: TransferPhase = "downloading"
    num_bytes: int = 0
    total_bytes: int | None = None
    """The size in bytes; None if it is not known yet."""
    bytes_per_s: float | None = None
    """The speed; None while the transfer does not run, or while the speed is not known yet."""
    seconds_left: float | None = None
    waiting: Sentence | None = None
    """Why the connection brings nothing just now, although it is tried again; None if it works."""
    failure: Sentence | None = None
    failure_kind: str = ""
    """The kind of the failure: a kind of `HubError`, "disk" or "internal"."""
    model: RemoteModel | None = None
    """The model on the hub; None for the conversion of a local file."""
    source: Path | None = None
    """The path of the local file to convert; None for a download."""
    num_ahead: int = 0
    """If the transfer waits, how many transfers of its kind come before it."""

    @property
    def fraction(self) -> float | None:
        """The fraction that is done, from 0 to 1; None if the size is not known yet."""
        return min(self.num_bytes / self.total_bytes, 1.0) if self.total_bytes else None


class Transfers(QObject):
    """The queue of downloads and conversions. The owner must call `close`."""

    changed = Signal()
    landed = Signal(str, str)
    """A model can be used now: the key that its transfer had, and the model's name for `load_model`."""
    _poked = Signal()
    """A signal from the queue's threads to the window's thread."""

    def __init__(
        self,
        make_queue: Callable[[Callable[[], None]], DownloadQueue],
    ) -> None:
        """`make_queue` creates the queue. Its argument is a function to call after changes, in any thread."""
        super().__init__()
        self._is_poked = threading.Event()
        self._poked.connect(self._on_poked)
        self._queue = make_queue(self._poke)
        self._landed: set[str] = {download.id for download in self._queue.downloads if download.state == "landed"}

    @property
    def all(self) -> Sequence[Transfer]:
        """The transfers that are not complete, in the order of the queue."""
        downloads = [download for download in self._queue.downloads if download.state != "landed"]
        return [_transfer(download, downloads[:number]) for number, download in enumerate(downloads)]

    @property
    def interrupted(self) -> Sequence[Transfer]:
        """The transfers that were interrupted when Bough ended, because the user had not paused them."""
        return [one for one in self.all if one.state == "paused" and not one.is_held]

    def of(self, model: RemoteModel) -> Transfer | None:
        """Return the transfer of a model on the hub; None if there is none."""
        return next((one for one in self.all if one.model is not None and one.model.key == model.key), None)

    def download(self, model: RemoteModel) -> str:
        """Add a model on the hub to the queue, or resume its transfer; return the key of the transfer."""
        return self._add(model)

    def convert(self, model: LocalModel) -> str:
        """Convert a GGUF model on this machine to a model folder; return the key of its transfer."""
        return self._add(LocalGguf(path=model.path, title=model.title, num_bytes=model.num_bytes))

    def _add(self, model: RemoteModel | LocalGguf) -> str:
        key = self._queue.add(model).id
        self._landed.discard(key)
        return key

    def pause(self, key: str) -> None:
        """Pause a transfer. Its finished part is kept."""
        self._queue.pause(key)

    def resume(self, key: str) -> None:
        """Resume a transfer that is paused or has failed."""
        self._queue.resume(key)

    def run_next(self, key: str) -> None:
        """Move a waiting transfer before all other waiting transfers of its kind."""
        self._queue.run_next(key)

    def cancel(self, key: str) -> int:
        """Remove a transfer and its files. Return the number of bytes freed."""
        return self._queue.cancel(key)

    def close(self) -> None:
        """End the running transfers. Their finished parts are kept, and they are paused when Bough starts again."""
        self._queue.close()

    def _poke(self) -> None:
        """Notify the window's thread, only once for all changes before it looks."""
        if not self._is_poked.is_set():
            self._is_poked.set()
            self._poked.emit()

    def _on_poked(self) -> None:
        self._is_poked.clear()
        for download in self._queue.downloads:
            if download.state != "landed":
                self._landed.discard(download.id)
            elif download.id not in self._landed:
                self._landed.add(download.id)
                self.landed.emit(download.id, download.name)
        self.changed.emit()


def _transfer(download: Download, before: Sequence[Download]) -> Transfer:
    """Return the transfer for an entry of the queue; `before` are the entries before it."""
    assert download.state != "landed"
    remote = download.model if isinstance(download.model, RemoteModel) else None
    ahead = [one for one in before if one.state == "queued" and one.is_local == download.is_local]
    return Transfer(
        key=download.id,
        title=download.model.title or ("" if remote is None else remote.repo.rpartition("/")[2]),
        state=download.state,
        is_held=download.is_held,
        phase=download.phase,
        num_bytes=download.num_bytes,
        total_bytes=download.model.num_bytes if download.total_bytes is None else download.total_bytes,
        bytes_per_s=download.bytes_per_s,
        seconds_left=download.seconds_left,
        waiting=download.waiting,
        failure=download.failure,
        failure_kind=download.failure_kind,
        model=remote,
        source=None if isinstance(download.model, RemoteModel) else download.model.path,
        num_ahead=len(ahead) if download.state == "queued" else 0,
    )
