"""A sampled token, known or still being computed, with its log-probabilities. Independent of the sampler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import mlx.core as mx
import numpy as np

from worker.errors import NotFiniteError


class SampledToken(NamedTuple):
    """A sampled token. `logprob` and `top` (ids with log-probabilities) are set only if they were requested."""

    token_id: int
    logprob: float | None = None
    top: Sequence[tuple[int, float]] = ()
    is_draft: bool = False
    """Whether a draft had guessed the token."""


class PendingToken(NamedTuple):
    """A token that is being computed."""

    token: mx.array
    """Shape [1]."""
    checksum: mx.array
    """The sum of the logits, from `checksum`."""
    report: tuple[mx.array, ...]
    """The arrays that `report` returns; empty if no log-probabilities were requested."""

    @property
    def arrays(self) -> tuple[mx.array, ...]:
        return (self.token, self.checksum, *self.report)

    def drawn(self) -> SampledToken:
        """Wait for the token and return it. Raises `NotFiniteError`."""
        token_id = int(cast("int", self.token.item()))
        check(self.checksum)
        if not self.report:
            return SampledToken(token_id)
        logprob, top_ids, top_logprobs = self.report
        top = zip(np.array(top_ids)[0].tolist(), np.array(top_logprobs)[0].tolist(), strict=True)
        return SampledToken(
            token_id,
            float(cast("float", logprob.item())),
            sorted(top, key=lambda pair: (-pair[1], pair[0])),
        )


def checksum(logits: mx.array) -> mx.array:
    """Return a lazy sum that is less than infinity if no logit is NaN or infinity. A logit may be -infinity.

    `logits` has shape [rows, vocabulary].
    """
    return logits.astype(mx.float32).sum()


def check(total: mx.array) -> None:
    """Raise `NotFiniteError` if a sum from `checksum` says that a logit is NaN or infinity."""
    if not cast("float", total.item()) < math.inf:
        raise NotFiniteError


def report(logits: mx.array, token: mx.array, num_top: int) -> tuple[mx.array, ...]:
    """Return the token's log-probability, the `num_top` most likely ids and their log-probabilities, lazily.

    `logits` has shape [1, vocabulary].
    """
    logprobs = _logprobs(logits)
    num_top = min(num_top, logprobs.shape[-1])
    top = mx.argpartition(-logprobs, kth=num_top - 1, axis=-1)[:, :num_top]
    return (_logprob_of(logprobs, token), top, mx.take_along_axis(logprobs, top, axis=-1))


def _logprobs(logits: mx.array) -> mx.array:
    logits = logits.astype(mx.float32)
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


def _logprob_of(logprobs: mx.array, token: mx.array) -> mx.array:
    return mx.take_along_axis(logprobs, token[:, None].astype(mx.uint32), axis=-1)
