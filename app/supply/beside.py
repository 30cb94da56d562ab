"""Checks in the background whether a model fits into memory beside the one that answers now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal

from app.answers.model_session import ModelSession
from app.answers.sessions import GUIDE, Sessions
from app.archive.archive import Steps, Task
from app.catalog.entry import KvBits, Memory
from app.catalog.measured import Measured, Measurements
from app.settings_of_models import SettingsOfModels
from app.supply.load_check import resident_bytes


class _Model(NamedTuple):
    name: str
    kv_bits: KvBits
    measured: Measured


class Beside(QObject):
    """Estimates both models with their usual contexts. If too little is known of either, they do not fit."""

    found = Signal(str, bool)
    """The name of a model, and whether it fits beside the one that answers."""

    def __init__(
        self,
        sessions: Sessions,
        measurements: Measurements,
        of_models: SettingsOfModels,
        run: Callable[[Callable[[], Steps]], Task],
    ) -> None:
        """`run` starts a background task."""
        super().__init__()
        self._sessions = sessions
        self._measurements = measurements
        self._of_models = of_models
        self._run = run

    def find(self, name: str, leaves: ModelSession) -> None:
        """Find whether a model fits beside the one that answers, in place of the model of the session `leaves`."""
        chosen, ahead = self._sessions.chosen, self._sessions.ahead
        stays = chosen if leaves is ahead else ahead
        staying = self._models(stays.name, stays.draft)
        coming = self._models(name, ahead.draft_of(name))
        task = self._run(lambda: _do_both_fit(staying, coming, stays.link.pid, leaves.link.pid))
        task.done.connect(partial(self.found.emit, name))

    def _models(self, name: str, draft: str) -> list[_Model]:
        return [
            _Model(one, self._of_models.kv_bits_of(one), self._measurements.of(one)) for one in (name, draft) if one
        ]


def _do_both_fit(staying: Sequence[_Model], coming: Sequence[_Model], stays: int | None, leaves: int | None) -> Steps:
    """Return whether `coming` fits if `staying` takes all that it may need. The others are ids of processes."""
    from app.catalog.machine_memory import machine_memory

    yield 0
    memory = machine_memory()
    # How much of a GPU a process takes is not known.
    held, freed = (resident_bytes(pid) if memory.kind == "ram" else 0 for pid in (stays, leaves))
    # The guide already has its memory, and hardly needs more.
    still = _needed(staying, memory) if staying[0].name != GUIDE else 0
    needed = _needed(coming, memory)
    if still is None or needed is None:
        return False
    return needed + max(0, still - held) <= memory.available_bytes + freed


def _needed(models: Sequence[_Model], memory: Memory) -> int | None:
    """Return the bytes that a model and its draft model need; None if that is not known."""
    from app.catalog.fit import DEFAULT_CONTEXT, need, shape_of_model
    from app.catalog.on_disk import model_named

    total = 0
    for model in models:
        found = model_named(model.name)
        shape = None if found is None else shape_of_model(found)
        if found is None or shape is None or not shape.weights_bytes:
            return None
        context = min(found.context_length or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
        extra = model.measured.extra_bytes(shape, memory)
        total += need(shape, memory, context_length=context, kv_bits=model.kv_bits, extra_bytes=extra).total_bytes
    return total
