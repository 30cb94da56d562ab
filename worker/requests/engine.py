"""The engine: answers several requests with one model, step by step. Independent of transports and of the server.

Prompts are processed one after another, in chunks, in the prompt cache's working layers. In a step, each running answer
gets one token. Some layers of a chunk are computed between two such steps, so that answers keep streaming.
"""

from __future__ import annotations

import logging
import math
import time
from array import array
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing

import mlx.core as mx

from worker.answers.hook_folder import HookFolder
from worker.answers.steering import Steering
from worker.cache.prompt_cache import PromptCache, default_limit_bytes
from worker.decoding.branch import Branch
from worker.decoding.decode import MAX_GUESSES, Decoder
from worker.decoding.draft import Draft, DraftModel, PromptLookUp
from worker.decoding.prefill import Prefill
from worker.decoding.sampled_token import SampledToken
from worker.errors import (
    BadRequestError,
    ConstraintInvalidError,
    HookFailedError,
    NotFiniteError,
    failed,
    is_failure,
)
from worker.language_model import LanguageModel
from worker.protocol import Event, Generate, Plan, Prompt, PromptPlan, Tier
from worker.pulse import Pulse
from worker.requests.admission import LOOK_EVERY, Admission
from worker.requests.beginning import read_of
from worker.requests.prompts import Prompts
from worker.requests.queue import Queue, SequenceGroup
from worker.requests.request import Request, Ticket
from worker.requests.turns import Turns
from worker.sentence import Sentence
from worker.trial import StoppedError

log = logging.getLogger(__name__)

_PROGRESS_S = 0.25
"""The time between two progress reports while a chunk of a prompt is processed."""
_FEW = 8
"""With fewer tokens to process, prefill and decoding alternate step by step, so that chance does not order forks."""
_MAX_LOOK_UP = 1 << 14
"""At most this many tokens of other answers are searched for guesses."""


