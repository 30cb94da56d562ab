"""The caches of a model's layers: their contents can be copied out and restored later, bit for bit.

Attention keeps a key and a value for each position, so any range of positions can be copied out and put back.
A recurrent layer has a single state, the one after the last token. A rotating layer sees a window of the latest
positions: it behaves like attention until its window is full, and like a recurrent layer after that.
"""

from __future__ import annotations

import copy
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

import mlx.core as mx
from mlx.utils import tree_flatten, tree_map
from mlx_lm.models.cache import CacheList, ChunkedKVCache, KVCache, QuantizedKVCache, RotatingKVCache

from worker.shared_prefix import SplitKVCache

Layers: TypeAlias = list[Any]
"""One cache for each layer, as mlx-lm's `make_prompt_cache` returns them."""

Arrays: TypeAlias = Any
"""Arrays in nested lists and tuples. If they hold positions, these are along the second to last axis."""

_STEP = 256  # keys and values grow by this many positions at once, as in mlx-lm


class Stack(ABC):
    """All layers of one kind. They support the same operations."""

    max_positions: int
    """Up to this many tokens, such a layer consists of its positions alone. With more, it has a state."""

    def __init__(self, caches: list[Any]) -> None:
        self._caches = caches

    @property
    @abstractmethod
    def num_positions(self) -> int:
        """How many positions can be copied out now, counted from the first position; 0 if the first was dropped."""

    def positions(self, start: int, stop: int) -> Arrays:
        """Copy a range of positions, lazily."""
        return [slice_positions(_views(cache, start, stop), 0, None) for cache in self._caches]

    @abstractmethod
    def set_positions(self, num_own: int, parts: Sequence[Arrays]) -> None:
        """Keep the first `num_own` of the present positions, drop the others, and append `parts`."""

    def state(self, *, copied: bool = True) -> Arrays:
        """Return the whole contents, lazily. Without `copied`, memory is shared until the layer changes in place."""
        take = copy_of if copied else _shared
        return [take(held) for held in self._held()]

    def _held(self) -> list[dict[str, Any]]:
        return [dict(cache.__dict__) for cache in self._caches]

    def set_state(self, state: Arrays) -> None:
        """Restore what `state` returned."""
        for cache, held in zip(self._caches, state, strict=True):
            cache.__dict__.update(copy_of(held))

    @property
    def arrays(self) -> Arrays:
        """All arrays, including unused space at their ends."""
        return [list(cache.__dict__.values()) for cache in self._caches]


class _Attention(Stack):
    """Keeps all positions."""

    max_positions = sys.maxsize

    @property
    def num_positions(self) -> int:
        return self._caches[0].offset

    def set_positions(self, num_own: int, parts: Sequence[Arrays]) -> None:
        for index, cache in enumerate(self._caches):
            pieces = [part[index] for part in parts]
            num_all = num_own + sum(num_positions_in(piece) for piece in pieces)
            if not num_all:
                cache.keys = cache.values = None
            else:
                held = (cache.keys, cache.values) if num_own else None
                cache.keys, cache.values = _joined(held, num_own, pieces, num_all)
            cache.offset = num_all


class _Chunks(_Attention):
    """Keeps the positions of the latest chunk. The next token after its end drops the earlier ones."""

    def __init__(self, caches: list[Any]) -> None:
        super().__init__(caches)
        self.max_positions = caches[0].chunk_size

    @property
    def num_positions(self) -> int:
        return 0 if self._caches[0].start_position else self._caches[0].offset

    def set_positions(self, num_own: int, parts: Sequence[Arrays]) -> None:
        for cache in self._caches:
            cache.start_position = 0
        super().set_positions(num_own, parts)

    def _held(self) -> list[dict[str, Any]]:
        all_held = super()._held()
        for held in all_held:
            if held["keys"] is not None:
                length = held["offset"] - held["start_position"]
                held["keys"], held["values"] = (held[name][..., :length, :] for name in ("keys", "values"))
        return all_held


class _Windows(Stack):
    """Keeps a window of the latest positions. When the window is full, it becomes a ring buffer."""

    def __init__(self, caches: list[Any]) -> None:
        super().__init__(caches)
        self.max_positions = caches[0].max_size

    @property
    def num_positions(self) -> int:
        cache = self._caches[0]
        return cache.offset if cache.offset <= cache.max_size and cache._idx == cache.offset else 0  # noqa: SLF001

    def set_positions(self, num_own: int, parts: Sequence[Arrays]) -> None:
        for index, cache in enumerate(self._caches):
            pieces: list[Arrays] = [slice_positions((cache.keys, cache.values), 0, num_own)] if num_own else []
            pieces += [part[index] for part in parts]
            cache.keys = cache.values = None
            if pieces:
                cache.keys, cache.values = tree_map(_concatenate, tuple(pieces[0]), *map(tuple, pieces[1:]))
            cache.offset = cache._idx = num_own + sum(num_positions_in(part[index]) for part in parts)  # noqa: SLF001

    def _held(self) -> list[dict[str, Any]]:
        all_held = super()._held()
        for cache, held in zip(self._caches, all_held, strict=True):
            # A chunk of the prompt may exceed the window. The next token would drop the excess anyway.
            excess = 0 if cache.keys is None else cache.keys.shape[2] - cache.max_size
            if excess > 0:
                held["keys"], held["values"] = (cache._trim(excess, each) for each in (cache.keys, cache.values))  # noqa: SLF001
                held["_idx"] = cache.max_size
        return all_held


