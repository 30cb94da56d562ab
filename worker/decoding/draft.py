"""Drafts: guesses of the next tokens, which the model processes all at once. Independent of branches and answers.

Each guess is compared with the token that is sampled at its position and accepted by the hooks. Sampling is a function
of logits and a key, so a draft never changes the answer, except by rounding. A wrong guess only costs time.
"""

from __future__ import annotations

import logging
from array import array
from bisect import bisect_right
from collections.abc import Generator, Iterable, Sequence
from typing import Protocol, cast

import mlx.core as mx
import numpy as np

from worker.cache.branch_in_use import BranchInUse
from worker.cache.prompt_cache import PromptCache
from worker.cache.token_tree import as_ids, num_common
from worker.decoding.chunk import CHUNK, ChunkReader
from worker.decoding.decode import MAX_GUESSES
from worker.language_model import LanguageModel
from worker.text.masks import Rule

log = logging.getLogger(__name__)

_FIRST = 4
"""The number of guesses, and the pause after wrong guesses, to start with."""
_MAX_PAUSE = 64
"""The longest pause after wrong guesses, in tokens."""
_GRAM = 3
"""Prompt look-up searches for the last tokens, this many."""
_NO_TOKEN = (1 << 32) - 1


class Draft(Protocol):
    """A source of guesses."""

    def guess(self, sequence: Sequence[int], most: int, constraint: Rule | None, /) -> list[int]:
        """Return at most `most` tokens that may follow `sequence`. Leaves `constraint` in the same state."""
        ...

    def read(self, sequence: Sequence[int], /) -> Generator[None]:
        """Process a prompt in order to guess tokens after it; yield after each step."""
        ...


