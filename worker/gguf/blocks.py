"""GGUF's blocks of quantized numbers, written as MLX's: integers in groups of 32, each with a scale and a bias.

A number is `scale * integer + bias`. The scales and biases have 16 bits, as those of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from worker.gguf.gguf_file import TensorType

GROUP = 32

Bytes: TypeAlias = npt.NDArray[np.uint8]
Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Form:
    """How a weight is written: packed integers of `bits` bits; 0 means plain numbers of the type `dtype`."""

    bits: int
    dtype: str

    def num_bytes(self, columns: int) -> tuple[int, ...]:
        """Return the bytes that a row takes in each of the arrays."""
        if not self.bits:
            return (columns * ITEM_BYTES[self.dtype],)
        return (columns * self.bits // 8, columns // GROUP * 2, columns // GROUP * 2)


ITEM_BYTES = {"F32": 4, "F16": 2, "BF16": 2, "U32": 4}


class Groups(NamedTuple):
    """Quantized rows: `integers` has the shape (rows, columns); `scales` and `biases` (rows, columns / 32)."""

    integers: Bytes
    scales: Array
    biases: Array


def form_of(kind: TensorType) -> Form | None:
    """Return the form of a matrix whose blocks are of this type; None if it can't be read."""
    return _FORMS.get(kind.name)


def rows_of(kind: TensorType, form: Form, raw: Bytes) -> tuple[Array, ...]:
    """Convert rows: `raw` has the shape (rows, bytes). Returns the weight, or the packed weight, scales and biases."""
    if not form.bits:
        return (raw,)
    groups = _UNPACKED[kind.name](raw.reshape(len(raw), -1, kind.num_bytes))
    return packed(groups.integers, form.bits), groups.scales, groups.biases


def packed(integers: Bytes, bits: int) -> Bytes:
    """Pack integers of `bits` bits: one after another, the lowest bits first."""
    rows = len(integers)
    if bits == 8:
        return integers.reshape(rows, -1)
    if bits == 4:
        return integers[:, 0::2] | integers[:, 1::2] << np.uint8(4)
    eights = integers.reshape(rows, -1, 8).astype(np.uint64)
    shifts = np.arange(8, dtype=np.uint64) * np.uint64(bits)
    joined = np.bitwise_or.reduce(eights << shifts, axis=-1)
    return joined.view(np.uint8).reshape(rows, -1, 8)[:, :, :bits].reshape(rows, -1)


def _halves(blocks: Bytes, begin: int) -> npt.NDArray[np.float16]:
    """Return the 16-bit number at `begin` in each block: (rows, blocks)."""
    return np.ascontiguousarray(blocks[:, :, begin : begin + 2]).view(np.float16)[:, :, 0]


def _nibbles(blocks: Bytes) -> Bytes:
    """Return the integers of bytes that hold one of the first half and one of the second half."""
    return np.concatenate((blocks & np.uint8(15), blocks >> np.uint8(4)), axis=-1).reshape(len(blocks), -1)


def _q4_0(blocks: Bytes) -> Groups:
    scales = _halves(blocks, 0)
    return Groups(_nibbles(blocks[:, :, 2:]), scales, scales * np.float16(-8))


def _q4_1(blocks: Bytes) -> Groups:
    return Groups(_nibbles(blocks[:, :, 4:]), _halves(blocks, 0), _halves(blocks, 2))


def _q8_0(blocks: Bytes) -> Groups:
    scales = _halves(blocks, 0)
    return Groups((blocks[:, :, 2:] ^ np.uint8(128)).reshape(len(blocks), -1), scales, scales * np.float16(-128))


_UNPACKED: Mapping[str, Callable[[Bytes], Groups]] = {"Q4_0": _q4_0, "Q4_1": _q4_1, "Q8_0": _q8_0}

_FORMS = {
    "F32": Form(0, "F32"),
    "F16": Form(0, "F16"),
    "BF16": Form(0, "BF16"),
    "Q4_0": Form(4, "F16"),
    "Q4_1": Form(4, "F16"),
    "Q8_0": Form(8, "F16"),
}
