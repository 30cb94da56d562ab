"""Beam search: finds the continuations of a prompt that are most likely as a whole. Independent of states.

All active beams are rows of one batch, so a step of the model processes a token of each. If the model can't be batched,
if there is too little memory, or after a batched step has failed, they are processed one after another as branches of
the prompt cache. The prompt is processed there, and finished beams are entered there.

This does not use the forks of hooks (`steering.py`), because there each answer decides alone, and forced tokens have no
probability. Here all beams are ranked together before any of them continues, the log-probability of each token counts
even if it is forced, and most forks are dropped at once.
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
from worker.batch import SHORTEST_SHARED, Batch
from worker.cache.prompt_cache import MAX_MARKS, PromptCache, States
from worker.cache.token_tree import Provenance, as_ids, num_common
from worker.decoding.prefill import Prefill
from worker.decoding.sampled_token import SampledToken, check, checksum
from worker.errors import ConstraintInvalidError, NotFiniteError
from worker.language_model import LanguageModel
from worker.requests.admission import LOOK_EVERY, Admission
from worker.sentence import Sentence

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Beam:
    """One continuation."""

    answer: Answer
    logprob: float = 0.0
    """The sum of the log-probabilities of the beam's tokens, including the token that ended the beam."""
    score: float = 0.0
    """The number by which finished beams are ranked, highest first."""
    row: int = 0
    """The index of its parent among the beams of the last step."""
    marks: tuple[tuple[int, States], ...] = ()
    """The layers' states after its latest tokens, with their positions, if the layers can't be trimmed."""
    kept: tuple[array[int], int] | None = None
    """For a finished beam: the tokens that were entered into the cache, and how many of them the cache already had."""


