"""Starts and runs the server process, which ends with its owner. It does not import Qt, MLX or transformers."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.serving.frames import FrameReader, framed
from worker.confinement import confine
from worker.printable import print_printable_text
from worker.surroundings import start
from worker.values import Confinement, Need

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from app.serving.messages import ServerSettings

_KILL_S = 2.0


class ServerProcess:
    """The owner's side of a server process: its two pipes and its exit."""

    def __init__(self, settings: ServerSettings) -> None:
        """Start the process without waiting for it. Raises `OSError`."""
        context = multiprocessing.get_context("spawn")
        self._up, up = context.Pipe(duplex=False)
        down, self._down = context.Pipe(duplex=False)
        self._process = context.Process(target=main, args=(settings, up, down), name="bough-server", daemon=True)
        start(self._process)
        # With our copies open, neither side would see the end of the other.
        up.close()
        down.close()
        self._writable = select.poll()
        self._writable.register(self._down, select.POLLOUT)

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def send(self, data: bytes) -> None:
        """Send a message; waits while the pipe is full. Raises `OSError` if the process has ended."""
        rest = memoryview(framed(data))
        while rest:
            rest = rest[os.write(self._down.fileno(), rest) :]

    def takes_at_once(self, data: bytes) -> bool:
        """Return whether `send` would probably not wait. False once the process has ended."""
        # A writable pipe takes up to PIPE_BUF bytes without waiting; 8 are more than a frame's head.
        if self._down.closed or len(data) > select.PIPE_BUF - 8:
            return False
        return self._writable.poll(0) == [(self._down.fileno(), select.POLLOUT)]

    def receive(self) -> Iterator[bytes]:
        """Wait for messages and yield them. Raises `EOFError` or `OSError` once the process has ended."""
        reader = FrameReader(self._up.fileno())
        while True:
            reader.read()
            yield from reader.messages()

    def end(self, patience_s: float = 0.0) -> int | None:
        """Wait for the process to end, and kill it after `patience_s` seconds. Return its exit code."""
        self._process.join(patience_s)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(_KILL_S)
        return self._process.exitcode

    def close(self) -> None:
        """Close the pipe to the process."""
        with contextlib.suppress(OSError):
            self._down.close()


def main(settings: ServerSettings, up: Connection, down: Connection) -> None:
    """Serve in this process until the owner asks it to stop, or ends."""
    print_printable_text()
    logging.basicConfig(format="serve: %(levelname)s %(name)s: %(message)s")
    # uvicorn warns of every request that is not HTTP.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    # Ctrl+C in a terminal reaches the whole process group; the owner decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The owner imports this module, too, and needs none of the server.
    from app.serving.server import Opened, run

    # Files and the port are opened first, threads started last: those that run already would not be confined.
    opened = Opened(settings)
    confine_server(settings)
    threading.Thread(target=_end_with_parent, name="parent watch", daemon=True).start()
    run(settings, opened, up, down)
    logging.shutdown()
    # A thread may still wait for the owner's pipe.
    os._exit(0)


def confine_server(settings: ServerSettings) -> Confinement:
    """Give up new sockets, and writing files outside the folder of the file of generated turns."""
    # On macOS, giving up the network would also refuse new clients.
    needs: tuple[Need, ...] = ("network",) if sys.platform == "darwin" else ()
    return confine(settings.turns and settings.turns.parent, needs, runs_model=False)


def _end_with_parent() -> None:
    """Exit when the owner dies, even if the server takes too long to end."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        threading.Event().wait(_KILL_S)
        os._exit(0)
