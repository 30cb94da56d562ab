"""The decode loop: one token after another from a model; it knows ids and logits, no text and no reason to stop.

The step after a token is launched before the token is looked at, so that the model computes while Python decides
(mlx-lm's `generate_step` does the same). Where a mask depends on the token, its logits at least are under way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, cast

import mlx.core as mx
import numpy as np
import numpy.typing as npt

from worker.language_model import LanguageModel
from worker.prompt_cache import PromptCache
from worker.sampler import Sampler

_CLEAR_CACHE_EVERY = 256  # tokens; mlx keeps freed buffers, and a growing cache frees one after another


class Mask(Protocol):
    """What may say which tokens can come next. It must have taken a token before it is asked about the next one."""

    @property
    def is_active(self) -> bool:
        """Whether the next token is masked at all."""
        ...

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Which tokens may come now, shape [vocabulary]; None if all may."""
        ...


class Drawn(NamedTuple):
    """A token that was drawn; `logprob` and `top` (ids, log-probabilities) only where they were asked for."""

    token_id: int
    logprob: float | None
    top: list[tuple[int, float]]
    is_masked: bool


class _Step(NamedTuple):
    token: mx.array  # shape [1]
    report: tuple[mx.array, ...]
    is_masked: bool


def decode(
    model: LanguageModel,
    cache: PromptCache,
    sampler: Sampler,
    mask: Mask,
    sequence: Sequence[int],
    max_tokens: int,
    num_top: int,
) -> Iterator[Drawn]:
    """Draw up to `max_tokens` tokens after `sequence`, of which the cache holds all but the last.

    Close the iterator to end earlier. `num_top`: how many alternatives to report; 0 computes no log-probability.
    """
    position = len(sequence)
    recent = sampler.recent(sequence)

    def draw(logits: mx.array) -> _Step:
        allowed = mask.mask()
        token = sampler.draw(logits, recent, position, mask=None if allowed is None else _array(allowed))
        step = _Step(token, _report(logits, token, num_top), allowed is not None)
        mx.async_eval(token, *step.report)
        return step

    cache.make_room(1)
    logits = model.forward(mx.array(list(sequence[-1:])), cache.layers)
    cache.extend(sequence[-1:])
    step = draw(logits)
    for number in range(1, max_tokens + 1):
        position += 1
        following = None
        is_last = number == max_tokens
        if not is_last:
            cache.make_room(1)
            logits = model.forward(step.token, cache.layers)
            recent = sampler.advance(recent, step.token)
            if mask.is_active:
                mx.async_eval(logits)
            else:
                following = draw(logits)
        drawn = _drawn(step)
        if not is_last:
            cache.extend([drawn.token_id])
        yield drawn
        if is_last:
            return
        step = following or draw(logits)
        if number % _CLEAR_CACHE_EVERY == 0:
            mx.clear_cache()


def _array(values: npt.NDArray[np.bool_]) -> mx.array:
    return mx.array(cast("Any", values))  # MLX takes numpy's arrays; its stubs do not say so


def _report(logits: mx.array, token: mx.array, num_top: int) -> tuple[mx.array, ...]:
    """The token's log-probability and the likeliest tokens with theirs, before any filter; not yet computed."""
    if not num_top:
        return ()
    logprobs = logits.astype(mx.float32)
    logprobs = logprobs - mx.logsumexp(logprobs, axis=-1, keepdims=True)
    num_top = min(num_top, logprobs.shape[-1])
    top = mx.argpartition(-logprobs, kth=num_top - 1, axis=-1)[:, :num_top]
    return (
        mx.take_along_axis(logprobs, token[:, None].astype(mx.uint32), axis=-1),
        top,
        mx.take_along_axis(logprobs, top, axis=-1),
    )


def _drawn(step: _Step) -> Drawn:
    token_id = int(cast("int", step.token.item()))
    if not step.report:
        return Drawn(token_id, None, [], step.is_masked)
    logprob, top_ids, top_logprobs = step.report
    top = zip(np.array(top_ids[0]).tolist(), np.array(top_logprobs[0]).tolist(), strict=True)
    return Drawn(
        token_id,
        float(cast("float", logprob.item())),
        sorted(top, key=lambda pair: (-pair[1], pair[0])),
        step.is_masked,
    )