class _Recurrent(Stack):
    """Keeps one state, of any form, for all tokens."""

    max_positions = 0

    @property
    def num_positions(self) -> int:
        return 0

    def positions(self, start: int, stop: int) -> Arrays:
        raise NotImplementedError

    def set_positions(self, num_own: int, parts: Sequence[Arrays]) -> None:
        raise NotImplementedError


def stacks_of(layers: Layers) -> list[Stack]:
    """Group a model's layers by kind."""
    found: dict[object, tuple[Callable[[list[Any]], Stack], list[Any]]] = {}
    for cache in _single(layers):
        match cache:
            case ChunkedKVCache():
                kind, make = (_Chunks, cache.chunk_size), _Chunks
            case KVCache() | QuantizedKVCache():
                kind, make = _Attention, _Attention
            case RotatingKVCache():
                kind, make = (_Windows, cache.max_size, cache.keep), _Windows
            case _:
                kind, make = _Recurrent, _Recurrent
        found.setdefault(kind, (make, []))[1].append(cache)
    return [make(caches) for make, caches in found.values()]


class Undo:
    """Removes from layers all tokens added after this object is made, evaluated or not. The rest keeps its bits.

    It puts the old arrays back, because cutting new arrays that are still lazy would need their whole computation. But
    while old and new arrays share memory, MLX must copy it instead of changing it in place. So call `release` before a
    layer is evaluated: from then on, the new positions of plain attention are cut off instead.
    """

    def __init__(self, layers: Layers) -> None:
        self._held: dict[int, tuple[Any, dict[str, Any]]] = {
            id(cache): (cache, _shared(dict(cache.__dict__))) for cache in _single(layers)
        }

    def release(self, layers: Layers) -> None:
        """Note that these layers are evaluated next."""
        for cache in _single(layers):
            _, held = self._held[id(cache)]
            if type(cache) in (KVCache, QuantizedKVCache) and held["keys"] is not None:
                self._held[id(cache)] = (cache, {"offset": held["offset"]})

    def restore(self) -> None:
        """Remove all tokens that were added since this object was made."""
        for cache, held in self._held.values():
            cache.__dict__.update(held)


def has_finite_end(layers: Layers, num_tokens: int) -> mx.array:
    """Return a lazy boolean: whether the last layer's latest `num_tokens` positions, or its state, are finite.

    The last layer is enough, because NaN in one layer spreads to all layers after it, at the same and later positions.
    """
    last = next((cache for cache in reversed(list(_single(layers))) if arrays_of(cache)), None)
    match last:
        case KVCache() | QuantizedKVCache() | ChunkedKVCache():
            end = last.offset - getattr(last, "start_position", 0)
            return mx.isfinite(_sum_of(arrays_in(_views(last, max(end - num_tokens, 0), end))))
        case _:
            # A state may hold -inf, the maximum of no numbers.
            return mx.logical_not(mx.isnan(_sum_of(arrays_of(last))))


def _sum_of(arrays: Iterable[mx.array]) -> mx.array:
    """Return the sum of all floats, which is not finite if one of them isn't."""
    sums = [array.astype(mx.float32).sum() for array in arrays if mx.issubdtype(array.dtype, mx.floating)]
    return mx.stack(sums).sum() if sums else mx.array(0.0)


def quantized(layers: Layers, bits: int, group_size: int) -> tuple[Layers, int]:
    """Return layers that keep keys and values in fewer bits, and how many of them do.

    Only plain attention has such a form: windows and recurrent states stay as they are.
    """
    num_quantized = 0

    def replaced(layer: Any) -> Any:
        nonlocal num_quantized
        if isinstance(layer, CacheList):
            return CacheList(*(replaced(part) for part in cast("Iterable[Any]", layer.caches)))
        if type(layer) is not KVCache:
            return layer
        num_quantized += 1
        return QuantizedKVCache(group_size=group_size, bits=bits)

    return [replaced(layer) for layer in layers], num_quantized


def _single(layers: Iterable[Any]) -> Iterable[Any]:
    for layer in layers:
        if isinstance(layer, CacheList):
            yield from _single(layer.caches)
        elif layer is not None:
            yield layer


