"""Commands in, events out, one step of work at a time; it knows no transport.

One thread does everything here, MLX included. Loads and answers are done in the order in which they were asked
for. Between any two of their steps the commands that have come in are looked at: a cancel takes effect, questions
that need no computing (`plan`, `tokenize`, `validate`, `cache_stats`) are answered. Those overtake answers that are
under way or wait, but never a load, so that each is answered by the model that its sender had in mind.
"""

from __future__ import annotations

import logging
import queue
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from worker.engine import Engine, Ticket
from worker.errors import (
    BadRequestError,
    LoadCancelledError,
    ModelNotLoadedError,
    NotBuiltYetError,
    SupersededError,
    WorkerError,
    WorkerOutOfMemoryError,
)
from worker.language_model import Loading, load, release
from worker.models.folder import find_model
from worker.protocol import (
    CacheStats,
    CacheStatsReport,
    Cancel,
    Choice,
    Command,
    Done,
    Event,
    Failed,
    Finished,
    Generate,
    LoadModel,
    ModelLoaded,
    ModelLoading,
    Plan,
    Planned,
    RequestId,
    Shutdown,
    Timing,
    Tokenize,
    Tokenized,
    UnloadModel,
    Usage,
    Validate,
)

log = logging.getLogger(__name__)


class EndOfInput:
    """No more commands will come: finish what runs, then end."""


Incoming: TypeAlias = Command | Failed | EndOfInput
"""What a transport hands over; a line that is no command comes as the event that answers it."""

_Job: TypeAlias = LoadModel | UnloadModel | Generate
_Question: TypeAlias = Plan | Validate | Tokenize | CacheStats


class Server:
    """Serves one driver until it shuts down or its input ends."""

    def __init__(self, inbox: queue.SimpleQueue[Incoming], emit: Callable[[Event], None]) -> None:
        self._inbox = inbox
        self._emit = emit
        self._engine: Engine | None = None
        self._waiting: deque[tuple[_Job | _Question, Ticket]] = deque()
        self._running: tuple[_Job, Ticket, Iterator[Event | None]] | None = None
        self._is_ending = False
        self._shutdown: Shutdown | None = None

    def run(self) -> None:
        """Serve until the end."""
        while not (self._is_ending and self._running is None and not self._waiting):
            self._look_for_commands()
            if self._running is None:
                self._start_next()
            if self._running is not None:
                self._step()
        if self._shutdown is not None:
            self._emit(Done(request_id=self._shutdown.request_id))

    # --- commands ------------------------------------------------------------------------------------------

    def _look_for_commands(self) -> None:
        """Take in what has come; wait for it only where there is nothing to do."""
        is_idle = self._running is None and not self._waiting and not self._is_ending
        while is_idle or not self._inbox.empty():
            self._receive(self._inbox.get())
            is_idle = False

    def _receive(self, incoming: Incoming) -> None:
        if isinstance(incoming, EndOfInput):
            self._is_ending = True
        elif isinstance(incoming, Failed):
            self._emit(incoming)
        elif self._shutdown is not None:
            self._fail(incoming.request_id, BadRequestError("The worker is shutting down. Start a new one."))
        elif self._is_known(incoming.request_id):
            self._fail(
                incoming.request_id,
                BadRequestError("This `request_id` is in use. Choose another one for each command."),
            )
        else:
            self._accept(incoming)

    def _accept(self, command: Command) -> None:
        match command:
            case Cancel():
                self._cancel(command)
                self._emit(Done(request_id=command.request_id))
            case Shutdown():
                self._shutdown = command
                self._is_ending = True
                for ticket in self._tickets():
                    ticket.is_cancelled = True
            case LoadModel():
                self._supersede_waiting_load()
                self._waiting.append((command, Ticket(command.request_id)))
            case UnloadModel() | Generate():
                self._waiting.append((command, Ticket(command.request_id)))
            case Plan() | Validate() | Tokenize() | CacheStats():
                if self._waits_for_load():
                    self._waiting.append((command, Ticket(command.request_id)))
                else:
                    self._answer(command)

    def _cancel(self, command: Cancel) -> None:
        for ticket in self._tickets():
            # With one answer a request, its choice 0 is all of it.
            if ticket.request_id == command.target and command.choice in {None, 0}:
                ticket.is_cancelled = True

    def _supersede_waiting_load(self) -> None:
        """A load that directly follows another one makes that one pointless."""
        if self._waiting:
            last, ticket = self._waiting[-1]
        elif self._running is not None:
            last, ticket, _ = self._running
        else:
            return
        if not isinstance(last, LoadModel) or ticket.is_cancelled:
            return
        message = f"Loading {last.model!r} was given up: another model was asked for meanwhile."
        self._fail(ticket.request_id, SupersededError(message))
        if self._waiting:
            self._waiting.pop()
        else:
            self._running = None

    def _waits_for_load(self) -> bool:
        jobs = [job for job, _ in self._waiting]
        if self._running is not None:
            jobs.append(self._running[0])
        return any(isinstance(job, LoadModel | UnloadModel) for job in jobs)

    def _tickets(self) -> list[Ticket]:
        tickets = [ticket for _, ticket in self._waiting]
        if self._running is not None:
            tickets.append(self._running[1])
        return tickets

    def _is_known(self, request_id: RequestId) -> bool:
        return any(ticket.request_id == request_id for ticket in self._tickets())

    # --- work ----------------------------------------------------------------------------------------------

    def _start_next(self) -> None:
        while self._waiting and self._running is None:
            job, ticket = self._waiting.popleft()
            if isinstance(job, Plan | Validate | Tokenize | CacheStats):
                self._answer(job)
            else:
                self._running = (job, ticket, self._steps(job, ticket))

    def _step(self) -> None:
        assert self._running is not None
        job, _, steps = self._running
        try:
            event = next(steps)
        except StopIteration:
            self._running = None
        except Exception as error:  # noqa: BLE001 (one request's bug must not take the others down)
            self._running = None
            self._fail(job.request_id, error)
        else:
            if event is not None:
                self._emit(event)

    def _steps(self, job: _Job, ticket: Ticket) -> Iterator[Event | None]:
        match job:
            case LoadModel():
                return self._load(job, ticket)
            case UnloadModel():
                return self._unload(job)
            case Generate():
                return self._generate(job, ticket)

    def _load(self, command: LoadModel, ticket: Ticket) -> Iterator[Event | None]:
        if command.draft_model is not None:
            raise NotBuiltYetError("draft_model")
        if ticket.is_cancelled:
            raise LoadCancelledError(f"Loading {command.model!r} was cancelled before it began.")
        folder = find_model(command.model)
        # The old model goes first: memory seldom holds two.
        self._engine = None
        release()
        for step in load(folder):
            if ticket.is_cancelled:
                raise LoadCancelledError(f"Loading {command.model!r} was cancelled. No model is loaded now.")
            if isinstance(step, Loading):
                yield ModelLoading(request_id=command.request_id, fraction=step.fraction, stage=step.stage)
                continue
            self._engine = Engine(step)
            yield ModelLoaded(
                request_id=command.request_id,
                model=command.model,
                architecture=step.folder.architecture,
                num_parameters=step.num_parameters,
                context_length=step.context_length,
                vocab_size=step.vocab_size,
                weights_bytes=step.weights_bytes,
                kv_bytes_per_token=step.kv_bytes_per_token,
                cache_kind=step.cache_kind,
            )

    def _unload(self, command: UnloadModel) -> Iterator[Event | None]:
        self._engine = None
        release()
        yield Done(request_id=command.request_id)

    def _generate(self, command: Generate, ticket: Ticket) -> Iterator[Event | None]:
        _refuse_what_is_not_built(command)
        if ticket.is_cancelled:
            yield _cancelled_unbegun(command)
            return
        yield from self._loaded_engine().generate(command, ticket)

    def _answer(self, question: _Question) -> None:
        """Answer at once; nothing here computes with the model."""
        try:
            self._emit(self._reply(question))
        except Exception as error:  # noqa: BLE001 (see _step)
            self._fail(question.request_id, error)

    def _reply(self, question: _Question) -> Event:
        match question:
            case Plan():
                return Planned(request_id=question.request_id, plans=self._loaded_engine().plan(question.prompts))
            case Tokenize():
                engine = self._loaded_engine()
                token_ids = engine.prompt_ids(question.prompt)
                pieces = [engine.model.vocabulary.text_of([token_id]) for token_id in token_ids]
                return Tokenized(request_id=question.request_id, token_ids=token_ids, pieces=pieces)
            case CacheStats():
                cache = self._loaded_engine().cache
                return CacheStatsReport(
                    request_id=question.request_id,
                    tokens=cache.num_tokens,
                    bytes=cache.num_bytes,
                    limit_bytes=cache.limit_bytes,
                    disk_tokens=0,
                    disk_bytes=0,
                )
            case Validate():
                raise NotBuiltYetError("constraint")

    def _loaded_engine(self) -> Engine:
        if self._engine is None:
            raise ModelNotLoadedError
        return self._engine

    def _fail(self, request_id: RequestId, error: Exception) -> None:
        self._emit(_failure(request_id, error))


