"""The server's side of the pipes to its owner, for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from msgspec import MsgspecError

from app.serving.frames import FrameReader, framed
from app.serving.messages import Alive, Down, ModelStatus, Ping, Stop, Up, down_from, encoded
from app.serving.problems import ProblemError
from worker.protocol import Failed

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_log = logging.getLogger(__name__)


class OwnerLink:
    """Sends commands to the owner, and passes each event to the request that waits for it.

    No method waits, so neither a full pipe nor an incomplete message blocks other requests.
    """

    def __init__(self, up: Connection, down: Connection, prefix: str, on_stop: Callable[[], None]) -> None:
        """`on_stop` is called when the owner asks the server to stop, and when the owner is gone."""
        # Keep references to the connections, because they are closed when they are garbage-collected.
        self._pipes = up, down
        self._up, self._down = up.fileno(), down.fileno()
        self._loop = asyncio.get_running_loop()
        self._ids = (f"{prefix}{number}" for number in itertools.count(1))
        self._on_stop = on_stop
        self._is_stopping: str | None = None
        """Why no more questions are sent; None while they are."""
        self._inboxes: dict[str, asyncio.Queue[Down]] = {}
        self._unsent: deque[memoryview] = deque()
        self._reader = FrameReader(self._down)
        self.status: ModelStatus | None = None
        """The owner's model; None before the owner's first report."""
        for descriptor in (self._up, self._down):
            os.set_blocking(descriptor, False)
        self._loop.add_reader(self._down, self._read)

    def new_id(self) -> str:
        return next(self._ids)

    @contextlib.contextmanager
    def asked(self, question: Up, request_id: str) -> Generator[asyncio.Queue[Down]]:
        """Send a question. Return a queue that gets all replies to it, until the context ends.

        Raises `ProblemError`.
        """
        if self._is_stopping is not None:
            raise ProblemError("unavailable", self._is_stopping)
        inbox = self._inboxes[request_id] = asyncio.Queue()
        try:
            self.send(question)
            yield inbox
        except OverflowError:
            raise ProblemError("invalid", "A number in the request is too large. Send a smaller one.") from None
        finally:
            del self._inboxes[request_id]

    def stop(self, why: str) -> None:
        """Fail all questions, also later ones."""
        self._is_stopping = why
        for request_id, inbox in self._inboxes.items():
            inbox.put_nowait(Failed(request_id=request_id, kind="cancelled", message=why))

    def send(self, message: Up) -> None:
        """Send a message. It is lost if the owner is gone. Raises `OverflowError` for a number of more than 64 bits."""
        self._unsent.append(memoryview(framed(encoded(message))))
        if len(self._unsent) == 1:
            self._write()
            if self._unsent:
                self._loop.add_writer(self._up, self._write)

    def _take(self, message: Down) -> None:
        match message:
            case ModelStatus():
                self.status = message
            case Ping():
                self.send(Alive())
            case Stop():
                self._on_stop()
            case _:
                inbox = self._inboxes.get(message.request_id) if isinstance(message.request_id, str) else None
                if inbox is not None:
                    inbox.put_nowait(message)

    def _read(self) -> None:
        try:
            self._reader.read()
            for message in self._reader.messages():
                self._take(down_from(message))
        except BlockingIOError:
            return
        except MsgspecError as error:
            _log.error("The owner sent an invalid message: %s", error)
        except (EOFError, OSError):
            self._loop.remove_reader(self._down)
            self._on_stop()

    def _write(self) -> None:
        """Write as many bytes as the pipe takes now."""
        try:
            while self._unsent:
                num_bytes = os.write(self._up, self._unsent[0])
                if num_bytes < len(self._unsent[0]):
                    self._unsent[0] = self._unsent[0][num_bytes:]
                else:
                    self._unsent.popleft()
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()
        self._loop.remove_writer(self._up)
