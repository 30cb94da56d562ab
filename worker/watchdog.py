"""Ends this process when a hook does not return, and says which one it was; nothing less ends a thread that is stuck.

A thread looks at the clock while hooks are asked. A hook that never lets go of Python's lock keeps that thread from
looking, too: then the system's alarm ends the process, and Python's stack, with the hook's file in it, goes to
standard error.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable

from worker.protocol import Event, Failed, RequestId

_PATIENCE_S = 5.0
_EXIT_CODE = 70
_ALARM_LATER_S = 1.0
"""After twice the patience and this: a busy machine may keep the thread waiting."""


class Watchdog:
    """Watches one process's hooks; they are asked by one thread."""

    def __init__(self, emit: Callable[[Event], None], patience_s: float = _PATIENCE_S) -> None:
        """`emit` is called from another thread, while that one is stuck."""
        self._emit = emit
        self._patience_s = patience_s
        self._asked: tuple[RequestId, str, float, float] | None = None
        self._num_asked = 0
        self._is_needed = threading.Event()
        faulthandler.register(signal.SIGALRM, all_threads=False, chain=True)
        threading.Thread(target=self._watch, name="hook watch", daemon=True).start()

    def begin(self, request_id: RequestId, name: str, patience: float = 1.0) -> None:
        """A hook is asked now. `patience`: how many times as long as any other it may take."""
        patience_s = patience * self._patience_s
        self._asked = (request_id, name, time.monotonic(), patience_s)
        self._num_asked += 1
        self._is_needed.set()
        signal.setitimer(signal.ITIMER_REAL, 2 * patience_s + _ALARM_LATER_S)

    def end(self) -> None:
        """It has answered."""
        self._asked = None
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _watch(self) -> None:
        never = threading.Event()
        while self._is_needed.wait():
            num_asked = self._num_asked
            never.wait(self._patience_s / 4)
            asked = self._asked
            if asked is not None and time.monotonic() - asked[2] > asked[3]:
                self._end(asked[0], asked[1], asked[3])
            if asked is None and num_asked == self._num_asked:
                # Nobody asks any more. Whoever has begun to meanwhile is seen below.
                self._is_needed.clear()
                if self._asked is not None:
                    self._is_needed.set()

    def _end(self, request_id: RequestId, name: str, patience_s: float) -> None:
        message = (
            f"The hook {name!r} did not return for {patience_s:g} seconds, so the worker was ended with it. "
            "What was said so far is kept. Mend the hook, or ask without it."
        )
        self._emit(Failed(request_id=request_id, kind="hook_failed", message=message))
        os._exit(_EXIT_CODE)
