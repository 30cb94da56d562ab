"""Waits for a server: for how long, when a request is sent again, and what the machine's sleep has to do with it.

A server that reads a long prompt sends nothing for minutes, so silence before an answer is allowed for long, and such a
request is never sent again: the server would do the work twice. In the middle of an answer, silence is a fault. A
connection that can't be made, and a server that is busy or restarts, are tried again soon, because nothing was begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

WAITS_S = (0.5, 1.5)
"""The waits before a request is sent again, if the server does not say how long it should be."""
MAX_WAIT_S = 60.0
"""A server that wants to be left alone for longer is not asked again: the user decides."""
_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that may be gone at the next try."""
_LOOK_S = 1.0
"""The time between two looks at whether the machine has slept."""
_MIN_SLEEP_S = 5.0
_AWAKE_S = 15.0
"""After the machine has slept, a server that still answers is heard within this time."""

_Result = TypeVar("_Result")


class SilenceError(Exception):
    """A server has sent nothing for too long."""


class Patience:
    """Waits for one reply of a server, piece by piece."""

    def __init__(self, first_s: float, stall_s: float) -> None:
        """`first_s`: how long the first piece may take; `stall_s`: how long each of the others may take."""
        self._left_s = first_s
        self._stall_s = stall_s
        self._slept_before_s = slept_s()
        self.slept_s = 0.0
        """How long the machine has slept since this began; 0 if it has not."""
        self.waited_s = 0.0
        """How long the wait took that ended in a `SilenceError`, without the machine's sleep."""

    async def wait(self, awaited: Awaitable[_Result]) -> _Result:
        """Wait for a piece. Raises `SilenceError`."""
        task = asyncio.ensure_future(awaited)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        end_s = began_s + self._left_s
        try:
            while True:
                done, _ = await asyncio.wait({task}, timeout=max(0.0, min(_LOOK_S, end_s - loop.time())))
                if done:
                    self._left_s -= loop.time() - began_s
                    return task.result()
                if self._has_slept():
                    end_s = min(end_s, loop.time() + _AWAKE_S)
                if loop.time() >= end_s:
                    self.waited_s = loop.time() - began_s
                    raise SilenceError
        finally:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task

    def begin_text(self) -> None:
        """Note that the answer has begun: from now on, each piece has its own time."""
        self._left_s = self._stall_s

    def _has_slept(self) -> bool:
        now_s = slept_s()
        new_s, self._slept_before_s = now_s - self._slept_before_s, now_s
        if new_s >= _MIN_SLEEP_S:
            self.slept_s += new_s
        return new_s >= _MIN_SLEEP_S


def slept_s() -> float:
    """Return how long this machine has slept since it was started, up to a constant; always 0 where it is not known."""
    if sys.platform == "darwin":
        # The monotonic clock goes on there while the machine sleeps.
        return time.clock_gettime(time.CLOCK_MONOTONIC) - time.clock_gettime(time.CLOCK_UPTIME_RAW)
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return 0.0


def is_busy(status: int) -> bool:
    """Return whether a refused request may be accepted soon."""
    return status in _BUSY


def asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """Return how long a server wants to be left alone; None if it does not say it, or nothing that makes sense."""
    text = headers.get("retry-after", "").strip()
    seconds: float | None = None
    with contextlib.suppress(ValueError):
        seconds = float(text[:20])
    if seconds is None:
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            date = parsedate_to_datetime(text[:100])
            seconds = ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return seconds if seconds is not None and 0 < seconds < float("inf") else None
