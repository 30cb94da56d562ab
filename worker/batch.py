"""The layers of several sequences side by side, so that one step of the model processes a token of each.

This uses mlx-lm's batched caches: shorter sequences are padded on the left, and attention is masked there. Not every
kind of cache has a batched form, and not every model's code supports it, so `can_batch` tries it. Sequences that begin
with the same tokens may share their keys and values (see `shared_prefix.py`); `can_share` tries this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, BatchKVCache, CacheList, KVCache

from worker.cpu_math import keep_factors_of
from worker.layers import Layers, arrays_of, num_bytes_in
from worker.shared_prefix import Prefix, SharedKVCache, SplitKVCache

SHORTEST_SHARED = 256
"""The length of the shortest prefix that is shared, in tokens. Copying a shorter one costs little."""

_TOLERANCES = {mx.float32: 1e-2}
_TOLERANCE_16_BITS = 0.2
"""How far logits may differ, as a fraction of their standard deviation. A wrong position changes them far more."""

Forward = Callable[[mx.array, Layers], mx.array]
"""Adds tokens, shape [sequences, n], to layers. Returns the logits after the last ones, [sequences, vocabulary]."""


class Batch:
    """The rows of a batch. Each is a sequence with its own length."""

    def __init__(self) -> None:
        self.layers: Layers = []

    def add(self, layers: Layers, num_rows: int, *, is_shared: bool = False) -> None:
        """Append `num_rows` rows that begin with the tokens of `layers`, the layers of one sequence.

        The rows are lazy copies. With `is_shared`, which needs a model that `can_share`, they share keys and values
        with each other and with `layers` instead: while the batch has such rows, changing `layers` in place copies its
        arrays.
        """
        new = [
            SharedKVCache.sharing(layer, num_rows) if is_shared and is_shareable(layer) else _merged([layer] * num_rows)
            for layer in layers
        ]
        if not self.layers:
            self.layers = new
            return
        for number, other in enumerate(new):
            if isinstance(other, SharedKVCache):
                self.layers[number] = SharedKVCache.of(self.layers[number])
            self.layers[number].extend(other)

    def layers_of_step(self) -> Layers:
        """Return the layers for a step of the model. Layers with equal positions share one array of positions."""
        same = [layer for layer in self.layers if type(layer) in (BatchKVCache, SharedKVCache)]
        for layer in same:
            if layer.size() == same[0].size():
                layer.offset = same[0].offset
        if same:
            keep_factors_of(same[0].offset)
        return self.layers

    def remove(self, row: int, num_rows: int) -> None:
        """Remove one of `num_rows` rows. The following rows move up."""
        self.take([index for index in range(num_rows) if index != row])

    def take(self, rows: Sequence[int], num_different: int | None = None) -> None:
        """Replace the rows by copies of `rows`, in this order. A row may appear several times.

        `num_different`: if all rows have the same length and differ in their last `num_different` positions at most,
        only those positions are copied, as long as the number of rows stays the same.
        """
        if not rows:
            self.layers = []
        moved: list[_Moved] = []
        for layer in self.layers:
            moved += _take_rows(layer, list(rows), num_different)
        # Evaluate all copies before the originals are overwritten in place.
        mx.eval([each.positions for each in moved])
        for layer, name, start, positions in moved:
            getattr(layer, name)[..., start : start + positions.shape[2], :] = positions

    def row(self, row: int, length: int) -> Layers:
        """Return the layers of one row, which holds `length` tokens. They are views: copy them before the next step."""
        return [_row(layer, row, length) for layer in self.layers]

    def whole_row(self, row: int, length: int) -> Layers:
        """Like `row`, but return layers that the model can continue. Arrays that the row shares are copied, lazily."""
        return [layer.whole() if isinstance(layer, SplitKVCache) else layer for layer in self.row(row, length)]

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays held, without shared prefixes."""
        return num_bytes_in([arrays_of(layer) for layer in self.layers])

    @property
    def prefix_bytes(self) -> int:
        """Bytes of the shared prefixes, each counted once."""
        return sum(prefix.num_bytes for prefix in self._prefixes())

    @property
    def saved_bytes(self) -> int:
        """How many more bytes the rows would take if each had a copy of its prefix."""
        return sum((len(prefix.rows) - 1) * prefix.num_bytes for prefix in self._prefixes())

    def _prefixes(self) -> list[Prefix]:
        return [prefix for layer in self.layers if isinstance(layer, SharedKVCache) for prefix in layer.prefixes]


