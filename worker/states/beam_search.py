"""Beam search: the likeliest of all ways to go on from one prompt, each as a whole; it knows no state of a library.

All beams that go on are rows of one batch, so that a step of the model reads a token of each. Where the model can't be
batched, where there is no memory for as many rows, or where a step of several broke, they are read one after another,
each as a branch of the prompt cache. The prompt is read in its working layers, and what a beam that has ended was made
of is entered there.

This is no hook's fork (`steering.py`), though that could spell it: there an answer is asked by itself what becomes of
it, what is put is a token that nobody drew, and what a form forces costs no step. Here all beams are ranked together
before any of them goes on, each token counts with its log-probability, what is forced, too, and most forks are dropped
as soon as they are made.
"""

from __future__ import annotations

import heapq
import logging
from array import array
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import mlx.core as mx
import numpy as np
import numpy.typing as npt

from worker.answers.answer import Answer
from worker.batch import Batch
from worker.cache.prompt_cache import MAX_MARKS, PromptCache, States
from worker.cache.token_tree import Provenance, as_ids, num_common
from worker.decoding.prefill import Prefill
from worker.decoding.sampled_token import SampledToken
from worker.errors import ConstraintInvalidError
from worker.language_model import LanguageModel
from worker.requests.admission import LOOK_EVERY, Admission
from worker.sentence import Sentence

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Beam:
    """One way to go on."""

    answer: Answer
    logprob: float = 0.0
    """The sum of the log-probabilities of all that was drawn, what ended it included."""
    score: float = 0.0
    """What it is ranked by once it has ended."""
    row: int = 0
    """Which of the last step's beams it goes on from."""
    marks: tuple[tuple[int, States], ...] = ()
    """The states after its latest tokens, where positions are not enough to come back."""
    kept: tuple[array[int], int] | None = None
    """Once it has ended: what of it the cache was given, and how many of those tokens were known before."""


