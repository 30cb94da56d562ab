"""The headless transport: a JSON object a line in, a JSON object a line out; it acts on none of them."""

from __future__ import annotations

import os
import queue
import sys
import threading
from typing import BinaryIO

from worker.protocol import Event, command_from_json, to_json
from worker.server import EndOfInput, Incoming, Server


def serve() -> None:
    """Serve standard input and output until the input ends or a shutdown comes."""
    out = _claim_standard_output()
    inbox: queue.SimpleQueue[Incoming] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(sys.stdin.buffer, inbox), name="stdin", daemon=True)
    reader.start()

    def emit(event: Event) -> None:
        try:
            out.write(to_json(event) + b"\n")
            out.flush()
        except BrokenPipeError:
            # Nobody listens any more: there is no one left to answer.
            os._exit(0)

    Server(inbox, emit).run()


def _read(stream: BinaryIO, inbox: queue.SimpleQueue[Incoming]) -> None:
    for line in stream:
        if not line.isspace():
            inbox.put(command_from_json(line))
    inbox.put(EndOfInput())


def _claim_standard_output() -> BinaryIO:
    """Return a stream that only events are written to; whatever else prints, prints to standard error."""
    own = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(own, "wb")
