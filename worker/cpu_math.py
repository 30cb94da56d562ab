"""Faster forms of attention and of the sigmoid, for models on a CPU.

There, MLX takes 12 ns for an exponential, 5 to choose by a mask, and 4 for a power of two. So for many numbers, both
functions use powers of two, and attention subtracts its mask. It goes through the new tokens in blocks, which stay in
the CPU's caches, and computes no score of a position behind a block. The results are the same within rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import mlx.core as mx

FORM = "powers of two for many numbers"
"""The name of these forms in the record of an answer, since other forms give other bits."""

_LOG2_E = math.log2(math.e)
_HIDDEN = 1e30
"""Subtracted from the scores of hidden positions."""
_LEAST_POWER = -120.0
"""Hidden positions get this power of two as their weight. Smaller (subnormal) numbers take five times as long."""
_FEW_SCORES = 1 << 14
_FEW_NUMBERS = 1 << 12
"""For fewer scores, or numbers in a sigmoid, building more operations costs more than it saves."""
_BLOCK = 64
"""The number of new tokens in a block."""

_fast: Any = mx.fast
_ATTENTION: Callable[..., mx.array] = _fast.scaled_dot_product_attention
_SIGMOID: Callable[..., mx.array] = mx.sigmoid


def use_powers_of_two() -> None:
    """Let the models of this process use these forms."""
    _fast.scaled_dot_product_attention = attention
    cast("Any", mx).sigmoid = sigmoid


def sigmoid(x: mx.array, **options: Any) -> mx.array:
    """Return the sigmoid of each number, as `mx.sigmoid` does, which is used for few numbers, 16 bits and options."""
    if options or x.dtype != mx.float32 or x.size < _FEW_NUMBERS:
        return _SIGMOID(x, **options)
    return 1 / (1 + mx.power(2.0, x * -_LOG2_E))


def attention(
    queries: mx.array,
    keys: mx.array,
    values: mx.array,
    *,
    scale: float,
    mask: mx.array | str | None = None,
    **rest: Any,
) -> mx.array:
    """Return the attention as `mx.fast.scaled_dot_product_attention` does, which is used for rare forms.

    `queries`: shape [rows, heads, new, width]; `keys`, `values`: [rows, key heads, positions, width]; `mask`: "causal",
    or True for visible positions.
    """
    num_rows, num_heads, num_new, _ = queries.shape
    num_positions = keys.shape[2]
    if isinstance(mask, mx.array) and mask.ndim == 2:
        mask = mask[None, None]
    if (
        num_rows * num_heads * num_new * num_positions < _FEW_SCORES
        or any(each.dtype != mx.float32 for each in (queries, keys, values))
        or (isinstance(mask, mx.array) and (mask.dtype != mx.bool_ or mask.shape[1:3] != (1, num_new)))
        or any(value is not None for value in rest.values())
    ):
        return _ATTENTION(queries, keys, values, scale=scale, mask=mask, **rest)
    queries = queries * (scale * _LOG2_E)
    parts: list[mx.array] = []
    for start, end in pairwise([*range(0, num_new, _BLOCK), num_new]):
        block = queries[:, :, start:end]
        if parts:
            # One block after the other, so that the scores of one are in memory at a time.
            block = mx.depends(block, parts[-1])
        if mask == "causal":
            stop = num_positions - num_new + end
            parts.append(_attended(block, keys[:, :, :stop], values[:, :, :stop], _later(end - start, stop)))
        else:
            hidden = None if mask is None else _hidden(cast("mx.array", mask)[:, :, start:end])
            parts.append(_attended(block, keys, values, hidden))
    return parts[0] if len(parts) == 1 else mx.concatenate(parts, axis=2)


def _attended(queries: mx.array, keys: mx.array, values: mx.array, hidden: mx.array | None) -> mx.array:
    """Return the attention; `queries` are scaled for powers of two.

    `hidden` is subtracted from the scores, shape [1 or rows, 1, 1, new, positions].
    """
    num_rows, num_heads, num_new, width = queries.shape
    num_kv_heads, num_positions = keys.shape[1:3]
    # One product for all heads that share their keys.
    scores = queries.reshape(num_rows, num_kv_heads, -1, width) @ keys.swapaxes(-1, -2)
    if hidden is not None:
        by_head = scores.reshape(num_rows, num_kv_heads, -1, num_new, num_positions)
        scores = (by_head - hidden).reshape(scores.shape)
    powers = mx.power(2.0, mx.maximum(scores - scores.max(axis=-1, keepdims=True), _LEAST_POWER))
    summed = (powers @ values) / powers.sum(axis=-1, keepdims=True)
    return summed.reshape(num_rows, num_heads, num_new, -1)


def _hidden(mask: mx.array) -> mx.array:
    return mx.expand_dims((1 - mask.astype(mx.float32)) * _HIDDEN, 2)


def _later(num_new: int, num_positions: int) -> mx.array:
    """Hide from each of the last `num_new` positions those after it."""
    own = mx.arange(num_positions - num_new, num_positions, dtype=mx.float32)
    distances = mx.arange(num_positions, dtype=mx.float32) - own[:, None]
    return (mx.maximum(distances, 0.0) * _HIDDEN)[None, None, None]
