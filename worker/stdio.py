"""The headless transport: reads commands from standard input and writes events to standard output, as JSON lines."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from worker.answers.hook_listing import needs_of_hooks
from worker.blas import preload
from worker.bytecode import keep_bytecode
from worker.confinement import confine
from worker.transformers_import import import_transformers

if TYPE_CHECKING:
    from worker.inbox import Inbox
    from worker.protocol import Event

_STDIN, _STDERR = 0, 2

_REST_BYTES = 1 << 20
_SAVING_S = 10.0
_ENDING_S = 5.0
"""How long ending may take after a signal, apart from saving the prompt cache."""
_NO_OUTPUT = 2


def serve(cache_folder: Path | None = None, hooks_folder: Path | None = None, hook_patience_s: float = 5.0) -> int:
    """Run the worker on standard input and output until the input ends, a shutdown, or a signal. Return the exit code.

    `cache_folder` holds the prompt cache on disk; None means that it is only in memory. `hooks_folder` has the user's
    own hooks. `hook_patience_s` is how long a hook may take before the worker is ended.
    """
    out = _claim_standard_output()
    if out is None:
        print("bough: --stdio writes its events to standard output, which is closed.", file=sys.stderr)  # noqa: T201
        return _NO_OUTPUT
    # This comes before any thread starts, because it confines only threads that start later.
    confinement = confine(cache_folder, needs_of_hooks(hooks_folder), keep_bytecode)
    preload()
    import_transformers()
    # These import MLX, which must happen after `preload`. They may also print, so standard output is claimed before.
    from worker.answers.hook_folder import HookFolder
    from worker.encoding import to_json
    from worker.inbox import Inbox, InterruptSignals
    from worker.pulse import Pulse
    from worker.server import Server
    from worker.text.tokenizing import THREAD_NAME
    from worker.watchdog import Watchdog

    inbox = Inbox()
    signals = InterruptSignals(inbox, signal.SIGINT, signal.SIGTERM, patience_s=_SAVING_S + _ENDING_S)

    writing = threading.Lock()

    def emit(event: Event) -> None:
        line = to_json(event) + b"\n"
        try:
            # One system call, without a buffer in between: each microsecond here is added to every token.
            with writing:
                num_written = os.write(out, line)
                while num_written < len(line):  # a signal came in the middle of a long line
                    num_written += os.write(out, line[num_written:])
        except ConnectionError:  # the reader has closed its end
            os._exit(0)

    threading.Thread(target=_read, args=(inbox,), name="stdin", daemon=True).start()
    # Modules live as long as the process. Collecting garbage among them takes 50 ms, even in the middle of an answer.
    gc.freeze()
    pulse = Pulse()
    watchdog = Watchdog(emit, pulse, hook_patience_s)
    pulse.check = watchdog.check
    pulse.start()
    hooks = HookFolder(hooks_folder, watchdog, confinement=confinement)
    Server(inbox, emit, cache_folder, hooks, confinement, pulse, saving_s=_SAVING_S).run()
    if any(thread.name == THREAD_NAME for thread in threading.enumerate()):
        # A thread in the tokenizer library would abort the process at Python's own end.
        sys.stderr.flush()
        os._exit(signals.exit_code)
    return signals.exit_code


def _read(inbox: Inbox) -> None:
    from worker.encoding import MAX_MESSAGE_BYTES, command_from_json, head_of_json
    from worker.inbox import EndOfInput

    try:
        if sys.stdin is None:
            return  # Standard input was closed at the start, so descriptor 0 may be another file now.
        # Python closes `sys.stdin` at exit, and aborts if a thread still reads it.
        lines = open(_STDIN, "rb", closefd=False)  # noqa: SIM115 (this thread reads it to its end)
        while line := lines.readline(MAX_MESSAGE_BYTES + 1):
            if not line.isspace():
                inbox.put_message(line, command_from_json, head_of_json)
            # Skip the rest of a line that is too long.
            while len(line) > _REST_BYTES and not line.endswith(b"\n"):
                line = lines.readline(_REST_BYTES + 1)
    finally:
        inbox.put(EndOfInput())


def _claim_standard_output() -> int | None:
    """Return a descriptor of standard output for events alone, and send all else that is printed to standard error.

    Returns None if standard output was closed at the start.
    """
    if sys.stdout is None:
        return None
    # A service may start with closed standard streams. Files opened later must not get their descriptors.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 (it stays open until exit)
    own = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return own