class Engine:
    """Answers requests with one model. Call `add`, then `step` while `is_busy`."""

    def __init__(
        self,
        model: LanguageModel,
        cache: PromptCache | None = None,
        hooks: HookFolder | None = None,
        draft: DraftModel | None = None,
        *,
        looks_ahead: bool | None = None,
        pulse: Pulse | None = None,
        turns: Turns | None = None,
    ) -> None:
        """`cache`: None means a new cache in memory only. `hooks`: None means only Bough's own hooks.

        `draft` is the draft model, if there is one. For `looks_ahead` see `Decoder`. `pulse` is notified of each
        activity. `turns`: None means a `Turns` that measures the time of steps.
        """
        self.model = model
        self.cache = PromptCache(model.new_layers, default_limit_bytes(model.weights_bytes)) if cache is None else cache
        self._pulse = pulse or Pulse()
        self._prompts = Prompts(model)
        self._prefill = Prefill(model, self.cache)
        self._hooks = hooks or HookFolder()
        self._draft_model = draft
        self._decoder = Decoder(model, self.cache, looks_ahead=looks_ahead)
        self._queue = Queue()
        self._reading: tuple[SequenceGroup, Generator[list[Event]]] | None = None
        self._preparing: list[Ticket] = []
        """The requests whose prompts are being made: one, or two in the middle of a step."""
        self.is_beginning = False
        """Whether a prompt is being made right now. Until it is done, `StoppedError` may be raised."""
        self._num_read = 0
        """How many tokens of the sequence in prefill were processed so far."""
        self._is_short = False
        """Whether that sequence had few tokens to process."""
        self._running: dict[Branch, tuple[Request, int]] = {}
        self._turns = turns or Turns()
        self._admission = Admission(model, self.cache)

    def guess_with(self, draft: DraftModel | None) -> None:
        """Set the draft model; None means no draft model."""
        self._draft_model = draft

    def prompt_ids(self, prompt: Prompt) -> list[int]:
        """Return the token ids of a prompt in any of its forms. Raises `BadRequestError`."""
        with self._pulse.during("template"):
            return self._prompts.ids(prompt)

    def num_prompt_tokens(self, prompt: Prompt) -> int:
        """Return how many tokens a prompt has. Raises `BadRequestError`."""
        with self._pulse.during("template"):
            return self._prompts.count(prompt)

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """How fast prompts were processed recently; None before the first prompt."""
        return self._prefill.pace.tokens_per_s

    def plan(self, command: Plan) -> list[PromptPlan]:
        """Return what each prompt would cost now, without computing anything. Raises `BadRequestError`."""
        given_ids = array("I", read_of(command.continuation, self._prompts, self.model))
        with self._pulse.during("template"):
            return [self._cost(ids + given_ids if given_ids else ids) for ids in self._prompts.planned(command)]

    def _cost(self, ids: array[int]) -> PromptPlan:
        num_kept = self.cache.num_kept(ids)
        tier: Tier = "cold"
        if num_kept == len(ids) - 1:
            # Finding out the tier costs another look-up, so this is done only for prompts that are completely cached.
            tier = "warm" if self.cache.lies_in_memory(ids, num_kept) else "disk"
        return PromptPlan(prompt_tokens=len(ids), cached_tokens=num_kept, tier=tier)

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays held for prompts and answers."""
        return self.cache.num_bytes + self._decoder.num_bytes

    # --- one step of work ----------------------------------------------------------------------------------

    def add(self, command: Generate, ticket: Ticket) -> None:
        """Queue a request. `step` returns its events; the last one is its `finished` or `failed`."""
        self._admission.is_one_by_one = self._admission.is_one_by_one and self.is_busy
        ticket.num_choices = max(ticket.num_choices, command.n)
        self._queue.add(command, ticket)

    @property
    def num_waiting(self) -> int:
        """The number of requests that have not started."""
        return len(self._queue.requests)

    @property
    def is_busy(self) -> bool:
        """Whether `step` has anything to do."""
        return bool(self._queue or self._reading or self._running)

    @property
    def is_beginning_wanted(self) -> bool:
        """Whether the request whose prompt is being made still waits for it."""
        ticket = self._preparing[-1]
        return ticket in self._queue.requests and not ticket.are_all_cancelled

    def step(self, *, is_meanwhile: bool = False) -> list[Event]:
        """Do one step (a token of each answer, or a chunk of a prompt). Return its events.

        `is_meanwhile`: a long text is being tokenized, perhaps in the middle of another call. Long prompts wait then.
        """
        events: list[Event] = []
        is_beginning, self.is_beginning = self.is_beginning, False
        try:
            # Collect the events one by one, so that those before a failure are kept.
            for event in self._step(is_meanwhile=is_meanwhile):
                events.append(event)  # noqa: PERF402
        except BaseException as error:
            # A bug: every waiting request must end in an event.
            if not is_failure(error):
                raise
            events += self._fail_all(error)
        finally:
            self.is_beginning = is_beginning
        return events

    def _step(self, *, is_meanwhile: bool) -> Iterator[Event]:
        ended = list(self._end_cancelled())
        yield from ended
        # The caller gets these events before those of steps that are done while a prompt is made.
        if self._reading is None and not ended:
            yield from self._begin_reading(is_meanwhile=is_meanwhile)
        began = time.perf_counter()
        if self._running and (self._reading is None or self._turns.is_for_decoding):
            yield from self._decode()
            num_waiting = self.num_waiting + len(self._queue.groups) + (self._reading is not None)
            self._turns.note_decoded(time.perf_counter() - began, num_waiting)
        elif self._reading is not None:
            yield from self._read(*self._reading)
            self._turns.note_read(math.inf if self._is_short else time.perf_counter() - began)

    def _end_cancelled(self) -> Iterator[Event]:
        yield from self._queue.drop_cancelled()
        for branch, (request, choice) in list(self._running.items()):
            if request.ticket.is_choice_cancelled(choice):
                chunk = request.end(choice, "cancelled")
                yield from [] if chunk is None else [chunk]
                yield from self._leave(branch)

    # --- prefill -------------------------------------------------------------------------------------------

    def _begin_reading(self, *, is_meanwhile: bool) -> Iterator[Event]:
        """Start to process the next prompt in the queue, if there is memory for its answer."""
        queue = self._queue
        if not queue.groups and (ticket := self._next_ticket(is_meanwhile=is_meanwhile)) is not None:
            yield from self._prepare(ticket, queue.requests[ticket])
            if self._reading is not None or not queue.groups:
                return
        if queue.groups and self._admits(1, queue.groups[0]):
            self._decoder.move_out()
            group = queue.groups.popleft()
            self._reading, self._num_read, self._is_short = (group, self._begun(group)), 0, False
        else:
            self._decoder.move_in()

    def _next_ticket(self, *, is_meanwhile: bool) -> Ticket | None:
        """Return the first request in the queue that may start now."""
        for ticket in self._queue.requests:
            if ticket not in self._preparing and not (is_meanwhile and ticket.is_long):
                return ticket
        return None

    def _prepare(self, ticket: Ticket, command: Generate) -> Iterator[Event]:
        """Start a request: make its prompt, and append its answers to the queue. Yield its end if that fails."""
        requests = self._queue.requests
        if not self._running:
            mx.reset_peak_memory()
        self._pulse.enter("template")
        self._preparing.append(ticket)
        self.is_beginning = True
        try:
            self._check(command)
            request = Request(command, ticket, self._prompts, self.model, self._hooks, self._pulse)
        except StoppedError:
            return  # a request was cancelled; if it was another one, this request starts again later
        except Exception as error:  # noqa: BLE001 (one request's bug must not end the others)
            if requests.pop(ticket, None) is not None:
                yield failed(command.request_id, error)
            return
        finally:
            self._preparing.pop()
            self.is_beginning = False
        # Steps that were done meanwhile may have ended the request.
        if requests.pop(ticket, None) is not None:
            self._queue.groups.append(SequenceGroup(request, list(range(command.n)), request.sequence))

    def _check(self, command: Generate) -> None:
        if command.draft == "model" and self._draft_model is None:
            raise BadRequestError(
                Sentence('`draft` is "model", but no draft model is loaded. Load a model with a draft model.')
            )

    def _read(self, group: SequenceGroup, steps: Iterator[list[Event]]) -> Iterator[Event]:
        yield from group.drop_cancelled()
        if not group.choices:
            # All its answers were cancelled. Keep the chunks that were processed completely.
            self._stop_reading()
            self.cache.keep()
            return
        self._pulse.enter("reading", done=self._num_read, total=len(group.sequence))
        try:
            progress = next(steps, None)
        except Exception as error:  # noqa: BLE001 (see _begin_reading)
            # After a failed step the content of the working layers is unknown.
            self.cache.give_up_path()
            yield from self._fail(group.request, error)
            return
        if progress is None:
            self._reading = None
        else:
            yield from progress

    def _stop_reading(self) -> None:
        """Undo the chunk that is being processed, if any."""
        if self._reading is not None:
            steps = self._reading[1]
            self._reading = None
            steps.close()

    def _begun(self, group: SequenceGroup) -> Generator[list[Event]]:
        """Process the part of a group's sequence that is not cached, then continue it. Yield events after each step."""
        request, sequence = group.request, group.sequence
        is_first = not request.num_read
        before: int | None = None
        reported_s = 0.0
        prefill = self._prefill
        with closing(prefill.read(sequence)) as steps:
            for done in steps:
                if before is not None:
                    request.note_read(before, done)
                elif is_first:
                    request.num_kept = done
                if before is None:
                    self._is_short = len(sequence) - done < _FEW
                # A sequence that is processed again after a failure reports no progress.
                is_news = done != before or time.monotonic() - reported_s > _PROGRESS_S
                if is_first and is_news:
                    reported_s = time.monotonic()
                    yield [request.progress(done, prefill.num_partly, prefill.pace.tokens_per_s)]
                else:
                    yield []
                before = self._num_read = done
        draft = self._draft_for(group)
        if draft is not None:
            try:
                with closing(draft.read(sequence)) as draft_steps:
                    for _ in draft_steps:
                        yield []
            except Exception as error:  # noqa: BLE001 (the answer is the same without guesses)
                log.warning("A draft failed; the answer continues without it: %s", error)
                draft = None
        # Beside other answers, a prompt's last token is processed in their next step, which costs little.
        joins_unread = is_first and self._running and len(group.choices) == 1
        logits = None if joins_unread else self._prefill.forward(sequence[-1:])
        request.note_read(len(sequence) - 1, len(sequence))
        self._reading = None
        yield self._join(group, logits, draft)

    def _draft_for(self, group: SequenceGroup) -> Draft | None:
        """Return the draft for an answer that runs alone; None for several, which use all cores without drafts."""
        if self._running or len(group.choices) > 1 or not self.cache.branch.can_drop(MAX_GUESSES):
            return None
        match group.request.command.draft:
            case "tree":
                return PromptLookUp(self.cache.beside(group.sequence, _MAX_LOOK_UP), group.sequence)
            case "model" | "auto":
                return self._draft_model
            case "off":
                return None

    # --- decode --------------------------------------------------------------------------------------------

    def _join(self, group: SequenceGroup, logits: mx.array | None, draft: Draft | None) -> list[Event]:
        """Continue as many answers of a group as fit in memory.

        The working layers hold its sequence; if `logits` is None, all but its last token.
        """
        num_more = 1
        while num_more < len(group.choices) and self._admits(num_more + 1, group):
            num_more += 1
        num_read = len(group.sequence) - (logits is None)
        branches = [
            group.request.branch(choice, group.sequence, num_read, draft) for choice in group.choices[:num_more]
        ]
        if logits is not None and (self._running or len(branches) > 1):
            # A failure here concerns only this request.
            mx.eval(logits)
        try:
            self._decoder.join(branches, logits)
        except Exception:
            # The state of the other rows is unknown after a failure.
            self._restart()
            raise
        self._turns.note_joined()
        for branch, choice in zip(branches, group.choices, strict=False):
            self._running[branch] = (group.request, choice)
        del group.choices[:num_more]
        if group.choices:
            self._queue.groups.appendleft(group)
        # Tokens that are forced at the start need no logits.
        return [event for branch in branches for event in self._take(branch, None)]

    def _admits(self, num_more: int, group: SequenceGroup) -> bool:
        """Return whether `num_more` answers of a group can run beside those that are running."""
        saved_bytes = self._decoder.saved_bytes
        if self._decoder.can_share(num_more, len(group.sequence)):
            saved_bytes += (num_more - 1) * self.model.shared_bytes_at(len(group.sequence))
        return self._admission.admits(
            len(self._running) + num_more, max(len(group.sequence), self._longest), saved_bytes
        )

    @property
    def _longest(self) -> int:
        return max((len(branch.ids) for branch in self._running), default=0)

    def _suspend(self) -> None:
        """Suspend the newest answers if the running ones no longer fit in memory."""
        if len(self._running) < 2 or (longest := self._longest) % LOOK_EVERY:
            return
        while not self._admission.holds(len(self._running), longest, self._decoder.saved_bytes):
            *_, (branch, (request, choice)) = self._running.items()
            self._decoder.leave(branch, len(branch.ids))
            del self._running[branch]
            self._queue.groups.appendleft(SequenceGroup(request, [choice], branch.sequence))

    def _decode(self) -> Iterator[Event]:
        self._pulse.enter("decoding")
        self._suspend()
        try:
            looked_at = self._decoder.step()
        except Exception as error:  # noqa: BLE001 (see _begin_reading)
            yield from self._recover(error)
            return
        for branch, drawn in looked_at:
            yield from self._take(branch, drawn)

    def _take(self, branch: Branch, drawn: SampledToken | None) -> Iterator[Event]:
        """Add the next token to an answer, and the tokens forced after it. Each may end the answer."""
        if branch not in self._running:
            return  # Another answer of its request failed.
        request, choice = self._running[branch]
        events: list[Event] = []
        try:
            taken = request.take(choice, branch, drawn)
            # Send these events whatever fails from here on.
            events += taken.events
            is_at_end = request.is_at_end(choice)
            if not is_at_end and taken.is_moved:
                self._follow(branch, request, choice)
            elif taken.is_moved and request.is_branch_of(choice, branch):
                # Don't keep tokens that were taken back at its end.
                self._decoder.drop_beyond(branch, request.sequence_of(choice))
            # Done only at the end, because both calls go through all tokens.
            ended = (request.num_kept_tokens(choice), request.written(choice)) if is_at_end else None
            following = request.next_segment(choice) if is_at_end else None
            for event in self._begin_forks(request, taken.forks):
                events.append(event)
        except Exception as error:  # noqa: BLE001 (see _begin_reading)
            yield from events
            yield from self._fail(request, error)
            return
        yield from events
        if ended is not None and following is not None:
            num_kept, written = ended
            self._decoder.leave(branch, num_kept)
            self.cache.note(*written)
            del self._running[branch]
            self._queue.groups.appendleft(SequenceGroup(request, [choice], following))
        elif is_at_end:
            yield from self._leave(branch)

    def _follow(self, branch: Branch, request: Request, choice: int) -> None:
        """Make a branch continue the tokens of its answer after hooks changed them."""
        sequence = request.sequence_of(choice)
        is_same = request.is_branch_of(choice, branch)
        if not (is_same and self._decoder.go_to(branch, sequence, request.num_left(choice))):
            self._decoder.leave(branch, len(sequence))
            del self._running[branch]
            self._queue.groups.appendleft(SequenceGroup(request, [choice], sequence))

    def _begin_forks(self, request: Request, forks: Iterable[Steering]) -> Iterator[Event]:
        for choice in (fork.choice for fork in forks):
            sequence = request.next_segment(choice) if request.is_at_end(choice) else request.sequence_of(choice)
            if sequence is None:
                yield request.ended(choice)
            else:
                self._queue.groups.append(SequenceGroup(request, [choice], sequence))

    def _leave(self, branch: Branch) -> Iterator[Event]:
        """Remove the branch of an answer that has ended."""
        request, choice = self._running[branch]
        self._decoder.leave(branch, request.num_kept_tokens(choice))
        self.cache.note(*request.written(choice))
        event = request.ended(choice)
        # Remove the request only now: if anything above fails, running requests are ended with an event.
        del self._running[branch]
        yield event

    # --- failures ------------------------------------------------------------------------------------------

    def _recover(self, error: Exception) -> Iterator[Event]:
        """Recover from a failed step. A single answer fails; several answers are continued one after another."""
        if self._decoder.is_alone:
            [(request, _)] = self._running.values()
            if isinstance(error, NotFiniteError):
                self.cache.drop_path()
            self._decoder.dissolve()
            self._running.clear()
            yield from self._fail(request, error)
        else:
            log.warning("Several answers at once failed; they continue one after another: %r", error)
            self._restart()

    def _restart(self) -> None:
        """Put all running answers back into the queue, to be continued one after another."""
        running, self._running = self._running, {}
        self._admission.is_one_by_one = True
        for branch in reversed(self._decoder.dissolve()):
            if branch in running:
                request, choice = running[branch]
                self._queue.groups.appendleft(SequenceGroup(request, [choice], branch.sequence))

    def _fail(self, request: Request, error: Exception) -> Iterator[Event]:
        """End a whole request."""
        if isinstance(error, HookFailedError):
            yield from error.events
            yield from request.end_all("hook")
        elif isinstance(error, NotFiniteError | ConstraintInvalidError):
            yield from request.end_all("cancelled")
        for branch in [branch for branch, (owner, _) in self._running.items() if owner is request]:
            self._decoder.leave(branch, len(request.sequence))
            del self._running[branch]
        self._queue.drop(request)
        if self._reading is not None and self._reading[0].request is request:
            self._stop_reading()
        yield failed(request.request_id, error)

    def _fail_all(self, error: BaseException) -> list[Event]:
        requests = self._queue.clear()
        requests |= {request.request_id for request, _ in self._running.values()}
        if self._reading is not None:
            requests.add(self._reading[0].request.request_id)
        self._running.clear()
        self._stop_reading()
        self._decoder.dissolve()
        self.cache.give_up_path()
        return [failed(request_id, error) for request_id in requests]
