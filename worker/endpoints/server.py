"""An OpenAI-compatible server, through OpenAI's own client: its list of models, and streams of events.

Each failure is an `EndpointError` whose sentence names the server. A request is sent again as `patience.py` says, as
long as no byte of a reply has come. The key is only in the client's header.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
import os
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from typing_extensions import override

from worker.endpoints.events import EventReader, Object, excerpt, object_of
from worker.endpoints.patience import MAX_WAIT_S, WAITS_S, Patience, SilenceError, asked_wait_s, is_busy
from worker.errors import EndpointError
from worker.sentence import Sentence

if TYPE_CHECKING:
    import openai

    from worker.protocol import Endpoint

_MAX_MODELS = 10_000
_MAX_NAME_CHARS = 4096
_MAX_REPLY_BYTES = 16 << 20
"""The longest reply that is read, except a stream of events."""
_OF_PACKED_BYTES = {"content-encoding", "content-length"}
"""Headers that are not true of an unpacked reply."""
_CHANGING = frozenset({"created", "permission", "permissions", "status", "last_used_at"})
"""Fields of a list of models that say nothing about a model, or other things at each time."""
_VERSIONS = {
    "vllm": ("/version", "version"),
    "llamacpp": ("/props", "build_info"),
    "sglang": ("/get_server_info", "version"),
}
"""By what a server calls itself in its list of models, where it says its version, and the field with it."""
_VERSION_S = 3.0
_LENGTHS = ("max_model_len", "context_length", "max_context_length", "n_ctx")
"""Fields of a list of models with the length of a model's context, in tokens."""


