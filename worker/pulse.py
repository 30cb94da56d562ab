"""The worker's pulse: a thread that reports to the app twice a second what the worker is doing.

With these heartbeats, the app can distinguish a slow worker from a stuck one. They have a pipe of their own, so that
events never delay them. A process sends no heartbeats while it is stopped, or while a call holds Python's lock for
seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct

from worker.events import Activity, Heartbeat

BEAT_S = 0.5
"""Time between two heartbeats."""
_MAX_BEAT_S = 1.0
"""More time than this between two heartbeats does not count: the process was stopped."""
_MIN_GAP_S = 0.1
"""A new activity is reported at once, unless the last report was this recent. The end of the start is always reported:
the app has more patience with a process that starts."""
_MAX_DETAIL_CHARS = 80
"""A heartbeat has at most 512 bytes. The system writes that many to a pipe in one piece, or none of them."""


class EngineStep(Struct, frozen=True):
    """An activity of the engine thread, and its beginning by the monotonic clock."""

    activity: Activity
    began_s: float
    detail: str
    done: int
    total: int
    num_beats: int
    """The number of heartbeats before this step began."""


class Pulse:
    """Keeps the engine thread's current activity. Only that thread calls `enter` and `during`."""

    def __init__(
        self, send: Callable[[Heartbeat], None] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`send` must not block, and is called by two threads. None means that no heartbeats are sent."""
        self._send = send
        self._clock = clock
        self._num_beats = 0
        self.step = EngineStep("starting", clock(), "", 0, 0, 0)
        self._usual_s: dict[Activity, float] = {}
        self.check: Callable[[], None] = _no_check
        """Called by the pulse's thread at each beat; must not block."""
        self._reported: tuple[Activity, float] = ("starting", 0.0)
        self._reporting = threading.Lock()
        """Keeps an old report of one thread from being sent after a new one of the other."""

    def start(self) -> None:
        """Start the thread that sends heartbeats."""
        threading.Thread(target=self._run, name="pulse", daemon=True).start()

    def enter(self, activity: Activity, detail: str = "", done: int = 0, total: int = 0) -> None:
        """Note that the engine thread begins an activity. Entering the same one again is a sign of progress."""
        now = self._clock()
        self._note_end(now)
        self.step = EngineStep(activity, now, detail, done, total, self._num_beats)
        reported, at_s = self._reported
        if activity != reported and (reported == "starting" or now - at_s > _MIN_GAP_S):
            # If this activity holds Python's lock, the pulse's thread can't report it later.
            self._report()

    @contextmanager
    def during(self, activity: Activity, detail: str = "") -> Generator[None]:
        """Note an activity that is a part of the present one."""
        outer = self.step
        self.enter(activity, detail)
        try:
            yield
        finally:
            self.go_back(outer)

    def go_back(self, outer: EngineStep) -> None:
        """Note that a part of `outer` is over."""
        self._note_end(self._clock())
        self.step = outer

    def _note_end(self, now: float) -> None:
        activity, took_s = self.step.activity, self._lasted_s(self.step, now)
        if took_s > self._usual_s.get(activity, 0.0):
            self._usual_s[activity] = took_s

    def _lasted_s(self, step: EngineStep, now: float) -> float:
        """Return how long a step has lasted, without the time for which the process was stopped."""
        return min(now - step.began_s, (self._num_beats - step.num_beats + 2) * _MAX_BEAT_S)

    def beat(self) -> None:
        """Send a heartbeat. The pulse's thread calls this twice a second."""
        self._num_beats += 1
        self._report()

    def _report(self) -> None:
        with self._reporting:
            step, now = self.step, self._clock()
            self._reported = step.activity, now
            if self._send is not None:
                lasted_s, usual_s = self._lasted_s(step, now), self._usual_s.get(step.activity, 0.0)
                detail = step.detail[:_MAX_DETAIL_CHARS]
                self._send(Heartbeat(step.activity, lasted_s, usual_s, detail, step.done, step.total))

    def _run(self) -> None:
        while True:
            self.beat()
            time.sleep(BEAT_S)
            self.check()


def _no_check() -> None:
    pass
