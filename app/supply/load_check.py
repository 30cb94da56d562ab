"""Checks whether a model fits into memory before it is loaded, and whether Bough could free memory for it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from app.answers.sessions import Sessions
from app.catalog.entry import Memory
from app.catalog.measured import Measurements
from app.settings_of_models import SettingsOfModels
from worker.sentence import Sentence, joined


class Refused(NamedTuple):
    """Why a model is not loaded."""

    why: Sentence
    can_be_freed: bool = False
    """Whether the model would fit without the guide's idle process."""


_MOST_TIMES = 16
"""When weights of 2 bits are unpacked, they need this many times their size on disk."""


def is_small(folder: str) -> bool:
    """Return whether a model certainly fits into half of this computer's memory, judged by its folder's size."""
    try:
        num_bytes = sum(entry.stat().st_size for entry in os.scandir(Path(folder)) if entry.is_file())
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return False
    return num_bytes * _MOST_TIMES < memory_bytes // 2


class LoadCheck:
    """Measures the memory before a model is loaded."""

    def __init__(self, sessions: Sessions, measurements: Measurements, of_models: SettingsOfModels) -> None:
        self._sessions = sessions
        self._measurements = measurements
        self._of_models = of_models
        self._whole: Memory | None = None
        """The memory when a model was first loaded. Only its total is used."""
        self._allowed: set[str] = set()
        """The names of models that the user wants to load even if they seem too large."""

    def allow(self, name: str) -> None:
        """Allow a model to be loaded even if it seems too large, until Bough ends."""
        self._allowed.add(name)

    def refusal(self, name: str) -> Refused | None:
        """Return why a model should not be loaded now; None if it fits, or if too little is known."""
        if name in self._allowed:
            return None
        from app.catalog.fit import DEFAULT_CONTEXT, refusal, refusal_now, shape_of_model
        from app.catalog.machine_memory import machine_memory
        from app.catalog.on_disk import model_named

        model = model_named(name)
        shape = None if model is None else shape_of_model(model)
        if model is None or shape is None or not shape.weights_bytes:
            return None
        memory = self._whole = self._whole or machine_memory()
        extra = self._measurements.of(name).extra_bytes(shape, memory)
        context, bits = model.context_length or DEFAULT_CONTEXT, self._of_models.kv_bits_of(name)
        why = refusal(shape, memory, context_length=context, kv_bits=bits, extra_bytes=extra)
        if why is not None:
            return Refused(why)
        # The loaded model makes room for this one, and one that was loaded ahead, too. How much of a GPU they take is
        # not known.
        reusable = sum(resident_bytes(one.link.pid) for one in (self._sessions.chosen, self._sessions.ahead))
        now = machine_memory(reusable_bytes=reusable)
        why = refusal_now(shape, now, context_length=context, kv_bits=bits, extra_bytes=extra)
        if why is None or now.kind != "ram":
            return None
        freed = resident_bytes(guide_pid(self._sessions))
        later = machine_memory(reusable_bytes=reusable + freed)
        if not freed or refusal_now(shape, later, context_length=context, kv_bits=bits, extra_bytes=extra) is not None:
            return Refused(why)
        helps = Sentence(
            "The guide's process uses {num_bytes} of memory. "
            "If you stop it, it starts again when you next ask the guide something.",
            num_bytes=freed,
        )
        return Refused(joined([why, helps]), can_be_freed=True)


def guide_pid(sessions: Sessions) -> int | None:
    """Return the process id of the guide's own process if the process could be ended now; else None."""
    return sessions.guide.link.pid if sessions.is_guide_idle else None


def resident_bytes(pid: int | None) -> int:
    """Return the memory that a process and its children take, in bytes; 0 if `pid` is None."""
    if pid is None:
        return 0
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        return sum(int(each.memory_info().rss) for each in (process, *process.children()))
    return 0
