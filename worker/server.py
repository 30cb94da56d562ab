"""Commands in, events out, one step of work at a time; it knows no transport.

One thread does everything here, MLX included. Loads and answers are done in the order in which they were asked
for. Between any two of their steps the commands that have come in are looked at: a cancel takes effect, questions
that need no computing (`plan`, `tokenize`, `validate`, `cache_stats`) are answered. Those overtake answers that are
under way or wait, but never a load, so that each is answered by the model that its sender had in mind.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import UNSET

from worker.engine import Ticket
from worker.errors import BadRequestError, LoadCancelledError, NotBuiltYetError, SupersededError, failed
from worker.host import ModelHost, Question
from worker.models.folder import find_model
from worker.protocol import (
    CacheStats,
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
    Plan,
    RequestId,
    Shutdown,
    Timing,
    Tokenize,
    UnloadModel,
    Usage,
    Validate,
)


class EndOfInput:
    """No more commands will come: finish what runs and waits, then end."""


class Interrupt:
    """A person wants the worker to end: cancel what runs and waits, then end."""


Incoming: TypeAlias = Command | Failed | EndOfInput | Interrupt
"""What a transport hands over; a line that is no command comes as the event that answers it."""

_Job: TypeAlias = LoadModel | UnloadModel | Generate


class Server:
    """Serves one driver until it shuts down or its input ends."""

    def __init__(self, inbox: queue.SimpleQueue[Incoming], emit: Callable[[Event], None]) -> None:
        self._inbox = inbox
        self._emit = emit
        self._host = ModelHost()
        self._waiting: deque[tuple[_Job | Question, Ticket]] = deque()
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
        # What came behind the last step is refused, not forgotten.
        self._look_for_commands()
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
        elif isinstance(incoming, Interrupt):
            self._end_soon()
        elif isinstance(incoming, Failed):
            self._emit(incoming)
        elif self._shutdown is not None:
            self._refuse(incoming, "The worker is shutting down. Start a new one.")
        elif self._is_known(incoming.request_id):
            self._refuse(incoming, "This `request_id` is in use. Choose another one for each command.")
        else:
            try:
                self._accept(incoming)
            except Exception as error:  # noqa: BLE001 (see _step)
                self._emit(failed(incoming.request_id, error))

    def _accept(self, command: Command) -> None:
        match command:
            case Cancel():
                # With one answer a request, its choice 0 is all of it.
                if command.choice in {None, 0}:
                    self._cancel(lambda ticket: ticket.request_id == command.target)
                self._emit(Done(request_id=command.request_id))
            case Shutdown():
                self._shutdown = command
                self._end_soon()
            case LoadModel():
                _refuse_what_is_not_built(command)
                # What can't be loaded is refused at once: it does not take the place of a load that can.
                find_model(command.model)
                self._supersede_load_before()
                self._waiting.append((command, Ticket(command.request_id)))
            case Generate():
                _refuse_what_is_not_built(command)
                self._waiting.append((command, Ticket(command.request_id)))
            case UnloadModel():
                self._waiting.append((command, Ticket(command.request_id)))
            case Plan() | Validate() | Tokenize() | CacheStats():
                if self._waits_for_load():
                    self._waiting.append((command, Ticket(command.request_id)))
                else:
                    self._answer(command)

    def _refuse(self, command: Command, message: str) -> None:
        self._emit(failed(command.request_id, BadRequestError(message)))

    def _end_soon(self) -> None:
        self._is_ending = True
        self._cancel(lambda _: True)

    def _cancel(self, is_meant: Callable[[Ticket], bool]) -> None:
        """Cancel what runs at its next step, what waits at once; questions and `unload_model` cost nothing."""
        if self._running is not None and is_meant(self._running[1]):
            self._running[1].is_cancelled = True
        for entry in [entry for entry in self._waiting if is_meant(entry[1])]:
            match entry[0]:
                case Generate() as command:
                    self._waiting.remove(entry)
                    self._emit(_cancelled_unbegun(command, entry[1]))
                case LoadModel() as command:
                    self._waiting.remove(entry)
                    message = f"Loading {command.model!r} was cancelled before it began."
                    self._emit(failed(command.request_id, LoadCancelledError(message)))
                case _:
                    pass

    def _supersede_load_before(self) -> None:
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
        self._emit(failed(ticket.request_id, SupersededError(message)))
        if self._waiting:
            self._waiting.pop()
        else:
            self._running = None

    def _waits_for_load(self) -> bool:
        jobs = [job for job, _ in self._waiting]
        if self._running is not None:
            jobs.append(self._running[0])
        return any(isinstance(job, LoadModel | UnloadModel) for job in jobs)

    def _is_known(self, request_id: RequestId) -> bool:
        tickets = [ticket for _, ticket in self._waiting]
        if self._running is not None:
            tickets.append(self._running[1])
        return any(ticket.request_id == request_id for ticket in tickets)

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
            if event is not None:
                self._emit(event)
        except Exception as error:  # noqa: BLE001 (one request's bug must not take the others down)
            self._running = None
            self._emit(failed(job.request_id, error))
        else:
            if isinstance(event, ModelLoaded | Done | Finished):
                # Over at once: nothing that comes now may cancel or supersede it.
                self._running = None

    def _steps(self, job: _Job, ticket: Ticket) -> Iterator[Event | None]:
        match job:
            case LoadModel():
                return self._host.load(job, ticket)
            case UnloadModel():
                return self._host.unload(job)
            case Generate():
                return self._host.generate(job, ticket)

    def _answer(self, question: Question) -> None:
        """Answer at once; nothing here computes with the model."""
        try:
            self._emit(self._host.reply(question))
        except Exception as error:  # noqa: BLE001 (see _step)
            self._emit(failed(question.request_id, error))


def _refuse_what_is_not_built(command: LoadModel | Generate) -> None:
    match command:
        case LoadModel():
            asked = {"draft_model": command.draft_model is not None}
        case Generate():
            asked = {
                "n": command.n != 1,
                "constraint": command.constraint is not None,
                "segments": command.segments is not None,
                "hooks": bool(command.hooks),
            }
    for name, is_asked in asked.items():
        if is_asked:
            raise NotBuiltYetError(name)


def _cancelled_unbegun(command: Generate, ticket: Ticket) -> Finished:
    """The end of an answer that was cancelled while it waited."""
    given = command.continuation.token_ids if command.continuation is not None else UNSET
    choice = Choice(
        text="",
        token_ids=[],
        num_recut=0,
        seed=command.sampling.seed or 0,  # where none was asked for, none was drawn
        reason="cancelled",
        turn_token_ids=[] if given is UNSET else given,
    )
    timing = Timing(queue_ms=ticket.waited_ms())
    return Finished(request_id=command.request_id, choices=[choice], usage=Usage(), timing=timing)
