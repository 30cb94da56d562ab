"""The worker as a child process of the app. Commands go through a queue, events and heartbeats come back through pipes.

`WorkerClient` is the parent's side; it needs neither Qt nor MLX. `main` is what the child process runs.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import multiprocessing
import multiprocessing.connection
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import DecodeError, msgpack

from worker.answers.hook_listing import needs_of_hooks
from worker.blas import preload
from worker.bytecode import keep_bytecode
from worker.confinement import confine
from worker.encoding import command_from_msgpack, event_from_msgpack, to_msgpack
from worker.logs import Listener, logging_to, print_logs
from worker.printable import print_printable_text
from worker.protocol import Command, Event, Heartbeat, Shutdown
from worker.pulse import BEAT_S, Pulse
from worker.surroundings import start
from worker.transformers_import import import_transformers

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.queues import Queue
    from pathlib import Path

    from worker.inbox import Inbox

_FEEDER_S = 0.5
_ENDING_S = 5.0
"""How long a worker may take to end after SIGTERM."""
_KILL_S = 2.0
"""How long to wait after SIGKILL. The system may take long to end a process that waits for a device."""


class WorkerExitedError(Exception):
    """The worker process has ended."""


class WorkerSilentError(Exception):
    """The worker process does not respond, not even with heartbeats."""


class WorkerClient:
    """Starts a worker process and exchanges messages with it. Each worker has its own client.

    `send` may be called from any thread and never waits for a busy worker. Call `receive` from one thread only.
    """

    def __init__(
        self,
        cache_folder: Path | None = None,
        hooks_folder: Path | None = None,
        *,
        run: Callable[..., None] | None = None,
    ) -> None:
        """Start the worker process without waiting for it.

        Commands may be sent at once. `cache_folder` holds the prompt cache on disk; None means that it is only in
        memory. `hooks_folder` has the user's own hooks. `run` is the function that the process runs, with the arguments
        of `main`; None means `main`.
        """
        context = multiprocessing.get_context("spawn")
        self._commands = context.Queue()
        self._events, events = context.Pipe(duplex=False)
        self._beats, beats = context.Pipe(duplex=False)
        self._words, words = context.Pipe(duplex=False)
        self._listener = Listener(self._words)
        self._closing = threading.Lock()
        self._heartbeat: Heartbeat | None = None
        # A selector would be a reference cycle, and keep the pipes open until garbage is collected.
        self._readable = select.poll()
        self._readable.register(self._events, select.POLLIN)
        self._readable.register(self._beats, select.POLLIN)
        self._readable.register(self._words, select.POLLIN)
        self._process = context.Process(
            target=run or main,
            args=(self._commands, events, cache_folder, hooks_folder, beats, words),
            name="bough-worker",
            daemon=True,
        )
        # Unread commands must not keep this process from ending if nobody calls `stop`.
        self._commands.cancel_join_thread()
        start(self._process)
        # With our copies of the write ends open, we would never see the end of file when the worker dies.
        for end in (events, beats, words):
            end.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def heartbeat(self) -> Heartbeat | None:
        """The last heartbeat that `receive` or `poll` has read; None before the first one."""
        return self._heartbeat

    @property
    def last_words(self) -> list[str]:
        """The last lines that the worker logged, and that libraries wrote to standard error, without users' texts."""
        return list(self._listener.lines)

    def send(self, command: Command) -> None:
        """Send a command. If the worker has died, the command is lost, and `receive` raises."""
        frame = to_msgpack(command)
        with contextlib.suppress(ValueError):  # the queue is closed: the worker was killed
            self._commands.put(frame)

    def receive(self) -> Event:
        """Wait for the next event. Raises `WorkerExitedError` once the worker has ended and all events are read."""
        try:
            self._wait(None)
            return event_from_msgpack(self._events.recv_bytes())
        except (EOFError, OSError):
            raise WorkerExitedError from None

    def receive_unless_silent(self, patience_s: float) -> Event:
        """Like `receive`, but raise `WorkerSilentError` after `patience_s` seconds without an event or a heartbeat.

        Only the time that this process spends waiting counts: after the computer slept, the worker is not silent.
        """
        num_waits, last = 0, self._heartbeat
        while not self.poll(BEAT_S):
            num_waits = num_waits + 1 if self._heartbeat is last else 0
            last = self._heartbeat
            if num_waits * BEAT_S >= patience_s:
                raise WorkerSilentError
        return self.receive()

    def poll(self, timeout_s: float) -> bool:
        """Wait, and return whether `receive` would return or raise within that time."""
        try:
            return self._wait(timeout_s)
        except (EOFError, OSError):
            return True

    def _wait(self, timeout_s: float | None) -> bool:
        """Wait until an event can be read, or the time is over. Meanwhile read heartbeats."""
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if end_s is None else max(0.0, end_s - time.monotonic())
            ready = dict(self._readable.poll(None if left_s is None else math.ceil(left_s * 1000)))
            if self._beats.fileno() in ready:
                self._take_heartbeat()
            if self._words.fileno() in ready and not self._listener.read():
                self._readable.unregister(self._words)
            if self._events.fileno() in ready:
                return True
            if left_s == 0.0:
                return False

    def _take_heartbeat(self) -> None:
        try:
            self._heartbeat = msgpack.decode(self._beats.recv_bytes(), type=Heartbeat)
        except (EOFError, OSError, DecodeError):
            # The worker is ending, or sends invalid data: its events show which.
            self._readable.unregister(self._beats)

    def stop(self, timeout_s: float = 2.0) -> None:
        """Ask the worker to shut down, and kill it if it takes too long. Its current work is lost."""
        self.send(Shutdown(request_id="stop"))
        self._process.join(timeout_s)
        self.kill()

    def end(self) -> None:
        """Kill the worker without waiting. `receive` then reports its end."""
        self._process.kill()

    def kill(self) -> int | None:
        """Kill the worker and close its channels. Return its exit code, which is negative for a signal."""
        self.end()
        self._process.join(_KILL_S)
        # Two threads may end the same worker.
        with self._closing:
            if not self._words.closed:
                # Its last activity and its last output may not have been read yet.
                self._listener.read()
                self._words.close()
                with contextlib.suppress(EOFError, OSError, DecodeError):
                    while self._beats.poll():
                        self._heartbeat = msgpack.decode(self._beats.recv_bytes(), type=Heartbeat)
        self._commands.close()
        # The queue's feeder thread holds semaphores. If this program ended while it still runs, `multiprocessing`
        # would report them as leaked. Unread commands may keep the thread from ending, so the wait is limited.
        feeder: threading.Thread | None = getattr(self._commands, "_thread", None)
        if feeder is not None:
            feeder.join(_FEEDER_S)
        return self._process.exitcode


