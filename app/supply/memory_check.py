"""Checks whether the next answer of the loaded model fits into memory, based on the last measurement."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.answers.model_session import ModelSession
from app.archive.archive import Steps, Task
from app.catalog.entry import Asked, KvBits, Memory, Shape, Shortage
from app.catalog.measured import Measurements
from app.catalog.shortage import Loaded, shortage
from worker.protocol import Event, Finished

_OUTDATED_S = 5.0
_NOTABLE = 8
"""The free memory is measured again if an answer would take this fraction of it, or more."""


class MemoryCheck(QObject):
    """Measures in the background once a model is loaded, and after each answer."""

    changed = Signal()
    """The memory was measured, or the last measurement is no longer valid."""

    def __init__(
        self,
        session: ModelSession,
        measurements: Measurements,
        kv_bits_of: Callable[[str], KvBits],
        run: Callable[[Callable[[], Steps]], Task],
    ) -> None:
        """`run` starts a background task."""
        super().__init__()
        self._session = session
        self._measurements = measurements
        self._kv_bits_of = kv_bits_of
        self._run = run
        self._shapes: dict[str, Shape | None] = {}
        self._memory: Memory | None = None
        self._measured_s = 0.0
        self._task: Task | None = None
        self._allowed: set[str] = set()
        """The names of models whose answers the user wants even if they seem too large."""
        session.changed.connect(self._on_session)
        session.received.connect(self._on_event)
        self._on_session()

    def allow(self, name: str) -> None:
        """Allow answers of a model even if they seem too large, until Bough ends."""
        self._allowed.add(name)
        self.changed.emit()

    def measure(self) -> None:
        """Measure the free memory, and read the shape of the loaded model."""
        name = self._session.name
        if self._task is None and self._session.state == "ready":
            knows_shape = name in self._shapes
            self._task = self._run(lambda: _steps(name, knows_shape=knows_shape))
            self._task.done.connect(self._on_measured)
            self._task.ended.connect(self._on_ended)

    def shortage(self, model: str, asked: Asked) -> Shortage | None:
        """Return why answers of a model would not fit into memory; None if they fit, or if too little is known.

        The answers of a model that is not loaded are not checked here, because loading it is.
        """
        loaded = self._loaded(model)
        if loaded is None or self._memory is None:
            return None
        found = shortage(loaded, self._memory, asked)
        self._measure_again(loaded, asked)
        if found is not None and model in self._allowed:
            return Shortage(sentence=found.sentence, is_too_large=False)
        return found

    def _measure_again(self, loaded: Loaded, asked: Asked) -> None:
        """Measure again before an answer that takes much, because other programs may have taken or freed memory."""
        assert self._memory is not None
        part = Memory(
            total_bytes=self._memory.total_bytes,
            available_bytes=self._memory.available_bytes // _NOTABLE,
            kind=self._memory.kind,
            on_cpu=self._memory.on_cpu,
        )
        is_outdated = time.monotonic() - self._measured_s > _OUTDATED_S
        if is_outdated and shortage(loaded, part, asked) is not None:
            self.measure()

    def _loaded(self, name: str) -> Loaded | None:
        session, shape = self._session, self._shapes.get(name)
        if shape is None or not shape.layers or session.name != name or session.state != "ready":
            return None
        if session.info is None or self._memory is None:
            return None
        bits = self._kv_bits_of(name) if session.kv_bits is not None else 16
        weights, context = session.info.weights_bytes, session.info.context_length
        measured = self._measurements.of(name)
        # Measured with other weights, for example unpacked ones, it says nothing of these.
        extra = measured.extra_bytes(shape, self._memory) if measured.weights_bytes == weights else 0
        return Loaded(shape=shape, weights_bytes=weights, context_length=context, kv_bits=bits, extra_bytes=extra)

    def _on_session(self) -> None:
        if self._session.state == "ready":
            self.measure()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Finished):
            self.measure()

    def _on_measured(self, found: tuple[str, Shape | None, Memory]) -> None:
        name, shape, memory = found
        if shape is not None or name not in self._shapes:
            self._shapes[name] = shape
        self._measured_s = time.monotonic()
        self._memory = memory
        self.changed.emit()

    def _on_ended(self) -> None:
        self._task = None
        if self._session.state == "ready" and self._session.name not in self._shapes:
            # Another model was loaded meanwhile.
            self.measure()


def _steps(name: str, *, knows_shape: bool) -> Steps:
    # Most starts do not need these imports at once.
    from app.catalog.fit import shape_of_model
    from app.catalog.machine_memory import machine_memory
    from app.catalog.on_disk import model_named

    yield 0
    model = None if knows_shape else model_named(name)
    return name, None if model is None else shape_of_model(model), machine_memory()
