"""The layers of several sequences side by side, so that one step of the model reads a token of each; it knows no tree.

mlx-lm's batched caches do the work: shorter sequences are padded at their beginning, and attention is masked there.
Not every kind of cache has a batched form, and not every model's code heeds it: `can_batch` tries it out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, BatchKVCache, CacheList, KVCache

from worker.layers import Layers, num_bytes_in

_TOLERANCES = {mx.float32: 1e-2}
_TOLERANCE_16_BITS = 0.2
"""How far logits may lie apart, as a part of their standard deviation. A token in a wrong place moves them far more."""

Forward = Callable[[mx.array, Layers], mx.array]
"""Reads tokens, shape [sequences, n], into layers; returns the last ones' logits, shape [sequences, vocabulary]."""


class Batch:
    """Rows that come and go; each is a sequence of its own length."""

    def __init__(self) -> None:
        self.layers: Layers = []

    def add(self, layers: Layers, num_rows: int) -> None:
        """Copy what `layers`, those of one sequence, hold into so many new rows at the end, lazily."""
        new = [_merged([layer] * num_rows) for layer in layers]
        if not self.layers:
            self.layers = new
            return
        for layer, other in zip(self.layers, new, strict=True):
            layer.extend(other)

    def remove(self, row: int, num_rows: int) -> None:
        """Drop one of `num_rows` rows; those after it move up."""
        self.take([index for index in range(num_rows) if index != row])

    def take(self, rows: Sequence[int], num_apart: int | None = None) -> None:
        """Hold what these rows hold, in this order, and nothing else; one may be named several times. It is copied.

        `num_apart`: in how many of their last positions rows may differ at all, where they are of one length; in
        place of as many others no more than those need be copied.
        """
        if not rows:
            self.layers = []
        moved: list[_Moved] = []
        for layer in self.layers:
            moved += _taken(layer, list(rows), num_apart)
        # Before anything is written: what is written in place must not be read any more.
        mx.eval([each.stretch for each in moved])
        for layer, name, start, stretch in moved:
            getattr(layer, name)[..., start : start + stretch.shape[2], :] = stretch

    def row(self, row: int, length: int) -> Layers:
        """Return the layers of one row, which holds `length` tokens. They are views: copy before the batch goes on."""
        return [_row(layer, row, length) for layer in self.layers]

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays held."""
        return num_bytes_in([_held(layer) for layer in self.layers])


def can_batch(forward: Forward, new_layers: Callable[[], Layers], config: Mapping[str, Any]) -> bool:
    """Return whether a model says the same of two sequences in one batch as of each alone, within rounding."""
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
        together = [forward(mx.array([[token_id]] * 2), batch.layers) for token_id in (3, 1)]
        return all(_agree(logits, mx.stack([step[row] for step in together])) for row, logits in enumerate(alone))
    except Exception:  # noqa: BLE001 (whatever a model's code does not bear: it is asked one after another)
        return False


def _attends_to_blocks(config: Mapping[str, Any]) -> bool:
    """Blocks of positions are counted from the beginning: padding moves them. Short sequences would not show it."""
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
    """A stretch of positions that is written into a layer's keys or values."""

    layer: Any
    name: str
    start: int
    stretch: mx.array


def _taken(layer: Any, rows: list[int], num_apart: int | None) -> list[_Moved]:
    """Have a layer hold these rows; return what is yet to be written."""
    match layer:
        case None:
            return []
        case CacheList():
            return [each for part in cast("Any", layer).caches for each in _taken(part, rows, num_apart)]
        case BatchKVCache() if num_apart is not None and len(rows) == layer.offset.size:
            held = cast("dict[str, mx.array]", {"keys": layer.keys, "values": layer.values})
            start, end, order = layer.size() - num_apart, layer.size(), mx.array(rows)
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
        case BatchKVCache():
            # `extract` would copy all of it, where mostly its end alone is wanted.
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


def _held(layer: Any) -> Any:
    if isinstance(layer, CacheList):
        return [_held(part) for part in cast("Any", layer).caches]
    return [] if layer is None else list(layer.__dict__.values())
