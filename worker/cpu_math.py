"""Faster forms of attention, the sigmoid, rotary positions and linear layers, for models on a CPU.

On a CPU, MLX takes 12 ns for an exponential, 5 ns to choose by a mask, and 4 ns for a power of two. So for many
numbers, attention and the sigmoid use powers of two, and attention subtracts its mask. Attention processes the new
tokens in blocks, which fit in the CPU's caches, and computes no scores of positions after a block. The results are the
same within rounding.

A step of a small model spends most of its time on building operations, not on computing them. MLX builds the cosines
and sines of the positions again for the queries and for the keys of each layer, and the transposed matrix for each
product. Here, both are built once. The results are the same to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, cast

import mlx.core as mx
import mlx.nn as nn

FORM = "powers of two for many numbers"
"""The name of these functions in the record of an answer, since others round differently."""

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
_ROPE: Callable[..., mx.array] = _fast.rope


def use_cpu_forms() -> None:
    """Make the models of this process use the functions of this module."""
    _fast.scaled_dot_product_attention = attention
    _fast.rope = rope
    cast("Any", mx).sigmoid = sigmoid


def sigmoid(x: mx.array, **options: Any) -> mx.array:
    """Return the sigmoid of each number. Few numbers, 16-bit numbers and calls with `options` go to `mx.sigmoid`."""
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
    """Return the attention. Calls with unusual arguments go to `mx.fast.scaled_dot_product_attention`.

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
            # One block after the other, so that only the scores of one block are in memory.
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
    """Return numbers that, subtracted from scores, hide the later positions from each of the last `num_new`."""
    own = mx.arange(num_positions - num_new, num_positions, dtype=mx.float32)
    distances = mx.arange(num_positions, dtype=mx.float32) - own[:, None]
    return (mx.maximum(distances, 0.0) * _HIDDEN)[None, None, None]


# --- rotary positions ------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """A kind of rotary position encoding: the parameters of `rope`."""

    dims: int
    traditional: bool
    base: float | None
    scale: float
    freqs_id: int


class _Factors(NamedTuple):
    """The factors that rotate pairs of numbers: a pair (a, b) becomes (a, b) * own + (b, a) * other."""

    own: mx.array
    """Shape [positions, 2, width / 2], or [positions, width / 2, 2] if traditional.

    For an array of offsets, [rows, 1, ...].
    """
    other: mx.array

    def at(self, positions: slice) -> _Factors:
        return _Factors(self.own[positions], self.other[positions])


class _Turns:
    """The factors of one kind that were computed last."""

    def __init__(self, kind: _Kind, freqs: mx.array | None) -> None:
        self._kind = kind
        self._freqs = freqs
        """Kept alive, so that no other array gets the id that is in the kind."""
        self._start = 0
        self._held: _Factors | None = None
        """The factors of the positions from `_start` on; None before the first use."""
        self._last: tuple[int | mx.array, int] = (-1, 0)
        self._last_factors: _Factors | None = None

    def at(self, offset: int | mx.array, num_positions: int) -> _Factors:
        """Return the factors at these positions; an array of offsets holds one for each row."""
        last, last_num = self._last
        # All layers of a step ask for the same positions. An array is compared by identity.
        is_last = last is offset or (isinstance(offset, int) and isinstance(last, int) and last == offset)
        if self._last_factors is None or not is_last or last_num != num_positions:
            if isinstance(offset, int):
                self._last_factors = self._from(offset, num_positions)
            else:
                self._last_factors = self._computed(offset, num_positions)
            self._last = offset, num_positions
        return self._last_factors

    def _from(self, start: int, num_positions: int) -> _Factors:
        held = self._held
        if held is None or not self._start <= start <= start + num_positions <= self._start + held.own.shape[0]:
            held = self._held = self._computed(start, max(num_positions, _AHEAD))
            self._start = start
        return held.at(slice(start - self._start, start - self._start + num_positions))

    def _computed(self, offset: int | mx.array, num_positions: int) -> _Factors:
        dims, traditional, base, scale, _ = self._kind
        half = dims // 2
        num_rows = 1 if isinstance(offset, int) else offset.size
        # Turning (1, 0) gives (cosine, sine), computed as MLX does.
        pairs = mx.broadcast_to(mx.array([[1.0], [0.0]]), (2, half)).reshape(dims)
        pairs = mx.broadcast_to(pairs, (num_rows, 1, num_positions, dims))
        turned = _ROPE(pairs, dims, traditional=False, base=base, scale=scale, offset=offset, freqs=self._freqs)
        if isinstance(offset, int):
            turned = turned[0, 0]
        cosines, sines = turned[..., :half], turned[..., half:]
        axis = -1 if traditional else -2
        return _Factors(mx.stack([cosines, cosines], axis=axis), mx.stack([-sines, sines], axis=axis))


