"""Sampling as a pure function of logits and a key. Independent of the model.

The key is made of (seed, position, visit) rather than of a generator's state. So the same position with the same logits
gives the same token, and a second visit to the position gives another one.

On a GPU, functions that do not depend on the settings are compiled, as mlx-lm's filters are. Temperature and key are
passed as arrays, so that each function is compiled once. The environment variable `MLX_DISABLE_COMPILE` switches this
off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.sample_utils import (
    apply_min_p,
    apply_top_k,
    apply_top_p,
    make_frequency_penalty,
    make_presence_penalty,
    make_repetition_penalty,
)

from worker.protocol import DrawnBefore, Sampling

Penalty = Callable[[mx.array, mx.array], mx.array]

_MASK = (1 << 64) - 1

_MIN_TEMPERATURE = 1e-6
"""A lower temperature would pick the most likely token anyway, and the quotient may overflow in 32 bits."""

_MIN_TOP_P = 1e-9
"""A lower value would keep only the most likely token anyway, or no token if it is rounded to 0 in 32 bits."""


def _logprobs(logits: mx.array) -> mx.array:
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


def _drawn(logprobs: mx.array, factor: mx.array, key: mx.array) -> mx.array:
    return mx.random.categorical(logprobs * factor, key=key)


_PLAIN = _logprobs, _drawn
_COMPILED = mx.compile(_logprobs), mx.compile(_drawn)


class Sampler:
    """Samples tokens with the settings of one request."""

    def __init__(self, sampling: Sampling, seed: int, num_given: int = 0, *, is_compiled: bool | None = None) -> None:
        """`num_given`: how many tokens come before the answer. `is_compiled`: None means only on a GPU."""
        self.seed = seed
        if is_compiled is None:
            is_compiled = mx.default_device() == mx.Device(mx.gpu)
        self._logprobs, self._drawn = _COMPILED if is_compiled else _PLAIN
        self._sampling = sampling
        self._penalties = _penalties(sampling)
        self._context = sampling.penalty_context
        self._num_given = num_given if sampling.penalty_covers == "new" else 0
        self._bias: tuple[mx.array, mx.array] | None = None
        """Token ids, and the number that is added to the logit of each."""
        if sampling.logit_bias:
            ids, biases = list(sampling.logit_bias), list(sampling.logit_bias.values())
            self._bias = mx.array(ids, dtype=mx.uint32), mx.array(biases, dtype=mx.float32)

    def recent(self, token_ids: Sequence[int]) -> mx.array | None:
        """Return the last tokens, shape [at most `penalty_context`], for the penalties; None if there are none."""
        if not self._penalties:
            return None
        return mx.array(list(token_ids[self._num_given :][-self._context :]), dtype=mx.uint32)

    def advance(self, recent: mx.array | None, token: mx.array) -> mx.array | None:
        """Return `recent` with one more token, shape [1], which may be lazy."""
        if recent is None:
            return None
        return mx.concatenate([recent, token.astype(mx.uint32)])[-self._context :]

    def draw(
        self,
        logits: mx.array,
        recent: mx.array | None,
        position: int,
        visit: int = 0,
        mask: mx.array | None = None,
        temperature: float | None = None,
    ) -> mx.array:
        """Sample one token from `logits`, shape [1, vocabulary]. Return its id, shape [1], lazily.

        `position` counts tokens from the start of the whole sequence; `visit` counts how often this position was
        already sampled in this answer. `mask`, shape [vocabulary] or [1, vocabulary], says which tokens are allowed;
        None means all tokens. `temperature`: None means the request's.
        """
        sampling = self._sampling
        temperature = sampling.temperature if temperature is None else temperature
        # In 16 bits the filters' sums are too coarse, and mlx-lm's penalties write into their input.
        logits = logits.astype(mx.float32)
        for penalty in self._penalties:
            logits = penalty(recent if recent is not None else mx.array([], dtype=mx.uint32), logits)
        if self._bias is not None:
            ids, biases = self._bias
            logits = logits.at[:, ids].add(biases)
        if mask is not None:
            logits = mx.where(mask, logits, -mx.inf)
        if temperature == 0:
            return mx.argmax(logits, axis=-1)
        logits = self._logprobs(logits)
        if sampling.top_p < 1:
            logits = apply_top_p(logits, max(sampling.top_p, _MIN_TOP_P))
        if sampling.min_p > 0:
            logits = apply_min_p(logits, sampling.min_p)
        if 0 < sampling.top_k < logits.shape[-1]:
            logits = apply_top_k(logits, sampling.top_k)
        key = mx.random.key(key_bits(self.seed, position, visit))
        return self._drawn(logits, mx.array(1.0 / max(temperature, _MIN_TEMPERATURE)), key)


def key_bits(seed: int, position: int, visit: int) -> int:
    """Mix three counts into 64 bits with SplitMix64's finalizer (Steele, Lea, Flood, OOPSLA 2014)."""
    bits = seed & _MASK
    for count in (position, visit):
        bits = (bits + 0x9E3779B97F4A7C15 * (count + 1)) & _MASK
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
        bits ^= bits >> 31
    return bits


def _penalties(sampling: Sampling) -> list[Penalty]:
    context = sampling.penalty_context
    penalties: list[Any] = []
    if sampling.repetition_penalty != 1:
        penalties.append(make_repetition_penalty(sampling.repetition_penalty, context))
    if sampling.presence_penalty:
        penalties.append(make_presence_penalty(sampling.presence_penalty, context))
    if sampling.frequency_penalty:
        penalties.append(make_frequency_penalty(sampling.frequency_penalty, context))
    return penalties


class Seeds:
    """The seeds of one answer: its own, and its ancestors' for the tokens that it shares with them.

    A fork's seed is derived from its parent's seed and the number of the fork. So it does not depend on other requests,
    and is the same when the answer is generated again.
    """

    def __init__(self, seed: int, before: Sequence[DrawnBefore] = ()) -> None:
        self.seed = seed
        """The seed of the next token."""
        self.before = list(before)
        """The seeds of the first tokens, those of the oldest ancestor first."""
        self._num_forks = 0

    def fork(self) -> Seeds:
        """Return the seeds of a fork. Until its `keep` is called, the fork shares all tokens so far."""
        self._num_forks += 1
        # Keep 32 bits, so that the seed is short enough to write down.
        seed = key_bits(self.seed, self._num_forks, 0) >> 32
        return Seeds(seed, [*self.before, DrawnBefore(num_tokens=sys.maxsize, seed=self.seed)])

    def keep(self, num_tokens: int) -> None:
        """Keep the first `num_tokens` tokens; later ones are sampled with the answer's own seed."""
        self.before = [DrawnBefore(num_tokens=min(part.num_tokens, num_tokens), seed=part.seed) for part in self.before]
