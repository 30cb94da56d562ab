"""The weights of a model: which form they take in memory, and reading them into it.

On a CPU, MLX multiplies float32 about thirty times faster than 16-bit floats, and about ten times faster than quantized
weights. So all weights become float32 when they are loaded. If unpacked weights do not fit into memory, quantized ones
stay packed, and each matrix is unpacked for a moment when many tokens are processed at once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import mlx.core as mx
import mlx.nn as nn
import mlx_lm
import numpy as np
from mlx.utils import tree_flatten, tree_unflatten
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.models.mla import MultiLinear, QuantizedMultiLinear
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear
from mlx_lm.utils import get_total_parameters
from typing_extensions import Buffer

from worker.layers import bytes_per_token
from worker.memory import PLANNED_TOKENS, Needs, chosen_form, free_bytes
from worker.values import WeightForm

_MANY_ROWS = 3
"""From this many rows on, a packed matrix is unpacked before it is multiplied.

For each weight, MLX takes 0.9 ns a row to multiply packed numbers, and 1.4 ns to unpack and multiply a few rows.
"""

_MANY_ROWS_OF_LARGE = 8
_LARGE = 1 << 27
"""How many numbers make a matrix large (usually the output's). Unpacked it takes half a gigabyte.

So it is unpacked only for more rows.
"""

_CACHE_FORMAT = 1
"""Increase this when the form or the meaning of the data on disk changes."""
_BLOCK_BYTES = 8 << 20
_MAX_THREADS = 8

Packed: TypeAlias = nn.QuantizedLinear | nn.QuantizedEmbedding | QuantizedSwitchLinear | QuantizedMultiLinear
_PACKED = (nn.QuantizedLinear, nn.QuantizedEmbedding, QuantizedSwitchLinear, QuantizedMultiLinear)


class Weights:
    """The weights of a model that was built with lazy arrays. `read` brings them into memory."""

    def __init__(self, model: nn.Module, *, on_cpu: bool, free: Callable[[], int] = free_bytes) -> None:
        """`free` returns the free memory in bytes. It is called when reading begins."""
        self.form = WeightForm()
        self.odd: list[str] = []
        """Names of arrays that contain infinities or NaN."""
        self._model = model
        self._on_cpu = on_cpu
        self._free = free
        self._described: list[tuple[str, str, list[int]]] = []
        self._digests: list[Future[bytes]] = []

    def read(self) -> Iterator[float]:
        """Read all weights, one module after the other. Yields the fraction that is read, at most a hundred times."""
        if self._on_cpu:
            self._model.set_dtype(mx.float32)
        packed = _packed_modules(self._model) if self._on_cpu else {}
        if packed:
            self.form = chosen_form(_needs_of(self._model, packed), self._free())
        modules = _by_module(arrays_of(self._model), packed)
        total = sum(array.nbytes for arrays in modules.values() for _, array in arrays) or 1
        done = reported = 0
        num_threads = min(os.cpu_count() or 1, _MAX_THREADS)
        # Each stream of a CPU has a thread of its own.
        streams = deque(mx.new_stream(mx.cpu) for _ in range(num_threads if self.form.form == "unpacked" else 0))
        unpacking: deque[mx.array] = deque()
        with ThreadPoolExecutor(num_threads) as threads:
            for path in list(modules):
                # Packed arrays are dropped as soon as they are unpacked.
                for name, array in modules.pop(path):
                    mx.eval(array)
                    if not is_finite(array):
                        self.odd.append(name)
                    self._described.append(_description(name, array))
                    self._digests += [threads.submit(_digest, block) for block in _blocks_of(array)]
                    done += array.nbytes
                if path in packed and self.form.form == "packed":
                    unpack_for_many_rows(packed.pop(path).module)
                elif path in packed:
                    if len(unpacking) >= num_threads:
                        mx.eval(unpacking.popleft())
                    streams.rotate()
                    unpacking.append(self._unpack(packed.pop(path), streams[0]))
                if (done - reported) * 100 >= total:
                    reported = done
                    yield done / total
            mx.eval(list(unpacking))

    def _unpack(self, places: _Places, stream: mx.Stream) -> mx.array:
        """Put an unpacked module in the place of a packed one. Return its weight, which is being computed."""
        unpacked = unpacked_module(places.module, stream)
        weight = cast("mx.array", unpacked["weight"])
        mx.async_eval(weight)
        for path in places.paths:
            self._model.update_modules(tree_unflatten([(path, unpacked)]))
        return weight

    def identity(self, config: Mapping[str, Any]) -> str:
        """Return a hash of the model, its form in memory, the kind of device, and the libraries that compute it.

        A copy of a model's folder has the same identity. If a single bit of a weight differs, the identity does, too.
        """
        form = {} if self.form.form == "stored" else {"form": self.form.form}
        return _hash({**config, **form}, self._described, (digest.result() for digest in self._digests))


def _hash(config: Mapping[str, Any], weights: Sequence[tuple[str, str, list[int]]], digests: Iterable[bytes]) -> str:
    described = {
        "format": _CACHE_FORMAT,
        "mlx": cast("Any", mx).__version__,
        "mlx_lm": mlx_lm.__version__,
        "device": str(mx.default_device().type),
        "config": config,
        "weights": weights,
    }
    whole = hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode())
    for digest in digests:
        whole.update(digest)
    return whole.hexdigest()


def _description(name: str, array: mx.array) -> tuple[str, str, list[int]]:
    return name, str(array.dtype), list(array.shape)


def _blocks_of(array: mx.array) -> list[memoryview]:
    view = memoryview(cast("Buffer", array.reshape(-1).view(mx.uint8)))
    return [view[start : start + _BLOCK_BYTES] for start in range(0, array.nbytes, _BLOCK_BYTES)]


def _digest(block: memoryview) -> bytes:
    # This releases Python's lock, so several threads hash while MLX continues.
    return hashlib.sha256(block).digest()


def is_finite(array: mx.array) -> bool:
    """Return whether all numbers of an array are finite."""
    if not mx.issubdtype(array.dtype, mx.floating):
        return True
    if array.dtype == mx.float32 and mx.default_device() == mx.Device(mx.cpu):
        # Infinities and NaN stay in a sum. NumPy's takes a hundredth of the time to read and hash the array.
        with np.errstate(all="ignore"):
            if np.isfinite(np.sum(np.array(array, copy=False))):
                return True
    return bool(mx.all(mx.isfinite(array)).item())


# --- packed modules --------------------------------------------------------------------------------------------


@dataclass
class _Places:
    """A packed module, and its paths in the model: several if the model uses it several times."""

    module: Packed
    paths: list[str]


def _packed_modules(model: nn.Module) -> dict[str, _Places]:
    """Return the modules that can be unpacked, by the first path of each."""
    found: dict[int, _Places] = {}
    for path, module in model.named_modules():
        # Subclasses may compute something else.
        if type(module) in _PACKED and module.get("global_scale") is None:
            found.setdefault(id(module), _Places(cast("Packed", module), [])).paths.append(path)
    return {places.paths[0]: places for places in found.values()}


def _by_module(
    arrays: list[tuple[str, mx.array]], packed: Mapping[str, _Places]
) -> dict[str, list[tuple[str, mx.array]]]:
    """Put the arrays of each packed module together, under its path. Every other array has its own name as its path."""
    found: dict[str, list[tuple[str, mx.array]]] = {}
    for name, array in arrays:
        path = name.rpartition(".")[0]
        found.setdefault(path if path in packed else name, []).append((name, array))
    return found


def _needs_of(model: nn.Module, packed: Mapping[str, _Places]) -> Needs:
    """Return the memory that a model needs if `packed` are unpacked. No array is computed."""
    weights = sum(array.nbytes for _, array in arrays_of(model))
    for places in packed.values():
        module = places.module
        # Each number of `scales` belongs to a group of weights.
        weights += 4 * module.scales.size * module.group_size
        weights -= sum(module[name].nbytes for name in ("weight", "scales", "biases") if module.get(name) is not None)
    try:
        layers = make_prompt_cache(model)
        cast("Any", model)(mx.zeros((1, 1), mx.int32), cache=layers)
        keys_and_values = PLANNED_TOKENS * sum(bytes_per_token(layer) for layer in layers)
    except Exception:  # noqa: BLE001 (a wrong configuration, which is explained when the model is tried)
        keys_and_values = 0
    return Needs(weights, keys_and_values)


def unpacked_module(module: Packed, stream: mx.Stream | None = None) -> nn.Module:
    """Return the module that computes the same with float32 weights. They are unpacked lazily, on `stream`."""
    weight = _unpacked_weight(module, stream)
    unpacked: nn.Module
    match module:
        case nn.QuantizedEmbedding():
            unpacked = nn.Embedding(1, 1)
        case nn.QuantizedLinear():
            unpacked = nn.Linear(1, 1, bias=False)
        case QuantizedSwitchLinear():
            unpacked = SwitchLinear(1, 1, 1, bias=False)
        case QuantizedMultiLinear():
            unpacked = MultiLinear(1, 1, 1)
    unpacked.weight = weight
    if module.get("bias") is not None:
        unpacked.bias = module["bias"]
    return unpacked


def _unpacked_weight(module: Packed, stream: mx.Stream | None = None) -> mx.array:
    return mx.dequantize(
        module["weight"],
        module["scales"],
        module.get("biases"),
        group_size=module.group_size,
        bits=module.bits,
        mode=module.mode,
        dtype=mx.float32,
        stream=stream,
    )


def _has_many_rows(x: mx.array, module: nn.QuantizedLinear | nn.QuantizedEmbedding) -> bool:
    is_large = module.scales.size * module.group_size > _LARGE
    return x.size >= (_MANY_ROWS_OF_LARGE if is_large else _MANY_ROWS) * x.shape[-1]


class _LinearUnpackedForManyRows(nn.QuantizedLinear):
    """Unpacks its matrix for each product with many rows, which takes less time than to multiply packed numbers."""

    def __call__(self, x: mx.array) -> mx.array:
        if not _has_many_rows(x, self):
            return super().__call__(x)
        product = x @ _unpacked_weight(self).T
        return product + self["bias"] if "bias" in self else product


class _EmbeddingUnpackedForManyRows(nn.QuantizedEmbedding):
    """An embedding that is also the output matrix: unpacks its matrix for each product with many rows."""

    def as_linear(self, x: mx.array) -> mx.array:
        if not _has_many_rows(x, self):
            return super().as_linear(x)
        return x @ _unpacked_weight(self).T


def unpack_for_many_rows(module: Packed) -> None:
    """Let a packed module unpack itself whenever it gets many rows. Matrices of experts stay as they are."""
    if type(module) is nn.QuantizedLinear:
        module.__class__ = _LinearUnpackedForManyRows
    elif type(module) is nn.QuantizedEmbedding:
        module.__class__ = _EmbeddingUnpackedForManyRows


# --- figures ---------------------------------------------------------------------------------------------------


def arrays_of(model: nn.Module) -> list[tuple[str, mx.array]]:
    """Return all arrays of a model with their names."""
    return cast("list[tuple[str, mx.array]]", tree_flatten(model.parameters()))


def num_parameters(model: nn.Module) -> int:
    """Return the number of parameters. Quantized weights count as the numbers that they stand for."""
    leaves = cast("list[tuple[str, nn.Module]]", tree_flatten(model.leaf_modules(), is_leaf=nn.Module.is_module))
    in_leaves = sum(array.size for _, leaf in leaves for _, array in arrays_of(leaf))
    in_blocks = sum(array.size for _, array in arrays_of(model)) - in_leaves
    return get_total_parameters(model) + in_blocks
