"""A real HTTP server that speaks the API of OpenAI-compatible servers, with scripted answers, and faults on demand.

An answer is a list of events. A `Fault` changes the events, or how they become bytes, or how the bytes are sent, so
that faults of different kinds can be combined. `FAULTS` names many of them.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import select
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from typing_extensions import override

from tests.faulty_server import FaultyServer, Listener, SilentHandler

Json = dict[str, Any]
Event = Json | str | bytes
"""An event's JSON; or its data as text; or bytes that are sent as they are."""

_BLOCK = 1 << 16


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, whose arguments are JSON in text."""

    name: str = "weather"
    arguments: str = '{"city": "Köln", "days": 3}'
    id: str = "call_1"


@dataclass(frozen=True)
class Script:
    """The answer of a model to every question. Each piece is a token."""

    pieces: Sequence[str] = ("Füße", " laufen", ",\n", "世界", " 👩‍👩‍👧", " ist", " groß", ".")
    reasoning: Sequence[str] = ()
    reasoning_in: Literal["reasoning_content", "reasoning", "text"] = "reasoning_content"
    """The field with the reasoning. "text": it stands between `<think>` and `</think>` before the answer."""
    tool_calls: Sequence[ToolCall] = ()
    given_answer: Literal["anew", "rest", "echo", "refused"] = "anew"
    """How a conversation that ends with an answer is treated.

    `anew`: the model writes a further answer; `rest`: it writes what follows; `echo`: it repeats the given text before
    that; `refused`: status 400.
    """
    keeps_end: bool = True
    """Whether spaces and line ends at the end of the given text count. Otherwise they are left out, as by templates."""
    refuses_fields: frozenset[str] = frozenset()
    """Fields of a request that are refused with status 400."""
    counts: bool = False
    """Whether a given text of numbers is continued by numbers, whatever the pieces are."""
    continue_field: str = "continue_final_message"
    """The field of the request without which `rest` and `echo` become `anew`; "" if none is needed."""
    has_logprobs: bool = True
    reports_cached: bool = True
    context_length: int | None = 4096
    """A field of the list of models, as in vLLM."""

    def tokens(self, choice: int, given: str) -> list[str]:
        """Return the pieces of one of `n` answers, where `given` is the beginning that the request gives."""
        pieces = [*self.pieces, *([f" ({choice})"] if choice else [])]
        if self.reasoning and self.reasoning_in == "text":
            pieces = ["<think>", *self.reasoning, "</think>", *pieces]
        if self.given_answer not in {"rest", "echo"} or not given:
            return pieces
        given = given if self.keeps_end else given.rstrip()
        if self.counts and given.startswith("1"):
            return ["7"] if given.endswith("\n") else [" 7"]
        # A model that counts goes on as the given numbers stand, in one line or one below the other.
        text = "".join(pieces).replace(" ", "\n") if "\n" in given else "".join(pieces)
        rest = text.removeprefix(given)
        return [*([given] if self.given_answer == "echo" else []), *_split_text(rest)]


def _split_text(text: str) -> list[str]:
    return [text[at : at + 4] for at in range(0, len(text), 4)]


@dataclass(frozen=True)
class Reply:
    """A reply that is no answer of a model."""

    status: int = 200
    body: bytes | Callable[[], Iterator[bytes]] = b""
    """Bytes, or a function that returns pieces of them, perhaps without an end."""
    headers: Mapping[str, str] = field(default_factory=dict)


def error(status: int, message: str, *, code: str | None = None, **headers: str) -> Reply:
    """Return an error in the shape of OpenAI's API. A name like `retry_after` is the header Retry-After."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
    return json_reply(body, status, **headers)


