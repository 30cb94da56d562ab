"""Runs commands against a server.

Each command ends in exactly one terminal event, as with a model on this machine. Each answer has a request of its own,
even if several are requested at once. So each has its own seed, each can be cancelled alone, which frees the server,
and the server need not support `n`.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from worker.endpoints.answer import Answer
from worker.endpoints.body import THINK, THINK_END, body_of, given_text, turns_of
from worker.endpoints.server import Server
from worker.endpoints.trials import REFUSED, find_out
from worker.errors import (
    BadRequestError,
    EndpointError,
    LoadCancelledError,
    ModelNotLoadedError,
    OverloadedError,
    UnsupportedError,
    WorkerError,
    failed,
    failure,
)
from worker.events import notices_of
from worker.inbox import EndOfInput, Inbox, Incoming, Interrupt, Overload
from worker.protocol import (
    Answered,
    CacheStats,
    Cancel,
    Capability,
    CheckEndpoint,
    Chunk,
    Command,
    Done,
    Endpoint,
    EndpointChecked,
    Event,
    Failed,
    Finished,
    Generate,
    HooksListed,
    ListHooks,
    LoadModel,
    ModelLoaded,
    ModelLoading,
    Plan,
    RequestId,
    ServerFacts,
    Shutdown,
    Timing,
    Tokenize,
    UnloadModel,
    Usage,
    Validate,
    Validated,
)
from worker.sentence import Sentence, SentenceParts, received
from worker.values import ReasoningMarks

_ENDING_S = 5.0
"""How long a server may be silent after it has said why the answer ended."""
_CALLS_AS_TEXT = Sentence(
    "The tool calls above this answer were sent as text, because servers refuse calls without an id or a result."
)
_IN_USE = Sentence("This `request_id` is already in use. Choose another one for each command.")


class Engine:
    """Serves one client until a shutdown or the end of its input."""

    def __init__(self, inbox: Inbox, emit: Callable[[Event], None]) -> None:
        self._inbox = inbox
        self._emit = emit
        self._arrived = asyncio.Event()
        self._open: dict[RequestId, Command] = {}
        self._tasks: dict[RequestId, asyncio.Task[Event]] = {}
        self._answers: dict[RequestId, Answering] = {}
        self._server: Server | None = None
        self._endpoint: Endpoint | None = None
        self._facts = ServerFacts("")
        self._keys: set[str] = set()
        """The keys that commands contained. No event may contain a key."""
        self._shutdown: Shutdown | None = None
        self._is_ending = False

    def wake(self) -> None:
        """Look for commands. Called in the thread of the loop."""
        self._arrived.set()

    async def run(self) -> None:
        """Serve until the end."""
        while not self._is_ending:
            await self._arrived.wait()
            self._arrived.clear()
            for _ in range(len(self._inbox)):
                self._receive(self._inbox.get())
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        if self._server is not None:
            await self._server.close()
        if self._shutdown is not None:
            self._emit(Done(request_id=self._shutdown.request_id))

    def _receive(self, incoming: Incoming) -> None:
        match incoming:
            case EndOfInput() | Interrupt():
                self._is_ending = True
                if isinstance(incoming, Interrupt):
                    self._cancel_all()
            case Failed():
                self._emit(incoming)
            case Overload(request_id=request_id):
                self._emit(failure(request_id, "overloaded", OverloadedError().sentence))
            case Cancel():
                self._cancel(incoming.target, incoming.choice)
                self._inbox.release(incoming)
                self._emit(Done(request_id=incoming.request_id))
            case Shutdown():
                self._shutdown, self._is_ending = incoming, True
                self._cancel_all()
            case _ if incoming.request_id in self._open:
                self._inbox.release(incoming)
                self._emit(failed(incoming.request_id, BadRequestError(_IN_USE)))
            case _:
                self._begin(incoming)

    def _begin(self, command: Command) -> None:
        self._open[command.request_id] = command
        if isinstance(command, LoadModel | CheckEndpoint) and command.endpoint and command.endpoint.key:
            self._keys.add(command.endpoint.key.text)
        if isinstance(command, Generate):
            try:
                self._answers[command.request_id] = self._answering(command)
            except WorkerError as error:
                self._end(failed(command.request_id, error))
                return
        task = asyncio.create_task(self._reply(command))
        self._tasks[command.request_id] = task
        task.add_done_callback(partial(self._on_done, command.request_id))

    def _answering(self, command: Generate) -> Answering:
        if self._server is None or self._endpoint is None:
            raise ModelNotLoadedError
        return Answering(command, self._endpoint.model, self._server, self._emit, self._facts)

    def _on_done(self, request_id: RequestId, task: asyncio.Task[Event]) -> None:
        del self._tasks[request_id]
        if task.cancelled():
            self._end(failed(request_id, LoadCancelledError(Sentence("This was cancelled. Ask again if you need it."))))
        elif (error := task.exception()) is not None:
            answering = self._answers.get(request_id)
            is_refused = isinstance(error, EndpointError) and error.status in REFUSED
            is_outdated = is_refused and answering is not None and answering.uses_facts
            self._end(msgspec.structs.replace(failed(request_id, error), is_outdated=is_outdated))
        else:
            self._end(task.result())

    def _end(self, event: Event) -> None:
        """Emit the terminal event of a command."""
        assert event.request_id is not None
        self._inbox.release(self._open.pop(event.request_id))
        self._answers.pop(event.request_id, None)
        shown = _without_keys(event, self._keys) if isinstance(event, Failed) else event
        if isinstance(shown, Failed) and shown.is_outdated:
            self._facts = ServerFacts("")
        try:
            self._emit(shown)
        except (UnicodeError, OverflowError, ValueError) as error:
            # A server can send values that no message can carry; the command still ends.
            self._emit(failed(event.request_id, error))

    def _cancel_all(self) -> None:
        for request_id in list(self._open):
            self._cancel(request_id)

    def _cancel(self, target: RequestId, choice: int | None = None) -> None:
        if target in self._answers:
            self._answers[target].cancel(choice)
        elif target in self._tasks and choice is None:
            self._tasks[target].cancel()

    async def _reply(self, command: Command) -> Event:
        match command:
            case LoadModel():
                return await self._load(command)
            case UnloadModel():
                self._endpoint = None
                return Done(request_id=command.request_id)
            case Generate():
                return await self._answers[command.request_id].run()
            case CheckEndpoint():
                return await _listed(command)
            case Validate():
                return _validated(command)
            case ListHooks():
                return HooksListed(request_id=command.request_id, hooks=[])
            case Plan() | Tokenize() | CacheStats():
                raise UnsupportedError(Sentence("A server does not count the tokens of a prompt before it is sent."))
            case Cancel() | Shutdown():
                raise AssertionError

    async def _load(self, command: LoadModel) -> ModelLoaded:
        """Connect to the server, and check that it has the model."""
        if command.endpoint is None:
            raise BadRequestError(Sentence("This process runs only models of servers. Set `endpoint`."))
        # This event comes first, so that a long load is not mistaken for a stuck process.
        self._emit(ModelLoading(request_id=command.request_id, fraction=0.0, stage="connecting"))
        server = Server(command.endpoint)
        try:
            models = await server.models()
        except BaseException:
            await server.close()
            raise
        if command.endpoint.model not in models:
            await server.close()
            raise EndpointError(
                Sentence(
                    "{server} no longer has the model “{model}”. Choose another model.",
                    server=server.name,
                    model=command.endpoint.model,
                )
            )
        try:
            version, known = await server.version(), command.endpoint.known
            facts = (
                known
                if known is not None and known.version == version
                else await find_out(server, command.endpoint.model, version)
            )
        except BaseException:
            await server.close()
            raise
        self._facts = facts
        before, self._server, self._endpoint = self._server, server, command.endpoint
        if before is not None and not self._answers:
            await before.close()
        return ModelLoaded(
            request_id=command.request_id,
            model=command.model,
            architecture="",
            num_parameters=0,
            context_length=server.context_length,
            vocab_size=0,
            weights_bytes=0,
            kv_bytes_per_token=0,
            cache_kind="trimmable",
            reasoning=ReasoningMarks(THINK.strip(), THINK_END.strip()),
            capabilities=_capabilities(facts),
            server=facts,
        )


def _capabilities(facts: ServerFacts) -> list[Capability]:
    continues: list[Capability] = ["continue"] if facts.continued_by else []
    describes_tokens: list[Capability] = ["tokens", "alternatives"] if facts.has_logprobs else []
    return ["json_schema", *continues, *describes_tokens]


def _without_keys(event: Failed, keys: Iterable[str]) -> Failed:
    """Return a failure without the keys, because a server may repeat them in the text of an error."""
    hidden = {name: _hide(value, keys) if isinstance(value, str) else value for name, value in event.fields.items()}
    sentence = received("", SentenceParts(event.template, hidden))
    return msgspec.structs.replace(event, message=str(sentence), fields=hidden)


def _hide(text: str, keys: Iterable[str]) -> str:
    for key in keys:
        text = text.replace(key, "…")
        # An excerpt may end in the middle of a key.
        cut = next((key[:end] for end in range(len(key) - 1, 3, -1) if f"{key[:end]}…" in text), None)
        text = text if cut is None else text.replace(f"{cut}…", "…")
    return text


class Answering:
    """A `generate` command: `n` answers, each with a request of its own."""

    def __init__(
        self, command: Generate, model: str, server: Server, emit: Callable[[Event], None], facts: ServerFacts
    ) -> None:
        self._command = command
        self._server = server
        self._emit = emit
        asked = command.sampling.seed
        seed = secrets.randbits(32) if asked is None else asked
        seeds = [seed + choice for choice in range(command.n)]
        self._bodies = [body_of(command, model, each, facts) for each in seeds]
        wants_tokens = command.top_logprobs > 0 and facts.has_logprobs
        given = given_text(command)
        self._answers = [Answer(server.name, command.stop, each, given, wants_tokens=wants_tokens) for each in seeds]
        self.uses_facts = command.continuation is not None or wants_tokens
        """Whether the requests have fields that were tried out before."""
        self._num_ended = 0
        self._began_s = time.perf_counter()
        self._tasks = [asyncio.create_task(self._write(number)) for number in range(command.n)]

    def cancel(self, choice: int | None = None) -> None:
        """Stop one answer, or all. The connection to the server is closed, so it can stop, too."""
        for number, task in enumerate(self._tasks):
            if choice in {None, number}:
                task.cancel()

    async def run(self) -> Finished:
        """Return the last event. Raises a `WorkerError` if one of the answers fails; the others are then stopped."""
        try:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self.cancel()
        await asyncio.wait(self._tasks)
        for task in done:
            if not task.cancelled():
                task.result()
        for number, answer in enumerate(self._answers):
            # An answer that was cancelled before it began has not ended yet.
            self._show(number, answer.end("cancelled"))
        return self._finished()

    async def _write(self, number: int) -> None:
        answer = self._answers[number]
        events = self._server.events(self._bodies[number])
        try:
            async with asyncio.timeout(None) as limit:
                async for event in events:
                    self._show(number, answer.take(event))
                    if answer.reason == "stop":
                        break
                    if answer.reason is not None:
                        # The usage follows, if the server reports it.
                        limit.reschedule(asyncio.get_running_loop().time() + _ENDING_S)
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            self._show(number, answer.end("cancelled"))
        except BaseException:
            self._show(number, answer.end("cancelled"))
            raise
        finally:
            await events.aclose()
        self._show(number, answer.end("eos"))
        if self._command.constraint is not None and answer.reason == "eos" and not answer.is_json:
            raise UnsupportedError(
                Sentence(
                    "{server} does not apply JSON schemas: this answer is not JSON. The text is kept. Remove the "
                    "answer format, or choose another model.",
                    server=self._server.name,
                )
            )
        self._num_ended += 1
        if self._num_ended < len(self._answers):
            choice = answer.choice()
            self._emit(
                Answered(request_id=self._command.request_id, choice=number, reason=choice.reason, stop=choice.stop)
            )

    def _show(self, number: int, text: str) -> None:
        tokens = self._answers[number].take_tokens() if text or self._answers[number].reason is not None else []
        if text or tokens:
            self._emit(
                Chunk(
                    request_id=self._command.request_id,
                    choice=number,
                    text=text,
                    tokens=tokens,
                    sampled_ns=time.monotonic_ns(),
                )
            )

    def _finished(self) -> Finished:
        answers = self._answers
        begun = [answer for answer in answers if answer.first_s]
        first_s = min((answer.first_s for answer in begun), default=0.0)
        decode_s = sum(answer.last_s - answer.first_s for answer in begun)
        num_new = sum(answer.new_tokens for answer in answers)
        first_word_ms = (first_s - self._began_s) * 1e3 if first_s else 0.0
        prompt_tokens = max(answer.prompt_tokens for answer in answers)
        kept = [answer.cached_tokens for answer in answers if answer.cached_tokens is not None]
        assert isinstance(self._command.messages, list)
        is_text = turns_of(self._command.messages)[1]
        return Finished(
            request_id=self._command.request_id,
            choices=[answer.choice() for answer in answers],
            usage=Usage(
                prompt_tokens=prompt_tokens,
                cached_tokens=max(kept, default=0),
                is_cached_known=bool(kept),
                prefilled_tokens=max(0, prompt_tokens - max(kept)) if kept else 0,
                generated_tokens=num_new,
            ),
            timing=Timing(
                prefill_ms=first_word_ms,
                ttft_ms=first_word_ms,
                decode_tokens_per_s=num_new / decode_s if decode_s > 0 else 0.0,
            ),
            notices=notices_of([_CALLS_AS_TEXT] if is_text else ()),
        )


async def _listed(command: CheckEndpoint) -> EndpointChecked:
    """Return the models of a server. Raises `EndpointError` if it has none, or does not stream an answer."""
    server = Server(command.endpoint)
    try:
        models = await server.models()
        if not models:
            raise EndpointError(
                Sentence("{server} lists no model. Load one there, then try again.", server=server.name)
            )
        await _check_stream(server, command.endpoint.model or models[0])
        return EndpointChecked(request_id=command.request_id, models=models)
    finally:
        await server.close()


async def _check_stream(server: Server, model: str) -> None:
    """Request an answer of one token. Raises `EndpointError` if it is not streamed."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1, "stream": True}
    answer, is_stream = Answer(server.name, (), 0), False
    events = server.events(body)
    try:
        async for event in events:
            answer.take(event)
            is_stream = is_stream or event.get("object") == "chat.completion.chunk" or _has_delta(event)
    finally:
        await events.aclose()
    if not is_stream:
        raise EndpointError(
            Sentence(
                "{server} does not stream its answers, so Bough can't show them while they are written. Switch on "
                "streaming there, or use another server.",
                server=server.name,
            )
        )


def _has_delta(event: dict[str, Any]) -> bool:
    choices = event.get("choices")
    return isinstance(choices, list) and any(isinstance(each, dict) and "delta" in each for each in choices)


def _validated(command: Validate) -> Validated:
    if command.constraint.kind == "json_schema":
        return Validated(request_id=command.request_id, ok=True, message="")
    sentence = Sentence("Models of servers support only JSON schemas as answer formats.")
    return Validated(request_id=command.request_id, ok=False, message=str(sentence), parts=sentence.parts)
