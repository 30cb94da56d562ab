"""Runs commands and emits events, one step of work at a time. Independent of the transport.

One thread does all the work, including MLX's. Loads and answers are done in the order of their commands. Between two
steps of work the server reads all new commands: it cancels requests, and for a short time it replies to questions that
need no computing (`plan`, `tokenize`, `validate`, `cache_stats`, `list_hooks`). Questions overtake answers. They wait
for earlier loads, so that the reply comes from the model that the sender expects.

The time to accept a command does not depend on how many wait. Beyond `MAX_WAITING`, new ones are refused.

Chat templates run in a trial process. While the server waits for it, it reads commands, too: a cancelled request stops
waiting at once, and so does a question when its model is about to be replaced. While it tokenizes megabytes, it
also goes on with answers and other questions.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from worker.answers.hook_folder import HookFolder
from worker.errors import (
    BadRequestError,
    LoadCancelledError,
    OverloadedError,
    SupersededError,
    failed,
    failure,
    is_failure,
)
from worker.host import ModelHost, Question, is_long
from worker.inbox import EndOfInput, Inbox, Incoming, Interrupt, Overload
from worker.models.folder import find_model
from worker.protocol import (
    CacheStats,
    Cancel,
    CheckEndpoint,
    Command,
    Done,
    Event,
    Failed,
    Finished,
    Generate,
    ListHooks,
    LoadModel,
    ModelLoaded,
    ModelLoading,
    Plan,
    RequestId,
    Shutdown,
    Tokenize,
    UnloadModel,
    Validate,
)
from worker.pulse import Pulse
from worker.requests.request import Ticket, cancelled_unbegun
from worker.sentence import Sentence
from worker.templates.rendering import TRIAL_MODULES
from worker.trial import StoppedError, TrialProcess
from worker.values import Confinement
from worker.waiting_line import Job, WaitingLine

MAX_WAITING = 256
"""At most this many commands wait for loads and answers before them."""

_QUIET_S = 1.0
"""The prompt cache is saved to disk after this time without work."""

_REPLYING_S = 0.005
"""How long the server replies to questions before it does the next step of an answer."""

_PARTING_S = 0.25
"""After a shutdown, the server replies for this long to questions that came before it."""

_IN_USE = Sentence("This `request_id` is already in use. Choose another one for each command.")
_NO_ENDPOINTS = Sentence(
    "This process runs only models on this computer. Start a process for endpoints, then try again."
)
_SHUTTING_DOWN = Sentence("The model process is shutting down. Start a new one.")


class Server:
    """Serves one client until a shutdown or the end of its input."""

    def __init__(
        self,
        inbox: Inbox,
        emit: Callable[[Event], None],
        cache_folder: Path | None = None,
        hooks: HookFolder | None = None,
        confinement: Confinement = Confinement(),  # noqa: B008 (a frozen value)
        pulse: Pulse | None = None,
        saving_s: float = 1.0,
    ) -> None:
        """`cache_folder` holds the prompt cache on disk; None means that it is only in memory.

        `hooks` are the available hooks. `confinement` says what this process gave up. `pulse` is notified of each
        activity. `saving_s` is how long saving the prompt cache may delay the end.
        """
        self._saving_s = saving_s
        self._inbox = inbox
        self._emit = emit
        self._pulse = pulse or Pulse()
        self._trials = TrialProcess(TRIAL_MODULES, self._is_still_wanted)
        self._host = ModelHost(cache_folder, hooks, confinement, self._pulse, self._trials, self._work_meanwhile)
        self._open: dict[RequestId, Command] = {}
        """The accepted commands that have not ended. `cancel` and `shutdown` are never among them."""
        self._waiting = WaitingLine()
        self._questions: deque[Question] = deque()
        """Questions that wait only for their turn."""
        self._long_questions: deque[Question] = deque()
        """Questions with long texts. While these are tokenized, all other work continues."""
        self._notes: deque[Failed | Done | Overload] = deque()
        """Refusals and replies to `cancel` that wait for their turn."""
        self._running: tuple[Job, Ticket, Iterator[Event | None]] | None = None
        self._answering: dict[RequestId, Ticket] = {}
        self._is_replying = False
        """Whether a question is being answered."""
        self._is_working_meanwhile = False
        """Whether other work is done in the middle of a long reply."""
        self._stepping: tuple[Job, Ticket, Iterator[Event | None]] | None = None
        """The job whose step is being done."""
        self._is_ending = False
        self._ends_soon = False
        """Whether everything was cancelled because the server ends."""
        self._shutdown: Shutdown | None = None
        self._shutdown_at = 0.0
        self._last_work_s = 0.0
        """The time of the last step of work."""
        self._is_saved = True
        """Whether the prompt cache on disk is up to date."""

    def run(self) -> None:
        """Serve until the end."""
        while not (self._is_ending and self._is_idle):
            self._read_commands()
            self._reply_some()
            self._start_next()
            self._work()
        self._trials.close()
        self._host.save(self._saving_s)
        # Refuse commands that came after the last step, so that they are answered, too.
        self._read_commands()
        while self._notes or self._questions or self._long_questions:
            self._reply_some()
        if self._shutdown is not None:
            self._emit(Done(request_id=self._shutdown.request_id))

    def _work(self) -> None:
        """Do one step of a load or of all answers, if there are any."""
        if self._running is not None:
            self._step(self._running)
        elif self._host.is_answering:
            self._step_answers()
        else:
            return
        self._last_work_s, self._is_saved = time.monotonic(), False

    # --- commands ------------------------------------------------------------------------------------------

    def _read_commands(self) -> None:
        """Read all commands that have come. If there is no work, wait for one."""
        if self._is_idle and not self._is_ending:
            self._receive(self._wait())
        for _ in range(len(self._inbox)):
            self._receive(self._inbox.get())

    def _is_still_wanted(self) -> bool:
        """Read commands while the trial process works. Return whether its work is still wanted."""
        for _ in range(len(self._inbox)):
            self._receive(self._inbox.get())
        while self._notes:
            self._emit_note()
        if self._is_replying:
            return not self._waiting.num_jobs and not self._ends_soon
        if self._stepping is not None:
            return self._stepping is self._running and not self._stepping[1].is_cancelled
        return not any(ticket.is_cancelled for ticket in self._answering.values())

    def _work_meanwhile(self) -> bool:
        """Do other work while a long text is tokenized. Return whether its tokens are still wanted."""
        is_wanted = self._is_still_wanted()
        is_replying = self._is_replying
        if not is_replying:
            if not self._host.is_beginning:
                return True  # in the middle of an answer nothing is stopped
            is_wanted = self._host.is_beginning_wanted
        if is_wanted and not self._is_working_meanwhile:
            self._is_working_meanwhile = True
            activity = self._pulse.step
            self._is_replying = False
            try:
                self._reply_to_short_ones()
                # No load starts: it waits for the answers, or the tokens of the question would not be wanted.
                self._start_next()
                self._work()
            finally:
                self._is_replying, self._is_working_meanwhile = is_replying, False
                self._pulse.go_back(activity)
        return is_wanted

    def _wait(self) -> Incoming:
        """Wait for a command. Shortly after the last work, save the prompt cache meanwhile, one file at a time.

        Questions do not count as work: a client that asks at each key press must not prevent saving.
        """
        patience_s = max(0.0, self._last_work_s + _QUIET_S - time.monotonic())
        while True:
            self._pulse.enter("idle")
            try:
                return self._inbox.get(None if self._is_saved else patience_s)
            except queue.Empty:
                self._pulse.enter("saving")
                self._is_saved = not self._host.save_some()
                patience_s = 0.0

    @property
    def _is_idle(self) -> bool:
        is_quiet = self._running is None and not self._host.is_answering
        return is_quiet and not (self._waiting or self._questions or self._long_questions or self._notes)

    def _receive(self, incoming: Incoming) -> None:
        if isinstance(incoming, EndOfInput):
            self._is_ending = True
        elif isinstance(incoming, Interrupt):
            self._end_soon()
        elif isinstance(incoming, Failed | Overload):
            self._notes.append(incoming)
        elif self._shutdown is not None:
            self._refuse(incoming, _SHUTTING_DOWN)
        elif incoming.request_id in self._open:
            self._refuse(incoming, _IN_USE)
        else:
            try:
                self._accept(incoming)
            except OverloadedError:
                del self._open[incoming.request_id]
                self._inbox.release(incoming)
                self._notes.append(Overload(incoming.request_id))
            except BaseException as error:  # see _step
                if not is_failure(error):
                    raise
                self._end(self._failed(incoming, error))

    def _failed(self, command: Command, error: BaseException) -> Failed:
        event = failed(command.request_id, error)
        is_kept = isinstance(command, LoadModel) and self._host.has_model and not self._waits_for_load
        return replace(event, still_loaded=True) if is_kept else event

    def _accept(self, command: Command) -> None:
        match command:
            case Cancel():
                self._cancel(command.target, command.choice)
                self._inbox.release(command)
                self._notes.append(Done(request_id=command.request_id))
            case Shutdown():
                self._shutdown, self._shutdown_at = command, time.monotonic()
                self._end_soon()
            case LoadModel():
                self._open[command.request_id] = command
                if command.endpoint is not None:
                    raise BadRequestError(_NO_ENDPOINTS)
                # A model that can't be loaded is refused at once, so that it does not supersede one that can.
                find_model(command.model)
                if command.draft_model is not None:
                    find_model(command.draft_model)
                self._supersede_previous_load()
                self._append_waiting(command)
            case Generate() | UnloadModel():
                self._append_waiting(command)
            case Plan() | Validate() | Tokenize() | CacheStats():
                if self._waits_for_load:
                    self._append_waiting(command)
                else:
                    self._ask(command)
            case ListHooks():
                self._ask(command)
            case CheckEndpoint():
                raise BadRequestError(_NO_ENDPOINTS)

    def _ask(self, question: Question) -> None:
        self._open[question.request_id] = question
        self._add_question(question)

    def _add_question(self, question: Question) -> None:
        (self._long_questions if is_long(question) else self._questions).append(question)

    def _append_waiting(self, command: Job | Generate | Question) -> None:
        """Append a command to those that wait. Raises `OverloadedError` if too many do."""
        self._open[command.request_id] = command
        if len(self._waiting) + self._host.num_waiting >= MAX_WAITING:
            raise OverloadedError
        num_choices = command.n if isinstance(command, Generate) else 1
        self._waiting.add(command, Ticket(command.request_id, num_choices=num_choices))

    def _refuse(self, command: Command, why: Sentence) -> None:
        """Refuse a command that was not accepted; `_open` may hold another one with its id."""
        self._inbox.release(command)
        self._notes.append(failed(command.request_id, BadRequestError(why)))

    def _end(self, event: Event) -> None:
        """Emit the last event of a command."""
        if event.request_id is not None and (command := self._open.pop(event.request_id, None)) is not None:
            self._inbox.release(command)
        self._emit(event)

    def _end_soon(self) -> None:
        self._is_ending = self._ends_soon = True
        for request_id in list(self._open):
            self._cancel(request_id)

    def _cancel(self, target: RequestId, choice: int | None = None) -> None:
        """Cancel a running request at its next step, a waiting one at once. Questions and `unload_model` stay."""
        if target in self._answering:
            self._answering[target].cancel(choice)
        elif self._running is not None and self._running[1].request_id == target:
            self._running[1].cancel()
        match self._waiting.get(target):
            case (Generate() as command, ticket):
                ticket.cancel(choice)
                if ticket.are_all_cancelled:
                    self._waiting.remove(target)
                    self._end(cancelled_unbegun(command, ticket))
            case (LoadModel() as command, _):
                self._waiting.remove(target)
                sentence = Sentence("Loading “{model}” was cancelled.", model=command.model)
                self._end(self._failed(command, LoadCancelledError(sentence)))
            case _:
                pass

    def _supersede_previous_load(self) -> None:
        """End a load that the next command, another load, makes pointless."""
        if self._waiting:
            last, ticket = self._waiting.last
        elif self._running is not None:
            last, ticket, _ = self._running
        else:
            return
        if not isinstance(last, LoadModel) or ticket.is_cancelled:
            return
        if self._waiting:
            self._waiting.remove(ticket.request_id)
        else:
            self._running = None
        sentence = Sentence("Loading “{model}” stopped because you chose another model.", model=last.model)
        self._end(failed(ticket.request_id, SupersededError(sentence)))

    @property
    def _waits_for_load(self) -> bool:
        return self._running is not None or self._waiting.num_jobs > 0

    # --- replies -------------------------------------------------------------------------------------------

    def _reply_some(self) -> None:
        """For a short time, emit refusals and reply to questions, each in their order."""
        self._reply_to_short_ones()
        if self._long_questions:
            self._end(self._reply_to(self._long_questions.popleft()))

    def _reply_to_short_ones(self) -> None:
        end = time.perf_counter() + _REPLYING_S
        while (self._notes or self._questions) and time.perf_counter() < end:
            if self._notes:
                self._emit_note()
            if self._questions:
                self._end(self._reply_to(self._questions.popleft()))

    def _emit_note(self) -> None:
        note = self._notes.popleft()
        self._emit(_overloaded(note) if isinstance(note, Overload) else note)

    def _reply_to(self, question: Question) -> Event:
        if self._shutdown is not None and time.monotonic() > self._shutdown_at + _PARTING_S:
            return failed(question.request_id, BadRequestError(_SHUTTING_DOWN))
        self._is_replying = True
        try:
            return self._host.reply(question)
        except StoppedError:
            sentence = Sentence("This was not computed, because the model is being replaced. Ask again afterwards.")
            error = BadRequestError(_SHUTTING_DOWN) if self._ends_soon else SupersededError(sentence)
            return failed(question.request_id, error)
        except BaseException as error:  # see _step
            if not is_failure(error):
                raise
            return failed(question.request_id, error)
        finally:
            self._is_replying = False

    # --- work ----------------------------------------------------------------------------------------------

    def _start_next(self) -> None:
        """Start waiting requests. Answers join the running ones; a load waits until answers and questions are done."""
        while self._waiting and self._running is None:
            job, ticket = self._waiting.first
            if isinstance(job, LoadModel | UnloadModel) and (
                self._host.is_answering or self._questions or self._long_questions
            ):
                return
            self._waiting.remove(ticket.request_id)
            match job:
                case LoadModel():
                    self._pulse.enter("loading")
                    self._running = (job, ticket, self._host.load(job, ticket))
                case UnloadModel():
                    self._running = (job, ticket, self._host.unload(job))
                case Generate():
                    self._start_answer(job, ticket)
                case Plan() | Validate() | Tokenize() | CacheStats() | ListHooks():
                    self._add_question(job)

    def _step(self, running: tuple[Job, Ticket, Iterator[Event | None]]) -> None:
        job, _, steps = self._stepping = running
        try:
            event = next(steps)
        except BaseException as error:  # one request's bug must not take the others down
            if not is_failure(error):
                raise
            if self._running is running:  # otherwise another load has replaced it during this step
                self._running = None
                self._end(self._failed(job, error))
            return
        finally:
            self._stepping = None
        if self._running is not running:
            return
        if isinstance(event, ModelLoaded | Done):
            # The job is over: it can no longer be cancelled or superseded.
            self._running = None
            self._end(event)
        elif event is not None:
            self._emit(event)
        if isinstance(event, ModelLoading):
            # A stage begins with its event, and ends with the next event.
            self._pulse.enter("loading", event.stage)

    def _start_answer(self, command: Generate, ticket: Ticket) -> None:
        try:
            self._host.add(command, ticket)
        except BaseException as error:  # see _step
            if not is_failure(error):
                raise
            self._end(failed(command.request_id, error))
        else:
            self._answering[command.request_id] = ticket

    def _step_answers(self) -> None:
        for event in self._host.step(is_meanwhile=self._is_working_meanwhile):
            if isinstance(event, Finished | Failed) and event.request_id is not None:
                del self._answering[event.request_id]
                self._end(event)
            else:
                self._emit(event)


def _overloaded(command: Overload) -> Failed:
    return failure(command.request_id, OverloadedError.kind, OverloadedError().sentence)