_AHEAD = 64
"""Factors are computed for at least this many positions at once, as an answer needs the next ones soon."""
_MOST_POSITION = 1 << 24
"""Above this position, float32 can't represent every integer, so results would depend on where a computation starts."""
_MOST_KINDS = 8
_turns: dict[_Kind, _Turns] = {}
"""The latest factors by the kind of positions. Most models have one kind, some have two."""
_constant_offsets: mx.array | None = None
"""The array that was passed to `keep_factors_of` last."""


def forget_factors() -> None:
    """Free the factors that were computed for a model."""
    global _constant_offsets
    _turns.clear()
    _constant_offsets = None


def keep_factors_of(offsets: mx.array) -> None:
    """Let `rope` compute the factors of this array of positions only once. The array must not be changed in place."""
    global _constant_offsets
    _constant_offsets = offsets


def rope(
    x: mx.array,
    dims: int,
    *,
    traditional: bool,
    base: float | None,
    scale: float,
    offset: int | mx.array,
    freqs: mx.array | None = None,
    **rest: Any,
) -> mx.array:
    """Rotate pairs of numbers by their positions. Calls with unusual arguments go to `mx.fast.rope`.

    `x`: shape [rows, heads, new, `dims`]. `offset`: the first position; an array needs `keep_factors_of`. The result is
    the same to the bit.
    """
    num_positions = x.shape[-2]
    if (
        rest
        or x.ndim != 4
        or x.shape[-1] != dims
        or x.dtype != mx.float32
        or not _keeps_factors_of(offset, num_positions)
    ):
        return _ROPE(x, dims, traditional=traditional, base=base, scale=scale, offset=offset, freqs=freqs, **rest)
    kind = _Kind(dims, traditional, base, scale, id(freqs))
    turns = _turns.get(kind)
    if turns is None:
        if len(_turns) >= _MOST_KINDS:
            _turns.clear()
        turns = _turns[kind] = _Turns(kind, freqs)
    own, other = turns.at(offset, num_positions)
    if traditional:
        pairs = x.reshape(*x.shape[:3], dims // 2, 2)
        swapped = pairs[..., ::-1]
    else:
        pairs = x.reshape(*x.shape[:3], 2, dims // 2)
        swapped = pairs[..., ::-1, :]
    return (pairs * own + swapped * other).reshape(x.shape)


def _keeps_factors_of(offset: int | mx.array, num_positions: int) -> bool:
    if isinstance(offset, int):
        return 0 <= offset <= _MOST_POSITION - num_positions - _AHEAD
    return offset is _constant_offsets


# --- linear layers ---------------------------------------------------------------------------------------------


_TRANSPOSED = "transposed"


class _TransposedLinear(nn.Linear):
    """A linear layer whose matrix is already transposed."""

    def __call__(self, x: mx.array) -> mx.array:
        transposed = self.__dict__[_TRANSPOSED]
        return mx.addmm(self["bias"], x, transposed) if "bias" in self else x @ transposed


def transpose_once(model: nn.Module) -> None:
    """Let the linear layers of a model keep their transposed matrices, which take no memory of their own.

    The model's weights must be loaded.
    """
    for module in model.modules():
        # Subclasses may compute something else.
        if type(module) is nn.Linear:
            transposed = module["weight"].T
            mx.eval(transposed)
            # In `__dict__`, the matrix is not a parameter of the module.
            module.__dict__[_TRANSPOSED] = transposed
            module.__class__ = _TransposedLinear