class Server:
    """One server. `events` may run several times at once."""

    def __init__(self, endpoint: Endpoint) -> None:
        import httpx2
        import openai

        # The client would send these to every server.
        for name in [name for name in os.environ if name.startswith("OPENAI_")]:
            del os.environ[name]
        self.name = endpoint.name or urlsplit(endpoint.url).netloc.rpartition("@")[2]
        self._silence_s, self._stall_s = endpoint.silence_s, min(endpoint.silence_s, endpoint.stall_s)
        self._url = endpoint.url
        self._model = endpoint.model
        self._listed: dict[str, Object] = {}
        """The entries of the list of models, by name."""
        self._software = ""
        self._turn: asyncio.Semaphore | None = None
        key = None if endpoint.key is None else endpoint.key.text
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=endpoint.url,
            max_retries=0,
            timeout=httpx2.Timeout(endpoint.silence_s, connect=endpoint.connect_s),
            # A redirect could send the conversation to another host than the one that the user named.
            http_client=httpx2.AsyncClient(
                follow_redirects=False, transport=_limited_transport(), trust_env=not _is_here(endpoint.url)
            ),
        )
        # `Patience` limits how long a server may be silent.
        self._stream_timeout = httpx2.Timeout(None, connect=endpoint.connect_s)
        # Without a key, send no header for it.
        self._headers: Any = {} if key else {"Authorization": openai.Omit()}

    async def close(self) -> None:
        await self._client.close()

    async def models(self) -> list[str]:
        """Return the names of the server's models, sorted. Raises `EndpointError`."""
        with self._explained():
            async with contextlib.AsyncExitStack() as stack:
                listing = self._client.models.with_streaming_response.list
                response = await self._opened(lambda: stack.enter_async_context(listing(extra_headers=self._headers)))
                self._software = response.headers.get("server", "")[:200]
                found = object_of(await response.read(), self.name)
        listed = found.get("data")
        if not isinstance(listed, list):
            raise EndpointError(
                Sentence(
                    "{server} does not support OpenAI's API: its list of models can't be read. Check the address, "
                    "which usually ends in /v1.",
                    server=self.name,
                )
            )
        self._listed = {
            each["id"]: each for each in listed if isinstance(each, dict) and isinstance(each.get("id"), str)
        }
        if "permissions" in self._entry and self._entry.get("owned_by") == "me":
            # llama-cpp-python gives up the answer that it writes as soon as it is asked for another one.
            self._turn = asyncio.Semaphore(1)
        return sorted(name for name in self._listed if _is_name(name))[:_MAX_MODELS]

    @property
    def _entry(self) -> Object:
        return self._listed.get(self._model, {})

    @property
    def context_length(self) -> int:
        """The length of the model's context in tokens, as the list of models gives it; 0 if it does not."""
        meta = self._entry.get("meta")
        sources = [self._entry, meta if isinstance(meta, dict) else {}]
        found = [source[name] for source in sources for name in _LENGTHS if isinstance(source.get(name), int)]
        return next((length for length in found if 0 < length < 1 << 40), 0)

    async def version(self) -> str:
        """Return a hash of what the server says about itself and the model. `models` was called before."""
        said = {name: value for name, value in self._entry.items() if name not in _CHANGING}
        return hashlib.sha256(
            json.dumps([self._software, await self._own_version(), said], sort_keys=True).encode("utf-8", "replace")
        ).hexdigest()

    async def _own_version(self) -> str:
        """Return the version that the server names; empty if it is of a kind that is not known to name one."""
        owner = self._entry.get("owned_by")
        path, field = _VERSIONS.get(owner, ("", "")) if isinstance(owner, str) else ("", "")
        if not path:
            return ""
        try:
            async with asyncio.timeout(_VERSION_S):
                url = self._url.rstrip("/").removesuffix("/v1") + path
                response = await self._client.get(url, cast_to=str, options={"headers": self._headers})
                value = json.loads(response).get(field)
        except Exception:  # noqa: BLE001 (a server need not have this page, whatever it answers)
            return ""
        return value[:200] if isinstance(value, str) else ""

    async def events(self, body: Object, *, is_trial: bool = False) -> AsyncGenerator[Object]:
        """Yield the events of an answer. Raises `EndpointError`, also if the connection ends before the answer.

        A server that does not stream sends its answer as one event. `is_trial`: send it only once.
        """
        reader = EventReader(self.name)
        has_ended = False
        async with self._turn or contextlib.nullcontext():
            patience = Patience(self._silence_s, self._stall_s)
            try:
                async for event in self._read(body, reader, patience, is_trial=is_trial):
                    has_ended = has_ended or _has_ended(event)
                    yield event
            except EndpointError:
                if not has_ended:
                    raise
        if not (has_ended or reader.is_done):
            raise self._cut(patience)

    async def _read(
        self, body: Object, reader: EventReader, patience: Patience, *, is_trial: bool
    ) -> AsyncGenerator[Object]:
        create = self._client.chat.completions.with_streaming_response.create
        # The body may have fields that only some servers know.
        fields: Any = {"messages": [], "model": "", "extra_body": body, "extra_headers": self._headers}
        async with contextlib.AsyncExitStack() as stack:
            with self._explained(patience):

                async def opened() -> Any:
                    return await patience.wait(
                        stack.enter_async_context(create(**fields, timeout=self._stream_timeout))
                    )

                response = await (opened() if is_trial else self._opened(opened))
                if "event-stream" not in response.headers.get("content-type", ""):
                    yield object_of(await patience.wait(response.read()), self.name)
                    reader.is_done = True
                    return
                parts = response.iter_bytes()
                while not reader.is_done:
                    try:
                        part = await patience.wait(anext(parts))
                    except StopAsyncIteration:
                        break
                    for event in reader.take(part):
                        patience.begin_text()
                        yield event
                for event in reader.finish():
                    yield event

    async def _opened(self, send: Any) -> Any:
        """Send a request, several times if it may help. Return the response. Raises errors of the client."""
        import openai

        for wait_s in (*WAITS_S, None):
            try:
                return await send()
            except (openai.APIStatusError, openai.APIConnectionError) as error:
                wait_s = _wait_s(error, wait_s)
                if wait_s is None:
                    raise
                await asyncio.sleep(wait_s)
        raise AssertionError

    @contextlib.contextmanager
    def _explained(self, patience: Patience | None = None) -> Generator[None]:
        """Turn errors of the client into an `EndpointError`."""
        import httpx2
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            raise self._refusal(error) from None
        except (SilenceError, openai.APITimeoutError, httpx2.ReadTimeout) as error:
            if isinstance(error.__cause__, httpx2.ConnectTimeout):
                raise self._unreachable(error) from None
            raise self._silent(patience) from None
        except openai.APIConnectionError as error:
            raise self._unreachable(error.__cause__ or error) from None
        except (httpx2.TransportError, httpx2.DecodingError):
            raise self._cut(patience) from None

    def _silent(self, patience: Patience | None) -> EndpointError:
        if patience is not None and patience.slept_s:
            return self._slept(patience)
        seconds = self._silence_s if patience is None else patience.waited_s
        return EndpointError(
            Sentence(
                "{server} has sent nothing for {seconds} seconds. The text so far is kept. Check whether the "
                "server still works, then ask again.",
                server=self.name,
                seconds=round(seconds),
            )
        )

    def _cut(self, patience: Patience | None = None) -> EndpointError:
        if patience is not None and patience.slept_s:
            return self._slept(patience)
        return EndpointError(
            Sentence(
                "The connection to {server} was lost before the end of the answer. The text so far is kept. Ask "
                "again when the server can be reached.",
                server=self.name,
            )
        )

    def _slept(self, patience: Patience) -> EndpointError:
        return EndpointError(
            Sentence(
                "This computer slept for {seconds} seconds, and the connection to {server} did not outlast it. "
                "The text so far is kept. Ask again, or continue the answer.",
                server=self.name,
                seconds=round(patience.slept_s),
            )
        )

    def _unreachable(self, why: BaseException) -> EndpointError:
        if isinstance(why, EndpointError):
            return why
        if _is_about_certificate(why):
            return EndpointError(
                Sentence(
                    "The identity of {server} could not be verified, so nothing was sent ({error}). Correct the "
                    "server's certificate, or the address.",
                    server=self.name,
                    error=str(why)[:200],
                )
            )
        return EndpointError(
            Sentence(
                "{server} can't be reached. Your message is kept. Check the address and the network, and whether "
                "the server runs; then ask again.",
                server=self.name,
            )
        )

    def _refusal(self, error: openai.APIStatusError) -> EndpointError:
        server_text = excerpt(_message_in(error.body) or error.response.text)
        match error.status_code:
            case 401 | 403:
                sentence = Sentence(
                    "{server} refused the key. Your message is kept. Enter a valid key in the Models window, then "
                    "ask again.",
                    server=self.name,
                )
            case 404:
                sentence = Sentence(
                    "{server} does not know the model “{model}”, or there is no such API at this address: {text}. "
                    "Choose another model, or correct the address, which usually ends in /v1.",
                    server=self.name,
                    model=self._model,
                    text=server_text,
                )
            case 429:
                sentence = self._too_often(error, server_text)
            case status if 300 <= status < 400:
                sentence = Sentence(
                    "{server} redirects requests to another address. Bough does not follow, because your messages "
                    "go only to the address that you entered. Enter the other address if you trust it.",
                    server=self.name,
                )
            case status if status >= 500:
                sentence = Sentence(
                    "{server} reported an internal error ({status}): {text}. Your message is kept. Ask again later.",
                    server=self.name,
                    status=str(status),
                    text=server_text,
                )
            case status:
                sentence = Sentence(
                    "{server} refused the request ({status}): {text}. Your message is kept. Change the settings "
                    "that it names, then ask again.",
                    server=self.name,
                    status=str(status),
                    text=server_text,
                )
        return EndpointError(sentence, error.status_code)

    def _too_often(self, error: openai.APIStatusError, server_text: str) -> Sentence:
        wait_s = asked_wait_s(error.response.headers)
        if wait_s is not None:
            return Sentence(
                "{server} received too many requests, and accepts the next one in {seconds} seconds: {text}. Your "
                "message is kept.",
                server=self.name,
                seconds=math.ceil(wait_s),
                text=server_text,
            )
        return Sentence(
            "{server} received too many requests, and does not say when it accepts the next one: {text}. Your "
            "message is kept. Ask again in a minute.",
            server=self.name,
            text=server_text,
        )


