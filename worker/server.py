"""Commands in, events out, one step of work at a time; it knows no transport.

One thread does everything here, MLX included. Loads and answers are done in the order in which they were asked
for. Between any two of their steps the commands that have come in are looked at: a cancel takes effect, questions
that need no computing (`plan`, `tokenize`, `validate`, `cache_stats`) are answered. Those overtake answers that are
under way or wait, but never a load, so that each is answered by the model that its sender had in mind; `list_hooks`
has no model in mind.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from worker.answers.hook_folder import HookFolder
from worker.errors import BadRequestError, LoadCancelledError, SupersededError, failed
from worker.host import ModelHost, Question
from worker.models.folder import find_model
from worker.protocol import (
    CacheStats,
    Cancel,
    Command,
    Done,
    Event,
    Failed,
    Finished,
    Generate,
    ListHooks,
    LoadModel,
    ModelLoaded,
    Plan,
    RequestId,
    Shutdown,
    Tokenize,
    UnloadModel,
    Validate,
)
from worker.requests.request import Ticket, cancelled_unbegun


class EndOfInput:
    """No more commands will come: finish what runs and waits, then end."""


class Interrupt:
    """A person wants the worker to end: cancel what runs and waits, then end."""


Incoming: TypeAlias = Command | Failed | EndOfInput | Interrupt
"""What a transport hands over; a line that is no command comes as the event that answers it."""

_QUIET_S = 1.0

_Job: TypeAlias = LoadModel | UnloadModel


class Server:
    """Serves one driver until it shuts down or its input ends."""

    def __init__(
        self,
        inbox: queue.SimpleQueue[Incoming],
        emit: Callable[[Event], None],
        cache_folder: Path | None = None,
        hooks: HookFolder | None = None,
        saving_s: float = 1.0,
    ) -> None:
        """`cache_folder`: where what was read is kept on disk; None: nowhere. `hooks`: where they are found.

        `saving_s`: how long the end may be put off until what was read last is there, too.
        """
        self._saving_s = saving_s
        self._inbox = inbox
        self._emit = emit
        self._host = ModelHost(cache_folder, hooks)
        self._waiting: deque[tuple[_Job | Generate | Question, Ticket]] = deque()
        self._running: tuple[_Job, Ticket, Iterator[Event | None]] | None = None
        self._answering: dict[RequestId, Ticket] = {}
        self._is_ending = False
        self._shutdown: Shutdown | None = None
        self._worked = 0.0
        """When the last step of work was done..."""
        self._is_saved = True
        """...and whether all that came of it is on disk."""

    def run(self) -> None:
        """Serve until the end."""
        while not (self._is_ending and self._is_idle):
            self._look_for_commands()
            self._start_next()
            if self._running is not None:
                self._step(*self._running)
            elif self._host.is_answering:
                self._answer_on()
            else:
                continue
            self._worked, self._is_saved = time.monotonic(), False
        self._host.save(self._saving_s)
        # What came behind the last step is refused, not forgotten.
        self._look_for_commands()
        if self._shutdown is not None:
            self._emit(Done(request_id=self._shutdown.request_id))

    # --- commands ------------------------------------------------------------------------------------------

    def _look_for_commands(self) -> None:
        """Take in what has come; wait for it only where there is nothing to do."""
        if self._is_idle and not self._is_ending:
            self._receive(self._wait())
        while not self._inbox.empty():
            self._receive(self._inbox.get())

    def _wait(self) -> Incoming:
        """Wait for a command. A moment after the last work, what is not on disk is written, a file at a time.

        Questions in between are no work: whoever asks at each key would keep all from being written.
        """
        patience_s = max(0.0, self._worked + _QUIET_S - time.monotonic())
        while True:
            try:
                return self._inbox.get(timeout=None if self._is_saved else patience_s)
            except queue.Empty:
                self._is_saved = not self._host.save_some()
                patience_s = 0.0

    @property
    def _is_idle(self) -> bool:
        return self._running is None and not self._waiting and not self._host.is_answering

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
                self._emit(self._failed(incoming, error))

    def _failed(self, command: Command, error: Exception) -> Failed:
        event = failed(command.request_id, error)
        is_kept = isinstance(command, LoadModel) and self._host.has_model and not self._waits_for_load()
        return replace(event, still_loaded=True) if is_kept else event

    def _accept(self, command: Command) -> None:
        match command:
            case Cancel():
                self._cancel(lambda ticket: ticket.request_id == command.target, command.choice)
                self._emit(Done(request_id=command.request_id))
            case Shutdown():
                self._shutdown = command
                self._end_soon()
            case LoadModel():
                # What can't be loaded is refused at once: it does not take the place of a load that can.
                find_model(command.model)
                if command.draft_model is not None:
                    find_model(command.draft_model)
                self._supersede_load_before()
                self._waiting.append((command, Ticket(command.request_id)))
            case Generate():
                self._waiting.append((command, Ticket(command.request_id, num_choices=command.n)))
            case UnloadModel():
                self._waiting.append((command, Ticket(command.request_id)))
            case Plan() | Validate() | Tokenize() | CacheStats():
                if self._waits_for_load():
                    self._waiting.append((command, Ticket(command.request_id)))
                else:
                    self._answer(command)
            case ListHooks():
                # Whatever model is loaded.
                self._answer(command)

    def _refuse(self, command: Command, message: str) -> None:
        self._emit(failed(command.request_id, BadRequestError(message)))

    def _end_soon(self) -> None:
        self._is_ending = True
        self._cancel(lambda _: True)

    def _cancel(self, is_meant: Callable[[Ticket], bool], choice: int | None = None) -> None:
        """Cancel what runs at its next step, what waits at once; questions and `unload_model` cost nothing."""
        for ticket in filter(is_meant, self._answering.values()):
            ticket.cancel(choice)
        if self._running is not None and is_meant(self._running[1]):
            self._running[1].cancel()
        for entry in [entry for entry in self._waiting if is_meant(entry[1])]:
            match entry:
                case (Generate() as command, ticket):
                    ticket.cancel(choice)
                    if all(ticket.is_choice_cancelled(each) for each in range(command.n)):
                        self._waiting.remove(entry)
                        self._emit(cancelled_unbegun(command, ticket))
                case (LoadModel() as command, _):
                    self._waiting.remove(entry)
                    message = f"Loading {command.model!r} was cancelled before it began."
                    self._emit(self._failed(command, LoadCancelledError(message)))
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
        if request_id in self._answering:
            return True
        tickets = [ticket for _, ticket in self._waiting]
        if self._running is not None:
            tickets.append(self._running[1])
        return any(ticket.request_id == request_id for ticket in tickets)

    # --- work ----------------------------------------------------------------------------------------------

    def _start_next(self) -> None:
        """Begin what is next: answers beside those under way, a load only when they are done."""
        while self._waiting and self._running is None:
            job, ticket = self._waiting[0]
            if isinstance(job, LoadModel | UnloadModel) and self._host.is_answering:
                return
            self._waiting.popleft()
            match job:
                case LoadModel():
                    self._running = (job, ticket, self._host.load(job, ticket))
                case UnloadModel():
                    self._running = (job, ticket, self._host.unload(job))
                case Generate():
                    self._begin_answer(job, ticket)
                case Plan() | Validate() | Tokenize() | CacheStats() | ListHooks():
                    self._answer(job)

    def _step(self, job: _Job, _: Ticket, steps: Iterator[Event | None]) -> None:
        try:
            event = next(steps)
            if event is not None:
                self._emit(event)
        except Exception as error:  # noqa: BLE001 (one request's bug must not take the others down)
            self._running = None
            self._emit(self._failed(job, error))
        else:
            if isinstance(event, ModelLoaded | Done):
                # Over at once: nothing that comes now may cancel or supersede it.
                self._running = None

    def _begin_answer(self, command: Generate, ticket: Ticket) -> None:
        try:
            self._host.add(command, ticket)
        except Exception as error:  # noqa: BLE001 (see _step)
            self._emit(failed(command.request_id, error))
        else:
            self._answering[command.request_id] = ticket

    def _answer_on(self) -> None:
        for event in self._host.step():
            self._emit(event)
            if isinstance(event, Finished | Failed) and event.request_id is not None:
                del self._answering[event.request_id]

    def _answer(self, question: Question) -> None:
        """Answer at once; nothing here computes with the model."""
        try:
            self._emit(self._host.reply(question))
        except Exception as error:  # noqa: BLE001 (see _step)
            self._emit(failed(question.request_id, error))
