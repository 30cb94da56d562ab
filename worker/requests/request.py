"""One request: its answers, its costs, and how it ends. Independent of the model's computation."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import mlx.core as mx
from msgspec import UNSET, structs

from worker.answers.answer import Answer
from worker.answers.hook_folder import HookFolder
from worker.answers.steering import Steering, Taken
from worker.answers.writing import Writing
from worker.cache.token_tree import Provenance
from worker.decoding.branch import Branch
from worker.decoding.chunk import CHUNK
from worker.decoding.draft import Draft, Drafting
from worker.decoding.sampled_token import SampledToken
from worker.decoding.sampler import Sampler
from worker.errors import HookFailedError
from worker.events import notices_of
from worker.language_model import LanguageModel
from worker.protocol import (
    Answered,
    Choice,
    Chunk,
    Finished,
    FinishReason,
    Generate,
    HookUse,
    PrefillProgress,
    RequestId,
    Timing,
    Usage,
)
from worker.pulse import Pulse
from worker.requests.beginning import calls_of, does_not_fit, given, plans_of
from worker.requests.prompts import Prompts
from worker.sentence import Sentence

_MAX_CHOICES = 64


@dataclass(eq=False)
class Ticket:
    """A request's place in the queue, through which it can be cancelled. The engine looks at it between two steps."""

    request_id: RequestId
    asked: float = field(default_factory=time.perf_counter)
    num_choices: int = 1
    """The number of answers so far; hooks may fork more."""
    is_cancelled: bool = False
    cancelled_choices: set[int] = field(default_factory=set[int])
    is_long: bool = False
    """Whether it takes more than a tenth of a second to tokenize the prompt."""
    on_cancel: Callable[[Ticket], None] | None = None
    """Called with the ticket after each `cancel`."""

    def waited_ms(self, until: float | None = None) -> float:
        """Return how long the request has waited, in ms, until now or until a time of `time.perf_counter()`."""
        return ((time.perf_counter() if until is None else until) - self.asked) * 1e3

    def cancel(self, choice: int | None = None) -> None:
        """Cancel one answer; None cancels the whole request. An answer that does not exist yet can't be cancelled."""
        if choice is None:
            self.is_cancelled = True
        elif choice < self.num_choices:
            self.cancelled_choices.add(choice)
        if self.on_cancel is not None:
            self.on_cancel(self)

    @property
    def are_all_cancelled(self) -> bool:
        """Whether each of the answers so far was cancelled."""
        return self.is_cancelled or len(self.cancelled_choices) == self.num_choices

    def is_choice_cancelled(self, choice: int) -> bool:
        """Return whether this answer or the whole request was cancelled."""
        return self.is_cancelled or choice in self.cancelled_choices


