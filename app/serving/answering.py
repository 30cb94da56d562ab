"""One request of a client: a command for the worker, and its events as parts of the answer. The same for all APIs."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from fnmatch import fnmatchcase
from types import TracebackType
from typing import NamedTuple, Self, TypeAlias
from urllib.parse import quote

from msgspec import UNSET
from msgspec.structs import replace

from app.serving.drop_rules import DropRules
from app.serving.history import Requests
from app.serving.messages import (
    Answer,
    Client,
    Down,
    ListModels,
    ModelRefused,
    ModelsListed,
    ModelStatus,
    ModelUsed,
    ServedModel,
    ServerSettings,
    Suggested,
    Up,
    UseModel,
)
from app.serving.owner_link import OwnerLink
from app.serving.problems import ProblemError, problem_of
from app.serving.turns import Turns, turn_of
from worker.protocol import (
    Answered,
    Cancel,
    Choice,
    Chunk,
    Failed,
    Finished,
    FinishReason,
    Generate,
    ModelLoaded,
    PrefillProgress,
    Prompt,
    Token,
    Tokenize,
    Tokenized,
    Usage,
)
from worker.tools.forms import form_named
from worker.tools.turn_parts import Content, Part, Reasoning, TurnReader

_READING_S = 1.0
"""News about the prompt that come sooner after other news are left out."""


class ShownToken(NamedTuple):
    """A token of the answer, with the text that ends with it."""

    text: str
    logprob: float | None
    top: Sequence[tuple[str, float | None]]
    """The likeliest tokens at its place: their texts and log-probabilities."""


# --- steps of an answer ------------------------------------------------------------------------------------


class Reading(NamedTuple):
    """The model reads the prompt. The first step, unless the answer fails before it."""

    done: int
    total: int
    cached: int
    """How many of its tokens were kept from earlier requests."""


class Delta(NamedTuple):
    """One of the answers grows."""

    choice: int
    parts: Sequence[Part]
    tokens: Sequence[ShownToken]
    """Empty unless log-probabilities were asked for."""


class Ended(NamedTuple):
    """One of the answers has ended."""

    choice: int
    reason: FinishReason
    stop: str | None
    """The stop string that ended it."""
    num_calls: int
    """How many tools it calls."""


class Waiting(NamedTuple):
    """There was no news for a while."""


class AllEnded(NamedTuple):
    """All answers have ended. The last step."""

    usage: Usage
    num_reasoning: int
    """How many of the new tokens are reasoning, about."""


Step: TypeAlias = Reading | Delta | Ended | Waiting | AllEnded


class LoadedModel(NamedTuple):
    """The model that answers a request."""

    id: str
    info: ModelLoaded
    suggested: Suggested


class Service:
    """The worker, as the APIs use it."""

    def __init__(self, link: OwnerLink, settings: ServerSettings, turns: Turns) -> None:
        self._link = link
        self._settings = settings
        self._turns = turns
        self._drop_rules = DropRules(settings.drop_rules)
        self._requests = Requests()
        self._answers: set[Answering] = set()
        self._is_stopping = False

    async def models(self) -> list[ServedModel]:
        """Return the models on this machine that can be named in requests, the loaded one first."""
        request_id = self._link.new_id()
        reply = await self._asked(ListModels(request_id=request_id))
        status = self._link.status
        models = reply.models if isinstance(reply, ModelsListed) else []
        if status is None:
            return models
        return [status.model, *(model for model in models if not status.model.is_named(model.id))]

    async def model(self, name: str | None) -> LoadedModel:
        """Return the loaded model, if a client's name means it; otherwise load the one that it means.

        Raises `ProblemError`, also for a request that names no model.
        """
        if not name:
            raise ProblemError("invalid", "The request names no model.", param="model")
        status = self._link.status
        if status is not None and any(fnmatchcase(name, alias) for alias in self._settings.aliases):
            name = status.model.id
        if status is None or status.loaded is None or not status.model.is_named(name):
            status = await self._used(name)
        assert status.loaded is not None
        return LoadedModel(status.model.id, status.loaded, status.suggested)

    def answer(self, client: Client, model: LoadedModel, generate: Generate) -> Answering:
        """Return the answer to a prompt. It begins when it is entered, and is cancelled when it is left early.

        Raises `ProblemError`.
        """
        generate = replace(generate, request_id=self._link.new_id(), identity=model.info.identity)
        if generate.messages is UNSET:
            return Answering(self, Answer(client=client, model=model.id, generate=generate), model.info)
        messages, dropped = self._drop_rules.applied(generate.messages)
        compared, note_num_tokens = self._requests.compare(client, model.id, generate.tools, messages)
        messages = self._turns.recalled(model.info, generate.tools, messages)
        generate = replace(generate, messages=messages)
        command = Answer(client=client, model=model.id, generate=generate, compared=compared, dropped=dropped)
        return Answering(self, command, model.info, note_num_tokens)

    async def num_tokens(self, model: LoadedModel, prompt: Prompt) -> int:
        """Return how many tokens a prompt has, as it would be read. Raises `ProblemError`."""
        if prompt.messages is not UNSET:
            messages, _ = self._drop_rules.applied(prompt.messages)
            prompt = replace(prompt, messages=self._turns.recalled(model.info, prompt.tools, messages))
        request_id = self._link.new_id()
        reply = await self._asked(
            Tokenize(
                request_id=request_id,
                messages=prompt.messages,
                template_options=prompt.template_options,
                tools=prompt.tools,
                text=prompt.text,
                token_ids=prompt.token_ids,
                counts_only=True,
            )
        )
        match reply:
            case Tokenized(num_tokens=num_tokens):
                return num_tokens
            case Failed():
                raise problem_of(reply)
            case _:
                raise _other_reply()

    async def text_of(self, token_ids: list[int]) -> str:
        """Return the text that tokens spell. Raises `ProblemError`."""
        match await self._asked(Tokenize(request_id=self._link.new_id(), token_ids=token_ids)):
            case Tokenized(text=text):
                return text
            case Failed() as failed:
                raise problem_of(failed)
            case _:
                raise _other_reply()

    def stop(self) -> None:
        """End all answers: the server stops."""
        self._is_stopping = True
        for answer in list(self._answers):
            answer.stop()

    async def _used(self, name: str) -> ModelStatus:
        request_id = self._link.new_id()
        try:
            async with asyncio.timeout(self._settings.load_s):
                reply = await self._asked(UseModel(request_id=request_id, model=name))
        except TimeoutError:
            raise ProblemError(
                "unavailable", f"The model “{name}” is still being loaded. Try again in a moment.", retry_s=5
            ) from None
        status = self._link.status
        match reply:
            case ModelUsed() if status is not None and status.loaded is not None:
                return status
            case ModelRefused(kind="failed", why=why):
                raise ProblemError("unavailable", why)
            case ModelRefused(why=why):
                raise ProblemError("no_such_model", why, param="model")
            case _:
                raise ProblemError("unavailable", "Another model was loaded meanwhile. Try again.", retry_s=1)

    async def _asked(self, question: ListModels | UseModel | Tokenize) -> Down:
        """Send a question and return the reply."""
        request_id = str(question.request_id)
        inbox = self._link.open(request_id)
        try:
            self._send(question)
            return await inbox.get()
        finally:
            self._link.close(request_id)

    def _send(self, message: Up) -> None:
        try:
            self._link.send(message)
        except OverflowError:
            raise ProblemError("invalid", "A number in the request is too large. Send a smaller one.") from None

    # --- for `Answering` -----------------------------------------------------------------------------------

    def begin(self, answer: Answering) -> asyncio.Queue[Down]:
        """Send an answer's command; return the queue of its events. Raises `ProblemError`."""
        if self._is_stopping:
            raise _stopping()
        self._send(answer.command)
        self._answers.add(answer)
        return self._link.open(answer.request_id)

    def end(self, answer: Answering, *, is_early: bool) -> None:
        """Forget an answer, and cancel it if it has not ended."""
        self._answers.discard(answer)
        self._link.close(answer.request_id)
        if is_early:
            self._link.send(Cancel(request_id=self._link.new_id(), target=answer.request_id))

    def remember(self, answer: Answering, choice: Choice) -> None:
        """Remember an answer with the ids that spell it."""
        generate = answer.command.generate
        if generate.messages is UNSET or generate.continuation is not None:
            return
        reader = answer.reader()
        turn = turn_of([*reader.feed(choice.text), *reader.end()])
        if turn is not None:
            self._turns.remember(
                answer.info, generate.tools, generate.messages, turn, choice.text, choice.turn_token_ids
            )

    @property
    def ping_s(self) -> float:
        return self._settings.ping_s


