"""Measures how long the GUI thread is blocked, and says where."""

from __future__ import annotations

import collections
import faulthandler
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
    cpu_ms: float
    """The GUI thread's own part of this time, which other programs hardly change."""


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

    def beat(self) -> None:
        """End a turn of the event loop."""
        wall, cpu = time.perf_counter(), time.thread_time()
        block = Block((wall - self._beat[0]) * 1000, (cpu - self._beat[1]) * 1000)
        seen, self._seen = self._seen, collections.Counter()
        self.longest_wall_ms = max(self.longest_wall_ms, block.wall_ms)
        if block.cpu_ms > self.longest.cpu_ms:
            self.longest, self.stacks = block, seen
        self._beat = wall, cpu

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
