"""Requests answered with one model: prompt, prefill, decode, end; it knows no transport and no queue.

Every `yield` is a place where the caller may look for commands: between two chunks of a prompt, between two tokens.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import mlx.core as mx
from msgspec import UNSET

from worker.answer import Answer
from worker.decode import decode
from worker.errors import BadRequestError, ContextOverflowError
from worker.language_model import LanguageModel
from worker.prompt_cache import PromptCache
from worker.protocol import (
    Chunk,
    Finished,
    Generate,
    PrefillProgress,
    Prompt,
    PromptPlan,
    RequestId,
    Timing,
    Usage,
)
from worker.sampler import Sampler

_PREFILL_CHUNK = 512
"""Tokens read between two looks for commands."""

_HEADER = 8
"""Control tokens that are no further apart belong to one place between two messages."""

_MANY_CHARS_A_TOKEN = 16
"""More than nearly all text has."""


@dataclass
class Ticket:
    """A request's place in the line. `is_cancelled` is set from outside and looked at between two steps."""

    request_id: RequestId
    asked: float = field(default_factory=time.perf_counter)
    is_cancelled: bool = False

    def waited_ms(self, until: float | None = None) -> float:
        """Return for how long it has stood in line, or stood there `until` its turn came."""
        return ((time.perf_counter() if until is None else until) - self.asked) * 1e3


@dataclass
class _Run:
    """One request on its way."""

    request: Generate
    ticket: Ticket
    answer: Answer
    sequence: list[int]
    """What the model reads before the first new token."""
    max_tokens: int
    sampler: Sampler
    num_kept: int = 0
    num_read: int = 0
    began: float = field(default_factory=time.perf_counter)
    first: float = 0.0
    """When the first and the last token were known; 0 before there is one."""
    last: float = 0.0

    def finished(self) -> Finished:
        num_timed = len(self.answer.token_ids) - 1
        decode_s = self.last - self.first
        prefill_ms = ((self.first or time.perf_counter()) - self.began) * 1e3
        return Finished(
            request_id=self.request.request_id,
            choices=[self.answer.choice(self.sampler.seed)],
            usage=Usage(
                prompt_tokens=len(self.sequence),
                cached_tokens=self.num_kept,
                prefilled_tokens=self.num_read,
                generated_tokens=len(self.answer.token_ids),
            ),
            timing=Timing(
                queue_ms=self.ticket.waited_ms(self.began),
                prefill_ms=prefill_ms,
                ttft_ms=prefill_ms if self.first else 0.0,
                decode_tokens_per_s=num_timed / decode_s if num_timed > 0 and decode_s > 0 else 0.0,
            ),
        )


