"""One request on its way: its answers, what it has cost, when it is over; it knows no model that computes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

import mlx.core as mx
from msgspec import structs

from worker.answers.answer import Answer
from worker.answers.hook_folder import HookFolder
from worker.answers.steering import Steering, Taken
from worker.answers.writing import Writing
from worker.cache.written import Provenance
from worker.decoding.branch import Branch
from worker.decoding.draft import Draft, Drafting
from worker.decoding.drawn import Drawn
from worker.decoding.sampler import Sampler
from worker.errors import HookFailedError
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
from worker.requests.beginning import does_not_fit, given, plans_of
from worker.requests.prompts import Prompts
from worker.requests.ticket import Ticket

_MOST_CHOICES = 64


class Request:
    """A `generate` whose turn has come: `n` answers over one prompt."""

    def __init__(
        self,
        command: Generate,
        ticket: Ticket,
        prompts: Prompts,
        model: LanguageModel,
        hooks: HookFolder | None = None,
    ) -> None:
        """Raises a `WorkerError` where it can't be answered. `hooks`: where they are found, if not Bough's alone."""
        prompts.refuse_far_too_long(command)
        given_ids, given_text = given(command.continuation, prompts, model)
        self.command, self._num_dropped = prompts.fitted(command, len(given_ids))
        self.ticket = ticket
        self.num_kept = 0
        """Tokens of the prompt that were known, and those that were read for it."""
        self.num_read = 0
        self._prompt_ids = prompts.ids(self.command.prompt)
        plans, given_text = plans_of(command, model, given_ids, given_text)
        kept_ids = Answer(model.vocabulary, (), given_ids, given_text).kept_ids
        self.sequence = self._prompt_ids + kept_ids
        """What the model reads before the first new token."""
        room = prompts.room(len(self.sequence))
        max_tokens = room if command.max_tokens is None else command.max_tokens
        self.writings = [
            Writing(model.vocabulary, plans, given_ids, given_text, max_tokens, room) for _ in range(command.n)
        ]
        allowed = self.writings[0].answer.mask.mask()
        if allowed is not None and not allowed.any():
            raise does_not_fit()
        sampling = command.sampling
        seed = sampling.seed if sampling.seed is not None else secrets.randbits(32)
        self._samplers = [Sampler(sampling, seed + choice) for choice in range(command.n)]
        self._steerings: list[Steering] = []
        """Of each answer, where there are hooks."""
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
        """When the first and the last token were known; 0 before there is one."""

    @property
    def request_id(self) -> RequestId:
        return self.command.request_id

    def branch(self, choice: int, sequence: Sequence[int], draft: Draft | None) -> Branch:
        """Return what continues one answer, of which `sequence`, prompt included, was read; `draft` may guess more."""
        writing = self.writings[choice]
        if draft is not None:
            self._draftings.append(Drafting(draft, writing.answer.constraint))
        return Branch(
            sequence,
            self._samplers[choice],
            writing.answer.mask,
            writing.num_left,
            num_top=self.command.top_logprobs,
            steer=self._steerings[choice] if self._steerings else None,
            guesses=None if draft is None else self._draftings[-1],
        )

    def _new_choice(self, name: str) -> int:
        """Number an answer that the hook of this name forks from another one."""
        if len(self.writings) + self._num_forking >= _MOST_CHOICES:
            raise HookFailedError(name, f"It forked: there would be over {_MOST_CHOICES} answers.")
        self._num_forking += 1
        return len(self.writings) + self._num_forking - 1

    def num_kept_tokens(self, choice: int) -> int:
        """How many tokens of what was read for an answer, prompt included, are known to whoever goes on from its text.

        The last one is read again, for what comes after it; but where a stop string cut it the turn's end mostly
        follows. What was read in all is kept besides.
        """
        answer = self.writings[choice].answer
        num_kept = answer.num_kept_tokens - (answer.reason != "stop")
        return len(self._prompt_ids) + len(answer.kept_ids) + num_kept

    def written(self, choice: int) -> tuple[list[int], int, list[float | None], list[Provenance]]:
        """Return what the token tree is to know of a segment that has ended.

        They are all its tokens with what comes before them, how many come before, and of each how likely it was,
        where that is known, and how it came.
        """
        answer = self.writings[choice].answer
        sequence = self.sequence_of(choice)
        origins = [Provenance[origin.upper()] for origin in answer.origins]
        return sequence, len(sequence) - len(answer.token_ids), answer.logprobs, origins

    def next_segment(self, choice: int) -> list[int] | None:
        """Begin the segment of an answer that follows one that has ended, if one does; return what it goes on from."""
        writing = self.writings[choice]
        if writing.is_over:
            return None
        writing.go_on()
        return self._prompt_ids + writing.answer.kept_ids

    def progress(self, done: int) -> PrefillProgress:
        """Return the event that tells how much of the prompt is there."""
        return PrefillProgress(request_id=self.request_id, done=done, total=len(self.sequence), cached=self.num_kept)

    def note_read(self, start: int, end: int) -> None:
        """Note that the model has read the tokens from `start` to `end`, the prompt's first; others don't count."""
        self.num_read += max(min(end, len(self.sequence)) - start, 0)

    def take(self, choice: int, branch: Branch, drawn: Drawn | None) -> Taken:
        """Take the next token of an answer, if there is one, and what must follow it; return what it came to.

        Each token may end the answer. What merely follows is appended to its branch. Raises a `WorkerError`.
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

    def _steer(self, choice: int, branch: Branch, drawn: Drawn | None) -> Taken:
        taken = self._steerings[choice].take(drawn, branch)
        waiting = list(taken.forks)
        for fork in sorted(waiting, key=lambda fork: fork.choice):
            assert fork.choice == len(self.writings)
            self.writings.append(fork.writing)
            self._steerings.append(fork)
            self._samplers.append(Sampler(self.command.sampling, fork.seeds.seed))
        self._num_forking = 0
        self.ticket.num_choices = len(self.writings)
        return taken

    def is_branch_of(self, choice: int, branch: Branch) -> bool:
        """Whether a branch was made for the segment that an answer is in now."""
        return branch.mask is self.writings[choice].answer.mask

    def num_left(self, choice: int) -> int:
        """How many tokens that segment may still have."""
        return self.writings[choice].num_left

    def sequence_of(self, choice: int) -> list[int]:
        """Return all that an answer is made of now, prompt included, as its branch should have read it."""
        answer = self.writings[choice].answer
        return self._prompt_ids + answer.kept_ids + answer.token_ids

    def end(self, choice: int, reason: FinishReason) -> Chunk | None:
        """End an answer for a reason of its own; return what was held back."""
        writing = self.writings[choice]
        return writing.chunk(self.request_id, choice, writing.end(reason))

    def let_go(self, reason: FinishReason) -> list[Chunk]:
        """End all answers that have not ended; return what was held back."""
        ended = [self.end(choice, reason) for choice, writing in enumerate(self.writings) if not writing.is_over]
        return [chunk for chunk in ended if chunk is not None]

    def ended(self, choice: int) -> Answered | Finished:
        """Return the event that tells of an answer's end: of all of them, if it was the last. Once for each."""
        writing = self.writings[choice]
        self._num_ended += 1
        if self._num_ended == len(self.writings):
            return self._finished()
        assert writing.reason is not None
        return Answered(request_id=self.request_id, choice=choice, reason=writing.reason, stop=writing.answer.stop)

    def is_at_end(self, choice: int) -> bool:
        """Whether an answer, or the segment of it that is being written, has ended."""
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
            ),
            timing=Timing(
                queue_ms=self.ticket.waited_ms(self._began),
                prefill_ms=prefill_ms,
                ttft_ms=prefill_ms if self._first else 0.0,
                decode_tokens_per_s=num_timed / decode_s if num_timed > 0 and decode_s > 0 else 0.0,
            ),
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
