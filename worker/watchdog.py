"""Ends this process when a hook hangs, and reports which one. Python can't end a single thread.

The thread of the pulse checks the time. If a hook never releases Python's lock, that thread can't run either. Then the
system's alarm signal ends the process, and the Python stack, which names the hook's file, goes to standard error.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Callable

from worker.errors import failure
from worker.protocol import Event, RequestId
from worker.pulse import Pulse
from worker.sentence import Sentence

_PATIENCE_S = 5.0
_EXIT_CODE = 70
_ALARM_EXTRA_S = 1.0
"""The alarm comes after twice the patience and this time, as a busy machine may delay the thread."""


class Watchdog:
    """Watches the hooks of this process, which are all called by one thread."""

    def __init__(self, emit: Callable[[Event], None], pulse: Pulse, patience_s: float = _PATIENCE_S) -> None:
        """`emit` is called from another thread while the thread that calls hooks is blocked."""
        self._emit = emit
        self._pulse = pulse
        self._patience_s = patience_s
        self._call: tuple[RequestId, str, float, float] | None = None
        """The running call: request, hook's name, start, patience."""
        self._outer = pulse.step
        faulthandler.register(signal.SIGALRM, file=2, all_threads=False, chain=True)

    def begin(self, request_id: RequestId, name: str, patience: float = 1.0) -> None:
        """Start the clock for a call of a hook. `patience`: a factor for calls that may take longer than others."""
        patience_s = patience * self._patience_s
        self._call = (request_id, name, time.monotonic(), patience_s)
        self._outer = self._pulse.step
        self._pulse.enter("hook", name)
        signal.setitimer(signal.ITIMER_REAL, 2 * patience_s + _ALARM_EXTRA_S)

    def end(self) -> None:
        """Stop the clock: the hook has returned."""
        self._call = None
        self._pulse.go_back(self._outer)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def check(self) -> None:
        """End the process if a hook has taken too long. The thread of the pulse calls this."""
        call = self._call
        if call is not None and time.monotonic() - call[2] > call[3]:
            self._end(call[0], call[1], call[3])

    def _end(self, request_id: RequestId, name: str, patience_s: float) -> None:
        sentence = Sentence(
            "The hook “{name}” did not return within {seconds} seconds, so the model was stopped. "
            "The text so far is kept. Fix the hook, or turn it off and try again.",
            name=name,
            seconds=f"{patience_s:g}",
        )
        self._emit(failure(request_id, "hook_failed", sentence))
        os._exit(_EXIT_CODE)
