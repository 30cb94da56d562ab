"""Attention of several rows to their common prefix on a CPU, computed with NumPy.

On a CPU, MLX takes 7 µs to launch an operation, and 12 ns for an exponential. NumPy takes 1 µs and 0.5 ns.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias, cast

import mlx.core as mx
import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.float32]

_BLOCK = 256
"""Positions in a block. OpenBLAS multiplies such blocks 2 to 3 times as fast as one long array."""
_MOST_PRODUCTS = 1 << 18
"""Blocks are shorter if a block would need more multiplications, as OpenBLAS would wake its threads for each block."""
_TOGETHER = 16


class _Part(NamedTuple):
    """The attention of all rows to some positions."""

    highest: Numbers
    """The highest scores, shape [key heads, queries]."""
    total: Numbers
    """The sums of e to the power of (score - highest), shape [key heads, queries]."""
    summed: Numbers
    """The sums of the values, times the same powers: shape [key heads, queries, width]."""


def attend(
    queries: mx.array,
    prefix: tuple[mx.array, mx.array],
    own: tuple[mx.array, mx.array],
    scale: float,
    mask: mx.array | None,
) -> mx.array:
    """Return the attention of rows to their common prefix and to their own positions, shaped like `queries`.

    All are float32 arrays. `queries`: shape [rows, heads, n, width]; `prefix`: keys and values, shape [1, key heads,
    positions, width]; `own`: those of each row, [rows, key heads, own positions, width]; `mask`: True where an own
    position is visible, [rows, 1, n, own positions]; None means that all are.
    """
    mx.eval(queries, prefix, own, *([] if mask is None else [mask]))
    # A model with wrong numbers computes infinities, which is noticed later.
    with np.errstate(all="ignore"):
        attended = _attend(
            _view(queries) * np.float32(scale),
            (_view(prefix[0])[0], _view(prefix[1])[0]),
            (_view(own[0]), _view(own[1])),
            None if mask is None else _view(mask),
        )
    return mx.array(cast("Any", attended))


def _view(array: mx.array) -> Any:
    return np.array(array, copy=False)


def _attend(
    queries: Numbers,
    prefix: tuple[Numbers, Numbers],
    own: tuple[Numbers, Numbers],
    visible: npt.NDArray[np.bool_] | None,
) -> Numbers:
    num_rows, num_heads, num_new, width = queries.shape
    num_kv_heads = own[0].shape[1]
    by_row = queries.reshape(num_rows, num_kv_heads, -1, width)
    parts = _parts(by_row.swapaxes(0, 1).reshape(num_kv_heads, -1, width), *prefix)
    scores = np.matmul(by_row, own[0].swapaxes(2, 3))
    if visible is not None:
        by_head = scores.reshape(num_rows, num_heads, num_new, -1)
        scores = np.where(visible, by_head, np.float32(-math.inf)).reshape(scores.shape)
    highest = scores.max(axis=-1)
    for part in parts:
        highest = np.maximum(highest, _by_row(part.highest, num_rows))
    powers = np.exp(scores - highest[..., None])
    total = powers.sum(axis=-1)
    summed = np.matmul(powers, own[1])
    for part in parts:
        weights = np.exp(_by_row(part.highest, num_rows) - highest)
        total += weights * _by_row(part.total, num_rows)
        summed += weights[..., None] * _by_row(part.summed, num_rows)
    return (summed / total[..., None]).reshape(num_rows, num_heads, num_new, -1)


def _by_row(array: Numbers, num_rows: int) -> Numbers:
    """Reshape [key heads, queries of all rows, …] to [rows, key heads, queries of a row, …]."""
    return array.reshape(array.shape[0], num_rows, -1, *array.shape[2:]).swapaxes(0, 1)


def _parts(queries: Numbers, keys: Numbers, values: Numbers) -> list[_Part]:
    """Return the attention to all whole blocks of positions, and to the rest; each only if there is one.

    `queries`: shape [key heads, queries of all rows, width]; `keys`, `values`: [key heads, positions, width].
    """
    num_positions = keys.shape[1]
    # Keys × queries instead of queries × keys: OpenBLAS takes a third of the time, as it need not transpose the keys.
    columns = np.ascontiguousarray(queries.swapaxes(1, 2))[:, None]
    size = _block_size(queries.shape[1] * queries.shape[2])
    whole = num_positions // size * size
    pieces = [(0, whole, size), (whole, num_positions, num_positions - whole)]
    return [
        _part(columns, *(each[:, start:end].reshape(len(each), -1, length, each.shape[2]) for each in (keys, values)))
        for start, end, length in pieces
        if end > start
    ]


def _block_size(num_products: int) -> int:
    """Return how many positions make a block. `num_products`: how many multiplications a position needs."""
    size = _BLOCK
    while size > 1 and size * num_products > _MOST_PRODUCTS:
        size //= 2
    return size


def _part(columns: Numbers, keys: Numbers, values: Numbers) -> _Part:
    """Return the attention to blocks of positions.

    `columns`: the queries, shape [key heads, 1, width, queries]; `keys`, `values`: [key heads, blocks, positions,
    width].
    """
    num_kv_heads, _, length, _ = keys.shape
    scores = np.matmul(keys, columns)
    # NumPy is slow along short rows, so the scores of several positions make one row.
    together = math.gcd(length, _TOGETHER)
    rows = scores.reshape(num_kv_heads, -1, together * columns.shape[3])

    def over_all(reduce: Any) -> Numbers:
        return reduce(reduce(rows, axis=1).reshape(num_kv_heads, together, -1), axis=1)

    highest = over_all(np.maximum.reduce)
    np.subtract(rows, np.tile(highest, (1, together))[:, None], out=rows)
    np.exp(rows, out=rows)
    summed = np.matmul(scores.swapaxes(2, 3), values).sum(axis=1)
    return _Part(highest, over_all(np.add.reduce), summed)
