"""Drafts: guesses of the tokens to come, which the model reads all at once; it knows no branch and no answer.

Each guess is compared with the token that is drawn (and that hooks have let stand) at its place. Draws are functions
of logits and a key, so the answer is the one without drafts, but for rounding: a wrong guess costs time alone.
"""

from __future__ import annotations

import logging
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, cast

import mlx.core as mx
import numpy as np

from worker.cache.prompt_cache import PromptCache
from worker.cache.token_tree import as_ids, num_common
from worker.decoding.decode import MOST_GUESSES
from worker.language_model import LanguageModel
from worker.text.constraint import Constraint

log = logging.getLogger(__name__)

_FIRST = 4
_LONGEST_PAUSE = 64
"""Tokens."""
_GRAM = 3
"""So many tokens alike make a place where the same may follow."""
_NO_TOKEN = (1 << 32) - 1
_CHUNK = 512


class Draft(Protocol):
    """Something that guesses."""

    def guess(self, sequence: Sequence[int], most: int, constraint: Constraint | None, /) -> list[int]:
        """Return what may follow `sequence`, `most` tokens at most; `constraint` is as it was before."""
        ...

    def read(self, sequence: Sequence[int], /) -> Iterator[None]:
        """Get ready to guess behind a prompt, a step at a time."""
        ...