def _wait_s(error: openai.APIStatusError | openai.APIConnectionError, usual_s: float | None) -> float | None:
    """Return after which time a request should be sent again; None if it should not.

    `usual_s` is the time if the server does not name one; None after the last try.
    """
    import httpx2
    import openai

    if usual_s is None:
        return None
    if isinstance(error, openai.APIStatusError):
        asked_s = asked_wait_s(error.response.headers)
        is_soon = is_busy(error.status_code) and (asked_s is None or asked_s <= MAX_WAIT_S)
        return (usual_s if asked_s is None else asked_s) if is_soon else None
    if isinstance(error.__cause__, httpx2.TimeoutException) and not isinstance(error.__cause__, httpx2.ConnectTimeout):
        # The server may be at work.
        return None
    return None if _is_about_certificate(error) else usual_s


def _is_name(name: str) -> bool:
    """Return whether a request can contain this name of a model.

    JSON may contain lone surrogates, which can't be sent.
    """
    return 0 < len(name) <= _MAX_NAME_CHARS and name.isprintable()


def _has_ended(event: Object) -> bool:
    """Return whether an event says why the answer ended."""
    choices = event.get("choices")
    return isinstance(choices, list) and any(isinstance(each, dict) and each.get("finish_reason") for each in choices)


def _message_in(body: object) -> str:
    """Return the text of an error in any of the usual forms; empty if there is none."""
    while isinstance(body, dict):
        body = body.get("error") or body.get("message") or body.get("detail")
    return body if isinstance(body, str) else ""