class Engine:
    """Answers requests with one model, one after another."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.cache = PromptCache(model.new_layers)

    def prompt_ids(self, prompt: Prompt) -> list[int]:
        """Return the ids of a prompt in any of its forms. Raises `BadRequestError`."""
        if prompt.messages is not UNSET:
            options = prompt.template_options if prompt.template_options is not UNSET else {}
            ids = self.model.chat_template.prompt_ids(prompt.messages, options)
        elif prompt.text is not UNSET:
            # Other than `encode`, a batch lets other threads run meanwhile; megabytes take seconds.
            ids = list(self.model.tokenizer.encode_batch_fast([prompt.text])[0].ids)
        else:
            ids = list(prompt.token_ids) if prompt.token_ids is not UNSET else []
        if not ids:
            raise BadRequestError("The prompt is empty. Send at least one token of text.")
        self._check(ids, "token_ids" if prompt.token_ids is not UNSET else "text")
        return ids

    def plan(self, prompts: Sequence[Prompt]) -> list[PromptPlan]:
        """Return what each prompt would cost now. Computes nothing."""
        plans: list[PromptPlan] = []
        for prompt in prompts:
            ids = self.prompt_ids(prompt)
            num_kept = self.cache.num_kept(ids)
            tier = "warm" if num_kept == len(ids) - 1 else "cold"
            plans.append(PromptPlan(prompt_tokens=len(ids), cached_tokens=num_kept, tier=tier))
        return plans

    def generate(self, request: Generate, ticket: Ticket) -> Iterator[PrefillProgress | Chunk | Finished | None]:
        """Answer `request`; the last event is its `finished`. None: one more step was made, with nothing to tell.

        Raises a `WorkerError` before the first event, or whatever the model's own code raises.
        """
        run = self._begin(request, ticket)
        try:
            yield from self._prefill(run)
            if ticket.is_cancelled:
                run.answer.end("cancelled")
            else:
                yield from self._decode(run)
        except Exception:
            # What the working layers hold after a step that broke is anyone's guess.
            self.cache.give_up_path()
            raise
        yield run.finished()

    def _begin(self, request: Generate, ticket: Ticket) -> _Run:
        vocabulary = self.model.vocabulary
        self._refuse_far_too_long(request)
        prompt_ids = self.prompt_ids(request.prompt)
        continuation = request.continuation
        if continuation is None:
            answer = Answer(vocabulary, request.stop, [])
        elif continuation.token_ids is not UNSET:
            self._check(continuation.token_ids, "continuation.token_ids")
            answer = Answer(vocabulary, request.stop, continuation.token_ids)
        else:
            text = continuation.text if continuation.text is not UNSET else ""
            answer = Answer(vocabulary, request.stop, vocabulary.encode_turn(text), text)
        sequence = prompt_ids + answer.kept_ids
        room = self.model.context_length - len(sequence)
        if room <= 0:
            raise self._overflow(f"{len(sequence):,}")
        seed = request.sampling.seed
        return _Run(
            request=request,
            ticket=ticket,
            answer=answer,
            sequence=sequence,
            max_tokens=min(room, request.max_tokens or room),
            sampler=Sampler(request.sampling, seed if seed is not None else secrets.randbits(32)),
        )

    def _prefill(self, run: _Run) -> Iterator[PrefillProgress]:
        """Read all but the last token of the sequence that is not kept yet."""
        cache, sequence, total = self.cache, run.sequence, len(run.sequence)
        places = self._places_to_keep(sequence)
        run.num_kept = done = cache.rewind_to(sequence)
        yield PrefillProgress(request_id=run.request.request_id, done=done, total=total, cached=run.num_kept)
        while done < total - 1 and not run.ticket.is_cancelled:
            end = min(done + _PREFILL_CHUNK, total - 1)
            end = next((place for place in places if done < place < end), end)
            chunk = sequence[done:end]
            cache.make_room(len(chunk))
            self.model.forward(mx.array(chunk), cache.layers)
            mx.eval([layer.state for layer in cache.layers])
            mx.clear_cache()
            cache.extend(chunk)
            run.num_read += end - done
            done = end
            if done in places:
                cache.keep()
            yield PrefillProgress(request_id=run.request.request_id, done=done, total=total, cached=run.num_kept)
        cache.keep()

    def _places_to_keep(self, sequence: Sequence[int]) -> list[int]:
        """Where a sequence may be forked later, as far as it takes a copy of the layers' states to come back there.

        Templates put control tokens between messages; behind the last of several is where two messages may differ.
        """
        if not self.cache.needs_keeping(len(sequence)):
            return []
        controls = self.model.vocabulary.control_ids
        after = [place + 1 for place, token_id in enumerate(sequence) if token_id in controls]
        ends = [
            place for place, following in pairwise([*after, len(sequence) + _HEADER]) if following - place > _HEADER
        ]
        return sorted({*ends, self.cache.fork(sequence)})

    def _decode(self, run: _Run) -> Iterator[Chunk | None]:
        """Draw tokens until the answer ends; the sequence's last token is read here, for its logits."""
        request_id, answer, request = run.request.request_id, run.answer, run.request
        run.num_read += 1
        for drawn in decode(
            self.model,
            self.cache,
            run.sampler,
            answer.healing,
            run.sequence,
            run.max_tokens,
            request.top_logprobs,
        ):
            run.last = time.perf_counter()
            run.first = run.first or run.last
            text = answer.take(drawn)
            if answer.reason is None and len(answer.token_ids) == run.max_tokens:
                text += answer.end("length")
            yield answer.chunk(request_id, 0, text)
            if answer.reason is None and run.ticket.is_cancelled:
                yield answer.chunk(request_id, 0, answer.end("cancelled"))
            if answer.reason is not None:
                break
        self.cache.keep()

    def _refuse_far_too_long(self, request: Generate) -> None:
        """Megabytes take seconds to tokenize, in which nobody is heard: look at a beginning of them first."""
        texts: list[str] = []
        if request.messages is not UNSET:
            if len(request.messages) > self.model.context_length:
                # A message is a token at least.
                raise self._overflow(f"at least {len(request.messages):,}")
            # What the model wrote may be dropped by its template.
            texts += [message.content for message in request.messages if message.role != "assistant"]
        if request.text is not UNSET:
            texts.append(request.text)
        if request.continuation is not None and request.continuation.text is not UNSET:
            texts.append(request.continuation.text)
        most = self.model.context_length * _MANY_CHARS_A_TOKEN
        for text in texts:
            if len(text) > 2 * most:
                beginning = self.model.tokenizer.encode_batch_fast([text[:most]], add_special_tokens=False)[0]
                if len(beginning.ids) > self.model.context_length:
                    raise self._overflow(f"about {len(beginning.ids) * len(text) // most:,}")

    def _overflow(self, num_tokens: str) -> ContextOverflowError:
        return ContextOverflowError(
            f"The prompt has {num_tokens} tokens; the model's context holds {self.model.context_length:,} "
            "with the answer. Shorten the message, or go on from an earlier one."
        )

    def _check(self, token_ids: Sequence[int], name: str) -> None:
        """Ids that the model has no embedding of would read memory that is none of theirs."""
        highest = max(token_ids, default=0)
        if highest >= self.model.vocab_size:
            raise BadRequestError(
                f"`{name}` holds {highest}, but the model's vocabulary ends at {self.model.vocab_size - 1}. "
                "Use ids of the loaded model."
            )
