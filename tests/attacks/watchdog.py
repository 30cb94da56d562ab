"""Measures how long the GUI thread is blocked, and says where."""

from __future__ import annotations

import collections
import faulthandler
import os
import re
import tempfile
import threading
import time
from types import TracebackType
from typing import NamedTuple, Self

from PySide6.QtCore import Qt, QTimer

_BEAT_MS = 1
_LOOK_S = 0.004
_ROOT = "/app/"
_NUM_FRAMES = 5
_LINE = re.compile(r'^  File "(?P<path>[^"]*)", line (?P<number>\d+) in (?P<name>.*)$', re.MULTILINE)


class Block(NamedTuple):
    """A time in which the event loop did not turn."""

    wall_ms: float
    """By the clock, without the time for which other programs had the processors, where the system counts it."""
    cpu_ms: float
    """The GUI thread's own part of this time."""


class _Queued:
    """How long this thread could have run while other programs had the processors; 0 where Linux does not count it."""

    def __init__(self) -> None:
        try:
            self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self._file = -1

    @property
    def seconds(self) -> float:
        return 0.0 if self._file < 0 else int(os.pread(self._file, 100, 0).split()[1]) / 1e9

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)


class Watchdog:
    """Records each turn of the event loop, and samples the GUI thread's stack."""

    def __init__(self) -> None:
        self.longest = Block(0, 0)
        """The block that used most of the GUI thread's time."""
        self.longest_wall_ms = 0.0
        self.stacks: collections.Counter[str] = collections.Counter()
        """The places in Bough at which the longest block was seen, each with the number of samples."""
        self._seen: collections.Counter[str] = collections.Counter()
        """The same for the present block."""
        self._thread_id = threading.get_ident()
        self._queued = _Queued()
        self._beat = self._now()
        self._timer = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=_BEAT_MS)
        self._timer.timeout.connect(self.beat)
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._beat = self._now()
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
        self._queued.close()

    def beat(self) -> None:
        """End a turn of the event loop."""
        wall_s, cpu_s = self._now()
        block = Block((wall_s - self._beat[0]) * 1000, (cpu_s - self._beat[1]) * 1000)
        seen, self._seen = self._seen, collections.Counter()
        self.longest_wall_ms = max(self.longest_wall_ms, block.wall_ms)
        if block.cpu_ms > self.longest.cpu_ms:
            self.longest, self.stacks = block, seen
        self._beat = wall_s, cpu_s

    def _now(self) -> tuple[float, float]:
        return time.perf_counter() - self._queued.seconds, time.thread_time()

    def _sample(self) -> None:
        # Frames as objects would keep a function's painters and widgets after its end, and destroy them in this thread.
        with tempfile.TemporaryFile() as file:
            while not self._ended.wait(_LOOK_S):
                seen = self._seen
                file.seek(0)
                file.truncate()
                faulthandler.dump_traceback(file)
                file.seek(0)
                seen[_place(file.read().decode(errors="replace"), self._thread_id)] += 1


def _place(stacks: str, thread_id: int) -> str:
    """Return the innermost places of a thread in Bough, from the outermost one on."""
    own = next((stack for stack in stacks.split("\n\n") if f"hread 0x{thread_id:016x} " in stack), "")
    places = [line for line in _LINE.finditer(own) if _ROOT in line["path"]][:_NUM_FRAMES]
    return " > ".join(f"{line['path'].rpartition('/')[2]}:{line['number']} {line['name']}" for line in reversed(places))