class Answering:
    """An answer, or `n` of them, to one request. Enter it, then iterate over its steps."""

    def __init__(
        self,
        service: Service,
        command: Answer,
        info: ModelLoaded,
        note_num_tokens: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`note_num_tokens` is called with the number of the prompt's tokens."""
        self._service = service
        self.command = command
        self.info = info
        self._note_num_tokens = note_num_tokens
        self.opens_reasoning = False
        """Whether the answer begins inside the model's reasoning."""
        self._choices: list[_Growing] = []
        self._inbox: asyncio.Queue[Down] = asyncio.Queue()
        self._has_ended = False
        self._is_stopped = False

    @property
    def request_id(self) -> str:
        return str(self.command.generate.request_id)

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the reply: what has changed since an earlier request, and what the user's rules left out."""
        changed, dropped = self.command.compared.changed, self.command.dropped
        return {
            **({"x-bough-changed": changed} if changed else {}),
            **({"x-bough-left-out": quote(", ".join(dropped), safe="")} if dropped else {}),
        }

    async def __aenter__(self) -> Self:
        self._inbox = self._service.begin(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._service.end(self, is_early=not self._has_ended)

    def stop(self) -> None:
        """End it: the server stops. The iteration raises `ProblemError`."""
        self._is_stopped = True
        self._inbox.put_nowait(Failed(request_id=self.request_id, kind="cancelled", message=str(_stopping())))

    async def __aiter__(self) -> AsyncIterator[Step]:
        """Yield the steps of the answer. Raises `ProblemError`."""
        last_s = -math.inf
        while not self._has_ended:
            try:
                async with asyncio.timeout(self._service.ping_s):
                    event = await self._inbox.get()
            except TimeoutError:
                yield Waiting()
                continue
            for step in self._steps(event):
                now_s = time.monotonic()
                if not isinstance(step, Reading) or now_s - last_s >= _READING_S:
                    last_s = now_s
                    yield step

    def _steps(self, event: Down) -> list[Step]:
        match event:
            case PrefillProgress(done=done, total=total, cached=cached, opens_reasoning=opens_reasoning):
                self.opens_reasoning = self.opens_reasoning or opens_reasoning
                return [Reading(done, total, cached)]
            case Chunk(choice=choice, text=text, tokens=tokens):
                return self._growing(choice).grown(text, tokens)
            case Answered(choice=choice, reason=reason, stop=stop):
                return self._growing(choice).ended(reason, stop)
            case Finished():
                return self._finished(event)
            case Failed():
                self._has_ended = not self._is_stopped
                raise problem_of(event)
            case _:
                return []

    def _finished(self, event: Finished) -> list[Step]:
        self._has_ended = True
        self._note_num_tokens(event.usage.prompt_tokens)
        steps: list[Step] = []
        for number, choice in enumerate(event.choices):
            if choice.reason == "cancelled":
                raise ProblemError("unavailable", "The user of Bough stopped this answer.")
            growing = self._growing(number)
            rest = choice.text[growing.num_chars :]
            if rest:
                steps += growing.grown(rest, [])
            if not growing.has_ended:
                steps += growing.ended(choice.reason, choice.stop)
            self._service.remember(self, choice)
        return [*steps, AllEnded(event.usage, sum(growing.num_reasoning for growing in self._choices))]

    def _growing(self, choice: int) -> _Growing:
        """Return one of the answers. They are made with the first text, when it is known how they begin."""
        if not self._choices:
            generate = self.command.generate
            self._choices = [
                _Growing(number, self.reader(), has_logprobs=generate.top_logprobs > 0) for number in range(generate.n)
            ]
        return self._choices[choice]

    def reader(self) -> TurnReader:
        """Return a reader of one of the answers. It is right from the first text on."""
        generate = self.command.generate
        if generate.messages is UNSET:
            # Text that goes on from a raw prompt is no turn.
            return TurnReader(None, None)
        has_tools = bool(generate.tools) and generate.tool_choice != "none"
        form = None if self.info.tool_form is None else form_named(self.info.tool_form)
        return TurnReader(
            form if form is not None and (has_tools or form.frames_text) else None,
            self.info.reasoning,
            {tool.name: tool.parameters for tool in generate.tools},
            starts_in_reasoning=self.opens_reasoning,
        )


@contextlib.asynccontextmanager
async def side_by_side(answers: Sequence[Answering]) -> AsyncGenerator[AsyncIterator[tuple[int, Step]], None]:
    """Begin several answers; return their steps as they come, each with the number of its answer.

    The iteration raises `ProblemError` with the first problem of any of them. All are cancelled when it is left early.
    """
    found: asyncio.Queue[tuple[int, Step | Exception | None]] = asyncio.Queue()

    async def read(number: int, answer: Answering) -> None:
        try:
            async for step in answer:
                found.put_nowait((number, step))
            found.put_nowait((number, None))
        except Exception as error:  # noqa: BLE001 (it is raised where the steps are read)
            found.put_nowait((number, error))

    async def steps() -> AsyncIterator[tuple[int, Step]]:
        num_left = len(answers)
        while num_left:
            number, step = await found.get()
            if isinstance(step, Exception):
                raise step
            if step is None:
                num_left -= 1
            else:
                yield number, step

    async with contextlib.AsyncExitStack() as stack:
        readers: list[asyncio.Task[None]] = []
        try:
            for number, answer in enumerate(answers):
                await stack.enter_async_context(answer)
                readers.append(asyncio.create_task(read(number, answer)))
            yield steps()
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)


class _Growing:
    """One of the answers of a request."""

    def __init__(self, number: int, reader: TurnReader, *, has_logprobs: bool) -> None:
        self._number = number
        self._reader = reader
        self._has_logprobs = has_logprobs
        self._tokens = _GrowingTokens()
        self.num_chars = 0
        """How many characters have come."""
        self.num_reasoning = 0
        """How many tokens came with reasoning."""
        self.has_ended = False

    def grown(self, text: str, tokens: Sequence[Token]) -> list[Step]:
        self.num_chars += len(text)
        if self._has_logprobs:
            return self._delta(self._tokens.grown(text, tokens))
        parts = self._reader.feed(text)
        self._count(parts, len(tokens))
        return [Delta(self._number, parts, [])] if parts else []

    def ended(self, reason: FinishReason, stop: str | None) -> list[Step]:
        self.has_ended = True
        last = self._delta(self._tokens.ended()) if self._has_logprobs else []
        parts = [*self._reader.feed(self._tokens.rest), *self._reader.end()]
        steps: list[Step] = [*last, *([Delta(self._number, parts, [])] if parts else [])]
        return [*steps, Ended(self._number, reason, stop, self._reader.num_calls)]

    def _delta(self, shown: Sequence[ShownToken]) -> list[Step]:
        """Read tokens one by one, so that it is known which of them are content."""
        parts: list[Part] = []
        kept: list[ShownToken] = []
        for token in shown:
            new = self._reader.feed(token.text)
            self._count(new, 1)
            if not new or any(isinstance(part, Content) for part in new):
                kept.append(token)
            parts += new
        return [Delta(self._number, parts, kept)] if parts or kept else []

    def _count(self, parts: Sequence[Part], num_tokens: int) -> None:
        if any(isinstance(part, Reasoning) for part in parts):
            self.num_reasoning += num_tokens


class _GrowingTokens:
    """The tokens of an answer, each with the text that ends with it."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._num_chars = 0
        """How many characters have come."""
        self._tokens: deque[Token] = deque()
        """Those whose text has not come as a whole."""
        self._num_returned = 0
        """How many characters the returned tokens spell."""

    def grown(self, text: str, tokens: Sequence[Token]) -> list[ShownToken]:
        """Add text and tokens; return the tokens whose text has come."""
        self._num_chars += len(text)
        self._text.append(text)
        self._tokens += tokens
        return self._shown(is_end=False)

    def ended(self) -> list[ShownToken]:
        """Return the last tokens: also one of which only a part was kept."""
        return self._shown(is_end=True)

    @property
    def rest(self) -> str:
        """The text that no token has spelled so far."""
        return "".join(self._text)

    def _shown(self, *, is_end: bool) -> list[ShownToken]:
        # All text before the tokens that are left has been returned.
        self._text[:] = ["".join(self._text)]
        text, begin = self._text[0], self._num_returned
        shown: list[ShownToken] = []
        while self._tokens:
            token = self._tokens[0]
            end = self._num_returned + token.num_chars
            if end > self._num_chars and not (is_end and self._num_returned < self._num_chars):
                break
            piece = text[self._num_returned - begin : end - begin]
            shown.append(ShownToken(piece, token.logprob, [(other.text, other.logprob) for other in token.top]))
            self._num_returned = end
            self._tokens.popleft()
        self._text[:] = [text[self._num_returned - begin :]]
        return shown


def _other_reply() -> ProblemError:
    return ProblemError("failed", "The model process replied with something else. Try again.")


def _stopping() -> ProblemError:
    return ProblemError("unavailable", "Bough stops serving. Try again later.")