def can_batch(forward: Forward, new_layers: Callable[[], Layers], config: Mapping[str, Any]) -> bool:
    """Return whether a model computes the same logits for sequences in a batch as for each alone, within rounding."""
    if _attends_to_blocks(config) or not all(_has_batched_form(layer) for layer in new_layers()):
        return False
    sequences = [[0, 1, 2, 3, 4, 5, 6], [0, 2, 1]]
    alone: list[mx.array] = []
    batch = Batch()
    try:
        for ids in sequences:
            layers = new_layers()
            forward(mx.array([ids]), layers)
            batch.add(layers, 1)
            alone.append(mx.concatenate([forward(mx.array([[token_id]]), layers) for token_id in (3, 1)]))
        together = [forward(mx.array([[token_id]] * 2), batch.layers_of_step()) for token_id in (3, 1)]
        return all(_agree(logits, mx.stack([step[row] for step in together])) for row, logits in enumerate(alone))
    except Exception:  # noqa: BLE001 (if a model's code fails on batches, sequences are processed one after another)
        return False


def can_share(forward: Forward, new_layers: Callable[[], Layers]) -> bool:
    """Return whether a model computes the same logits for sequences that share keys and values as for each alone."""
    prefix, rows = [0, 1, 2, 3, 4, 5, 6], [[3, 1], [2, 4]]
    layers = new_layers()
    if not any(is_shareable(layer) for layer in layers):
        return False
    batch = Batch()
    try:
        forward(mx.array([prefix]), layers)
        batch.add(layers, len(rows), is_shared=True)
        together = [forward(mx.array(tokens)[:, None], batch.layers_of_step()) for tokens in zip(*rows, strict=True)]
        alone = [_alone(forward, new_layers(), prefix, row) for row in rows]
        return all(_agree(logits, mx.stack([step[row] for step in together])) for row, logits in enumerate(alone))
    except Exception:  # noqa: BLE001 (see `can_batch`)
        return False


def _alone(forward: Forward, layers: Layers, prefix: list[int], tokens: list[int]) -> mx.array:
    """Process one sequence. Return the logits after each of the tokens that follow `prefix`."""
    forward(mx.array([prefix]), layers)
    return mx.concatenate([forward(mx.array([[token_id]]), layers) for token_id in tokens])


def is_shareable(layer: Any) -> bool:
    """Return whether rows can share what this layer holds."""
    return type(layer) is KVCache


def _attends_to_blocks(config: Mapping[str, Any]) -> bool:
    """Return whether attention uses blocks of positions: padding would shift them, which short sequences don't show."""
    nested = (cast("Mapping[str, Any]", value) for value in config.values() if isinstance(value, Mapping))
    return "sparse_block_size" in config or any(_attends_to_blocks(each) for each in nested)


def _agree(one: mx.array, other: mx.array) -> bool:
    tolerance = _TOLERANCES.get(one.dtype, _TOLERANCE_16_BITS)
    one, other = one.astype(mx.float32), other.astype(mx.float32)
    return bool(mx.all(mx.abs(one - other) <= tolerance * mx.std(one) + 1e-6))


def _has_batched_form(layer: Any) -> bool:
    if isinstance(layer, CacheList):
        return all(_has_batched_form(part) for part in cast("Any", layer).caches)
    return layer is None or hasattr(layer, "merge")


def _merged(layers: list[Any]) -> Any:
    return None if layers[0] is None else type(layers[0]).merge(layers)


class _Moved(NamedTuple):
    """Positions to write into the keys or values of a layer."""

    layer: Any
    name: str
    start: int
    positions: mx.array


def _take_rows(layer: Any, rows: list[int], num_different: int | None) -> list[_Moved]:
    """Replace a layer's rows by copies of `rows`. Return the copied positions that the caller must still write."""
    match layer:
        case None:
            return []
        case CacheList():
            return [each for part in cast("Any", layer).caches for each in _take_rows(part, rows, num_different)]
        case SharedKVCache() if layer.prefixes and (
            num_different is None or len(rows) != layer.offset.size or num_different > layer.size()
        ):
            layer.filter(rows)
            return []
        case BatchKVCache() if num_different is not None and len(rows) == layer.offset.size:
            held = cast("dict[str, mx.array]", {"keys": layer.keys, "values": layer.values})
            start, end, order = layer.size() - num_different, layer.size(), mx.array(rows)
            return [_Moved(layer, name, start, array[:, :, start:end][order]) for name, array in held.items()]
        case _:
            layer.filter(rows)
            return []


def _row(layer: Any, row: int, length: int) -> Any:
    match layer:
        case None:
            return None
        case CacheList():
            return CacheList(*(_row(part, row, length) for part in cast("Any", layer).caches))
        case SharedKVCache():
            return layer.row(row, length)
        case BatchKVCache():
            # `extract` would copy all positions, but callers mostly need the last ones.
            alone, end = KVCache(), layer.size()
            held = cast("list[mx.array]", [layer.keys, layer.values])
            alone.keys, alone.values = (array[row : row + 1, :, end - length : end] for array in held)
            alone.offset = length
            return alone
        case ArraysCache():
            held = cast("list[mx.array | None]", cast("Any", layer).cache)
            alone = ArraysCache(len(held))
            alone.cache = [None if array is None else array[row : row + 1] for array in held]
            return alone
        case _:
            return layer.extract(row)
