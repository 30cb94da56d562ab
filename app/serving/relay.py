"""The owner's side of the local API: passes messages between the server process and the worker. Independent of Qt.

Two threads move the messages, so neither a busy window nor a slow server process delays the other. The relay sees every
request and every token that it passes on, so it can report which clients are being served, and how fast.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import MsgspecError, ValidationError, msgpack

from app.serving.messages import (
    Alive,
    Answer,
    Client,
    Compared,
    Down,
    Listening,
    ListModels,
    ModelStatus,
    NotListening,
    Ping,
    ServerSettings,
    Stop,
    UseModel,
    encoded,
    up_from,
)
from app.serving.problems import worded
from app.serving.process import ServerProcess
from worker.protocol import (
    Cancel,
    Chunk,
    Command,
    Event,
    Failed,
    Finished,
    Forked,
    Generate,
    ModelLoaded,
    Plan,
    Planned,
    PrefillProgress,
    RequestId,
    Retract,
    Token,
    Tokenize,
    Tokenized,
    Validate,
    Validated,
)
from worker.sentence import Sentence

_log = logging.getLogger(__name__)
_MAX_MISSED = 3
_MAX_END_TOKENS = 16
"""A prompt has at most this many tokens after its last message, such as those that open the answer."""
NOT_KEPT = "not kept"
"""See `Record.read_again`."""
_ENDS = (Finished, Failed, Tokenized, Planned, Validated)
_DIED = Sentence("The model process stopped while it answered. It is being started again. Send the request once more.")
_NO_WORKER = Sentence("There is no model process now. Try again in a moment.")


class Owner(Protocol):
    """The process that has the worker, as the relay uses it. The relay's threads call these methods."""

    def send(self, command: Command) -> bool:
        """Send a command to the worker. Return whether there is a worker. Its events go to `Relay.take`."""
        ...

    def list_models(self, question: ListModels) -> None:
        """Find the models on this machine, then call `Relay.tell` with `ModelsListed`."""
        ...

    def use_model(self, question: UseModel) -> None:
        """Load a model, then call `Relay.tell` with `ModelUsed` or `ModelRefused`."""
        ...

    def on_listening(self, report: Listening | NotListening) -> None:
        """The server accepts requests now, or can't."""
        ...

    def on_server_ended(self, exit_code: int | None) -> None:
        """The server process has ended, although nobody asked it to."""
        ...


@dataclass
class Served:
    """One request that is being answered."""

    request_id: RequestId
    client: Client
    model: str
    compared: Compared
    dropped: Sequence[str]
    """The user's rules that removed a part of the request."""
    num_read: int = 0
    """How many tokens of the prompt are processed so far."""
    num_prompt: int = 0
    """How many tokens the prompt has; 0 while unknown."""
    num_cached: int = 0
    """How many tokens of the prompt were cached from earlier requests."""
    num_tokens: int = 0
    """How many tokens all answers of the request have so far."""
    first_s: float = 0.0
    """The time of the first token; 0 before the first token."""
    last_s: float = 0.0

    @property
    def tokens_per_s(self) -> float:
        """How fast the answer grows, in tokens per second; 0 before its second token."""
        return (self.num_tokens - 1) / (self.last_s - self.first_s) if self.last_s > self.first_s else 0.0


@dataclass(frozen=True)
class Exchange:
    """An answered request, for an owner that keeps requests as conversations."""

    client: Client
    model: str
    compared: Compared
    dropped: Sequence[str]
    """The user's rules that removed a part of the request."""
    generate: Generate
    finished: Finished
    begun_ms: int = 0
    """The time of the request, in milliseconds since 1970."""
    tokens: Sequence[Sequence[Token]] = ()
    """The tokens of each answer as they were sampled."""
    opens_reasoning: bool = False
    """Whether the prompt ends inside reasoning."""
    loaded: ModelLoaded | None = None
    """The worker's report on the model; None if it is not available any more."""

    @property
    def read_again(self) -> str:
        """Why a part of the prompt was processed again. See `Record.read_again`."""
        if self.compared.changed:
            return self.compared.changed
        is_kept = self.finished.usage.cached_tokens >= self.compared.num_known_tokens - _MAX_END_TOKENS
        return "" if is_kept else NOT_KEPT

    @property
    def line(self) -> str:
        """The cost of the request, as a line of a log."""
        usage, timing = self.finished.usage, self.finished.timing
        parts = [
            f"{self.client.program or self.client.address}: prompt of {usage.prompt_tokens:,} tokens",
            f"{usage.cached_tokens:,} kept",
            *_why(self.read_again),
            *(f"left out {rule!r}" for rule in self.dropped),
            f"wrote {usage.generated_tokens:,} at {timing.decode_tokens_per_s:.1f} tokens/s",
        ]
        return ", ".join(parts)