def main(
    commands: Queue[bytes | None],
    events: Connection,
    cache_folder: Path | None = None,
    hooks_folder: Path | None = None,
    beats: Connection | None = None,
    words: Connection | None = None,
) -> None:
    """Run the worker in this process.

    `commands` carries MessagePack frames; None ends them. `cache_folder` holds the prompt cache on disk; None means
    that it is only in memory. `hooks_folder` has the user's own hooks. `beats` gets the heartbeats; None means that
    none are sent.
    `words`: where to send what is logged; None: to standard error.
    """
    with logging_to(words, "worker"):
        _main(commands, events, cache_folder, hooks_folder, beats)


def _main(
    commands: Queue[bytes | None],
    events: Connection,
    cache_folder: Path | None,
    hooks_folder: Path | None,
    beats: Connection | None,
) -> None:
    print_printable_text()
    print_logs("worker: ")
    # Ctrl+C in a terminal reaches the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # This comes first, because it confines only threads that start later.
    confinement = confine(cache_folder, needs_of_hooks(hooks_folder), keep_bytecode)
    threading.Thread(target=end_with_parent, name="parent watch", daemon=True).start()
    pulse = Pulse(None if beats is None else heart(beats))
    pulse.start()
    preload()
    import_transformers()
    # These import MLX, which must happen after `preload`.
    from worker.answers.hook_folder import HookFolder
    from worker.inbox import Inbox, InterruptSignals
    from worker.server import Server
    from worker.watchdog import Watchdog

    inbox = Inbox()
    signals = InterruptSignals(inbox, signal.SIGTERM, patience_s=_ENDING_S)
    threading.Thread(target=_read, args=(commands, inbox), name="commands", daemon=True).start()

    def emit(event: Event) -> None:
        try:
            events.send_bytes(to_msgpack(event))
        except OSError:
            os._exit(0)

    # Modules live as long as the process. Collecting garbage among them takes 50 ms, even in the middle of an answer.
    gc.freeze()
    watchdog = Watchdog(emit, pulse)
    pulse.check = watchdog.check
    hooks = HookFolder(hooks_folder, watchdog, confinement=confinement)
    Server(inbox, emit, cache_folder, hooks, confinement=confinement, pulse=pulse).run()
    logging.shutdown()
    # Exit at once, so that the process has ended with its exit code when the parent sees the end of the pipe.
    os._exit(signals.exit_code)


def heart(beats: Connection) -> Callable[[Heartbeat], None]:
    """Return a function that sends a heartbeat, or drops it if the pipe is full."""
    os.set_blocking(beats.fileno(), False)

    def send(heartbeat: Heartbeat) -> None:
        # If the app has ended, this process ends, too (see `end_with_parent`).
        with contextlib.suppress(OSError):
            beats.send_bytes(msgpack.encode(heartbeat))

    return send


def _read(commands: Queue[bytes | None], inbox: Inbox) -> None:
    from worker.encoding import head_of_msgpack
    from worker.inbox import EndOfInput

    try:
        while (frame := commands.get()) is not None:
            inbox.put_message(frame, command_from_msgpack, head_of_msgpack)
    finally:
        inbox.put(EndOfInput())


def end_with_parent() -> None:
    """Exit when the parent dies. The queue never ends by itself, as this process holds its write end, too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(0)
