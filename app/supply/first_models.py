"""The model that the first page offers to fetch: the starter where it is missing, else the best that fits here."""

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
    """A model to fetch, and how far it is once the user wants it."""

    model: RemoteModel
    transfer: Transfer | None


class FirstModels(QObject):
    """Offers one model at a time. Nothing is fetched before the user asks for it."""

    changed = Signal()
    landed = Signal(str)
    """The offered model can be used: the name by which it is loaded."""

    def __init__(self, make_transfers: Callable[[], Transfers], run: Callable[[Callable[[], Steps]], Task]) -> None:
        """`make_transfers` returns the transfers of the program; it is called when the user first fetches a model.

        `run` starts a background task.
        """
        super().__init__()
        self._make_transfers = make_transfers
        self._run = run
        self._transfers: Transfers | None = None
        self._key = ""
        """The key of the transfer that the user has begun here; empty without one."""
        self._model: RemoteModel | None = None

    @property
    def offer(self) -> Offer | None:
        """None if there is nothing to offer."""
        if self._model is None:
            return None
        return Offer(self._model, None if self._transfers is None else self._transfers.of(self._model))

    def suggest(self, model: RemoteModel | None) -> None:
        """Offer this model, unless another one is being fetched."""
        if model != self._model and not self._key:
            self._model = model
            self.changed.emit()

    def suggest_best(self, num_reusable_bytes: int) -> None:
        """Offer the best model that fits into the memory of this machine, once it is known.

        `num_reusable_bytes`: the memory of the loaded model, which is free again before another one is loaded.
        """
        task = self._run(lambda: _best(num_reusable_bytes))
        task.done.connect(self.suggest)

    def fetch(self) -> None:
        """Fetch the offered model, or try again."""
        if self._model is not None:
            if self._transfers is None:
                self._transfers = self._make_transfers()
                self._transfers.changed.connect(self.changed)
                self._transfers.landed.connect(self._on_landed)
            self._key = self._transfers.fetch(self._model)
            self.changed.emit()

    def cancel(self) -> None:
        """Stop fetching. The files so far are kept and used when the user fetches the model again."""
        if self._transfers is not None and self._key:
            self._transfers.pause(self._key)
            self._key = ""
            self.changed.emit()

    def is_fetching(self, key: str) -> bool:
        """Whether the user has begun this transfer here."""
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
