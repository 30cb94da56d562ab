"""The one worker at a time that the app talks to, as Qt signals; it knows no conversation.

A thread waits for events and hands each to the GUI thread. A worker that dies is noticed by the end of its pipe,
within milliseconds; a fresh one, with fresh channels, takes its place. What starts processes is imported with the first
one: the window is painted before that.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from worker.protocol import Command, Event
from worker.sentence import Sentence


class Client(Protocol):
    """What the link needs of a worker's client."""

    @property
    def pid(self) -> int | None: ...
    def send(self, command: Command) -> None: ...
    def receive(self) -> Event: ...
    def stop(self, timeout_s: float = ...) -> None: ...
    def kill(self) -> int | None: ...


def _start_worker() -> Client:
    from worker.process import WorkerClient

    return WorkerClient()


class WorkerLink(QObject):
    """Starts a worker, sends to it, tells what it says, and that it has gone."""

    received = Signal(object)
    """An event of the worker."""
    exited = Signal(int)
    """The worker is gone without being asked to; its exit code (negative: a signal). All it said was told before."""
    _said = Signal(object)
    _ended = Signal(object)

    def __init__(self, start_client: Callable[[], Client] = _start_worker) -> None:
        super().__init__()
        self._start_client = start_client
        self._client: Client | None = None
        self._thread: threading.Thread | None = None
        # These alone cross the threads, each with one slot for good: a slot that others connect and disconnect
        # while events wait in Qt's queue has crashed PySide.
        self._said.connect(self.received)
        self._ended.connect(self._on_ended)

    @property
    def pid(self) -> int | None:
        """The worker's process, None if there is none."""
        return None if self._client is None else self._client.pid

    @property
    def is_started(self) -> bool:
        """Whether there is a worker, as far as is known here."""
        return self._client is not None

    def start(self) -> None:
        """Start a worker; commands may be sent at once. Raises `OSError`."""
        assert self._client is None
        client = self._client = self._start_client()
        self._thread = threading.Thread(target=self._run, args=(client,), name="worker link", daemon=True)
        self._thread.start()

    def send(self, command: Command) -> bool:
        """Send a command; return whether there is a worker to send it to."""
        if self._client is None:
            return False
        self._client.send(command)
        return True

    def stop(self, patience_s: float = 2.0) -> None:
        """Ask the worker to end and wait for it; end it by force when that takes longer than `patience_s`."""
        client, self._client = self._client, None
        if client is not None:
            client.stop(patience_s)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self, client: Client) -> None:
        from worker.process import WorkerExitedError

        try:
            while True:
                self._said.emit(client.receive())
        except WorkerExitedError:
            pass
        finally:
            # Also where it said what is no event: then nothing it says can be trusted any more.
            self._ended.emit(client)

    def _on_ended(self, client: Client) -> None:
        if client is self._client:
            self._client = None
            exit_code = client.kill()
            if self._thread is not None:
                self._thread.join()
            self.exited.emit(exit_code or 0)


def death_reason(exit_code: int) -> Sentence:
    """Return a phrase on how a process ended, from its exit code (negative: a signal)."""
    if exit_code >= 0:
        return Sentence("exit code {code}", code=str(exit_code))
    if exit_code == -signal.SIGALRM:
        return Sentence("signal SIGALRM: a hook did not return, see the terminal")
    if exit_code == -signal.SIGKILL:
        return Sentence("signal SIGKILL, often because memory ran out")
    try:
        return Sentence("signal {signal}", signal=signal.Signals(-exit_code).name)
    except ValueError:
        return Sentence("signal {signal}", signal=str(-exit_code))
