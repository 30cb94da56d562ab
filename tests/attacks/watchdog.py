"""Measures how long the GUI thread is blocked, and says where."""

from __future__ import annotations

import collections
import sys
import threading
import time
import traceback
from types import TracebackType
from typing import NamedTuple, Self

from PySide6.QtCore import Qt, QTimer

_BEAT_MS = 1
_LOOK_S = 0.01
_ROOT = "/app/"


class Block(NamedTuple):
    """A time in which the event loop did not turn."""

    wall_ms: float
    cpu_ms: float
    """The GUI thread's own part of this time."""


class Watchdog:
    """Records each turn of the event loop, and samples the GUI thread's stack while one is too long."""

    def __init__(self, limit_ms: float = 50) -> None:
        self.blocks: list[Block] = []
        self.stacks: collections.Counter[str] = collections.Counter()
        """The places in Bough at which long blocks were seen, each with the number of samples."""
        self._limit_ms = limit_ms
        self._thread_id = threading.get_ident()
        self._beat = time.perf_counter(), time.thread_time()
        self._timer = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=_BEAT_MS)
        self._timer.timeout.connect(self.beat)
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._beat = time.perf_counter(), time.thread_time()
        self._timer.start()
        self._sampler.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self.beat()
        self._timer.stop()
        self._ended.set()
        self._sampler.join()

    @property
    def longest(self) -> Block:
        """The block that used most of the GUI thread's time."""
        return max(self.blocks, key=lambda block: block.cpu_ms, default=Block(0, 0))

    def beat(self) -> None:
        """End a turn of the event loop."""
        wall, cpu = time.perf_counter(), time.thread_time()
        self.blocks.append(Block((wall - self._beat[0]) * 1000, (cpu - self._beat[1]) * 1000))
        self._beat = wall, cpu

    def _sample(self) -> None:
        while not self._ended.wait(_LOOK_S):
            if (time.perf_counter() - self._beat[0]) * 1000 < self._limit_ms:
                continue
            frame = sys._current_frames().get(self._thread_id)  # pyright: ignore[reportPrivateUsage]
            own = [line for line in traceback.extract_stack(frame) if _ROOT in line.filename]
            places = [f"{line.filename.rpartition('/')[2]}:{line.lineno} {line.name}" for line in own[-4:]]
            self.stacks[" > ".join(places)] += 1