class Drafting:
    """How one answer uses a draft: as many guesses at once as have lately been right."""

    def __init__(self, draft: Draft, constraint: Constraint | None) -> None:
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
        """Whether to guess what follows so many tokens: not for a while where guesses were all wrong."""
        return length >= self._resumes_at and not self._is_broken

    def guess(self, sequence: Sequence[int], most: int) -> list[int]:
        """Return guesses of what follows; all of them fit the constraint."""
        self._num_open = 0
        most = min(most, self._most)
        if most <= 0:
            return []
        try:
            token_ids = self.draft.guess(sequence, most, self._constraint)[:most]
        except Exception as error:  # noqa: BLE001 (whatever it was: the answer is the same without guesses)
            log.warning("A draft broke, the answer goes on without it: %s", error)
            self._is_broken = True
            return []
        if self._constraint is not None:
            token_ids = token_ids[: self._constraint.fits(token_ids)]
        self._num_open = len(token_ids)
        self.num_guessed += len(token_ids)
        return token_ids

    def note(self, num_right: int, length: int) -> None:
        """Say how many of the last guesses came true, and how many tokens there are now."""
        self.num_right += num_right
        if num_right:
            self._pause = 0
        else:
            self._pause = min(max(2 * self._pause, _FIRST), _LONGEST_PAUSE)
            self._resumes_at = length + self._pause
        if num_right == self._num_open:
            self._most = min(2 * self._most, MOST_GUESSES)
        elif num_right * 2 < self._num_open:
            self._most = max(1, self._most // 2)


class PromptLookUp:
    """Guesses that what followed the last tokens elsewhere follows again: in other answers, then in the prompt.

    This is prompt look-up decoding (Saxena, 2023), with the token tree as what is looked through.
    """

    def __init__(self, sources: Iterable[Sequence[int]], prompt_ids: Sequence[int]) -> None:
        """`sources`: sequences of tokens, those that are likeliest to come again first."""
        self._ends: list[int] = []
        """Of the sources, in order: each is followed by what is no token."""
        joined = array("I")
        for source in (*sources, prompt_ids):
            joined += as_ids(source)
            self._ends.append(len(joined))
            joined.append(_NO_TOKEN)
        # Looked through anew for each guess: an index of them all would keep the first token waiting.
        self._tokens = np.frombuffer(joined, dtype=np.uintc)
        self._place: int | None = None
        """What is expected next is there."""

    def guess(self, sequence: Sequence[int], most: int, _constraint: Constraint | None, /) -> list[int]:
        place = self._found(sequence[-_GRAM:])
        self._place = place
        if place is None:
            return []
        end = self._ends[bisect_right(self._ends, place)]
        return self._tokens[place : min(place + most, end)].tolist()

    def _found(self, gram: Sequence[int]) -> int | None:
        if len(gram) < _GRAM:
            return None
        tokens = self._tokens
        # The token before each place first, as few places have the right one. The last place of all is no token.
        places = np.flatnonzero(tokens[_GRAM - 1 : -1] == gram[-1]) + _GRAM
        for num_before, token_id in enumerate(reversed(gram[:-1]), 2):
            places = places[tokens[places - num_before] == token_id]
        places = places[tokens[places] != _NO_TOKEN]
        if not len(places):
            return None
        # The text it was in goes on: after an insertion, or a few words that differ.
        at = 0 if self._place is None else int(np.searchsorted(places, self._place))
        return int(places[at] if at < len(places) else places[0])

    def read(self, _sequence: Sequence[int], /) -> Iterator[None]:
        yield from ()


class DraftModel:
    """A smaller model with the same vocabulary, which says what it would say."""

    def __init__(self, model: LanguageModel, cache: PromptCache, num_ids: int | None = None) -> None:
        """`num_ids`: how many the model has that it guesses for; None: as many as this one."""
        self._num_ids = model.vocab_size if num_ids is None else min(num_ids, model.vocab_size)
        self.model = model
        self.cache = cache

    def guess(self, sequence: Sequence[int], most: int, constraint: Constraint | None, /) -> list[int]:
        guesses: list[int] = []
        try:
            self._guess(sequence, most, constraint, guesses)
        except Exception:
            # What its layers hold after a step that broke is anyone's guess.
            self.cache.give_up_path()
            raise
        finally:
            if constraint is not None:
                constraint.rewind(len(guesses))
        return guesses

    def _guess(self, sequence: Sequence[int], most: int, constraint: Constraint | None, guesses: list[int]) -> None:
        for _ in self._read(sequence):
            pass
        coming = list(sequence[len(self.cache.token_ids) :])
        while len(guesses) < most:
            logits = self._forward(coming)[:, : self._num_ids]
            mask = None if constraint is None else constraint.mask()
            if mask is not None:
                # A model's head may be wider than its vocabulary, or than the other's.
                size = min(len(mask), logits.shape[-1])
                logits = mx.where(_array(mask[:size]), logits[:, :size], -mx.inf)
            token_id = int(cast("int", mx.argmax(logits, axis=-1).item()))
            if constraint is not None and not constraint.consume([token_id]):
                break  # the end of the answer
            guesses.append(token_id)
            coming = [token_id]

    def read(self, sequence: Sequence[int], /) -> Iterator[None]:
        """Read all but the last token of a sequence, a chunk a step."""
        try:
            yield from self._read(sequence)
        except Exception:
            self.cache.give_up_path()
            raise

    def _read(self, sequence: Sequence[int]) -> Iterator[None]:
        cache = self.cache
        num_held = len(cache.token_ids)
        num_same = min(num_common(cache.token_ids, as_ids(sequence)), len(sequence) - 1)
        if num_same < num_held and not cache.take_back(num_held - num_same):
            cache.rewind_to(sequence)
        while len(cache.token_ids) < len(sequence) - 1:
            done = len(cache.token_ids)
            self._forward(list(sequence[done : min(done + _CHUNK, len(sequence) - 1)]))
            mx.eval([layer.state for layer in cache.layers])
            yield

    def _forward(self, token_ids: list[int]) -> mx.array:
        self.cache.make_room(len(token_ids))
        # What only the other model has is read as something else: a bad guess may come of it, no more.
        known = [token_id if token_id < self.model.vocab_size else 0 for token_id in token_ids]
        logits = self.model.forward(mx.array([known]), self.cache.layers)
        self.cache.extend(token_ids)
        return logits


def _array(values: np.ndarray) -> mx.array:
    return mx.array(cast("list[bool]", values))  # MLX takes numpy's arrays; its stubs do not say so
