"""The connection to the worker, as Qt signals. Independent of conversations.

A thread waits for events and passes each to the GUI thread. The death of a worker ends its pipe and is noticed within
milliseconds. Each worker gets fresh channels. The modules that start processes are imported with the first worker,
after the window is painted.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from PySide6.QtCore import QObject, Signal

from worker.protocol import Command, Event, Heartbeat
from worker.sentence import Sentence

_log = logging.getLogger(__name__)


class Client(Protocol):
    """The part of a worker's client that the link uses."""

    @property
    def pid(self) -> int | None: ...
    @property
    def heartbeat(self) -> Heartbeat | None: ...
    @property
    def last_words(self) -> list[str]: ...
    def send(self, command: Command) -> None: ...
    def receive(self) -> Event: ...
    def stop(self, timeout_s: float = ...) -> None: ...
    def end(self) -> None: ...
    def kill(self) -> int | None: ...


class WorkerEnd(NamedTuple):
    """The facts about a worker that ended unexpectedly."""

    exit_code: int
    """Negative means a signal."""
    heartbeat: Heartbeat | None
    """The time of its last heartbeat; None if it ended before the first."""
    last_words: list[str]
    """The last lines that it logged or that libraries printed, without users' texts."""


def _start_worker() -> Client:
    from worker.process import WorkerClient

    return WorkerClient()


def _start_remote() -> Client:
    from worker.endpoints.process import start_client

    return start_client()


class WorkerLink(QObject):
    """Starts one worker at a time, sends commands to it, and emits its events and its end."""

    received = Signal(object)
    """An event of the worker."""
    exited = Signal(int)
    """The worker has ended by itself: its exit code; negative means a signal. All its events were emitted before."""
    _event_received = Signal(object)
    _ended = Signal(object)

    def __init__(
        self, start_client: Callable[[], Client] = _start_worker, start_remote: Callable[[], Client] = _start_remote
    ) -> None:
        """`start_client` starts a process for models of this machine, `start_remote` one for models of servers."""
        super().__init__()
        self._start_client = start_client
        self._start_remote = start_remote
        self.is_remote = False
        """Whether the last process that was started is for models of servers."""
        self.takes_first: Callable[[Event], bool] = lambda _: False
        """Called in the link's thread with each event. If it returns True, the event is not emitted."""
        self.last_end: WorkerEnd | None = None
        """How the last worker ended that ended unexpectedly; None if none did."""
        self._client: Client | None = None
        self._thread: threading.Thread | None = None
        # Only these two signals cross threads, each with one permanent slot. PySide has crashed when a slot was
        # connected or disconnected while events waited in Qt's queue.
        self._event_received.connect(self.received)
        self._ended.connect(self._on_ended)

    @property
    def pid(self) -> int | None:
        """The worker's process id; None if there is no worker."""
        return None if self._client is None else self._client.pid

    @property
    def heartbeat(self) -> Heartbeat | None:
        """The worker's last heartbeat; None if there is no worker, or it has just been started."""
        return None if self._client is None else self._client.heartbeat

    @property
    def is_started(self) -> bool:
        """Whether a worker was started and its end has not been noticed yet."""
        return self._client is not None

    def start(self, *, is_remote: bool = False) -> None:
        """Start a worker, for models of this machine or (`is_remote`) of servers. Raises `OSError`.

        Commands may be sent at once.
        """
        assert self._client is None
        self.is_remote = is_remote
        client = self._client = (self._start_remote if is_remote else self._start_client)()
        _log.info("Model process %d begins", client.pid or 0)
        self._thread = threading.Thread(target=self._run, args=(client,), name="worker link", daemon=True)
        self._thread.start()

    def send(self, command: Command) -> bool:
        """Send a command. Return False if there is no worker. May be called from any thread."""
        client = self._client
        if client is None:
            return False
        client.send(command)
        return True

    def end(self) -> None:
        """Kill the worker. `exited` is emitted later."""
        if self._client is not None:
            self._client.end()

    def stop(self, patience_s: float = 2.0) -> None:
        """Ask the worker to end, and kill it after `patience_s` seconds."""
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
                event = client.receive()
                if not self.takes_first(event):
                    self._event_received.emit(event)
        except WorkerExitedError:
            pass
        finally:
            # The worker is also ended after invalid data, because nothing that it sends can be trusted then.
            self._ended.emit(client)

    def _on_ended(self, client: Client) -> None:
        if client is self._client:
            self._client = None
            exit_code = client.kill() or 0
            if self._thread is not None:
                self._thread.join()
            self.last_end = WorkerEnd(exit_code, client.heartbeat, client.last_words)
            _log.info("Model process %d ended by itself with exit code %d", client.pid or 0, exit_code)
            self.exited.emit(exit_code)


def death_reason(exit_code: int) -> Sentence:
    """Return a phrase that says how a process ended. `exit_code` is negative if a signal ended it."""
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