def cut(arrays: Arrays, num_positions: int) -> tuple[Arrays, Arrays]:
    """Split positions in two parts that share no memory."""
    first, rest = slice_positions(arrays, 0, num_positions), slice_positions(arrays, num_positions, None)
    mx.eval(arrays_in(first), arrays_in(rest))
    return first, rest


def arrays_in(value: Arrays) -> list[mx.array]:
    """Return all arrays of a nested value."""
    match value:
        case mx.array():
            return [value]
        case dict():
            return arrays_in(list(cast("dict[str, Any]", value).values()))
        case list() | tuple():
            return [array for each in cast("Iterable[Any]", value) for array in arrays_in(each)]
        case _:
            return []


def arrays_of(layer: Any) -> list[mx.array]:
    """Return all arrays of one layer's cache, including nested caches."""
    nested = getattr(layer, "caches", None)
    if nested is not None:
        return [array for each in nested for array in arrays_of(each)]
    return arrays_in(layer and list(layer.__dict__.values()))


def num_bytes_in(value: Arrays) -> int:
    """Return the bytes of all arrays."""
    return sum(array.nbytes for array in arrays_in(value))


def bytes_per_token(layer: Any) -> int:
    """Return how many bytes each token adds to a layer's cache, which must hold at least one token."""
    nested = getattr(layer, "caches", ())
    if nested:
        return sum(bytes_per_token(part) for part in nested)
    held = arrays_in([getattr(layer, "keys", None), getattr(layer, "values", None)])
    return sum(array.nbytes // array.shape[2] for array in held if array.ndim == 4)


def num_bytes_at(layer: Any, num_tokens: int) -> int:
    """Return how many bytes a layer's cache takes after this many tokens. It must hold at least one token now."""
    nested = getattr(layer, "caches", ())
    if nested:
        return sum(num_bytes_at(part, num_tokens) for part in nested)
    a_token = bytes_per_token(layer)
    limit = next((size for name in ("max_size", "chunk_size") if (size := getattr(layer, name, None))), num_tokens)
    return a_token * min(num_tokens, limit) if a_token else num_bytes_in(arrays_of(layer))


def copy_of(value: Any) -> Any:
    """Copy the contents of a cache into new memory, as caches change their arrays in place."""
    return _each_array(value, lambda array: mx.where(True, array, array))  # `mx.contiguous` may share memory


def _shared(value: Any) -> Any:
    """Return new array objects that share memory. MLX copies it when one of them changes in place."""
    return _each_array(value, lambda array: mx.reshape(array, array.shape))


def _each_array(value: Any, take: Callable[[mx.array], mx.array]) -> Any:
    match value:
        case mx.array():
            return take(value)
        case dict():
            return {name: _each_array(each, take) for name, each in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            taken = [_each_array(each, take) for each in cast("Iterable[Any]", value)]
            return tuple(taken) if isinstance(value, tuple) else taken
        case _:
            return copy.copy(value)


def _views(cache: Any, start: int, stop: int) -> Arrays:
    """Return the keys and values of a range of positions of one layer, without copying them."""
    if isinstance(cache, SplitKVCache):
        return cache.positions(start, stop)

    def view(array: mx.array) -> mx.array:
        return array[..., start:stop, :]

    return tree_map(view, (cache.keys, cache.values))


def slice_positions(arrays: Arrays, start: int, stop: int | None) -> Arrays:
    """Copy a range of positions, lazily."""

    def part(array: mx.array) -> mx.array:
        if array.size == array.shape[-2] * array.shape[-1]:
            # With a single head, `contiguous` may return a view that keeps up to 16 KB more alive. This copies.
            return mx.take(array, mx.arange(array.shape[-2])[start:stop], axis=-2)
        return mx.contiguous(array[..., start:stop, :])

    return tree_map(part, arrays)


def _joined(held: Arrays | None, num_own: int, pieces: Sequence[Arrays], num_all: int) -> Arrays:
    """Put `pieces` after the first `num_own` positions of `held`: in place if they fit without wasting much space."""
    if held is not None and num_all <= num_positions_in(held) <= num_all + num_all // 16 + _STEP:
        start = num_own
        for piece in pieces:
            end = start + num_positions_in(piece)
            for array, part in zip(arrays_in(held), arrays_in(piece), strict=True):
                array[..., start:end, :] = part
            start = end
        return held
    own = [] if held is None else [slice_positions(held, 0, num_own)]
    room = -num_all % _STEP

    def join(*arrays: mx.array) -> mx.array:
        *outer, _, width = arrays[0].shape
        return _concatenate(*arrays, mx.zeros((*outer, room, width), arrays[0].dtype))

    first, *others = [*own, *pieces]
    return tree_map(join, first, *others)


def _concatenate(*arrays: mx.array) -> mx.array:
    return mx.concatenate(list(arrays), axis=-2)


def num_positions_in(arrays: Arrays) -> int:
    """Return the number of positions."""
    return cast("list[tuple[str, mx.array]]", tree_flatten(arrays))[0][1].shape[-2]
