"""The server process: its Starlette application on uvicorn, its port, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import resource
import signal
import socket
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.serving import anthropic_api, openai_api, openai_shape
from app.serving.access import Access
from app.serving.endpoints import Bodies
from app.serving.messages import Listening, NotListening, ServerSettings
from app.serving.owner_link import OwnerLink
from app.serving.problems import ProblemError
from app.serving.replies import Refusal, Shape
from app.serving.service import Service
from app.serving.turns import Turns

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_GRACE_S = 2
"""How long clients may take to read the end of their streams when the server stops."""
_BACKLOG = 128
"""How many connections may wait to be accepted. asyncio accepts this many before the server sees the first of them."""
_OTHER_FILES = 64 + 3 * _BACKLOG
"""Files that the process opens in addition to its connections: pipes, a database, connections beyond the limit."""


class Opened:
    """The files and sockets that the process opens before it is confined."""

    def __init__(self, settings: ServerSettings) -> None:
        self.turns = Turns(settings.turns)
        self.listener: socket.socket | None = None
        """The listening socket; None if the port can't be used (`why_not` says why)."""
        self.why_not = ""
        try:
            self.listener = _listener(settings)
        except OSError as error:
            self.why_not = _why_not_listening(settings, error)


def run(settings: ServerSettings, opened: Opened, up: Connection, down: Connection) -> None:
    """Serve until the owner asks to stop or is gone."""
    asyncio.run(_run(settings, opened, up, down))


def application(service: Service, settings: ServerSettings) -> ASGIApp:
    """Return the application of all APIs."""
    bodies = Bodies(settings)
    routes: list[Route] = [*openai_api.routes(service, bodies), *anthropic_api.routes(service, bodies)]

    def refuse(scope: Scope, problem: ProblemError) -> ASGIApp:
        return Refusal(_shape(scope), problem)

    async def on_unknown(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        problem = (
            ProblemError("no_such_path", _no_such_path(request.method, request.url.path))
            if error.status_code in {404, 405}
            else ProblemError("invalid", str(error.detail))
        )
        return _Refusing(refuse(request.scope, problem))

    inner = Starlette(routes=routes, exception_handlers={HTTPException: on_unknown})
    return Access(inner, settings, refuse)


class _Refusing(Response):
    """A `Refusal` as the response type that Starlette's handlers must return."""

    def __init__(self, refusal: ASGIApp) -> None:
        super().__init__()
        self._refusal = refusal

    @override
    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        await self._refusal(scope, receive, send)


def _no_such_path(method: str, path: str) -> str:
    """Return a sentence about a path that does not exist, usually because of a wrong base URL."""
    if path.startswith("/v1/v1/"):
        return f"Bough has no {method} {path}. Set a base URL without /v1 for this program."
    if not path.startswith("/v1/"):
        return f"Bough has no {method} {path}. Set a base URL that ends with /v1 for this program."
    return f"Bough has no {method} {path}."


def _shape(scope: Scope) -> Shape:
    """Return the shape of the API to which a request is addressed."""
    is_anthropic = anthropic_api.is_asked(scope["path"], scope["headers"])
    return anthropic_api.SHAPE if is_anthropic else openai_shape.SHAPE


async def _run(settings: ServerSettings, opened: Opened, up: Connection, down: Connection) -> None:
    stopped = asyncio.Event()
    link = OwnerLink(up, down, settings.id_prefix, stopped.set)
    service = Service(link, settings, opened.turns)
    listener = opened.listener
    if listener is None:
        link.send(NotListening(why=opened.why_not))
        await stopped.wait()
        return
    server = _Server(
        uvicorn.Config(
            application(service, settings),
            http=_connection_type(settings),
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=round(settings.head_s),
            timeout_graceful_shutdown=_GRACE_S,
        )
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    host, port = listener.getsockname()[:2]
    link.send(Listening(host=host, port=port, unremembered=opened.turns.problem))
    await asyncio.wait(
        {serving, stopping := asyncio.ensure_future(stopped.wait())}, return_when=asyncio.FIRST_COMPLETED
    )
    service.stop()
    server.should_exit = True
    await serving
    stopping.cancel()


def _listener(settings: ServerSettings) -> socket.socket:
    """Return a socket that is bound to the port. Raises `OSError`."""
    found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    # "localhost" may be both; clients try both.
    family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _why_not_listening(settings: ServerSettings, error: OSError) -> str:
    place = f"port {settings.port} of {settings.host}"
    if error.errno == errno.EADDRINUSE:
        return f"Another program uses {place}. Choose another port with --port, or end that program."
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"This system does not let Bough use {place}. Choose a port above 1023 with --port."
    return f"Bough can't use {place} ({error.strerror or error}). Choose another one with --host and --port."


class _Server(uvicorn.Server):
    """uvicorn's server without its handling of signals, because the owner decides when it ends."""

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _connection_type(settings: ServerSettings) -> type[H11Protocol]:
    """Return a subclass of uvicorn's protocol that limits the number of connections.

    It closes those that send their request headers slowly or do not read the response.
    """
    max_connections = _max_connections(settings)

    class Connection(H11Protocol):
        _head_timer: asyncio.TimerHandle | None = None
        _write_timer: asyncio.TimerHandle | None = None

        @override
        def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            super().connection_made(transport)
            if len(self.connections) > max_connections:
                transport.close()
            else:
                self._head_timer = self.loop.call_later(settings.head_s, transport.close)

        @override
        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._end_timer()
            elif self._head_timer is None:
                # The beginning of another head on the same connection.
                self._head_timer = self.loop.call_later(settings.head_s, self.transport.close)

        @override
        def pause_writing(self) -> None:
            super().pause_writing()
            # `close` would wait for the client to read the rest.
            self._write_timer = self.loop.call_later(settings.write_s, self.transport.abort)

        @override
        def resume_writing(self) -> None:
            self._end_write_timer()
            super().resume_writing()

        @override
        def connection_lost(self, exc: Exception | None) -> None:
            self._end_timer()
            self._end_write_timer()
            super().connection_lost(exc)

        def _end_timer(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

        def _end_write_timer(self) -> None:
            if self._write_timer is not None:
                self._write_timer.cancel()
                self._write_timer = None

    return Connection


def _max_connections(settings: ServerSettings) -> int:
    """Raise this process's limit of open files, if the system allows it. Return how many connections it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.max_connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            soft = allowed
    return (
        settings.max_connections
        if soft == resource.RLIM_INFINITY
        else max(1, min(settings.max_connections, soft - _OTHER_FILES))
    )