def _why(read_again: str) -> list[str]:
    if read_again == NOT_KEPT:
        return ["no longer kept, or rendered in another way by the template"]
    return [f"changed: {read_again}"] if read_again else []


@dataclass
class _Open:
    """A command of the server that has not ended."""

    served: Served | None = None
    generate: Generate | None = None
    begun_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    tokens: dict[int, list[Token]] = field(default_factory=dict[int, "list[Token]"])
    """The tokens of each answer, by the answer's number."""
    opens_reasoning: bool = False


@dataclass
class _State:
    opened: dict[RequestId, _Open] = field(default_factory=dict[RequestId, _Open])
    is_stopping: bool = False


class Relay:
    """Starts a server process and serves it until `stop`. All methods may be called from any thread."""

    def __init__(
        self,
        settings: ServerSettings,
        owner: Owner,
        *,
        exchanged: Callable[[Exchange], None] | None = None,
    ) -> None:
        """`exchanged` is called with each answered request, in the thread of `take`. Raises `OSError`."""
        self._owner = owner
        self._exchanged = exchanged
        self._prefix = settings.id_prefix
        self._has_replied = True
        """Whether the last `Ping` was answered."""
        self._num_missed = 0
        self._loaded: dict[str | None, ModelLoaded] = {}
        """The models that were reported to the server, by their identities."""
        self._lock = threading.Lock()
        self._state = _State()
        self._process = ServerProcess(settings)
        self._writing_lock = threading.Lock()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        """Messages that wait until the pipe to the server has room."""
        self._num_queued = 0
        self._writing = threading.Thread(target=self._write, name="server events", daemon=True)
        self._reading = threading.Thread(target=self._read, name="server commands", daemon=True)
        self._writing.start()
        self._reading.start()

    @property
    def pid(self) -> int | None:
        """The id of the server process."""
        return self._process.pid

    @property
    def served(self) -> Sequence[Served]:
        """The requests that are being answered, the oldest first."""
        with self._lock:
            return [command.served for command in self._state.opened.values() if command.served is not None]

    def take(self, event: Event) -> bool:
        """Pass an event of the worker to the server. Return whether it was one for the server."""
        if not self.is_for_server(event):
            return False
        exchange = self._noted(event)
        self.tell(event)
        if exchange is not None and self._exchanged is not None:
            self._exchanged(exchange)
        return True

    def is_for_server(self, event: Event) -> bool:
        """Return whether an event answers a command of the server."""
        return isinstance(event.request_id, str) and event.request_id.startswith(self._prefix)

    def tell(self, message: Down) -> None:
        """Send a message to the server without waiting. It is lost if the server has ended."""
        if isinstance(message, ModelStatus) and message.loaded is not None:
            self._loaded[message.loaded.identity] = message.loaded
        data = encoded(message)
        with self._writing_lock:
            # Most messages are sent at once, which saves a switch of threads.
            if self._num_queued == 0 and self._process.takes_at_once(data):
                with contextlib.suppress(OSError):
                    self._process.send(data)
            else:
                self._num_queued += 1
                self._queue.put(data)

    def fail_all(self) -> None:
        """Fail all requests: the worker has died."""
        with self._lock:
            opened, self._state.opened = self._state.opened, {}
        for request_id in opened:
            self.tell(_failure(request_id, _DIED))

    def stop_request(self, request_id: RequestId) -> None:
        """Stop answering a request, for the user."""
        self._owner.send(Cancel(request_id=f"{self._prefix}stop-{time.monotonic_ns()}", target=request_id))

    def ping(self) -> None:
        """Ask the server process to respond, if it has answered the last `Ping`."""
        has_replied, self._has_replied = self._has_replied, False
        self._num_missed = 0 if has_replied else self._num_missed + 1
        if has_replied:
            self.tell(Ping())

    @property
    def is_silent(self) -> bool:
        """Whether several calls of `ping` in a row were not answered."""
        return self._num_missed >= _MAX_MISSED

    def stop(self, patience_s: float = 3.0) -> None:
        """End all streams and the server process; kill it after `patience_s` seconds, a silent one at once."""
        self._state.is_stopping = True
        patience_s = 0.0 if self.is_silent else patience_s
        self.tell(Stop())
        self._process.end(patience_s)
        self._queue.put(None)
        self._writing.join(patience_s)
        self._process.close()
        self._cancel_all()

    # --- the server's commands -----------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            for message in self._process.receive():
                self._obey(message)
        except (EOFError, OSError):
            pass
        finally:
            self._queue.put(None)
            self._cancel_all()
            if not self._state.is_stopping:
                self._owner.on_server_ended(self._process.end(1.0))

    def _obey(self, frame: bytes) -> None:
        try:
            message = up_from(frame)
        except MsgspecError as error:
            self._refuse(frame, error)
            return
        match message:
            case Answer(client=client, model=model, generate=generate, compared=compared, dropped=dropped):
                served = Served(generate.request_id, client, model, compared, dropped)
                self._send(generate, _Open(served, generate if self._exchanged is not None else None))
            case Tokenize() | Plan() | Validate():
                self._send(message, _Open())
            case Cancel():
                self._owner.send(message)
            case ListModels():
                self._owner.list_models(message)
            case UseModel():
                self._owner.use_model(message)
            case Alive():
                self._has_replied = True
            case Listening() | NotListening():
                self._owner.on_listening(message)

    def _refuse(self, frame: bytes, error: MsgspecError) -> None:
        """Fail the request whose command has a value that the worker does not accept."""
        try:
            message = msgpack.decode(frame)
            request_id = message.get("generate", message)["request_id"]
        except (MsgspecError, AttributeError, LookupError):
            _log.error("The server process sent an invalid message: %s", error)
            return
        why = worded(error)[0] if isinstance(error, ValidationError) else f"{error}."
        self.tell(Failed(request_id=request_id, kind="bad_request", message=f"{why} Nothing was done."))

    def _send(self, command: Generate | Tokenize | Plan | Validate, opened: _Open) -> None:
        with self._lock:
            self._state.opened[command.request_id] = opened
        if not self._owner.send(command):
            with self._lock:
                self._state.opened.pop(command.request_id, None)
            self.tell(_failure(command.request_id, _NO_WORKER))

    def _cancel_all(self) -> None:
        with self._lock:
            opened, self._state.opened = self._state.opened, {}
        for number, request_id in enumerate(opened):
            self._owner.send(Cancel(request_id=f"{self._prefix}end-{number}", target=request_id))

    # --- the worker's events -------------------------------------------------------------------------------

    def _noted(self, event: Event) -> Exchange | None:
        """Update the request to which an event belongs. Return the finished exchange, if the event is its last."""
        with self._lock:
            found = self._state.opened.get(event.request_id) if event.request_id is not None else None
            if found is None:
                return None
            if isinstance(event, _ENDS):
                del self._state.opened[event.request_id]  # pyright: ignore[reportArgumentType]
            served = found.served
            if served is None:
                return None
            match event:
                case PrefillProgress():
                    found.opens_reasoning = event.opens_reasoning
                    served.num_read, served.num_prompt, served.num_cached = event.done, event.total, event.cached
                case Chunk():
                    now = time.monotonic()
                    served.first_s, served.last_s = served.first_s or now, now
                    served.num_tokens += len(event.tokens)
                    if found.generate is not None:
                        found.tokens.setdefault(event.choice, []).extend(event.tokens)
                case Retract():
                    tokens = found.tokens.get(event.choice, [])
                    del tokens[max(len(tokens) - event.num_tokens, 0) :]
                case Forked():
                    found.tokens[event.choice] = found.tokens.get(event.parent, [])[: event.num_tokens]
                case Finished() if found.generate is not None:
                    return Exchange(
                        served.client,
                        served.model,
                        served.compared,
                        served.dropped,
                        found.generate,
                        event,
                        found.begun_ms,
                        [found.tokens.get(number, []) for number in range(len(event.choices))],
                        found.opens_reasoning,
                        self._loaded.get(found.generate.identity),
                    )
                case _:
                    pass
        return None

    def _write(self) -> None:
        try:
            while (data := self._queue.get()) is not None:
                self._process.send(data)
                with self._writing_lock:
                    self._num_queued -= 1
        except OSError:
            pass


def _failure(request_id: RequestId, why: Sentence) -> Failed:
    return Failed(
        request_id=request_id,
        kind="model_not_loaded",
        message=str(why),
        template=why.parts.template,
        fields=why.parts.fields,
    )