class BeamSearch:
    """A search from one prompt."""

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
        """`sequence` is the prompt. `answer` is still empty, and may grow by `max_tokens`.

        At each step at most `width` beams continue. The search returns the `num_best` best finished beams.
        """
        self._model = model
        self._cache = cache
        self._sequence = list(sequence)
        self._root = Beam(answer)
        self._max_tokens = max_tokens
        self._width = width
        self._num_best = num_best
        self._length_penalty = length_penalty
        self._finished: list[Beam] = []
        """The best finished beams so far, best first."""
        self._kept: list[tuple[array[int], int]] = []
        """`Beam.kept` of all beams that were ever in `_finished`."""
        self._batch: Batch | None = None
        """Its rows are the beams of the last step. None if they are in the cache."""
        self._prefill = Prefill(model, cache)
        self._admission = Admission(model, cache)
        self._is_separate = not model.can_batch
        """Whether beams are processed one after another."""
        self._num_sampled = 0
        """How many tokens each active beam has."""
        self.num_kept = 0
        """How many tokens of the prompt were in the cache."""

    def run(self) -> list[Beam]:
        """Return the best finished beams, best first: `num_best`, or fewer if there are no more.

        Each step takes continuations, best first, until `width` of them continue. Those that end on the way are
        candidates. The search stops when no active beam can become one of the best: a log-probability only decreases,
        so the score can't exceed `_max_score`. Raises a `WorkerError`.
        """
        try:
            logits, self.num_kept = self._read_one(self._sequence)
            beams = [self._root]
            while beams:
                self._num_sampled += 1
                parents, beams = beams, self._next_beams(beams, logits)
                if beams:
                    logits = self._read(beams, parents)
        finally:
            self._batch = None
            self._cache.reserve(0)
            mx.clear_cache()
        if not self._finished:
            raise ConstraintInvalidError(
                Sentence("This model's tokens can't follow the answer format. Change the format.")
            )
        return self._finished

    # --- ranking -------------------------------------------------------------------------------------------

    def _next_beams(self, beams: list[Beam], logits: mx.array) -> list[Beam]:
        """Return the beams that continue, best first, and keep the best ones that end."""
        eos_ids = self._model.vocabulary.eos_ids
        active: list[Beam] = []
        rows_ended: set[int] = set()
        displaced: list[Beam] = []
        for logprob, row, token_id, token_logprob in self._ranked(beams, logits):
            if len(active) == self._width or self._max_score(logprob, self._num_sampled) <= self._min_score:
                break
            is_end = token_id in eos_ids
            if is_end and row in rows_ended:
                continue  # Several tokens may end a turn, but the most likely one is enough.
            rows_ended |= {row} if is_end else set()
            beam = self._extended(beams[row], row, token_id, token_logprob, logprob)
            if beam.answer.reason is None:
                active.append(beam)
            else:
                insort(self._finished, beam, key=lambda finished: -finished.score)
                displaced += self._finished[self._num_best :]
                del self._finished[self._num_best :]
        self._finished = [beam if beam.kept else self._entered(beam, beams[beam.row]) for beam in self._finished]
        # Drop them only now, as new beams may share tokens with the displaced ones.
        for beam in displaced:
            if beam.kept is not None:
                self._cache.drop(*beam.kept)
        return [beam for beam in active if self._max_score(beam.logprob, self._num_sampled + 1) > self._min_score]

    def _ranked(self, beams: list[Beam], logits: mx.array) -> Iterator[tuple[float, int, int, float]]:
        """Yield next tokens, best first: the beam's new log-probability, its index, the token, the token's own."""
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

    def _extended(self, beam: Beam, row: int, token_id: int, token_logprob: float, logprob: float) -> Beam:
        answer = beam.answer.copy()
        answer.take(SampledToken(token_id, token_logprob))
        if answer.reason is None and self._num_sampled == self._max_tokens:
            answer.end("length")
        return Beam(answer, logprob, self._score(logprob, self._num_sampled), row, beam.marks)

    def _score(self, logprob: float, num_sampled: int) -> float:
        return logprob / num_sampled**self._length_penalty

    def _max_score(self, logprob: float, num_sampled: int) -> float:
        """Return the highest score that a beam can reach with at least this many tokens."""
        return self._score(logprob, self._max_tokens if self._length_penalty > 0 else num_sampled)

    @property
    def _min_score(self) -> float:
        """The score that a beam must exceed to be among the best."""
        return self._finished[-1].score if len(self._finished) == self._num_best else -np.inf

    # --- reading -------------------------------------------------------------------------------------------

    def _read_one(self, sequence: list[int]) -> tuple[mx.array, int]:
        """Process the part of a sequence that is not cached, in the cache's branch in use.

        Returns the logits after it, shape [1, vocabulary], and how many of its tokens were cached.
        """
        try:
            num_kept, *_ = self._prefill.read(sequence)
            logits = self._prefill.forward(sequence[-1:])
            total = checksum(logits)
            mx.eval(logits, total, [layer.state for layer in self._cache.branch.layers])
            check(total)
            self._cache.keep()
        except NotFiniteError:
            self._cache.drop_path()
            raise
        except BaseException:
            # After a failed step, the contents of the layers are undefined.
            self._cache.give_up_path()
            raise
        return logits, num_kept

    def _read(self, beams: list[Beam], parents: list[Beam]) -> mx.array:
        """Process the last token of each beam. Returns the logits after them, shape [beams, vocabulary]."""
        self._is_separate = self._is_separate or not self._has_memory()
        if not self._is_separate:
            try:
                return self._read_batch(beams, parents)
            except Exception as error:  # noqa: BLE001 (a model's code may fail on a batch in any way)
                log.warning("A batch of beams failed; they are read one after another now: %r", error)
                self._is_separate = True
        self._batch = None
        self._cache.reserve(0)
        return mx.concatenate([self._read_one(self._sequence + beam.answer.token_ids)[0] for beam in beams])

    def _read_batch(self, beams: list[Beam], parents: list[Beam]) -> mx.array:
        if self._batch is None:
            # All beams continue the prompt.
            self._batch = Batch()
            is_shared = len(self._cache.branch.token_ids) >= SHORTEST_SHARED and self._model.can_share
            self._batch.add(self._cache.branch.layers, len(beams), is_shared=is_shared)
        elif (rows := [beam.row for beam in beams]) != list(range(len(parents))):
            written = [as_ids(parent.answer.token_ids) for parent in parents]
            # The prefix that the first and the last of the sorted beams share is common to all.
            self._batch.take(rows, self._num_sampled - 1 - num_common(min(written), max(written)))
        last = mx.array([[beam.answer.token_ids[-1]] for beam in beams])
        logits = self._model.forward(last, self._batch.layers_of_step())
        total = checksum(logits)
        mx.eval(logits, total)
        check(total)
        if self._num_sampled % LOOK_EVERY == 1:
            self._cache.reserve(self._batch.num_bytes)
        length = len(self._sequence) + self._num_sampled
        if self._cache.branch.needs_keeping(length):
            for row, beam in enumerate(beams):
                states = self._cache.states_of(self._batch.row(row, length), length)
                if states is not None:
                    beams[row] = replace(beam, marks=(*beam.marks, (length, states))[-MAX_MARKS:])
        return logits

    def _has_memory(self) -> bool:
        if self._batch is not None and self._num_sampled % LOOK_EVERY:
            return True
        return self._admission.admits(self._width, len(self._sequence) + self._num_sampled)

    # --- the cache -----------------------------------------------------------------------------------------

    def _entered(self, beam: Beam, parent: Beam) -> Beam:
        """Enter the processed tokens of a finished beam into the cache, with their provenance."""
        answer = beam.answer
        ids = as_ids(self._sequence + parent.answer.token_ids)
        num_known = self._cache.num_known(ids)
        # Tokens that are known only from another beam were not known before the search.
        shared = [before for others, before in self._kept if num_common(others, ids) >= num_known]
        kept = ids, min([num_known, *shared])
        self._kept.append(kept)
        if self._batch is not None:
            # To continue the beam, the model processes the last token of its text again, for the logits after it.
            last = min(len(self._sequence) + answer.num_kept_tokens, len(ids)) - 1
            earlier = max((mark for mark in parent.marks if mark[0] <= last), key=lambda mark: mark[0], default=None)
            self._cache.enter(ids, self._batch.row(beam.row, len(ids)), earlier)
        origins = [Provenance[origin.upper()] for origin in answer.origins]
        self._cache.note(self._sequence + answer.token_ids, len(self._sequence), answer.logprobs, origins)
        return replace(beam, row=-1, marks=(), kept=kept)


def _best_first(
    so_far: float, row: int, logprobs: mx.array, ids: npt.NDArray[np.uint32], best: npt.NDArray[np.float32]
) -> Iterator[tuple[float, int, int, float]]:
    """Yield the possible next tokens of one beam, best first.

    `best` are the log-probabilities of the most likely `ids`.
    """
    order = np.lexsort((ids, -best))
    yield from _possible(so_far, row, ids[order], best[order])
    # The other tokens are rarely needed: only if most of the likely ones end the beam.
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