class Request:
    """A started `generate` command: `n` answers to one prompt."""

    def __init__(
        self,
        command: Generate,
        ticket: Ticket,
        prompts: Prompts,
        model: LanguageModel,
        hooks: HookFolder | None = None,
        pulse: Pulse | None = None,
    ) -> None:
        """Raises a `WorkerError` if the command can't be answered. `hooks`: None means only Bough's own hooks.

        `pulse` is notified of each activity.
        """
        prompts.refuse_far_too_long(command)
        given_ids, given_text = given(command.continuation, prompts, model)
        self.command, self._num_dropped = prompts.fitted(command, len(given_ids))
        self.ticket = ticket
        self.num_kept = 0
        """Tokens of the prompt that were in the cache."""
        self.num_read = 0
        self._prompt_ids = prompts.ids(self.command.prompt)
        # The following steps take long for a prompt that is far too long.
        prompts.room(len(self._prompt_ids) + len(given_ids))
        self._notices = prompts.changes(self.command.prompt)
        self._opens_reasoning = prompts.opens_reasoning(self.command.prompt)
        with (pulse or Pulse()).during("constraint"):
            calls, notices = calls_of(command, model, opens_reasoning=self._opens_reasoning)
            plans, given_text = plans_of(command, model, given_ids, given_text, calls)
        self._notices = [*self._notices, *notices]
        kept_ids = Answer(model.vocabulary, (), given_ids, given_text).kept_ids
        self.sequence = self._prompt_ids + kept_ids
        """All tokens that the model processes before the first new one."""
        room = prompts.room(len(self.sequence))
        max_tokens = room if command.max_tokens is None else command.max_tokens
        self.writings = [
            Writing(model.vocabulary, plans, given_ids, given_text, max_tokens, room) for _ in range(command.n)
        ]
        allowed = self.writings[0].answer.mask.mask()
        if allowed is not None and not allowed.any():
            raise does_not_fit()
        sampling = command.sampling
        prompts.check(list(sampling.logit_bias), "sampling.logit_bias")
        seed = sampling.seed if sampling.seed is not None else secrets.randbits(32)
        self._samplers = [Sampler(sampling, seed + choice, len(self.sequence)) for choice in range(command.n)]
        self._steerings: list[Steering] = []
        """One for each answer; empty without hooks."""
        if command.hooks:
            folder = hooks or HookFolder()
            self._steerings = [
                Steering(
                    command.request_id,
                    choice,
                    seed + choice,
                    writing,
                    folder.new(command.hooks, command.hook_options, command.request_id),
                    model.vocabulary,
                    self._new_choice,
                    command.max_resample_count,
                )
                for choice, writing in enumerate(self.writings)
            ]
        self._draftings: list[Drafting] = []
        self._num_forking = self._num_ended = 0
        self._began = time.perf_counter()
        self._first = self._last = 0.0
        """The times of the first and the last token; 0 before the first token."""

    @property
    def request_id(self) -> RequestId:
        return self.command.request_id

    def branch(self, choice: int, sequence: Sequence[int], num_read: int, draft: Draft | None) -> Branch:
        """Return the branch that continues an answer after `sequence`, whose first `num_read` tokens were processed.

        `draft`: None means no guesses.
        """
        writing = self.writings[choice]
        if draft is not None:
            self._draftings.append(Drafting(draft, writing.answer.constraint))
        return Branch(
            sequence,
            num_read,
            self._samplers[choice],
            writing.answer.mask,
            writing.num_left,
            num_top=self.command.top_logprobs,
            steer=self._steerings[choice] if self._steerings else None,
            guesses=None if draft is None else self._draftings[-1],
        )

    def _new_choice(self, name: str) -> int:
        """Return the number of a new answer. Raises `HookFailedError` for the hook `name` if there are too many."""
        if len(self.writings) + self._num_forking >= _MAX_CHOICES:
            why = Sentence("It forked into more than {num_answers} answers.", num_answers=_MAX_CHOICES)
            raise HookFailedError(name, why)
        self._num_forking += 1
        return len(self.writings) + self._num_forking - 1

    def num_kept_tokens(self, choice: int) -> int:
        """Return how many tokens, prompt included, a later request will find cached if it continues this answer.

        The last token does not count, as it is processed again for the logits after it. After a stop string it counts,
        because the end of the turn usually follows there. The cache also keeps all other tokens that were processed.
        """
        answer = self.writings[choice].answer
        num_kept = answer.num_kept_tokens - (answer.reason != "stop")
        return len(self._prompt_ids) + len(answer.kept_ids) + num_kept

    def written(self, choice: int) -> tuple[list[int], int, list[float | None], list[Provenance]]:
        """Return what the token tree records about a segment that has ended.

        Returns the whole sequence, the number of tokens before the segment, and for each token of the segment its
        log-probability (None if unknown) and its origin.
        """
        answer = self.writings[choice].answer
        sequence = self.sequence_of(choice)
        origins = [Provenance[origin.upper()] for origin in answer.origins]
        return sequence, len(sequence) - len(answer.token_ids), answer.logprobs, origins

    def next_segment(self, choice: int) -> list[int] | None:
        """Begin an answer's next segment. Return the tokens that it continues; None if there is no next segment."""
        writing = self.writings[choice]
        if writing.is_over:
            return None
        writing.begin_next_segment()
        return self._prompt_ids + writing.answer.kept_ids

    def progress(self, done: int, num_partly: int, tokens_per_s: float | None) -> PrefillProgress:
        """Return the event that reports how many tokens of the prompt are processed, and how fast."""
        return PrefillProgress(
            request_id=self.request_id,
            done=done,
            total=len(self.sequence),
            cached=self.num_kept,
            opens_reasoning=self._opens_reasoning,
            partly=num_partly,
            tokens_per_s=tokens_per_s,
        )

    def note_read(self, start: int, end: int) -> None:
        """Count the tokens from `start` to `end` as processed, as far as they belong to the prompt."""
        self.num_read += max(min(end, len(self.sequence)) - start, 0)

    def take(self, choice: int, branch: Branch, drawn: SampledToken | None) -> Taken:
        """Add the next token to an answer, if any, and the tokens forced after it, which are appended to `branch`.

        Each token may end the answer. Raises a `WorkerError`.
        """
        if drawn is not None:
            self._last = time.perf_counter()
            self._first = self._first or self._last
        if self._steerings:
            return self._steer(choice, branch, drawn)
        text, forced = self.writings[choice].take(drawn)
        if forced:
            branch.append(forced)
        chunk = self.writings[choice].chunk(self.request_id, choice, text)
        return Taken() if chunk is None else Taken([chunk])

    def _steer(self, choice: int, branch: Branch, drawn: SampledToken | None) -> Taken:
        taken = self._steerings[choice].take(drawn, branch)
        waiting = list(taken.forks)
        for fork in sorted(waiting, key=lambda fork: fork.choice):
            assert fork.choice == len(self.writings)
            self.writings.append(fork.writing)
            self._steerings.append(fork)
            self._samplers.append(Sampler(self.command.sampling, fork.seeds.seed, len(self.sequence)))
        self._num_forking = 0
        self.ticket.num_choices = len(self.writings)
        return taken

    def is_branch_of(self, choice: int, branch: Branch) -> bool:
        """Return whether a branch was made for the current segment of an answer."""
        return branch.mask is self.writings[choice].answer.mask

    def num_left(self, choice: int) -> int:
        """Return how many more tokens the current segment may have."""
        return self.writings[choice].num_left

    def sequence_of(self, choice: int) -> list[int]:
        """Return all tokens of an answer, prompt included, as its branch must process them."""
        answer = self.writings[choice].answer
        return self._prompt_ids + answer.kept_ids + answer.token_ids

    def end(self, choice: int, reason: FinishReason) -> Chunk | None:
        """End an answer. Return the event with the text that was held back, if any."""
        writing = self.writings[choice]
        return writing.chunk(self.request_id, choice, writing.end(reason))

    def end_all(self, reason: FinishReason) -> list[Chunk]:
        """End all answers that are still running. Return the events with the text that was held back."""
        ended = [self.end(choice, reason) for choice, writing in enumerate(self.writings) if not writing.is_over]
        return [chunk for chunk in ended if chunk is not None]

    def ended(self, choice: int) -> Answered | Finished:
        """Return the event for an answer's end, or `Finished` after the last answer. Call it once for each answer."""
        writing = self.writings[choice]
        self._num_ended += 1
        if self._num_ended == len(self.writings):
            return self._finished()
        assert writing.reason is not None
        return Answered(request_id=self.request_id, choice=choice, reason=writing.reason, stop=writing.answer.stop)

    def is_at_end(self, choice: int) -> bool:
        """Return whether an answer, or its current segment, has ended."""
        writing = self.writings[choice]
        return writing.is_over or writing.answer.reason is not None

    def _choice(self, number: int) -> Choice:
        choice = self.writings[number].choice(self._samplers[number].seed)
        return structs.replace(choice, drawn_before=self._steerings[number].seeds.before) if self._steerings else choice

    def _finished(self) -> Finished:
        num_tokens = [writing.num_own for writing in self.writings]
        num_timed = sum(num_tokens) - sum(1 for number in num_tokens if number)
        decode_s = self._last - self._first
        prefill_ms = ((self._first or time.perf_counter()) - self._began) * 1e3
        return Finished(
            request_id=self.request_id,
            choices=[self._choice(number) for number in range(len(self.writings))],
            usage=Usage(
                prompt_tokens=len(self.sequence),
                cached_tokens=self.num_kept,
                prefilled_tokens=self.num_read,
                generated_tokens=sum(num_tokens),
                forced_tokens=sum(writing.num_own_forced for writing in self.writings),
                draft_tokens=sum(drafting.num_guessed for drafting in self._draftings),
                accepted_tokens=sum(drafting.num_right for drafting in self._draftings),
                dropped_messages=self._num_dropped,
                peak_memory_bytes=mx.get_peak_memory(),
                chunk_tokens=CHUNK,
            ),
            timing=Timing(
                queue_ms=self.ticket.waited_ms(self._began),
                prefill_ms=prefill_ms,
                ttft_ms=prefill_ms if self._first else 0.0,
                decode_tokens_per_s=num_timed / decode_s if num_timed > 0 and decode_s > 0 else 0.0,
            ),
            notices=notices_of(self._notices),
            hooks=[
                HookUse(
                    choice=steering.choice,
                    name=figures.name,
                    calls=figures.num_calls,
                    total_ms=figures.total_s * 1e3,
                    longest_ms=figures.longest_s * 1e3,
                    is_off=figures.is_off,
                )
                for steering in self._steerings
                for figures in steering.hooks.figures
            ],
        )


def cancelled_unbegun(command: Generate, ticket: Ticket) -> Finished:
    """Return the last event of a request that was cancelled before it started."""
    given = command.continuation.token_ids if command.continuation is not None else UNSET
    choices = [
        Choice(
            text="",
            token_ids=[],
            num_recut=0,
            # No seed was chosen, as nothing was sampled.
            seed=(command.sampling.seed or 0) + number,
            reason="cancelled",
            turn_token_ids=[] if given is UNSET else given,
        )
        for number in range(command.n)
    ]
    timing = Timing(queue_ms=ticket.waited_ms())
    return Finished(request_id=command.request_id, choices=choices, usage=Usage(), timing=timing)
