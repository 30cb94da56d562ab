"""Runs commands and emits events, one step of work at a time. Independent of the transport.

One thread does all the work, including MLX's. Loads and answers are done in the order of their commands. Between two
steps of work the server reads new commands: it cancels requests, and replies to questions that need no computing
(`plan`, `tokenize`, `validate`, `cache_stats`, `list_hooks`). Questions overtake answers. They wait for loads that came
before them, so that the model that the sender expects replies; `list_hooks` needs no model, so it never waits.
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
from worker.sentence import Sentence


class EndOfInput:
    """No more commands will come: finish all running and waiting requests, then end."""


class Interrupt:
    """The user interrupts the worker: cancel all running and waiting requests, then end."""


Incoming: TypeAlias = Command | Failed | EndOfInput | Interrupt
"""An item from a transport. An invalid command comes as the event that answers it."""

_QUIET_S = 1.0
"""The prompt cache is saved to disk after this time without work."""

_Job: TypeAlias = LoadModel | UnloadModel


class Server:
    """Serves one client until a shutdown or the end of its input."""

    def __init__(
        self,
        inbox: queue.SimpleQueue[Incoming],
        emit: Callable[[Event], None],
        cache_folder: Path | None = None,
        hooks: HookFolder | None = None,
        saving_s: float = 1.0,
    ) -> None:
        """`cache_folder`: where to keep the prompt cache on disk; None: nowhere. `hooks`: the available hooks.

        `saving_s`: how long the end may be delayed to save the prompt cache.
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
        self._last_work_s = 0.0
        """The time of the last step of work."""
        self._is_saved = True
        """Whether the prompt cache on disk is up to date."""

    def run(self) -> None:
        """Serve until the end."""
        while not (self._is_ending and self._is_idle):
            self._read_commands()
            self._start_next()
            if self._running is not None:
                self._step(*self._running)
            elif self._host.is_answering:
                self._step_answers()
            else:
                continue
            self._last_work_s, self._is_saved = time.monotonic(), False
        self._host.save(self._saving_s)
        # Refuse commands that came after the last step, so that they are answered, too.
        self._read_commands()
        if self._shutdown is not None:
            self._emit(Done(request_id=self._shutdown.request_id))

    # --- commands ------------------------------------------------------------------------------------------

    def _read_commands(self) -> None:
        """Read all commands that have come. If there is no work, wait for one."""
        if self._is_idle and not self._is_ending:
            self._receive(self._wait())
        while not self._inbox.empty():
            self._receive(self._inbox.get())

    def _wait(self) -> Incoming:
        """Wait for a command. Shortly after the last work, save the prompt cache meanwhile, one file at a time.

        Questions do not count as work: a client that asks at each key press must not prevent saving.
        """
        patience_s = max(0.0, self._last_work_s + _QUIET_S - time.monotonic())
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
            self._refuse(incoming, Sentence("The worker is shutting down. Start a new one."))
        elif self._is_known(incoming.request_id):
            sentence = Sentence("This `request_id` is already in use. Choose another one for each command.")
            self._refuse(incoming, sentence)
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
                # A model that can't be loaded is refused at once, so that it does not supersede one that can.
                find_model(command.model)
                if command.draft_model is not None:
                    find_model(command.draft_model)
                self._supersede_previous_load()
                self._waiting.append((command, Ticket(command.request_id)))
            case Generate():
                self._waiting.append((command, Ticket(command.request_id, num_choices=command.n)))
            case UnloadModel():
                self._waiting.append((command, Ticket(command.request_id)))
            case Plan() | Validate() | Tokenize() | CacheStats():
                if self._waits_for_load():
                    self._waiting.append((command, Ticket(command.request_id)))
                else:
                    self._reply(command)
            case ListHooks():
                self._reply(command)

    def _refuse(self, command: Command, why: Sentence) -> None:
        self._emit(failed(command.request_id, BadRequestError(why)))

    def _end_soon(self) -> None:
        self._is_ending = True
        self._cancel(lambda _: True)

    def _cancel(self, is_target: Callable[[Ticket], bool], choice: int | None = None) -> None:
        """Cancel running requests at their next step, waiting ones at once. Questions and `unload_model` stay."""
        for ticket in filter(is_target, self._answering.values()):
            ticket.cancel(choice)
        if self._running is not None and is_target(self._running[1]):
            self._running[1].cancel()
        for entry in [entry for entry in self._waiting if is_target(entry[1])]:
            match entry:
                case (Generate() as command, ticket):
                    ticket.cancel(choice)
                    if all(ticket.is_choice_cancelled(each) for each in range(command.n)):
                        self._waiting.remove(entry)
                        self._emit(cancelled_unbegun(command, ticket))
                case (LoadModel() as command, _):
                    self._waiting.remove(entry)
                    sentence = Sentence("Loading “{model}” was cancelled.", model=command.model)
                    self._emit(self._failed(command, LoadCancelledError(sentence)))
                case _:
                    pass

    def _supersede_previous_load(self) -> None:
        """End a load that the next command, another load, makes pointless."""
        if self._waiting:
            last, ticket = self._waiting[-1]
        elif self._running is not None:
            last, ticket, _ = self._running
        else:
            return
        if not isinstance(last, LoadModel) or ticket.is_cancelled:
            return
        sentence = Sentence("Loading “{model}” stopped because you chose another model.", model=last.model)
        self._emit(failed(ticket.request_id, SupersededError(sentence)))
        if self._waiting:
            self._waiting.pop()
        else:
            self._running = None

    def _jobs(self) -> list[tuple[Command, Ticket]]:
        """Return everything that waits, and the job that is running."""
        return [*self._waiting, *([self._running[:2]] if self._running is not None else [])]

    def _waits_for_load(self) -> bool:
        return any(isinstance(job, LoadModel | UnloadModel) for job, _ in self._jobs())

    def _is_known(self, request_id: RequestId) -> bool:
        return request_id in self._answering or any(ticket.request_id == request_id for _, ticket in self._jobs())

    # --- work ----------------------------------------------------------------------------------------------

    def _start_next(self) -> None:
        """Start waiting requests: answers join those that are running, a load waits for them."""
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
                    self._start_answer(job, ticket)
                case Plan() | Validate() | Tokenize() | CacheStats() | ListHooks():
                    self._reply(job)

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
                # The job is over: it can no longer be cancelled or superseded.
                self._running = None

    def _start_answer(self, command: Generate, ticket: Ticket) -> None:
        try:
            self._host.add(command, ticket)
        except Exception as error:  # noqa: BLE001 (see _step)
            self._emit(failed(command.request_id, error))
        else:
            self._answering[command.request_id] = ticket

    def _step_answers(self) -> None:
        for event in self._host.step():
            self._emit(event)
            if isinstance(event, Finished | Failed) and event.request_id is not None:
                del self._answering[event.request_id]

    def _reply(self, question: Question) -> None:
        """Reply at once, without computing with the model."""
        try:
            self._emit(self._host.reply(question))
        except Exception as error:  # noqa: BLE001 (see _step)
            self._emit(failed(question.request_id, error))
