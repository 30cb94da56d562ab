"""The server's side of the pipes to its owner, for asyncio."""

from __future__ import annotations

import asyncio
import itertools
import logging
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import MsgspecError

from app.serving.messages import Down, ModelStatus, Stop, Up, down_from, encoded

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_log = logging.getLogger(__name__)


class OwnerLink:
    """Sends commands to the owner, and hands each event to the request that waits for it.

    Two threads use the pipes, so neither a full pipe nor a half-read message holds up other requests.
    """

    def __init__(self, up: Connection, down: Connection, prefix: str, on_stop: Callable[[], None]) -> None:
        """`on_stop` is called in the event loop when the owner asks the server to stop, and when the owner is gone."""
        self._up = up
        self._down = down
        self._loop = asyncio.get_running_loop()
        self._ids = (f"{prefix}{number}" for number in itertools.count(1))
        self._on_stop = on_stop
        self._inboxes: dict[str, asyncio.Queue[Down]] = {}
        self._frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.status: ModelStatus | None = None
        """The owner's model; None before the owner's first report."""
        threading.Thread(target=self._read, name="owner's messages", daemon=True).start()
        threading.Thread(target=self._write, name="messages to the owner", daemon=True).start()

    def new_id(self) -> str:
        return next(self._ids)

    def send(self, message: Up) -> None:
        """Send a message. It is lost if the owner is gone."""
        self._frames.put(encoded(message))

    def open(self, request_id: str) -> asyncio.Queue[Down]:
        """Return the queue that gets all replies to a request, until `close`."""
        inbox = self._inboxes[request_id] = asyncio.Queue()
        return inbox

    def close(self, request_id: str) -> None:
        """Let no more replies to a request come."""
        self._inboxes.pop(request_id, None)

    def _take(self, message: Down) -> None:
        match message:
            case ModelStatus():
                self.status = message
            case Stop():
                self._on_stop()
            case _:
                inbox = self._inboxes.get(message.request_id) if isinstance(message.request_id, str) else None
                if inbox is not None:
                    inbox.put_nowait(message)

    def _read(self) -> None:
        try:
            while True:
                self._loop.call_soon_threadsafe(self._take, down_from(self._down.recv_bytes()))
        except (EOFError, OSError):
            pass
        except MsgspecError as error:
            _log.error("The owner sent an invalid message: %s", error)
        except RuntimeError:
            return  # The loop is closed: the process is ending.
        self._loop.call_soon_threadsafe(self._on_stop)

    def _write(self) -> None:
        try:
            while True:
                self._up.send_bytes(self._frames.get())
        except OSError:
            pass