def _refuse_what_is_not_built(command: Generate) -> None:
    for name, is_asked in (
        ("n", command.n != 1),
        ("constraint", command.constraint is not None),
        ("segments", command.segments is not None),
        ("hooks", bool(command.hooks)),
    ):
        if is_asked:
            raise NotBuiltYetError(name)


def _cancelled_unbegun(command: Generate) -> Finished:
    """The end of an answer that was cancelled while it waited."""
    seed = command.sampling.seed or 0
    choice = Choice(text="", token_ids=[], num_recut=0, seed=seed, reason="cancelled")
    return Finished(request_id=command.request_id, choices=[choice], usage=Usage(), timing=Timing())


def _failure(request_id: RequestId, error: Exception) -> Failed:
    if isinstance(error, WorkerError):
        return Failed(request_id=request_id, kind=error.kind, message=str(error))
    if isinstance(error, MemoryError) or _is_allocation_failure(error):
        message = (
            "There is not enough memory for this. Nothing but this request was lost; "
            "shorten the conversation, close other programs, or open a smaller model."
        )
        log.warning("Out of memory: %s", error)
        return Failed(request_id=request_id, kind=WorkerOutOfMemoryError.kind, message=message)
    if isinstance(error, msgspec.ValidationError):
        return Failed(request_id=request_id, kind="bad_request", message=str(error))
    log.error("A request failed unexpectedly", exc_info=error)
    message = f"A bug in Bough ended this request ({type(error).__name__}: {error}). The worker goes on; try again."
    return Failed(request_id=request_id, kind="internal", message=message)


def _is_allocation_failure(error: Exception) -> bool:
    """MLX tells of failed allocations by `RuntimeError` alone."""
    text = str(error).lower()
    return isinstance(error, RuntimeError) and ("malloc" in text or "out of memory" in text or "allocat" in text)