def json_reply(value: object, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-").title(): text for name, text in headers.items()}
    return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json", **named})


def redirect(url: str, status: int = 307) -> Reply:
    return Reply(status, b"", {"Location": url})


@dataclass(frozen=True)
class Fault:
    """All that is unusual about one reply. The default values change nothing."""

    reply: Reply | None = None
    """A reply that is sent instead of an answer."""
    change: Callable[[Sequence[Event]], Iterable[Event]] = list
    """Changes the events of a stream; what it returns may have no end."""
    ignores_stop: bool = False
    """Whether the text continues after the stop strings of the request."""
    ignores_stream: bool = False
    """Whether the reply is a single JSON value although a stream was requested."""
    line_end: Literal["\n", "\r\n", "\r"] = "\n"
    is_ascii: bool = False
    """Whether JSON contains escapes instead of characters beyond ASCII."""
    space: str = " "
    """The text between "data:" and the data."""
    comment: str | None = None
    """A line that stands before each event."""
    split: Callable[[Iterator[bytes]], Iterable[bytes]] = iter
    """Turns events in bytes to the pieces that are sent, each in a packet and in an HTTP chunk of its own."""
    framing: Literal["chunks", "length", "close"] = "chunks"
    """How the client learns where the body ends: by HTTP chunks, by its length, or by the end of the connection."""
    is_packed: bool = False
    """Whether the body is compressed with gzip."""
    stalls_before_headers: bool = False
    end: Literal["whole", "cut", "reset", "stall"] = "whole"
    """`cut`: the connection ends; `reset`: it ends with an error; `stall`: nothing more comes."""
    after_bytes: int = 0
    """How many bytes of the body are sent before that; a negative number counts from its end."""


class Received:
    """A request that the server received, and how its reply ended."""

    def __init__(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body
        self.events: list[Event] = []
        """The events of the reply that were sent, or begun."""
        self.sent = bytearray()
        """The first MiB of the reply's body, as it was sent."""
        self.num_sent = 0
        """The bytes of the reply's body that were sent."""
        self.ended: Literal["", "whole", "cut", "by client", "by server"] = ""
        """`by client`: the client closed the connection before the reply's end. `by server`: the test ended."""
        self.ended_at: float | None = None
        """When that happened, as `time.monotonic` counts."""
        self.stalled = threading.Event()
        self.over = threading.Event()
        self._wake, self._woken = socket.socketpair()

    @property
    def json(self) -> Json:
        return json.loads(self.body)

    def text(self, choice: int = 0) -> str:
        """Return the text of the answer in the events that were sent."""
        return "".join(text_of(event, choice) for event in self.events if isinstance(event, dict))

    def go_on(self) -> None:
        """End a stall: the rest of the reply follows."""
        self._wake.send(b"\0")

    def end(self, how: Literal["whole", "cut", "by client", "by server"]) -> None:
        self.ended, self.ended_at = how, time.monotonic()
        for end in (self._wake, self._woken):
            end.close()
        self.over.set()

    def wait(self, connection: socket.socket) -> None:
        """Wait until `go_on`. Raise an OSError if the client closes the connection before."""
        self.stalled.set()
        while True:
            ready, _, _ = select.select([connection, self._woken], [], [])
            if connection in ready and is_closed(connection):
                raise ConnectionAbortedError
            if self._woken in ready:
                self._woken.recv(1)
                return


def is_closed(connection: socket.socket) -> bool:
    """Return whether the other side closed a connection."""
    if not select.select([connection], [], [], 0)[0]:
        return False
    try:
        return isinstance(connection, ssl.SSLSocket) or not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


def text_of(chunk: Mapping[str, Any], choice: int = 0) -> str:
    """Return the text that a chunk of a stream adds to one of the answers."""
    for each in chunk.get("choices") or ():
        if each.get("index", 0) == choice:
            return each["text"] if "text" in each else (each.get("delta") or {}).get("content") or ""
    return ""


class EndpointServer(FaultyServer[Received, Fault]):
    """A server with models whose answers are scripts. Use it in a `with` statement."""

    def __init__(
        self,
        models: Mapping[str, Script] | None = None,
        *,
        key: str | None = None,
        host: Literal["127.0.0.1", "::1"] = "127.0.0.1",
        certificate: Path | None = None,
    ) -> None:
        """`key`: None accepts every request. `certificate`: a file with a key and a certificate, for TLS."""
        super().__init__()
        self.models: dict[str, Script] = dict({"script": Script()} if models is None else models)
        self.key = key
        self._prompts: dict[str, list[str]] = {}
        """Earlier prompts of each model, whose common beginnings count as cached."""
        self._listener = _Listener(self, host)
        self._scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._listener.socket = context.wrap_socket(
                self._listener.socket, server_side=True, do_handshake_on_connect=False
            )
            self._scheme = "https"

    def __enter__(self) -> Self:
        threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown()
        self._listener.server_close()
        self._listener.cut_all()

    @property
    def url(self) -> str:
        """The address that a user would enter."""
        return f"{self._scheme}://{self.host}:{self.port}/v1"

    @property
    def host(self) -> str:
        host = str(self._listener.server_address[0])
        return f"[{host}]" if ":" in host else host

    @property
    def port(self) -> int:
        return self._listener.server_port

    def reply(self, request: Received, fault: Fault) -> Reply | list[Event]:
        """Return the reply to a request, or the events of a stream."""
        path = urlsplit(request.path).path
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return error(401, "Incorrect API key provided.", code="invalid_api_key")
        if (request.method, path) == ("GET", "/v1/models"):
            return json_reply({"object": "list", "data": [_listed(*model) for model in self.models.items()]})
        if request.method == "POST" and path in {"/v1/chat/completions", "/v1/completions"}:
            return self._answer(request, fault, is_chat="chat" in path)
        return error(404, f"There is nothing at {path}.")

    def _answer(self, request: Received, fault: Fault, *, is_chat: bool) -> Reply | list[Event]:
        try:
            asked = request.json
        except ValueError:
            return error(400, "The body is no JSON.")
        script = self.models.get(asked.get("model", ""))
        if script is None:
            return error(404, f"The model {asked.get('model')!r} does not exist.", code="model_not_found")
        if unknown := sorted(script.refuses_fields & asked.keys()):
            return error(400, f"The field {unknown[0]} is not known.")
        given = _given_answer(asked) if is_chat else ""
        if given and script.given_answer == "refused":
            return error(400, "The last message must be from the user.")
        if script.continue_field and not asked.get(script.continue_field):
            given = ""
        answer = _Answer(script, asked, given, self._usage(script, asked), fault.ignores_stop, is_chat)
        return answer.events() if asked.get("stream") and not fault.ignores_stream else json_reply(answer.whole())

    def _usage(self, script: Script, asked: Json) -> Json:
        """Return the usage without the answer's part. A token of the prompt is four characters of its JSON."""
        prompt = json.dumps(asked.get("messages", asked.get("prompt")), ensure_ascii=False)
        with self._lock:
            earlier = self._prompts.setdefault(asked["model"], [])
            cached = max((_num_common(prompt, each) // 4 for each in earlier), default=0)
            earlier.append(prompt)
        details = {"prompt_tokens_details": {"cached_tokens": cached}} if script.reports_cached else {}
        return {"prompt_tokens": -(-len(prompt) // 4), **details}


def _listed(name: str, script: Script) -> Json:
    length = {} if script.context_length is None else {"max_model_len": script.context_length}
    return {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "tests", **length}


def _num_common(left: str, right: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def _given_answer(asked: Json) -> str:
    last = (asked.get("messages") or [{}])[-1]
    return (last.get("content") or "") if last.get("role") == "assistant" else ""


@dataclass
class _Answer:
    """An answer to one request, as one JSON or as events."""

    script: Script
    asked: Json
    given: str
    usage_of_prompt: Json
    ignores_stop: bool
    is_chat: bool

    def whole(self) -> Json:
        choices: list[Json] = []
        for index in range(self.asked.get("n") or 1):
            tokens, reason = self._tokens(index)
            text = "".join(tokens)
            if self.is_chat:
                message: Json = {"role": "assistant", "content": text, **self._whole_reasoning()}
                if self.script.tool_calls:
                    message["tool_calls"] = [_call(each) for each in self.script.tool_calls]
                content: Json = {"message": message}
            else:
                content = {"text": text}
            choices.append({"index": index, **content, "finish_reason": reason, "logprobs": self._logprobs(tokens)})
        return {**self._head("chat.completion" if self.is_chat else "text_completion", choices), "usage": self._usage()}

    def events(self) -> list[Event]:
        """Return the events of a stream, in which the choices alternate."""
        lists = [self._events_of(index) for index in range(self.asked.get("n") or 1)]
        found: list[Event] = [event for each in itertools.zip_longest(*lists) for event in each if event is not None]
        if (self.asked.get("stream_options") or {}).get("include_usage"):
            found.append({**self._chunk([]), "usage": self._usage()})
        return [*found, "[DONE]"]

    def _events_of(self, index: int) -> list[Json]:
        tokens, reason = self._tokens(index)
        deltas: list[Json] = []
        if self.is_chat:
            deltas.append({"delta": {"role": "assistant", "content": ""}})
            if self.script.reasoning_in != "text":
                deltas += [{"delta": {self.script.reasoning_in: each}} for each in self.script.reasoning]
        for token in tokens:
            content: Json = {"delta": {"content": token}} if self.is_chat else {"text": token}
            deltas.append({**content, "logprobs": self._logprobs([token])})
        if self.is_chat:
            deltas += [{"delta": {"tool_calls": [each]}} for each in self._call_pieces()]
        deltas.append({"delta": {}} if self.is_chat else {"text": ""})
        last = len(deltas) - 1
        return [
            self._chunk([{"index": index, "finish_reason": reason if number == last else None, **delta}])
            for number, delta in enumerate(deltas)
        ]

    def _tokens(self, index: int) -> tuple[list[str], str]:
        """Return the tokens of a choice, and why it ends."""
        tokens = self.script.tokens(index, self.given)
        limit = self.asked.get("max_completion_tokens") or self.asked.get("max_tokens") or len(tokens)
        stops = self.asked.get("stop") or []
        text = "".join(tokens[:limit])
        found = [text.index(stop) for stop in ([stops] if isinstance(stops, str) else stops) if stop in text]
        if found and not self.ignores_stop:
            return _cut_tokens(tokens, min(found)), "stop"
        if limit < len(tokens):
            return tokens[:limit], "length"
        return tokens, "tool_calls" if self.script.tool_calls else "stop"

    def _whole_reasoning(self) -> Json:
        script = self.script
        has_field = script.reasoning and script.reasoning_in != "text"
        return {script.reasoning_in: "".join(script.reasoning)} if has_field else {}

    def _call_pieces(self) -> Iterator[Json]:
        """Yield the calls as a stream has them: the name first, the arguments five characters at a time."""
        for index, call in enumerate(self.script.tool_calls):
            yield {"index": index, **_call(replace(call, arguments=""))}
            for at in range(0, len(call.arguments), 5):
                yield {"index": index, "function": {"arguments": call.arguments[at : at + 5]}}

    def _logprobs(self, tokens: Sequence[str]) -> Json | None:
        wanted = self.asked.get("logprobs")
        if not self.script.has_logprobs or wanted is None or wanted is False:
            return None
        if not self.is_chat:
            tops = [{token: -0.25, **{f"alternative {n}": -1.0 - n for n in range(1, wanted)}} for token in tokens]
            return {"tokens": list(tokens), "token_logprobs": [-0.25] * len(tokens), "top_logprobs": tops}
        count = self.asked.get("top_logprobs") or 0
        return {
            "content": [
                {
                    **_token(token, -0.25),
                    "top_logprobs": [_token(f"alternative {n}" if n else token, -0.25 - n) for n in range(count)],
                }
                for token in tokens
            ]
        }

    def _usage(self) -> Json:
        num_choices = self.asked.get("n") or 1
        answered = len(self.script.reasoning) + sum(len(self._tokens(index)[0]) for index in range(num_choices))
        prompt = self.usage_of_prompt
        return {**prompt, "completion_tokens": answered, "total_tokens": prompt["prompt_tokens"] + answered}

    def _chunk(self, choices: list[Json]) -> Json:
        return self._head("chat.completion.chunk" if self.is_chat else "text_completion", choices)

    def _head(self, kind: str, choices: list[Json]) -> Json:
        return {
            "id": "answer-1",
            "object": kind,
            "created": 1_700_000_000,
            "model": self.asked["model"],
            "choices": choices,
        }


def _call(call: ToolCall) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _token(text: str, logprob: float) -> Json:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def _cut_tokens(tokens: Sequence[str], length: int) -> list[str]:
    """Return the tokens of the first `length` characters."""
    kept: list[str] = []
    for token in tokens:
        kept.append(token[:length])
        length -= len(kept[-1])
    return [token for token in kept if token]


class _Listener(Listener):
    def __init__(self, endpoint: EndpointServer, host: str) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, 0), _Handler)
        self.endpoint = endpoint
        self.is_over = False
        self._connections: set[socket.socket] = set()

    def keep(self, connection: socket.socket) -> None:
        self._connections.add(connection)

    def forget(self, connection: socket.socket) -> None:
        self._connections.discard(connection)

    def cut_all(self) -> None:
        """End the connections that are still open, and so the threads that wait for them."""
        self.is_over = True
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(SilentHandler):
    @property
    def listener(self) -> _Listener:
        assert isinstance(self.server, _Listener)
        return self.server

    @override
    def setup(self) -> None:
        super().setup()
        self.listener.keep(self.connection)

    @override
    def finish(self) -> None:
        self.listener.forget(self.connection)
        super().finish()

    @override
    def serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): text for name, text in self.headers.items()}
        request = Received(self.command, self.path, headers, body)
        endpoint = self.listener.endpoint
        fault = endpoint.note(request) or Fault()
        try:
            if fault.stalls_before_headers:
                request.wait(self.connection)
            reply = fault.reply or endpoint.reply(request, fault)
            self._send(request, fault, reply)
        except OSError:
            self.close_connection = True
            request.end("by server" if self.listener.is_over else "by client")

    def _send(self, request: Received, fault: Fault, reply: Reply | list[Event]) -> None:
        if isinstance(reply, Reply):
            status, headers = reply.status, reply.headers
            pieces = iter([reply.body]) if isinstance(reply.body, bytes) else reply.body()
        else:
            status, headers = 200, {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
            pieces = (_encode(event, fault) for event in _noting(fault.change(reply), request))
        if fault.is_packed:
            headers, pieces = {**headers, "Content-Encoding": "gzip"}, iter([gzip.compress(b"".join(pieces))])
        pieces = (piece for piece in fault.split(pieces) if piece)
        limit = None if fault.end == "whole" else fault.after_bytes
        # The length stands before the body, so it is known only after all of it was made.
        if fault.framing == "length" or (limit is not None and limit < 0):
            made = list(pieces)
            length = sum(map(len, made))
            limit = limit if limit is None or limit >= 0 else max(0, length + limit)
            pieces = iter(made)
        else:
            length = 0
        self._send_headers(status, headers, fault.framing, length)
        self._send_body(request, fault, pieces, limit)

    def _send_headers(self, status: int, headers: Mapping[str, str], framing: str, length: int) -> None:
        self.send_response(status)
        self.close_connection = framing == "close"
        framed = {
            "chunks": {"Transfer-Encoding": "chunked"},
            "length": {"Content-Length": str(length)},
            "close": {"Connection": "close"},
        }[framing]
        for name, text in {**headers, **framed}.items():
            self.send_header(name, text)
        self.end_headers()

    def _send_body(self, request: Received, fault: Fault, pieces: Iterator[bytes], limit: int | None) -> None:
        for piece in pieces:
            if limit is not None and request.num_sent + len(piece) > limit:
                first = limit - request.num_sent
                self._send_piece(request, fault, piece[:first])
                if fault.end != "stall":
                    self._cut(request, fault)
                    return
                request.wait(self.connection)
                piece, limit = piece[first:], None
            self._send_piece(request, fault, piece)
        if limit is not None and fault.end != "stall":
            self._cut(request, fault)
            return
        if limit is not None:
            request.wait(self.connection)
        if fault.framing == "chunks":
            self.wfile.write(b"0\r\n\r\n")
        request.end("whole")

    def _send_piece(self, request: Received, fault: Fault, piece: bytes) -> None:
        if not piece:
            return
        if is_closed(self.connection):
            raise ConnectionAbortedError
        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if fault.framing == "chunks" else piece)
        request.num_sent += len(piece)
        if request.num_sent <= 1 << 20:
            request.sent += piece

    def _cut(self, request: Received, fault: Fault) -> None:
        self.close_connection = True
        if fault.end == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            self.connection.shutdown(socket.SHUT_RDWR)
        request.end("cut")


def _noting(events: Iterable[Event], request: Received) -> Iterator[Event]:
    for event in events:
        request.events.append(event)
        yield event


def _encode(event: Event, fault: Fault) -> bytes:
    """Return the bytes of an event."""
    if isinstance(event, bytes):
        return event
    data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=fault.is_ascii)
    lines = [*([] if fault.comment is None else [fault.comment]), f"data:{fault.space}{data}", "", ""]
    return fault.line_end.join(lines).encode()


def write_certificate(folder: Path) -> Path:
    """Write a key and a certificate that nobody knows into one file, by the program openssl."""
    path, key = folder / "certificate.pem", folder / "key.pem"
    names = ["-subj", "/CN=tests", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            *names,
            "-keyout",
            key,
            "-out",
            path,
        ],
        check=True,
        capture_output=True,
    )
    path.write_bytes(key.read_bytes() + path.read_bytes())
    return path


def refused_url() -> str:
    """Return an address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
