"""Estimates whether models fit into the memory of this machine, which is measured in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from app.answers.sessions import Sessions
from app.archive.archive import Steps, Task
from app.catalog.entry import Fit, KvBits, LocalModel, Memory, RemoteModel
from app.catalog.measured import Measured, Measurements
from app.supply.load_check import guide_pid, resident_bytes


class Fits(QObject):
    """The estimates, based on the last measurement of the memory."""

    changed = Signal()
    """The memory was measured, or the precision of the cache changed."""

    def __init__(
        self, sessions: Sessions, measurements: Measurements, run: Callable[[Callable[[], Steps]], Task]
    ) -> None:
        """`run` starts a background task."""
        super().__init__()
        self._sessions = sessions
        self._session = session = sessions.chosen
        self._measurements = measurements
        self._run = run
        self._known: dict[tuple[LocalModel | RemoteModel, KvBits], Fit | None] = {}
        self._task: Task | None = None
        self._is_due = False
        self._state = session.state
        self.memory: Memory | None = None
        """The memory of this machine; None until it was measured."""
        self.freeable_bytes = 0
        """The memory in bytes of the guide's process if the process could be ended now; else 0."""
        session.changed.connect(self._on_session)
        sessions.guide.changed.connect(self._on_guide)

    def measure(self) -> None:
        """Measure the memory, because other programs may have taken or freed some."""
        if self._task is not None:
            self._is_due = True
            return
        loaded = [one.link.pid for one in (self._session, self._sessions.ahead) if one.state == "ready"]
        guide = guide_pid(self._sessions)
        self._task = self._run(lambda: _measured(loaded, guide))
        self._task.done.connect(self._on_measured)
        self._task.ended.connect(self._on_ended)

    def of(self, model: LocalModel | RemoteModel, kv_bits: KvBits = 16) -> Fit | None:
        """Return whether a model fits into memory; None if its size or the memory is unknown."""
        if self.memory is None:
            return None
        key = (model, kv_bits)
        if key not in self._known:
            measured = self._measurements.of(model.name) if isinstance(model, LocalModel) else None
            self._known[key] = _fit(model, self.memory, kv_bits, measured)
        return self._known[key]

    def frees(self, fit: Fit | None) -> bool:
        """Return whether a model would fit if the guide's idle process were ended."""
        if fit is None or fit.verdict != "tight":
            return False
        return fit.need.total_bytes <= fit.memory.available_bytes + self.freeable_bytes

    def _on_guide(self) -> None:
        if self.memory is not None and self._sessions.guide.state != "loading":
            self.measure()

    def _on_session(self) -> None:
        if self._session.state != self._state:
            self._state = self._session.state
            if self.memory is not None and self._state != "loading":
                self.measure()

    def _on_measured(self, measured: tuple[Memory, int]) -> None:
        memory, freeable = measured
        if (memory, freeable) != (self.memory, self.freeable_bytes):
            self.memory, self.freeable_bytes = memory, freeable
            self._known.clear()
            self.changed.emit()

    def _on_ended(self) -> None:
        self._task = None
        if self._is_due:
            self._is_due = False
            self.measure()


def _measured(loaded: Sequence[int | None], guide: int | None) -> Steps:
    """Measure the memory. The memory of the workers with the process ids `loaded` counts as free for another model."""
    from app.catalog.machine_memory import machine_memory

    yield 0
    return machine_memory(reusable_bytes=sum(map(resident_bytes, loaded))), resident_bytes(guide)


def _fit(model: LocalModel | RemoteModel, memory: Memory, kv_bits: KvBits, measured: Measured | None) -> Fit | None:
    from app.catalog.fit import DEFAULT_CONTEXT, fit, shape_of_model

    shape = shape_of_model(model)
    if shape is None or not shape.weights_bytes:
        return None
    context = min(model.context_length or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
    extra = 0 if measured is None else measured.extra_bytes(shape, memory)
    return fit(shape, memory, context_length=context, kv_bits=kv_bits, extra_bytes=extra)
