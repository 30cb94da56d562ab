"""An OpenAI-compatible server, through OpenAI's own client: its list of models, and streams of events.

Each failure is an `EndpointError` whose sentence names the server. The client tries again after 429, 5xx and refused
connections, as long as no byte of a reply has come. The key is only in the client's header.
"""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from typing_extensions import override

from worker.endpoints.events import EventReader, Object, excerpt, object_of, objects_of
from worker.errors import EndpointError
from worker.sentence import Sentence

if TYPE_CHECKING:
    import openai

    from worker.protocol import Endpoint

_NUM_RETRIES = 2
_MAX_MODELS = 10_000
_MAX_NAME_CHARS = 4096
_MAX_REPLY_BYTES = 16 << 20
"""The longest reply that is read, except a stream of events."""
_OF_PACKED_BYTES = {"content-encoding", "content-length"}
"""Headers that are not true of an unpacked reply."""


class Server:
    """One server. `events` may run several times at once."""

    def __init__(self, endpoint: Endpoint) -> None:
        import httpx2
        import openai

        # The client would send these to every server.
        for name in [name for name in os.environ if name.startswith("OPENAI_")]:
            del os.environ[name]
        self.name = endpoint.name or urlsplit(endpoint.url).netloc.rpartition("@")[2]
        self.silence_s = endpoint.silence_s
        self._model = endpoint.model
        key = None if endpoint.key is None else endpoint.key.text
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=endpoint.url,
            max_retries=_NUM_RETRIES,
            timeout=httpx2.Timeout(endpoint.silence_s, connect=endpoint.connect_s),
            # A redirect could send the conversation to another host than the one that the user named.
            http_client=httpx2.AsyncClient(
                follow_redirects=False, transport=_limited_transport(), trust_env=not _is_here(endpoint.url)
            ),
        )
        # Without a key, send no header for it.
        self._headers: Any = {} if key else {"Authorization": openai.Omit()}

    async def close(self) -> None:
        await self._client.close()

    async def models(self) -> list[str]:
        """Return the names of the server's models, sorted. Raises `EndpointError`."""
        with self._explained():
            async with self._client.models.with_streaming_response.list(extra_headers=self._headers) as response:
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
        names = {each["id"] for each in listed if isinstance(each, dict) and isinstance(each.get("id"), str)}
        return sorted(name for name in names if _is_name(name))[:_MAX_MODELS]

    async def events(self, body: Object) -> AsyncGenerator[Object]:
        """Yield the events of an answer. Raises `EndpointError`, also if the connection ends before the answer.

        A server that does not stream sends its answer as one event.
        """
        reader = EventReader(self.name)
        has_ended = False
        try:
            async for event in self._read(body, reader):
                has_ended = has_ended or _has_ended(event)
                yield event
        except EndpointError:
            if not has_ended:
                raise
        if not (has_ended or reader.is_done):
            raise self._cut()

    async def _read(self, body: Object, reader: EventReader) -> AsyncIterator[Object]:
        with self._explained():
            create = self._client.chat.completions.with_streaming_response.create
            # The body may have fields that only some servers know.
            async with create(messages=[], model="", extra_body=body, extra_headers=self._headers) as response:
                if "event-stream" not in response.headers.get("content-type", ""):
                    yield object_of(await response.read(), self.name)
                    reader.is_done = True
                    return
                async for event in objects_of(response.iter_bytes(), reader):
                    yield event

    @contextlib.contextmanager
    def _explained(self) -> Generator[None]:
        """Turn errors of the client into an `EndpointError`."""
        import httpx2
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            raise self._refusal(error) from None
        except (openai.APITimeoutError, httpx2.ReadTimeout):
            raise EndpointError(
                Sentence(
                    "{server} has sent nothing for {seconds} seconds. The text so far is kept. Check whether the "
                    "server still works, then ask again.",
                    server=self.name,
                    seconds=round(self.silence_s),
                )
            ) from None
        except openai.APIConnectionError as error:
            raise self._unreachable(error.__cause__ or error) from None
        except (httpx2.TransportError, httpx2.DecodingError):
            raise self._cut() from None

    def _cut(self) -> EndpointError:
        return EndpointError(
            Sentence(
                "The connection to {server} was lost before the end of the answer. The text so far is kept. Ask "
                "again when the server can be reached.",
                server=self.name,
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
                sentence = self._too_often(error.response.headers.get("retry-after", ""), server_text)
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
        return EndpointError(sentence)

    def _too_often(self, retry_after: str, server_text: str) -> Sentence:
        if retry_after.isdecimal() and len(retry_after) < 7:
            return Sentence(
                "{server} received too many requests, and accepts the next one in {seconds} seconds: {text}. Your "
                "message is kept.",
                server=self.name,
                seconds=int(retry_after),
                text=server_text,
            )
        return Sentence(
            "{server} received too many requests, and does not say when it accepts the next one: {text}. Your "
            "message is kept. Ask again in a minute.",
            server=self.name,
            text=server_text,
        )


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

    return _Transport(retries=0)