def _is_about_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_here(url: str) -> bool:
    """Return whether a server runs on this machine, so that no proxy is needed."""
    return urlsplit(url).hostname in {"localhost", "127.0.0.1", "::1"}


def _limited_transport() -> Any:
    """Return a transport that reads no more than `_MAX_REPLY_BYTES` of a reply, except of a stream of events.

    The limit is for unpacked bytes: a packed reply can be a thousand times shorter.
    """
    import httpx2

    class _LimitedStream(httpx2.AsyncByteStream):
        def __init__(self, response: httpx2.Response) -> None:
            self._response = response

        @override
        async def __aiter__(self) -> AsyncIterator[bytes]:
            num_bytes = 0
            async for part in self._response.aiter_bytes():
                num_bytes += len(part)
                if num_bytes > _MAX_REPLY_BYTES:
                    raise httpx2.RemoteProtocolError("The reply is too long")
                yield part

        @override
        async def aclose(self) -> None:
            await self._response.aclose()

    class _Transport(httpx2.AsyncHTTPTransport):
        @override
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            if "event-stream" in response.headers.get("content-type", ""):
                return response
            headers = [each for each in response.headers.multi_items() if each[0].lower() not in _OF_PACKED_BYTES]
            extensions, stream = response.extensions, _LimitedStream(response)
            return httpx2.Response(response.status_code, headers=headers, stream=stream, extensions=extensions)

    return _Transport(retries=0, socket_options=_keep_alive())


def _keep_alive() -> list[tuple[int, int, int]]:
    """Return options of sockets by which a host that is gone is noticed within a minute, while a silent one is kept."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for names, value in ((("TCP_KEEPIDLE", "TCP_KEEPALIVE"), 30), (("TCP_KEEPINTVL",), 10), (("TCP_KEEPCNT",), 3)):
        found = [getattr(socket, name) for name in names if hasattr(socket, name)]
        options += [(socket.IPPROTO_TCP, option, value) for option in found[:1]]
    return options
