"""Replies to clients: whole ones, and streams, which end when the client disconnects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec
from starlette.types import Receive, Scope, Send

from app.serving.problems import ProblemError

_log = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()

_BROKEN = "An error in Bough stopped this request; its log has the details. Try again."


class Shape(Protocol):
    """How an API reports problems."""

    def status(self, problem: ProblemError) -> int: ...
    def body(self, problem: ProblemError) -> object: ...
    def event(self, problem: ProblemError) -> bytes:
        """Return the bytes that report a problem in the middle of a stream."""
        ...


class Reply:
    """The reply to one request: a whole one by `whole`, or a stream by `send` and `end`."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False
        self.headers: dict[str, str] = {}
        """Headers to send with the reply, whole or stream."""

    async def whole(self, value: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Send a JSON value."""
        body = _encoder.encode(value)
        await self._begin(status, "application/json", {"content-length": str(len(body)), **(headers or {})})
        await self._send({"type": "http.response.body", "body": body})

    async def send(self, data: bytes) -> None:
        """Send a part of a stream of events; waits while the client does not read."""
        if not self.has_begun:
            await self._begin(200, "text/event-stream; charset=utf-8", {"cache-control": "no-cache"})
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        # Let the event loop run, so that it notices a disconnected client before more is written.
        await asyncio.sleep(0)

    async def end(self) -> None:
        """End a stream."""
        await self._send({"type": "http.response.body", "body": b""})

    async def _begin(self, status: int, content_type: str, headers: dict[str, str]) -> None:
        self.has_begun = True
        pairs = [
            (name.encode(), value.encode())
            for name, value in {"content-type": content_type, **self.headers, **headers}.items()
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})


def event(value: object, name: str = "") -> bytes:
    """Return an event of a stream (Server-Sent Events)."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + _encoder.encode(value) + b"\n\n"


class Events:
    """Events of a stream that are not sent yet."""

    def __init__(self, *, is_kept: bool) -> None:
        """`is_kept`: whether the reply is a stream; otherwise all events are dropped."""
        self._is_kept = is_kept
        self._waiting: list[bytes] = []

    def add(self, value: object, name: str = "") -> None:
        """Add an event."""
        if self._is_kept:
            self._waiting.append(event(value, name))

    def end(self) -> None:
        """Add the mark with which OpenAI's API ends a stream."""
        if self._is_kept:
            self._waiting.append(b"data: [DONE]\n\n")

    def comment(self, text: str) -> None:
        """Add a comment, which clients ignore; it shows proxies that the stream is alive."""
        if self._is_kept:
            self._waiting.append(f": {text}\n\n".encode())

    def taken(self) -> bytes:
        """Return the bytes of all events since the last call."""
        taken = b"".join(self._waiting)
        self._waiting.clear()
        return taken


class Replying:
    """An ASGI application that answers a request, and stops when the client disconnects."""

    def __init__(self, work: Callable[[Reply], Awaitable[None]], shape: Shape) -> None:
        """`work` writes the reply, until the client disconnects. The request's body must have been read."""
        self._work = work
        self._shape = shape

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        reply = Reply(send)
        work = asyncio.ensure_future(self._reply(reply))
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _reply(self, reply: Reply) -> None:
        try:
            await self._work(reply)
        except ProblemError as problem:
            await self._report(reply, problem)
        except RecursionError:
            await self._report(reply, ProblemError("invalid", "The request is nested too deeply. Send a flatter one."))
        except Exception as error:  # noqa: BLE001 (the client waits for an end, whatever the error)
            _log.error("A request failed", exc_info=error)
            await self._report(reply, ProblemError("failed", _BROKEN))

    async def _report(self, reply: Reply, problem: ProblemError) -> None:
        if reply.has_begun:
            await reply.send(self._shape.event(problem))
            await reply.end()
        else:
            await report(reply, self._shape, problem)


async def report(reply: Reply, shape: Shape, problem: ProblemError) -> None:
    """Send a problem as a whole reply."""
    headers = {"retry-after": str(problem.retry_s)} if problem.retry_s else {}
    if problem.kind in {"no_key", "wrong_key"}:
        headers["www-authenticate"] = "Bearer"
    await reply.whole(shape.body(problem), shape.status(problem), headers)


class Refusal:
    """An ASGI application that reports a problem."""

    def __init__(self, shape: Shape, problem: ProblemError) -> None:
        self._shape = shape
        self._problem = problem

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await report(Reply(send), self._shape, self._problem)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
