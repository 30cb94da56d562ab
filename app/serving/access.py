"""Decides which requests are answered, by their Host and Origin headers, their key, their size and their number."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.serving.messages import ServerSettings, digest
from app.serving.problems import ProblemError

_METHODS = "GET, POST, OPTIONS"
_PREFLIGHT_S = "600"
_QUIET_S = 2.0
"""A refused client that sends nothing for this long is disconnected."""


class Access:
    """An ASGI middleware that passes only allowed requests to `inner`."""

    def __init__(
        self, inner: ASGIApp, settings: ServerSettings, refuse: Callable[[Scope, ProblemError], ASGIApp]
    ) -> None:
        """`refuse` returns the response with which an API reports a problem."""
        self._inner = inner
        self._settings = settings
        self._refuse = refuse
        self._num_running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        try:
            self._check_host(headers)
            self._check_origin(origin)
            if origin is not None:
                send = _with_headers(send, {"access-control-allow-origin": origin, "vary": "Origin"})
            if scope["method"] == "OPTIONS":
                await _preflight(headers, send)
                return
            self._check_key(headers)
            self._check_size(headers)
            self._check_number()
        except ProblemError as problem:
            send = _with_headers(send, {"connection": "close"})
            if headers.get("expect", "").lower() != "100-continue":
                # Otherwise the client sends its body only if the request is accepted.
                send = self._reading_the_rest(receive, send)
            await self._refuse(scope, problem)(scope, receive, send)
            return
        self._num_running += 1
        try:
            await self._inner(scope, receive, send)
        finally:
            self._num_running -= 1

    def _reading_the_rest(self, receive: Receive, send: Send) -> Send:
        """Return a `send` that drops the rest of the request before the response ends, which closes the connection.

        Many clients read the response only after they have sent everything. If the connection closed before that, they
        would report a lost connection instead of the problem.
        """

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                await send({**message, "more_body": True})
                await self._drop_rest(receive)
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        return sending

    async def _drop_rest(self, receive: Receive) -> None:
        """Receive the rest of a request, but no more than a limit, and only as long as it keeps coming."""
        num_left = self._settings.max_dropped_bytes
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.body_s):
                while num_left > 0:
                    async with asyncio.timeout(_QUIET_S):
                        message = await receive()
                    if not message.get("more_body", False):
                        return
                    num_left -= len(message["body"])

    def _check_host(self, headers: Headers) -> None:
        """Refuse host names that a foreign web page could point to this machine. Numeric addresses are allowed."""
        if len(headers.getlist("host")) > 1:
            raise ProblemError("invalid", "The request names several hosts. Send one Host header.")
        host = _host_of(headers.get("host", ""))
        if host in {"localhost", self._settings.host.lower(), *map(str.lower, self._settings.allowed_hosts)}:
            return
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            pass
        else:
            if address.is_loopback or not _is_loopback(self._settings.host):
                return
        raise ProblemError(
            "forbidden",
            "Bough does not serve requests to this host name. `bough serve --allow-host` allows it.",
        )

    def _check_origin(self, origin: str | None) -> None:
        allowed = self._settings.allowed_origins
        if origin is not None and "*" not in allowed and origin not in allowed:
            raise ProblemError(
                "forbidden",
                "Bough does not serve requests of this web page. `bough serve --allow-origin` allows it.",
            )

    def _check_key(self, headers: Headers) -> None:
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        given = [headers.get("x-api-key", ""), bearer.strip() if scheme.lower() == "bearer" else ""]
        if not any(given):
            raise ProblemError("no_key", "This request has no key. Send the one that Bough shows as the API key.")
        # Both keys are compared, each in constant time.
        matches = [hmac.compare_digest(digest(key), self._settings.key_digest) for key in given]
        if not any(matches):
            raise ProblemError("wrong_key", "This is not the key that Bough shows. Set that one as the API key.")

    def _check_number(self) -> None:
        limit = self._settings.max_requests
        if self._num_running >= limit:
            raise ProblemError("too_many", f"Bough answers {limit} requests at once. Try again in a moment.", retry_s=1)

    def _check_size(self, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 15 or int(length) > self._settings.max_body_bytes:
            raise too_large(self._settings.max_body_bytes)


def too_large(limit_bytes: int) -> ProblemError:
    return ProblemError("too_large", f"The request has more than {limit_bytes >> 20} MiB. Send a shorter one.")


def _host_of(header: str) -> str:
    """Return the name or address in a Host header, without its port."""
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _with_headers(send: Send, added: Mapping[str, str]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            pairs: list[Any] = list(message.get("headers", ()))
            pairs += [(name.encode(), value.encode("latin-1")) for name, value in added.items()]
            message = {**message, "headers": pairs}
        await send(message)

    return sending


async def _preflight(headers: Headers, send: Send) -> None:
    """Answer a browser that asks whether a page may send a request."""
    allowed = [
        (b"access-control-allow-methods", _METHODS.encode()),
        (b"access-control-allow-headers", headers.get("access-control-request-headers", "*").encode("latin-1")),
        (b"access-control-max-age", _PREFLIGHT_S.encode()),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": allowed})
    await send({"type": "http.response.body", "body": b""})
