"""What is known of tokens as they were written: how likely each was, where it came from; it knows no tree, no model."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import IntEnum
from math import isnan, nan
from typing import NamedTuple


class Provenance(IntEnum):
    """How a token came to stand where it does."""

    PROMPT = 0
    """It was read: nobody drew it, as far as one knows."""
    SAMPLED = 1
    FORCED = 2
    HEALED = 3
    DRAFT = 4


class Written(NamedTuple):
    """A token where it stands."""

    id: int
    bytes: bytes
    logprob: float | None
    """Its log-probability after what comes before it, to 32 bits; None where it is not known."""
    origin: Provenance


class Notes:
    """What is known of some tokens that follow one another: 5 bytes each, up to the last of which anything is."""

    __slots__ = ("_logprobs", "_origins")

    def __init__(self, logprobs: array[float] | None = None, origins: array[int] | None = None) -> None:
        """One of each for a token; a log-probability that is not known is no number."""
        self._logprobs = array("f") if logprobs is None else logprobs
        self._origins = array("B") if origins is None else origins

    def add(self, first: int, logprobs: Sequence[float | None], origins: Sequence[Provenance]) -> None:
        """Say something of the tokens from `first` on: what was known stays, but that a token was read gives way."""
        num_more = first + len(origins) - len(self._origins)
        if num_more > 0:
            self._logprobs.extend(array("f", [nan]) * num_more)
            self._origins.extend(array("B", [Provenance.PROMPT]) * num_more)
        for place, (logprob, origin) in enumerate(zip(logprobs, origins, strict=True), first):
            if logprob is not None and isnan(self._logprobs[place]):
                self._logprobs[place] = logprob
            if self._origins[place] == Provenance.PROMPT:
                self._origins[place] = origin

    def cut(self, num_tokens: int) -> tuple[Notes, Notes]:
        """Return what is known of the first `num_tokens` tokens, and of the rest."""
        logprobs, origins = self._logprobs, self._origins
        first = Notes(logprobs[:num_tokens], origins[:num_tokens])
        return first, Notes(logprobs[num_tokens:], origins[num_tokens:])

    def at(self, place: int) -> tuple[float | None, Provenance]:
        """Return what is known of one token."""
        if place >= len(self._origins):
            return None, Provenance.PROMPT
        logprob = self._logprobs[place]
        return None if isnan(logprob) else logprob, Provenance(self._origins[place])