class BeamSearch:
    """One search."""

    def __init__(
        self,
        model: LanguageModel,
        cache: PromptCache,
        sequence: Sequence[int],
        answer: Answer,
        max_tokens: int,
        *,
        width: int,
        num_best: int,
        length_penalty: float = 0.0,
    ) -> None:
        """`sequence`: what is read before `answer`, which has no token yet and may grow by `max_tokens`.

        At each step at most `width` beams go on; the `num_best` best ones that have ended are wanted.
        """
        self._model = model
        self._cache = cache
        self._sequence = list(sequence)
        self._begin = Beam(answer)
        self._max_tokens = max_tokens
        self._width = width
        self._num_best = num_best
        self._length_penalty = length_penalty
        self._ended: list[Beam] = []
        """The best so far, best first."""
        self._kept: list[tuple[array[int], int]] = []
        """As in `Beam`, of all beams that have ever been among those."""
        self._batch: Batch | None = None
        """Its rows are the beams that the last step read; None: they lie in the cache."""
        self._prefill = Prefill(model, cache)
        self._admission = Admission(model, cache)
        self._is_apart = not model.can_batch
        self._num_drawn = 0
        """Tokens of each beam that goes on."""
        self.num_kept = 0
        """Tokens of the prompt that were known; the others were read."""

    def run(self) -> list[Beam]:
        """Return the best beams that end, best first: as many as are wanted, if there are.

        Continuations are taken best first, until `width` of them go on; those on the way that end are candidates.
        It is over when no beam can come to more than the worst of the best: its log-probability only sinks, so its
        score can't rise above `_most`. Raises a `WorkerError`.
        """
        try:
            logits, self.num_kept = self._read_alone(self._sequence)
            beams = [self._begin]
            while beams:
                self._num_drawn += 1
                parents, beams = beams, self._grown(beams, logits)
                if beams:
                    logits = self._read(beams, parents)
        finally:
            self._batch = None
            self._cache.reserve(0)
            mx.clear_cache()
        if not self._ended:
            raise ConstraintInvalidError(
                Sentence("This model's tokens can't follow the answer format. Change the format.")
            )
        return self._ended

    # --- which go on ---------------------------------------------------------------------------------------

    def _grown(self, beams: list[Beam], logits: mx.array) -> list[Beam]:
        """Return the beams that go on, best first; keep the best of those that end."""
        eos_ids = self._model.vocabulary.eos_ids
        going_on: list[Beam] = []
        have_ended: set[int] = set()
        displaced: list[Beam] = []
        for logprob, row, token_id, own in self._ranked(beams, logits):
            if len(going_on) == self._width or self._most(logprob, self._num_drawn) <= self._least:
                break
            is_end = token_id in eos_ids
            if is_end and row in have_ended:
                continue  # a turn ends once, by whichever token
            have_ended |= {row} if is_end else set()
            beam = self._with(beams[row], row, token_id, own, logprob)
            if beam.answer.reason is None:
                going_on.append(beam)
            else:
                insort(self._ended, beam, key=lambda ended: -ended.score)
                displaced += self._ended[self._num_best :]
                del self._ended[self._num_best :]
        self._ended = [beam if beam.kept else self._entered(beam, beams[beam.row]) for beam in self._ended]
        # Behind those that may have something in common with them.
        for beam in displaced:
            if beam.kept is not None:
                self._cache.forget(*beam.kept)
        return [beam for beam in going_on if self._most(beam.logprob, self._num_drawn + 1) > self._least]

    def _ranked(self, beams: list[Beam], logits: mx.array) -> Iterator[tuple[float, int, int, float]]:
        """Yield what may come next, best first: the log-probability of all, which beam, the token, its own."""
        logprobs = logits.astype(mx.float32)
        logprobs -= mx.logsumexp(logprobs, axis=-1, keepdims=True)
        masks = [beam.answer.mask.mask() for beam in beams]
        if any(mask is not None for mask in masks):
            everything = np.ones(logprobs.shape[-1], dtype=np.bool_)
            allowed = np.stack([everything if mask is None else mask for mask in masks])
            logprobs = mx.where(mx.array(cast("Any", allowed)), logprobs, -mx.inf)
        num = min(2 * self._width, logprobs.shape[-1])
        ids = mx.argpartition(-logprobs, kth=num - 1, axis=-1)[:, :num]
        best = mx.take_along_axis(logprobs, ids, axis=-1)
        mx.eval(logprobs, ids, best)
        found = [
            _best_first(beam.logprob, row, logprobs[row], np.array(ids[row]), np.array(best[row]))
            for row, beam in enumerate(beams)
        ]
        return heapq.merge(*found, key=lambda each: (-each[0], each[1]))

    def _with(self, beam: Beam, row: int, token_id: int, own: float, logprob: float) -> Beam:
        answer = beam.answer.copy()
        answer.take(SampledToken(token_id, own))
        if answer.reason is None and self._num_drawn == self._max_tokens:
            answer.end("length")
        return Beam(answer, logprob, self._score(logprob, self._num_drawn), row, beam.marks)

    def _score(self, logprob: float, num_drawn: int) -> float:
        return logprob / num_drawn**self._length_penalty

    def _most(self, logprob: float, num_drawn: int) -> float:
        """What a beam can come to that ends with this many tokens or more: not a bit less likely than it is now."""
        return self._score(logprob, self._max_tokens if self._length_penalty > 0 else num_drawn)

    @property
    def _least(self) -> float:
        """What a beam must beat to be one of the best."""
        return self._ended[-1].score if len(self._ended) == self._num_best else -np.inf

    # --- reading -------------------------------------------------------------------------------------------

    def _read_alone(self, sequence: list[int]) -> tuple[mx.array, int]:
        """Read what is not kept of a sequence into the working layers.

        Returns the logits after it, shape [1, vocabulary], and how many of its tokens were kept.
        """
        try:
            num_kept, *_ = self._prefill.read(sequence, in_company=lambda: False)
            logits = self._prefill.forward(sequence[-1:])
            mx.eval(logits, [layer.state for layer in self._cache.branch.layers])
            self._cache.keep()
        except BaseException:
            # What the working layers hold after a step that broke is anyone's guess.
            self._cache.give_up_path()
            raise
        return logits, num_kept

    def _read(self, beams: list[Beam], parents: list[Beam]) -> mx.array:
        """Read the last token of each beam; return the logits after them, shape [beams, vocabulary]."""
        self._is_apart = self._is_apart or not self._has_memory()
        if not self._is_apart:
            try:
                return self._read_together(beams, parents)
            except Exception as error:  # noqa: BLE001 (whatever several at once do not bear)
                log.warning("Several beams at once broke, they go on one after another: %r", error)
                self._is_apart = True
        self._batch = None
        self._cache.reserve(0)
        return mx.concatenate([self._read_alone(self._sequence + beam.answer.token_ids)[0] for beam in beams])

    def _read_together(self, beams: list[Beam], parents: list[Beam]) -> mx.array:
        if self._batch is None:
            # All of them go on from the prompt.
            self._batch = Batch()
            self._batch.add(self._cache.branch.layers, len(beams))
        elif (rows := [beam.row for beam in beams]) != list(range(len(parents))):
            written = [as_ids(parent.answer.token_ids) for parent in parents]
            # What the first and the last one share in the order of words, all of them share.
            self._batch.take(rows, self._num_drawn - 1 - num_common(min(written), max(written)))
        last = mx.array([[beam.answer.token_ids[-1]] for beam in beams])
        logits = self._model.forward(last, self._batch.layers)
        mx.eval(logits)
        if self._num_drawn % LOOK_EVERY == 1:
            self._cache.reserve(self._batch.num_bytes)
        length = len(self._sequence) + self._num_drawn
        if self._cache.branch.needs_keeping(length):
            for row, beam in enumerate(beams):
                states = self._cache.states_of(self._batch.row(row, length), length)
                if states is not None:
                    beams[row] = replace(beam, marks=(*beam.marks, (length, states))[-MAX_MARKS:])
        return logits

    def _has_memory(self) -> bool:
        if self._batch is not None and self._num_drawn % LOOK_EVERY:
            return True
        return self._admission.admits(self._width, len(self._sequence) + self._num_drawn)

    # --- what is kept --------------------------------------------------------------------------------------

    def _entered(self, beam: Beam, parent: Beam) -> Beam:
        """Keep what was read of a beam that has ended, and say how it was written."""
        answer = beam.answer
        ids = as_ids(self._sequence + parent.answer.token_ids)
        num_known = self._cache.num_known(ids)
        # What is known of another one's end was not known before, either.
        shared = [before for others, before in self._kept if num_common(others, ids) >= num_known]
        kept = ids, min([num_known, *shared])
        self._kept.append(kept)
        if self._batch is not None:
            # Whoever goes on from its end reads the last token that stands in its text, for what comes after it.
            place = min(len(self._sequence) + answer.num_kept_tokens, len(ids)) - 1
            earlier = max((mark for mark in parent.marks if mark[0] <= place), key=lambda mark: mark[0], default=None)
            self._cache.enter(ids, self._batch.row(beam.row, len(ids)), earlier)
        origins = [Provenance[origin.upper()] for origin in answer.origins]
        self._cache.note(self._sequence + answer.token_ids, len(self._sequence), answer.logprobs, origins)
        return replace(beam, row=-1, marks=(), kept=kept)


def _best_first(
    so_far: float, row: int, logprobs: mx.array, ids: npt.NDArray[np.uint32], best: npt.NDArray[np.float32]
) -> Iterator[tuple[float, int, int, float]]:
    """Yield what may follow one beam, best first; `best` are the log-probabilities of `ids`, which no other exceeds."""
    order = np.lexsort((ids, -best))
    yield from _possible(so_far, row, ids[order], best[order])
    # Most of those ended, which is rare.
    rest = np.array(logprobs)
    rest[ids] = -np.inf
    order = np.argsort(-rest, kind="stable")
    yield from _possible(so_far, row, order, rest[order])


def _possible(
    so_far: float, row: int, ids: npt.NDArray[Any], logprobs: npt.NDArray[np.float32]
) -> Iterator[tuple[float, int, int, float]]:
    for token_id, logprob in zip(ids.tolist(), logprobs.tolist(), strict=True):
        if logprob == -np.inf:
            return
        yield so_far + logprob, row, token_id, logprob
