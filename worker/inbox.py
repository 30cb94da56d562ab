"""The inbox: commands and signals on their way to the server. Its size is limited, and `put` never waits.

One thread adds messages, another removes them.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from worker.encoding import MAX_MESSAGE_BYTES, Head, too_long
from worker.protocol import Command, Failed, RequestId

_MAX_HELD_BYTES = MAX_MESSAGE_BYTES
"""Beyond this, messages are refused until commands have ended. If no command is held, any message is accepted."""

_EXTRA_BYTES = 2048
"""A command takes about this much more memory than its message."""

_URGENT = frozenset({"cancel", "shutdown"})


class EndOfInput:
    """No more commands will come: finish all running and waiting requests, then end."""


class Interrupt:
    """A signal to end: cancel all running and waiting requests, then end."""


class Overload(NamedTuple):
    """A command that was refused because too many wait. It must still be answered."""

    request_id: RequestId | None


Incoming: TypeAlias = Command | Failed | Overload | EndOfInput | Interrupt
"""An item from a transport. An invalid command comes as the event that answers it."""


class Inbox:
    """A queue from the thread that reads commands to the one that runs them."""

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[Incoming] = queue.SimpleQueue()
        self._sizes: dict[int, int] = {}
        """The size of each command that has not ended, by its `id`."""
        # Only one thread writes each of these numbers, so they need no lock. A signal handler may call `put`.
        self._num_bytes_taken = 0
        self._num_bytes_released = 0

    def put(self, incoming: Incoming) -> None:
        """Add an item. Never waits; a signal handler may call this method."""
        self._items.put(incoming)

    def put_message(
        self, message: bytes, command_of: Callable[[bytes], Command | Failed], head_of: Callable[[bytes], Head]
    ) -> None:
        """Decode and add a message, or refuse it if the inbox is full. `cancel` and `shutdown` are never refused."""
        num_bytes = len(message) + _EXTRA_BYTES
        num_held = self._num_bytes_taken - self._num_bytes_released
        if len(message) > MAX_MESSAGE_BYTES:
            self.put(too_long(head_of(message).request_id))
            return
        if num_held and num_held + num_bytes > _MAX_HELD_BYTES:
            head = head_of(message)
            if head.type not in _URGENT:
                self.put(Overload(head.request_id))
                return
        command = command_of(message)
        if not isinstance(command, Failed):
            self._sizes[id(command)] = num_bytes
            self._num_bytes_taken += num_bytes
        self.put(command)

    def get(self, timeout_s: float | None = None) -> Incoming:
        """Wait for the next item. Raises `queue.Empty` after `timeout_s`; None means no limit."""
        return self._items.get(timeout=timeout_s)

    def __len__(self) -> int:
        return self._items.qsize()

    def release(self, command: Command) -> None:
        """Note that a command has ended, so that the inbox can hold others."""
        self._num_bytes_released += self._sizes.pop(id(command), 0)


class InterruptSignals:
    """Signals that end the worker. The first one cancels all requests, a second one ends the process at once."""

    def __init__(self, inbox: Inbox, *numbers: signal.Signals, patience_s: float) -> None:
        """Handle these signals. `patience_s` after a signal the process ends, even if nobody reads its last events."""
        self._inbox = inbox
        self._patience_s = patience_s
        self.exit_code = 0
        """The exit code of the process: 128 plus the number of the signal, or 0 if none came."""
        for number in numbers:
            signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, _: object) -> None:
        self.exit_code = 128 + number
        signal.signal(number, signal.SIG_DFL)
        self._inbox.put(Interrupt())
        timer = threading.Timer(self._patience_s, os._exit, (self.exit_code,))
        timer.daemon = True
        timer.start()
