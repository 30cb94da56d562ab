"""A token that was drawn, or is being drawn, and what is told of it; how it is drawn it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import mlx.core as mx
import numpy as np


class Drawn(NamedTuple):
    """A token that was drawn; `logprob` and `top` (ids, log-probabilities) only where they were asked for."""

    token_id: int
    logprob: float | None = None
    top: Sequence[tuple[int, float]] = ()
    is_draft: bool = False
    """Whether it was guessed before."""


class PendingToken(NamedTuple):
    """A token under way."""

    token: mx.array  # shape [1]
    report: tuple[mx.array, ...]

    @property
    def arrays(self) -> tuple[mx.array, ...]:
        return (self.token, *self.report)

    def drawn(self) -> Drawn:
        """Wait for it and return it."""
        token_id = int(cast("int", self.token.item()))
        if not self.report:
            return Drawn(token_id)
        logprob, top_ids, top_logprobs = self.report
        top = zip(np.array(top_ids)[0].tolist(), np.array(top_logprobs)[0].tolist(), strict=True)
        return Drawn(
            token_id,
            float(cast("float", logprob.item())),
            sorted(top, key=lambda pair: (-pair[1], pair[0])),
        )


def report(logits: mx.array, token: mx.array, num_top: int) -> tuple[mx.array, ...]:
    """Return what is told of a drawn token, not yet computed: see `PendingToken`. `logits`: shape [1, vocabulary]."""
    logprobs = _logprobs(logits)
    num_top = min(num_top, logprobs.shape[-1])
    top = mx.argpartition(-logprobs, kth=num_top - 1, axis=-1)[:, :num_top]
    return (_logprob_of(logprobs, token), top, mx.take_along_axis(logprobs, top, axis=-1))


def _logprobs(logits: mx.array) -> mx.array:
    logits = logits.astype(mx.float32)
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


def _logprob_of(logprobs: mx.array, token: mx.array) -> mx.array:
    return mx.take_along_axis(logprobs, token[:, None].astype(mx.uint32), axis=-1)
