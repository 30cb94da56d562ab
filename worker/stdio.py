"""The headless transport: a JSON object a line in, a JSON object a line out; it acts on none of them."""

from __future__ import annotations

import gc
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from worker.blas import preload

if TYPE_CHECKING:
    from worker.protocol import Event
    from worker.server import Incoming

_STDIN, _STDERR = 0, 2

_SAVING_S = 10.0
_INTERRUPTED = 130
_NO_OUTPUT = 2


def serve(cache_folder: Path | None = None, hooks_folder: Path | None = None, hook_patience_s: float = 5.0) -> int:
    """Serve standard input and output until the input ends, a shutdown or Ctrl+C comes; return the exit code.

    `cache_folder`: where what was read is kept on disk; None: nowhere. `hooks_folder`: a person's own hooks.
    `hook_patience_s`: how long one of them may take before the worker ends with it.
    """
    out = _claim_standard_output()
    if out is None:
        print("bough: --stdio writes its events to standard output, which is closed.", file=sys.stderr)  # noqa: T201
        return _NO_OUTPUT
    preload()
    # Only now: MLX takes its BLAS when it is first imported, and nothing imported may print on our output.
    from worker.answers.hook_folder import HookFolder
    from worker.encoding import to_json
    from worker.server import Interrupt, Server
    from worker.watchdog import Watchdog

    inbox: queue.SimpleQueue[Incoming] = queue.SimpleQueue()
    exit_code = 0

    def interrupt(*_: object) -> None:
        nonlocal exit_code
        exit_code = _INTERRUPTED
        # Who asks twice can't wait.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        inbox.put(Interrupt())

    def emit(event: Event) -> None:
        try:
            out.write(to_json(event) + b"\n")
            out.flush()
        except ConnectionError:  # of a pipe or of a socket
            # Nobody listens any more: there is no one left to answer.
            os._exit(0)

    signal.signal(signal.SIGINT, interrupt)
    threading.Thread(target=_read, args=(inbox,), name="stdin", daemon=True).start()
    # What was imported stays for good: looking through it again costs 50 ms, in the middle of an answer, too.
    gc.freeze()
    hooks = HookFolder(hooks_folder, Watchdog(emit, hook_patience_s))
    Server(inbox, emit, cache_folder, hooks, saving_s=_SAVING_S).run()
    return exit_code


def _read(inbox: queue.SimpleQueue[Incoming]) -> None:
    from worker.encoding import command_from_json
    from worker.server import EndOfInput

    try:
        if sys.stdin is None:
            return  # It was closed before we began: what has its number now is somebody else's.
        # Not `sys.stdin`: Python closes that when it ends, and aborts where a thread still reads it.
        lines = open(_STDIN, "rb", closefd=False)  # noqa: SIM115 (this thread reads it to its end)
        for line in lines:
            if not line.isspace():
                inbox.put(command_from_json(line))
    finally:
        inbox.put(EndOfInput())


def _claim_standard_output() -> BinaryIO | None:
    """Return a stream that only events are written to; whatever else prints, prints to standard error.

    None where standard output was closed before we began.
    """
    if sys.stdout is None:
        return None
    # A service may be started without input or log. What is opened next must not take their places.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 (it stays open to the end)
    own = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(own, "wb")
