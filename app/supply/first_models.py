"""The model that the first page offers to download: the starter if it is missing, else the best model that fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.catalog.entry import RemoteModel

if TYPE_CHECKING:
    from app.archive.archive import Steps, Task
    from app.supply.transfers import Transfer, Transfers


@dataclass(frozen=True)
class Offer:
    """A model to download, and its download once the user has started it."""

    model: RemoteModel
    transfer: Transfer | None


class FirstModels(QObject):
    """Offers one model at a time. Nothing is downloaded before the user asks for it."""

    changed = Signal()
    landed = Signal(str)
    """The offered model can be used now: its name for `load_model`."""

    def __init__(self, make_transfers: Callable[[], Transfers], run: Callable[[Callable[[], Steps]], Task]) -> None:
        """`make_transfers` returns the transfers of the program. It is called when the user first downloads a model.

        `run` starts a background task.
        """
        super().__init__()
        self._make_transfers = make_transfers
        self._run = run
        self._transfers: Transfers | None = None
        self._key = ""
        """The key of the transfer that the user has started here; empty if there is none."""
        self._model: RemoteModel | None = None

    @property
    def offer(self) -> Offer | None:
        """The present offer; None if there is nothing to offer."""
        if self._model is None:
            return None
        return Offer(self._model, None if self._transfers is None else self._transfers.of(self._model))

    def suggest(self, model: RemoteModel | None) -> None:
        """Offer this model (None means nothing), unless another model is being downloaded."""
        if model != self._model and not self._key:
            self._model = model
            self.changed.emit()

    def suggest_best(self, num_reusable_bytes: int) -> None:
        """Find out which model is the best that fits into the memory of this machine, then offer it.

        `num_reusable_bytes` is the memory of the loaded model, which is freed before another model is loaded.
        """
        task = self._run(lambda: _best(num_reusable_bytes))
        task.done.connect(self.suggest)

    def download(self) -> None:
        """Download the offered model, or try again after a failure."""
        if self._model is not None:
            if self._transfers is None:
                self._transfers = self._make_transfers()
                self._transfers.changed.connect(self.changed)
                self._transfers.landed.connect(self._on_landed)
            self._key = self._transfers.download(self._model)
            self.changed.emit()

    def cancel(self) -> None:
        """Stop the download. The files so far are kept, and used when the user downloads the model again."""
        if self._transfers is not None and self._key:
            self._transfers.pause(self._key)
            self._key = ""
            self.changed.emit()

    def is_downloading(self, key: str) -> bool:
        """Return whether the user has started this transfer here."""
        return bool(key) and key == self._key

    def _on_landed(self, key: str, name: str) -> None:
        if key == self._key:
            self._key, self._model = "", None
            self.landed.emit(name)
            self.changed.emit()


def _best(num_reusable_bytes: int) -> Steps:
    from app.catalog.good_models import best_that_fits
    from app.catalog.machine_memory import machine_memory

    yield from ()
    return best_that_fits(machine_memory(reusable_bytes=num_reusable_bytes))