class Drafting:
    """One answer's use of a draft. The number of guesses depends on how many of the recent ones were right."""

    def __init__(self, draft: Draft, constraint: Rule | None) -> None:
        self.draft = draft
        self.num_guessed = 0
        self.num_right = 0
        self._constraint = constraint
        self._most = _FIRST
        self._num_open = 0
        self._pause = 0
        self._resumes_at = 0
        self._is_broken = False

    def is_on(self, length: int) -> bool:
        """Return whether to guess after `length` tokens. There is a pause after guesses that were all wrong."""
        return length >= self._resumes_at and not self._is_broken

    def guess(self, sequence: Sequence[int], most: int) -> list[int]:
        """Return guesses that follow `sequence` and that the constraint allows."""
        self._num_open = 0
        most = min(most, self._most)
        if most <= 0:
            return []
        try:
            token_ids = self.draft.guess(sequence, most, self._constraint)[:most]
        except Exception as error:  # noqa: BLE001 (the answer is the same without guesses, so any failure is tolerable)
            log.warning("A draft failed; the answer continues without it: %s", error)
            self._is_broken = True
            return []
        if self._constraint is not None:
            token_ids = token_ids[: self._constraint.fits(token_ids)]
        self._num_open = len(token_ids)
        self.num_guessed += len(token_ids)
        return token_ids

    def note(self, num_right: int, length: int) -> None:
        """Report how many of the last guesses were right, and the present length of the sequence, both in tokens."""
        self.num_right += num_right
        if num_right:
            self._pause = 0
        else:
            self._pause = min(max(2 * self._pause, _FIRST), _MAX_PAUSE)
            self._resumes_at = length + self._pause
        if num_right == self._num_open:
            self._most = min(2 * self._most, MAX_GUESSES)
        elif num_right * 2 < self._num_open:
            self._most = max(1, self._most // 2)


class PromptLookUp:
    """Finds the last tokens in other answers or the prompt, and guesses that the tokens that follow there come next.

    This is prompt look-up decoding (Saxena, 2023), extended to the token tree.
    """

    def __init__(self, sources: Iterable[Sequence[int]], prompt_ids: Sequence[int]) -> None:
        """`sources` are sequences of tokens, the most promising first."""
        self._ends: list[int] = []
        """The end of each source. A value that is not a token follows it."""
        joined = array("I")
        for source in (*sources, prompt_ids):
            joined += as_ids(source)
            self._ends.append(len(joined))
            joined.append(_NO_TOKEN)
        # Each guess searches all sources, because building an index would delay the first token.
        self._tokens = np.frombuffer(joined, dtype=np.uintc)
        self._position: int | None = None
        """The position of the last match."""

    def guess(self, sequence: Sequence[int], most: int, _constraint: Rule | None, /) -> list[int]:
        position = self._find(sequence[-_GRAM:])
        self._position = position
        if position is None:
            return []
        end = self._ends[bisect_right(self._ends, position)]
        return self._tokens[position : min(position + most, end)].tolist()

    def _find(self, gram: Sequence[int]) -> int | None:
        """Return the position after the best match of `gram`; None if there is none."""
        if len(gram) < _GRAM:
            return None
        tokens = self._tokens
        # Compare the last token of the gram first, because few positions have it. The very last position is not a
        # token.
        positions = np.flatnonzero(tokens[_GRAM - 1 : -1] == gram[-1]) + _GRAM
        for num_before, token_id in enumerate(reversed(gram[:-1]), 2):
            positions = positions[tokens[positions - num_before] == token_id]
        positions = positions[tokens[positions] != _NO_TOKEN]
        if not len(positions):
            return None
        # Prefer the match after the last one: the same text probably continues after an insertion or a few changed
        # words.
        index = 0 if self._position is None else int(np.searchsorted(positions, self._position))
        return int(positions[index] if index < len(positions) else positions[0])

    def read(self, _sequence: Sequence[int], /) -> Generator[None]:
        yield from ()


class DraftModel:
    """A smaller model with the same vocabulary; its greedy continuation is the guess."""

    def __init__(self, model: LanguageModel, cache: PromptCache, num_ids: int | None = None) -> None:
        """`num_ids` is the vocabulary size of the model for which this one guesses; None means its own."""
        self._num_ids = model.vocab_size if num_ids is None else min(num_ids, model.vocab_size)
        self.model = model
        self.cache = cache
        self._chunks = ChunkReader(self._read_lazily)

    def guess(self, sequence: Sequence[int], most: int, constraint: Rule | None, /) -> list[int]:
        guesses: list[int] = []
        try:
            self._guess(sequence, most, constraint, guesses)
        except Exception:
            # After a failed step the layers' content is unknown.
            self.cache.give_up_path()
            raise
        finally:
            if constraint is not None:
                constraint.rewind(len(guesses))
        return guesses

    def _guess(self, sequence: Sequence[int], most: int, constraint: Rule | None, guesses: list[int]) -> None:
        for _ in self._read(sequence):
            pass
        coming = list(sequence[len(self.cache.branch.token_ids) :])
        while len(guesses) < most:
            logits = self._forward(coming)[:, : self._num_ids]
            mask = None if constraint is None else constraint.mask()
            if mask is not None:
                # A model's head may be wider than its vocabulary, or than the other model's.
                size = min(len(mask), logits.shape[-1])
                logits = mx.where(_array(mask[:size]), logits[:, :size], -mx.inf)
            token_id = int(cast("int", mx.argmax(logits, axis=-1).item()))
            if constraint is not None and not constraint.consume([token_id]):
                break  # The answer ends here.
            guesses.append(token_id)
            coming = [token_id]

    def read(self, sequence: Sequence[int], /) -> Generator[None]:
        """Process all but the last token of a sequence; yield after each chunk."""
        try:
            yield from self._read(sequence)
        except Exception:
            self.cache.give_up_path()
            raise

    def _read(self, sequence: Sequence[int]) -> Generator[None]:
        cache = self.cache
        num_held = len(cache.branch.token_ids)
        num_same = min(num_common(cache.branch.token_ids, as_ids(sequence)), len(sequence) - 1)
        if num_same < num_held and not cache.branch.take_back(num_held - num_same):
            cache.rewind_to(sequence)
        while len(cache.branch.token_ids) < len(sequence) - 1:
            done = len(cache.branch.token_ids)
            yield from self._chunks.read(sequence[done : min(done + CHUNK, len(sequence) - 1)], cache.branch)
            yield

    def _forward(self, token_ids: list[int]) -> mx.array:
        branch = self.cache.branch
        branch.make_room(len(token_ids))
        logits = self._read_lazily(token_ids, branch)
        branch.extend(token_ids)
        return logits

    def _read_lazily(self, token_ids: Sequence[int], branch: BranchInUse) -> mx.array:
        # Ids that only the other model has become id 0. This can only make the guess worse.
        known = [token_id if token_id < self.model.vocab_size else 0 for token_id in token_ids]
        return self.model.forward(mx.array([known]), branch.layers)


def _array(values: np.ndarray) -> mx.array:
    return mx.array(cast("list[bool]", values))  # MLX takes numpy's arrays; its stubs do not say so
