"""Keys and values of several sequences that begin with the same tokens: the shared ones are stored and read only once.

The queries of all these sequences are one product with the shared keys, and each has its own with its own keys. One
softmax covers both, so the result is the same within rounding. (The idea: Juravsky et al., Hydragen, 2024.)

mlx-lm's attention calls `quantized_scaled_dot_product_attention` for caches that have `bits`, and passes on their keys
and values unseen. `SharedKVCache` uses this, so that the code of the models stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import mlx.core as mx
from mlx_lm.models import base
from mlx_lm.models.cache import BatchKVCache, KVCache

from worker.prefix_attention import attend

_ORIGINAL: Callable[..., mx.array] = base.quantized_scaled_dot_product_attention


@dataclass(frozen=True)
class Prefix:
    """The first keys and values of some rows of a batch."""

    keys: mx.array
    """Shape [1, heads, positions, width], as `values`."""
    values: mx.array
    rows: Sequence[int]
    """Which rows begin with it, in ascending order."""

    @property
    def length(self) -> int:
        return self.keys.shape[2]

    @property
    def num_bytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes


@dataclass(frozen=True)
class _SplitKeys:
    """The keys of all rows, as `SharedKVCache` passes them to the attention."""

    own: mx.array
    """Shape [rows, heads, positions, width], padded on the left."""
    prefixes: Sequence[Prefix]


class SharedKVCache(BatchKVCache):
    """Like `BatchKVCache`, but rows may share a prefix. `keys` and `values` hold what comes after it."""

    def __init__(self, left_padding: list[int]) -> None:
        super().__init__(left_padding)
        self.prefixes: list[Prefix] = []

    @classmethod
    def sharing(cls, layer: KVCache, num_rows: int) -> SharedKVCache:
        """Return `num_rows` rows that begin with all positions of `layer`, which are not copied."""
        use_shared_prefixes()
        shared = cls([0] * num_rows)
        keys, values = (cast("mx.array", array)[..., : layer.offset, :] for array in (layer.keys, layer.values))
        # Evaluated views keep nothing alive but the layer's own memory.
        mx.eval(keys, values)
        shared.prefixes = [Prefix(keys, values, range(num_rows))]
        shared.offset = shared.offset + layer.offset
        return shared

    @classmethod
    def of(cls, other: BatchKVCache) -> SharedKVCache:
        """Return a cache with the rows of `other`, which must not be changed from then on."""
        if isinstance(other, cls):
            return other
        shared = cls([0])
        shared.__dict__.update(other.__dict__)
        return shared

    @property
    def bits(self) -> None:
        """mlx-lm passes on the keys of a cache that has this attribute, without looking at them."""
        if not self.prefixes:
            raise AttributeError("bits")

    group_size = None

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[Any, mx.array]:
        own_keys, own_values = super().update_and_fetch(keys, values)
        return (_SplitKeys(own_keys, self.prefixes) if self.prefixes else own_keys), own_values

    def make_mask(self, N: int, return_array: bool = False, **kwargs: Any) -> Any:  # noqa: N803 (mlx-lm's name)
        """Return the mask of the rows' own positions. All positions of a prefix are visible."""
        if self.prefixes and any(value is not None for value in kwargs.values()):
            raise NotImplementedError("A window does not end where a prefix does.")
        return super().make_mask(N, return_array, **kwargs)

    def filter(self, batch_indices: Sequence[int]) -> None:
        super().filter(batch_indices)
        moved = (
            replace(prefix, rows=[new for new, old in enumerate(batch_indices) if old in prefix.rows])
            for prefix in self.prefixes
        )
        self.prefixes = [prefix for prefix in moved if prefix.rows]

    def extend(self, other: BatchKVCache) -> None:
        num_rows = self.offset.size
        super().extend(other)
        if isinstance(other, SharedKVCache):
            self.prefixes += [
                replace(prefix, rows=[num_rows + row for row in prefix.rows]) for prefix in other.prefixes
            ]

    def row(self, row: int, length: int) -> KVCache:
        """Return one row, which holds `length` tokens. Its arrays are views: copy them before the next step."""
        prefix = next((prefix for prefix in self.prefixes if row in prefix.rows), None)
        own = length - (0 if prefix is None else prefix.length)
        if self.keys is None:
            # No step was made yet.
            assert prefix is not None
            held = [prefix.keys[..., :0, :], prefix.values[..., :0, :]]
        else:
            arrays = cast("list[mx.array]", [self.keys, self.values])
            held = [array[row : row + 1, :, self._idx - own : self._idx] for array in arrays]
        return SplitKVCache(prefix, held[0], held[1], length)


class SplitKVCache(KVCache):
    """One sequence in two parts: its prefix, if any, and what comes after it. It can't be changed."""

    def __init__(self, prefix: Prefix | None, keys: mx.array, values: mx.array, length: int) -> None:
        self._prefix = prefix
        self._own = (keys, values)
        self.offset = length

    def positions(self, start: int, stop: int) -> tuple[mx.array, mx.array]:
        """Return the keys and values of a range of positions, lazily."""
        if self._prefix is None:
            return self._own[0][..., start:stop, :], self._own[1][..., start:stop, :]
        first = self._prefix.length
        parts: list[tuple[mx.array, mx.array]] = []
        if start < first:
            parts.append((self._prefix.keys[..., start:stop, :], self._prefix.values[..., start:stop, :]))
        if stop > first or start >= first:
            own = slice(max(start - first, 0), max(stop - first, 0))
            parts.append((self._own[0][..., own, :], self._own[1][..., own, :]))
        if len(parts) == 1:
            return parts[0]
        keys, values = (mx.concatenate(list(arrays), axis=2) for arrays in zip(*parts, strict=True))
        return keys, values

    def whole(self) -> KVCache:
        """Return the sequence as one part."""
        alone = KVCache()
        alone.keys, alone.values = self.positions(0, self.offset)
        alone.offset = self.offset
        return alone


