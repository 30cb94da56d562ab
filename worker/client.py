"""A worker seen from the process that starts it: start, send, receive, stop; neither Qt nor MLX."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
from pathlib import Path

from worker import process
from worker.encoding import event_from_msgpack, to_msgpack
from worker.protocol import Command, Event, Shutdown

_FEEDER_S = 0.5


class WorkerExitedError(Exception):
    """The worker's process is gone."""


class WorkerClient:
    """One worker process with channels of its own; a new worker gets a new client.

    `send` may be called from any thread and never blocks on a busy worker. `receive` belongs to one thread.
    """

    def __init__(self, cache_folder: Path | None = None, hooks_folder: Path | None = None) -> None:
        """Start the worker. Returns before it is up; commands may be sent at once.

        `cache_folder`: where it keeps what it has read on disk; None: nowhere. `hooks_folder`: a person's own hooks.
        """
        context = multiprocessing.get_context("spawn")
        self._commands = context.Queue()
        self._events, events = context.Pipe(duplex=False)
        self._process = context.Process(
            target=process.main,
            args=(self._commands, events, cache_folder, hooks_folder),
            name="bough-worker",
            daemon=True,
        )
        # What the worker has not read must not keep this process from ending, whoever forgets to stop it.
        self._commands.cancel_join_thread()
        # Ctrl+C is not its end, even while Python starts there: what is blocked here stays blocked in the child.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        # Ours must go, or a dead worker would never be an end of file.
        events.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def send(self, command: Command) -> None:
        """Hand a command over. One sent to a worker that has died is lost; `receive` tells of its death."""
        frame = to_msgpack(command)
        with contextlib.suppress(ValueError):  # the queue is closed: the worker was killed
            self._commands.put(frame)

    def receive(self) -> Event:
        """Wait for the next event. Raises `WorkerExitedError` once the worker is gone and all it said is read."""
        try:
            return event_from_msgpack(self._events.recv_bytes())
        except (EOFError, OSError):
            raise WorkerExitedError from None

    def poll(self, timeout_s: float) -> bool:
        """Return whether `receive` would return (or raise) within that time."""
        try:
            return self._events.poll(timeout_s)
        except (EOFError, OSError):
            return True

    def stop(self, timeout_s: float = 2.0) -> None:
        """End the worker: by asking, then by force. What it was doing is lost."""
        self.send(Shutdown(request_id="stop"))
        self._process.join(timeout_s)
        self.kill()

    def kill(self) -> int | None:
        """End the worker at once and let go of its channels; return its exit code, negative for a signal."""
        self._process.kill()
        self._process.join()
        self._commands.close()
        # The thread that writes the queue holds its semaphores, too. Were it the last to do so, and cut off by the end
        # of this program, `multiprocessing` would report them as leaked. What nobody read may keep it from ending.
        feeder: threading.Thread | None = getattr(self._commands, "_thread", None)
        if feeder is not None:
            feeder.join(_FEEDER_S)
        return self._process.exitcode
