"""The process that sends requests to servers. It has the same channels and the same client as a worker's process."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from typing import TYPE_CHECKING

from worker.encoding import command_from_msgpack, head_of_msgpack, to_msgpack
from worker.inbox import EndOfInput, Inbox
from worker.logs import logging_to, print_logs
from worker.printable import print_printable_text
from worker.process import WorkerClient, end_with_parent, heart
from worker.pulse import Pulse

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.queues import Queue
    from pathlib import Path

    from worker.endpoints.engine import Engine
    from worker.protocol import Event


def start_client() -> WorkerClient:
    """Start a process for endpoints, without waiting for it. Commands may be sent at once."""
    return WorkerClient(run=main)


def main(
    commands: Queue[bytes | None],
    events: Connection,
    _cache_folder: Path | None,
    _hooks_folder: Path | None,
    beats: Connection,
    words: Connection,
) -> None:
    """Run the engine in this process."""
    with logging_to(words, "worker"):
        _main(commands, events, beats)


def _main(commands: Queue[bytes | None], events: Connection, beats: Connection) -> None:
    print_printable_text()
    print_logs("endpoints: ")
    # Ctrl+C in a terminal reaches the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, name="parent watch", daemon=True).start()
    pulse = Pulse(heart(beats))
    pulse.enter("idle")
    pulse.start()

    def emit(event: Event) -> None:
        try:
            events.send_bytes(to_msgpack(event))
        except OSError:
            os._exit(0)

    asyncio.run(_serve(commands, emit))
    logging.shutdown()
    # Exit at once, so that the process has ended with its exit code when the parent sees the end of the pipe.
    os._exit(0)


async def _serve(commands: Queue[bytes | None], emit: Callable[[Event], None]) -> None:
    from worker.endpoints.engine import Engine

    inbox = Inbox()
    engine = Engine(inbox, emit)
    loop = asyncio.get_running_loop()
    arguments = (commands, inbox, engine, loop)
    threading.Thread(target=_read, args=arguments, name="commands", daemon=True).start()
    await engine.run()


def _read(commands: Queue[bytes | None], inbox: Inbox, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
    try:
        while (frame := commands.get()) is not None:
            inbox.put_message(frame, command_from_msgpack, head_of_msgpack)
            loop.call_soon_threadsafe(engine.wake)
    finally:
        inbox.put(EndOfInput())
        loop.call_soon_threadsafe(engine.wake)