def use_shared_prefixes() -> None:
    """Let mlx-lm's attention accept the keys of a `SharedKVCache`."""
    base.quantized_scaled_dot_product_attention = _attention


def _attention(
    queries: mx.array, q_keys: Any, q_values: Any, scale: float, mask: mx.array | None, group_size: int, bits: int
) -> mx.array:
    if not isinstance(q_keys, _SplitKeys):
        return _ORIGINAL(queries, q_keys, q_values, scale, mask, group_size, bits)
    own_keys, own_values = q_keys.own, cast("mx.array", q_values)
    num_rows = queries.shape[0]
    in_order: list[int] = []
    parts: list[mx.array] = []
    for prefix in q_keys.prefixes:
        here = _rows_of(prefix.rows, num_rows)
        mask_here = None if mask is None else here(mask)
        parts.append(_attend(here(queries), prefix, here(own_keys), here(own_values), scale, mask_here))
        in_order += prefix.rows
    others = sorted(set(range(num_rows)).difference(in_order))
    if others:
        here = _rows_of(others, num_rows)
        mask_here = None if mask is None else here(mask)
        attend = cast("Any", mx.fast).scaled_dot_product_attention
        parts.append(attend(here(queries), here(own_keys), here(own_values), scale=scale, mask=mask_here))
        in_order += others
    together = parts[0] if len(parts) == 1 else mx.concatenate(parts)
    if in_order == list(range(num_rows)):
        return together
    return together[mx.array([in_order.index(row) for row in range(num_rows)])]


def _rows_of(rows: Sequence[int], num_rows: int) -> Callable[[mx.array], mx.array]:
    """Return a function that takes these rows of an array with `num_rows` rows."""
    first, end = rows[0], rows[-1] + 1
    if len(rows) == num_rows:
        return lambda array: array
    if end - first == len(rows):
        return lambda array: array[first:end] if array.shape[0] == num_rows else array
    taken = mx.array(list(rows))
    return lambda array: array[taken] if array.shape[0] == num_rows else array


def _attend(
    queries: mx.array, prefix: Prefix, keys: mx.array, values: mx.array, scale: float, mask: mx.array | None
) -> mx.array:
    """Return the attention of rows to their common prefix and to their own positions.

    `queries`: shape [rows, heads, n, width]; `keys`, `values`: [rows, key heads, positions, width]; `mask`: True where
    an own position is visible, shape [rows, 1, n, positions].
    """
    arrays = queries, prefix.keys, prefix.values, keys, values
    if _is_on_cpu() and all(array.dtype == mx.float32 for array in arrays):
        return attend(queries, (prefix.keys, prefix.values), (keys, values), scale, mask)
    num_rows, num_heads, num_new, _ = queries.shape
    num_kv_heads = keys.shape[1]
    repeated = num_heads // num_kv_heads
    queries = queries * scale

    def to_prefix(array: mx.array) -> mx.array:
        """Reshape [rows, key heads, repeated, n, …] to [1, key heads, repeated × rows × n, …]."""
        return array.transpose(1, 2, 0, 3, 4).reshape(1, num_kv_heads, repeated * num_rows * num_new, -1)

    def to_rows(array: mx.array) -> mx.array:
        """Undo the reshaping of `to_prefix`."""
        return array.reshape(num_kv_heads, repeated, num_rows, num_new, -1).transpose(2, 0, 1, 3, 4)

    own_shape = (num_rows, num_kv_heads, repeated, num_new, -1)
    own = queries.reshape(num_rows, num_kv_heads, repeated * num_new, -1) @ keys.swapaxes(-1, -2)
    own = own.reshape(own_shape).astype(mx.float32)
    if mask is not None:
        own = mx.where(mx.expand_dims(mask, 2), own, -mx.inf)
    shared = (to_prefix(queries.reshape(own_shape)) @ prefix.keys.swapaxes(-1, -2)).astype(mx.float32)
    highest = mx.maximum(shared.max(axis=-1, keepdims=True), to_prefix(own.max(axis=-1, keepdims=True)))
    own, shared = mx.exp(own - to_rows(highest)), mx.exp(shared - highest)
    total = to_rows(shared.sum(axis=-1, keepdims=True)) + own.sum(axis=-1, keepdims=True)
    from_prefix = shared.astype(values.dtype) @ prefix.values
    from_own = own.astype(values.dtype).reshape(num_rows, num_kv_heads, repeated * num_new, -1) @ values
    summed = (to_rows(from_prefix) + from_own.reshape(own_shape)) / total.astype(values.dtype)
    return summed.reshape(num_rows, num_heads, num_new, -1)


def _is_on_cpu() -> bool:
    return mx.default_device() == mx.Device(mx.cpu)
