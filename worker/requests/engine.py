"""Requests answered with one model, several at once, a step at a time; it knows no transport and no line of commands.

Prompts are read one after another, in chunks, in the prompt cache's working layers. Answers are continued together,
a token each a step, and between two of those steps a chunk of a prompt is read: what streams keeps streaming.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

import mlx.core as mx

from worker.answers.hook_folder import HookFolder
from worker.answers.steering import Steering
from worker.cache.prompt_cache import PromptCache, default_limit_bytes
from worker.decoding.branch import Branch
from worker.decoding.decode import MOST_GUESSES, Decoder
from worker.decoding.draft import Draft, DraftModel, PromptLookUp
from worker.decoding.drawn import Drawn
from worker.decoding.prefill import Prefill
from worker.errors import BadRequestError, HookFailedError, failed
from worker.language_model import LanguageModel
from worker.protocol import Event, Generate, Plan, Prompt, PromptPlan
from worker.requests.admission import LOOK_EVERY, Admission
from worker.requests.line import Line, SequenceGroup
from worker.requests.planning import planned
from worker.requests.prompts import Prompts
from worker.requests.request import Request
from worker.requests.ticket import Ticket

log = logging.getLogger(__name__)

_MOST_BESIDE = 1 << 14
"""Tokens of other answers that are looked through for what may come."""


class Engine:
    """Answers requests with one model."""

    def __init__(
        self,
        model: LanguageModel,
        cache: PromptCache | None = None,
        hooks: HookFolder | None = None,
        draft: DraftModel | None = None,
        *,
        looks_ahead: bool | None = None,
    ) -> None:
        """`cache` is the model's own; without one, what is read is kept in memory alone.

        `hooks`: where they are found, without it those of Bough alone. `draft` guesses for it. `looks_ahead`: see
        `Decoder`.
        """
        self.model = model
        self.cache = PromptCache(model.new_layers, default_limit_bytes(model.weights_bytes)) if cache is None else cache
        self._prompts = Prompts(model)
        self._prefill = Prefill(model, self.cache)
        self._hooks = hooks or HookFolder()
        self._draft_model = draft
        self._decoder = Decoder(model, self.cache, looks_ahead=looks_ahead)
        self._line = Line()
        self._reading: tuple[SequenceGroup, Iterator[list[Event]]] | None = None
        self._running: dict[Branch, tuple[Request, int]] = {}
        self._has_just_decoded = False
        self._admission = Admission(model, self.cache)

    def guess_with(self, draft: DraftModel | None) -> None:
        """Let another model guess, or none."""
        self._draft_model = draft

    def prompt_ids(self, prompt: Prompt) -> list[int]:
        """Return the ids of a prompt in any of its forms. Raises `BadRequestError`."""
        return self._prompts.ids(prompt)

    def num_prompt_tokens(self, prompt: Prompt) -> int:
        """Return how many tokens a prompt has. Raises `BadRequestError`."""
        return self._prompts.count(prompt)

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """How fast prompts were read lately; None: none was."""
        return self._prefill.pace.tokens_per_s

    def plan(self, command: Plan) -> list[PromptPlan]:
        """Return what each prompt would cost now. Computes nothing. Raises `BadRequestError`."""
        return planned(command, self._prompts, self.model, self.cache)

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays that are held for prompts and answers."""
        return self.cache.num_bytes + self._decoder.num_bytes

    # --- one step of work ----------------------------------------------------------------------------------

    def add(self, command: Generate, ticket: Ticket) -> None:
        """Line a request up. `step` returns its events; the last one is its `finished` or `failed`."""
        self._admission.is_one_by_one = self._admission.is_one_by_one and self.is_busy
        ticket.num_choices = max(ticket.num_choices, command.n)
        self._line.requests.append((command, ticket))

    @property
    def is_busy(self) -> bool:
        """Whether `step` has anything to do."""
        return bool(self._line or self._reading or self._running)

    def step(self) -> list[Event]:
        """Do one step: a token of each answer, or a chunk of a prompt; return what it brought."""
        events: list[Event] = []
        try:
            # One by one: what has ended before something breaks has ended.
            for event in self._step():
                events.append(event)  # noqa: PERF402
        except Exception as error:  # noqa: BLE001 (a bug of ours: whoever waits must hear of it)
            events += self._fail_all(error)
        return events

    def _step(self) -> Iterator[Event]:
        yield from self._end_cancelled()
        if self._reading is None:
            yield from self._begin_reading()
        if self._running and not (self._reading and self._has_just_decoded):
            self._has_just_decoded = True
            yield from self._decode()
            return
        self._has_just_decoded = False
        if self._reading is not None:
            yield from self._read(*self._reading)

    def _end_cancelled(self) -> Iterator[Event]:
        yield from self._line.drop_cancelled()
        for branch, (request, choice) in list(self._running.items()):
            if request.ticket.is_choice_cancelled(choice):
                yield from _told(request.end(choice, "cancelled"))
                yield from self._leave(branch)

    # --- prefill -------------------------------------------------------------------------------------------

    def _begin_reading(self) -> Iterator[Event]:
        """Begin what is next in line, if there is memory for it beside what runs."""
        line = self._line
        while line:
            if not line.groups:
                command, ticket = line.requests[0]
                if not self._running:
                    mx.reset_peak_memory()
                try:
                    self._check(command)
                    request = Request(command, ticket, self._prompts, self.model, self._hooks)
                except Exception as error:  # noqa: BLE001 (one request's bug must not take the others down)
                    line.requests.popleft()
                    yield failed(command.request_id, error)
                    return
                line.requests.popleft()
                line.groups.append(SequenceGroup(request, list(range(command.n)), request.sequence))
            group = line.groups[0]
            if not self._admits(1, group):
                break
            self._decoder.move_out()
            line.groups.popleft()
            self._reading = (group, self._begun(group))
            return
        self._decoder.move_in()

    def _check(self, command: Generate) -> None:
        if command.draft == "model" and self._draft_model is None:
            raise BadRequestError('`draft` is "model", but no draft model is loaded. Load one with `load_model`.')

    def _read(self, group: SequenceGroup, steps: Iterator[list[Event]]) -> Iterator[Event]:
        yield from group.drop_cancelled()
        if not group.choices:
            # Nobody waits for it any more. What was read is kept.
            self._reading = None
            self.cache.keep()
            return
        try:
            progress = next(steps, None)
        except Exception as error:  # noqa: BLE001 (see _begin_reading)
            # What the working layers hold after a step that broke is anyone's guess.
            self.cache.give_up_path()
            yield from self._fail(group.request, error)
            return
        if progress is None:
            self._reading = None
        else:
            yield from progress

    def _begun(self, group: SequenceGroup) -> Iterator[list[Event]]:
        """Read what is not kept of a group's sequence, a chunk a step, and have it continued."""
        request, sequence = group.request, group.sequence
        is_first = not request.num_read
        before: int | None = None
        for done in self._prefill.read(sequence, in_company=lambda: bool(self._running)):
            if before is not None:
                request.note_read(before, done)
            elif is_first:
                request.num_kept = done
            # Of what is read a second time, as several at once broke, nobody has to hear.
            yield [request.progress(done)] if is_first else []
            before = done
        draft = self._draft_for(group)
        if draft is not None:
            try:
                for _ in draft.read(sequence):
                    yield []
            except Exception as error:  # noqa: BLE001 (whatever it was: the answer is the same without guesses)
                log.warning("A draft broke, the answer goes on without it: %s", error)
                draft = None
        logits = self._prefill.forward(sequence[-1:])
        request.note_read(len(sequence) - 1, len(sequence))
        self._reading = None
        yield self._join(group, logits, draft)

    def _draft_for(self, group: SequenceGroup) -> Draft | None:
        """What guesses for an answer that is continued alone; several at once use what there is to compute anyway."""
        if self._running or len(group.choices) > 1 or not self.cache.can_drop(MOST_GUESSES):
            return None
        match group.request.command.draft:
            case "tree":
                return PromptLookUp(self.cache.beside(group.sequence, _MOST_BESIDE), group.sequence)
            case "model" | "auto":
                return self._draft_model
            case "off":
                return None

    # --- decode --------------------------------------------------------------------------------------------

    def _join(self, group: SequenceGroup, logits: mx.array, draft: Draft | None) -> list[Event]:
        """Continue the answers of a group whose sequence the working layers hold: as many as there is memory for."""
        num_more = 1
        while num_more < len(group.choices) and self._admits(num_more + 1, group):
            num_more += 1
        branches = [group.request.branch(choice, group.sequence, draft) for choice in group.choices[:num_more]]
        if self._running or len(branches) > 1:
            # What breaks here is this request's alone.
            mx.eval(logits)
        try:
            self._decoder.join(branches, logits)
        except Exception:
            # Beside which rows it broke is anyone's guess, too.
            self._begin_again()
            raise
        for branch, choice in zip(branches, group.choices, strict=False):
            self._running[branch] = (group.request, choice)
        del group.choices[:num_more]
        if group.choices:
            self._line.groups.appendleft(group)
        # What an answer can't but begin with needs no logits.
        return [event for branch in branches for event in self._take(branch, None)]

    def _admits(self, num_more: int, group: SequenceGroup) -> bool:
        """Whether so many answers of a group can be continued at once beside those that are."""
        return self._admission.admits(len(self._running) + num_more, max(len(group.sequence), self._longest))

    @property
    def _longest(self) -> int:
        return max((len(branch.ids) for branch in self._running), default=0)

    def _suspend(self) -> None:
        """Let the newest answers wait where several have grown out of the memory there is for them."""
        if len(self._running) < 2 or (longest := self._longest) % LOOK_EVERY:
            return
        while not self._admission.holds(len(self._running), longest):
            *_, (branch, (request, choice)) = self._running.items()
            self._decoder.leave(branch, len(branch.ids))
            del self._running[branch]
            self._line.groups.appendleft(SequenceGroup(request, [choice], branch.sequence))

    def _decode(self) -> Iterator[Event]:
        self._suspend()
        try:
            looked_at = self._decoder.step()
        except Exception as error:  # noqa: BLE001 (see _begin_reading)
            yield from self._recover(error)
            return
        for branch, drawn in looked_at:
            yield from self._take(branch, drawn)

    def _take(self, branch: Branch, drawn: Drawn | None) -> Iterator[Event]:
        """Have an answer take its next token, and those that must follow; it may end."""
        if branch not in self._running:
            return  # another answer of its request broke
        request, choice = self._running[branch]
        events: list[Event] = []
        try:
            taken = request.take(choice, branch, drawn)
            # Whatever breaks from here on, so much was said.
            events += taken.events
            is_at_end = request.is_at_end(choice)
            if not is_at_end and taken.is_moved:
                self._follow(branch, request, choice)
            elif taken.is_moved and request.is_branch_of(choice, branch):
                # What was taken back as it ended is nothing to be kept.
                self._decoder.forget_beyond(branch, request.sequence_of(choice))
            num_kept, written = request.num_kept_tokens(choice), request.written(choice)
            following = request.next_segment(choice) if is_at_end else None
            for event in self._begin_forks(request, taken.forks):
                events.append(event)
        except Exception as error:  # noqa: BLE001 (see _begin_reading)
            yield from events
            yield from self._fail(request, error)
            return
        yield from events
        if following is not None:
            self._decoder.leave(branch, num_kept)
            self.cache.note(*written)
            del self._running[branch]
            self._line.groups.appendleft(SequenceGroup(request, [choice], following))
        elif is_at_end:
            yield from self._leave(branch)

    def _follow(self, branch: Branch, request: Request, choice: int) -> None:
        """Have a branch go on from what hooks have made of its answer."""
        sequence = request.sequence_of(choice)
        is_same = request.is_branch_of(choice, branch)
        if not (is_same and self._decoder.go_to(branch, sequence, request.num_left(choice))):
            self._decoder.leave(branch, len(sequence))
            del self._running[branch]
            self._line.groups.appendleft(SequenceGroup(request, [choice], sequence))

    def _begin_forks(self, request: Request, forks: Iterable[Steering]) -> Iterator[Event]:
        for choice in (fork.choice for fork in forks):
            sequence = request.next_segment(choice) if request.is_at_end(choice) else request.sequence_of(choice)
            if sequence is None:
                yield request.ended(choice)
            else:
                self._line.groups.append(SequenceGroup(request, [choice], sequence))

    def _leave(self, branch: Branch) -> Iterator[Event]:
        """Continue a branch no more, whose answer has ended."""
        request, choice = self._running[branch]
        self._decoder.leave(branch, request.num_kept_tokens(choice))
        self.cache.note(*request.written(choice))
        event = request.ended(choice)
        # As long as it is among those that run, somebody hears of it if anything breaks.
        del self._running[branch]
        yield event

    # --- what breaks ---------------------------------------------------------------------------------------

    def _recover(self, error: Exception) -> Iterator[Event]:
        """Go on after a step that broke: an answer alone is over; several are gone on with one after another."""
        if self._decoder.is_alone:
            [(request, _)] = self._running.values()
            self._decoder.dissolve()
            self._running.clear()
            yield from self._fail(request, error)
        else:
            log.warning("Several answers at once broke, they go on one after another: %r", error)
            self._begin_again()

    def _begin_again(self) -> None:
        """Have the answers that run gone on with one after another, from what they have said."""
        running, self._running = self._running, {}
        self._admission.is_one_by_one = True
        for branch in reversed(self._decoder.dissolve()):
            if branch in running:
                request, choice = running[branch]
                self._line.groups.appendleft(SequenceGroup(request, [choice], branch.sequence))

    def _fail(self, request: Request, error: Exception) -> Iterator[Event]:
        """End a whole request."""
        if isinstance(error, HookFailedError):
            yield from error.events
            yield from request.let_go("hook")
        for branch in [branch for branch, (owner, _) in self._running.items() if owner is request]:
            self._decoder.leave(branch, len(request.sequence))
            del self._running[branch]
        self._line.drop(request)
        if self._reading is not None and self._reading[0].request is request:
            self._reading = None
        yield failed(request.request_id, error)

    def _fail_all(self, error: Exception) -> list[Event]:
        requests = self._line.clear()
        requests |= {request.request_id for request, _ in self._running.values()}
        if self._reading is not None:
            requests.add(self._reading[0].request.request_id)
        self._running.clear()
        self._reading = None
        self._decoder.dissolve()
        self.cache.give_up_path()
        return [failed(request_id, error) for request_id in requests]


def _told(event: Event | None) -> list[Event]:
    return [] if event is None else [event]
