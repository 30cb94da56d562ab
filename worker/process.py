"""The worker as a child process of the app: commands come by a queue, events leave by a pipe."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import multiprocessing.connection
import os
import queue
import signal
import threading
from typing import TYPE_CHECKING

from worker.blas import preload

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.queues import Queue
    from pathlib import Path

    from worker.protocol import Event
    from worker.server import Incoming


def main(
    commands: Queue[bytes | None],
    events: Connection,
    cache_folder: Path | None = None,
    hooks_folder: Path | None = None,
) -> None:
    """Serve the process that started this one. `commands` carries MessagePack frames; None is the end of them.

    `cache_folder`: where what was read is kept on disk; None: nowhere. `hooks_folder`: a person's own hooks.
    """
    logging.basicConfig(format="worker: %(levelname)s %(name)s: %(message)s")
    # Ctrl+C in a terminal reaches the whole group; it is the parent's to decide what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="parent watch", daemon=True).start()
    preload()
    # Only now: MLX takes its BLAS when it is first imported.
    from worker.answers.hook_folder import HookFolder
    from worker.encoding import to_msgpack
    from worker.server import Server
    from worker.watchdog import Watchdog

    inbox: queue.SimpleQueue[Incoming] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(commands, inbox), name="commands", daemon=True).start()

    def emit(event: Event) -> None:
        try:
            events.send_bytes(to_msgpack(event))
        except OSError:
            os._exit(0)

    # What was imported stays for good: looking through it again costs 50 ms, in the middle of an answer, too.
    gc.freeze()
    Server(inbox, emit, cache_folder, HookFolder(hooks_folder, Watchdog(emit))).run()
    logging.shutdown()
    # At once, so that the end of the pipe is the end of the process, and its exit code is already known.
    os._exit(0)


def _read(commands: Queue[bytes | None], inbox: queue.SimpleQueue[Incoming]) -> None:
    from worker.encoding import command_from_msgpack
    from worker.server import EndOfInput

    try:
        while (frame := commands.get()) is not None:
            inbox.put(command_from_msgpack(frame))
    finally:
        inbox.put(EndOfInput())


def _end_with_parent() -> None:
    """This process holds the queue's write end itself, so it would never see its input end."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(0)
