"""Reads the requests of clients, and passes them to the methods that answer them. Used by all APIs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Literal, TypeAlias, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from app.serving.access import too_large
from app.serving.messages import Client, ServerSettings
from app.serving.problems import ProblemError, worded
from app.serving.replies import Reply, Replying, Shape
from worker.encoding import place_of_invalid_text

_B = TypeVar("_B")

Method: TypeAlias = Callable[[Request, bytes, Reply], Awaitable[None]]
"""Answers a request: called with the request, its body and the reply to write."""


class Endpoint:
    """An ASGI application that answers with a method, which is cancelled when the client disconnects."""

    def __init__(self, method: Method, shape: Shape, bodies: Bodies) -> None:
        self._method = method
        self._shape = shape
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        # The body is read first. After the body, the client's next message is that it has disconnected.
        async with self._bodies.read(request) as data:

            async def work(reply: Reply) -> None:
                if isinstance(data, ProblemError):
                    raise data
                await self._method(request, data, reply)

            await Replying(work, self._shape)(scope, receive, send)


class Bodies:
    """Reads request bodies, and limits the size of each and their total size."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._num_bytes = 0
        """The size of all bodies of requests that are being answered."""

    @contextlib.asynccontextmanager
    async def read(self, request: Request) -> AsyncGenerator[bytes | ProblemError]:
        """Yield a request's body, or the problem if it is too large or slow. Its size counts until the context ends."""
        parts: list[bytes] = []
        try:
            yield await self._read(request, parts)
        finally:
            self._num_bytes -= sum(map(len, parts))

    async def _read(self, request: Request, parts: list[bytes]) -> bytes | ProblemError:
        settings = self._settings
        num_bytes = 0
        try:
            async with asyncio.timeout(settings.body_s):
                async for part in request.stream():
                    num_bytes += len(part)
                    if num_bytes > settings.max_body_bytes:
                        return too_large(settings.max_body_bytes)
                    if self._num_bytes + len(part) > settings.max_bodies_bytes:
                        why = "Bough answers other large requests now. Try again in a moment."
                        return ProblemError("unavailable", why, retry_s=1)
                    self._num_bytes += len(part)
                    parts.append(part)
        except TimeoutError:
            return ProblemError("too_slow", f"The request did not come within {settings.body_s:.0f} seconds.")
        except ClientDisconnect:
            return ProblemError("invalid", "The request ended early.")
        return b"".join(parts)


def decoded(data: bytes, kind: type[_B]) -> _B:
    """Decode a request's body. Raises `ProblemError`, which names the field at fault."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        text, param = worded(error)
        raise ProblemError("invalid", text, param=param) from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        place = place_of_invalid_text(data)
        if place is not None:
            path = place.removeprefix("$.")
            why = f"The text at `{path}` holds a lone surrogate or bytes that are no UTF-8. Correct it."
            raise ProblemError("invalid", why, param=path) from None
        raise ProblemError("invalid", f"The request's body is not valid JSON ({error}).") from None


def client_of(request: Request, api: Literal["openai", "anthropic"]) -> Client:
    """Return the client that sent a request."""
    address = "" if request.client is None else request.client.host
    return Client(program=request.headers.get("user-agent", "")[:200], address=address, api=api)
