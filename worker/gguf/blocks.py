"""Converts GGUF's blocks of quantized numbers to MLX's: groups of 32 integers, each with a scale and a bias.

A number is `scale * integer + bias`, with scales and biases of 16 bits. Three kinds of blocks:

- Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL and MXFP4 are such groups already: the numbers stay the same.
- Q4_K, Q5_K and IQ4_XS are groups whose scale is a product, which is rounded to 16 bits.
- All others have smaller groups or other steps. They are approximated by groups of 8-bit integers.

The error of rounding and approximation is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from worker.gguf.gguf_file import TensorType

GROUP = 32

ITEM_BYTES: Mapping[str, int] = {"F32": 4, "F16": 2, "BF16": 2, "U32": 4, "U8": 1}

Bytes: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float32]
Array: TypeAlias = npt.NDArray[Any]


class BlockError(ValueError):
    """The numbers can't be converted: some are infinite, or too large for 16 bits."""


@dataclass(frozen=True)
class Form:
    """How a matrix is stored: as integers of `bits` bits in groups, or as plain numbers of the type `dtype`."""

    bits: int = 0
    """0 means plain numbers."""
    dtype: str = ""
    """The type of plain numbers, or of scales and biases."""
    mode: str = "affine"
    """MLX's name of the kind of quantization."""

    def arrays(self, columns: int) -> dict[str, tuple[str, int]]:
        """Return the arrays of a matrix with `columns` columns: suffix of the name → type, number of columns."""
        if not self.bits:
            return {"weight": (self.dtype, columns)}
        groups = columns // GROUP
        arrays = {"weight": ("U32", columns * self.bits // 32), "scales": (self.dtype, groups)}
        return {**arrays, "biases": (self.dtype, groups)} if self.mode == "affine" else arrays

    @property
    def description(self) -> dict[str, Any]:
        """The form as config.json describes it."""
        quantization: dict[str, Any] = {"group_size": GROUP, "bits": self.bits}
        return quantization if self.mode == "affine" else {**quantization, "mode": self.mode}


class Loss(NamedTuple):
    """How much converted numbers differ from the file's: sums over all numbers."""

    squared_error: float = 0.0
    squared: float = 0.0
    num_values: int = 0

    @property
    def relative(self) -> float:
        """The root mean square of the differences, relative to that of the numbers."""
        return math.sqrt(self.squared_error / self.squared) if self.squared else 0.0

    def plus(self, other: Loss) -> Loss:
        return Loss(
            self.squared_error + other.squared_error,
            self.squared + other.squared,
            self.num_values + other.num_values,
        )


class Groups(NamedTuple):
    """Quantized rows: `integers` has the shape (rows, groups, 32), `scales` and `biases` (rows, groups)."""

    integers: Bytes
    scales: Array
    biases: Array
    loss: Loss


def form_of(kind: TensorType) -> Form | None:
    """Return the form of a matrix whose blocks are of this type; None if it can't be read."""
    return _FORMS.get(kind.name)


def form_named(kind: str) -> Form | None:
    """Return the form of a matrix by the name of its blocks' type."""
    return _FORMS.get(kind)


def is_exact(kind: TensorType) -> bool:
    """Return whether all numbers of this type are converted exactly."""
    return kind.name not in _FITTED and kind.name not in ("Q4_K", "Q5_K", "IQ4_XS")


def converted(kind: TensorType, raw: Bytes) -> tuple[tuple[Array, ...], Loss]:
    """Convert rows of a matrix: `raw` has the shape (rows, bytes). Returns the arrays of its form.

    Raises `BlockError`.
    """
    form = _FORMS[kind.name]
    if not form.bits:
        return (raw,), Loss()
    blocks = raw.reshape(len(raw), -1, kind.num_bytes)
    if form.mode == "mxfp4":
        return (packed(_nibbles(blocks[:, :, 1:]), 4), np.ascontiguousarray(blocks[:, :, 0])), Loss()
    # Numbers that overflow are refused below.
    with np.errstate(over="ignore", invalid="ignore"):
        groups = _GROUPS[kind.name](blocks) if kind.name in _GROUPS else _fitted(_dequantized(kind, raw))
    if not (np.isfinite(groups.scales).all() and np.isfinite(groups.biases).all()):
        raise BlockError
    return (packed(groups.integers, form.bits), groups.scales, groups.biases), groups.loss


def dequantized(kind: TensorType, raw: Bytes) -> Floats:
    """Return the numbers of rows: `raw` has the shape (rows, bytes)."""
    match kind.name:
        case "F32":
            return raw.view("<f4")
        case "F16":
            return raw.view("<f2").astype(np.float32)
        case "BF16":
            return (raw.view("<u2").astype(np.uint32) << np.uint32(16)).view(np.float32)
        case _:
            return _dequantized(kind, raw)


def packed(integers: Bytes, bits: int) -> Bytes:
    """Pack the integers of each row: one after another, the lowest bits first."""
    rows = len(integers)
    integers = integers.reshape(rows, -1)
    if bits == 8:
        return integers
    if bits == 4:
        return integers[:, 0::2] | integers[:, 1::2] << np.uint8(4)
    eights = integers.reshape(rows, -1, 8).astype(np.uint64)
    joined = eights[:, :, 0].copy()
    for number in range(1, 8):
        joined |= eights[:, :, number] << np.uint64(bits * number)
    return joined.astype("<u8").view(np.uint8).reshape(rows, -1, 8)[:, :, :bits].reshape(rows, -1)


# --- groups that keep their numbers ---------------------------------------------------------------------------


def _halves(blocks: Bytes, begin: int) -> npt.NDArray[np.float16]:
    """Return the 16-bit number at `begin` in each block: (rows, blocks)."""
    return np.ascontiguousarray(blocks[:, :, begin : begin + 2]).view("<f2")[:, :, 0]


def _nibbles(halves: Bytes) -> Bytes:
    """Return the integers of 16 bytes, (…, 32): the low four bits of all bytes, then the high ones."""
    return np.concatenate((halves & np.uint8(15), halves >> np.uint8(4)), axis=-1)


def _fifth_bits(blocks: Bytes, begin: int) -> Bytes:
    """Return the 32 bits at `begin` in each block, each as 0 or 16."""
    bits = np.unpackbits(np.ascontiguousarray(blocks[:, :, begin : begin + 4]), axis=-1, bitorder="little")
    return bits << np.uint8(4)


def _symmetric(integers: Bytes, scales: npt.NDArray[np.float16], zero: int) -> Groups:
    return Groups(integers, scales, scales * np.float16(-zero), Loss())


def _q4_0(blocks: Bytes) -> Groups:
    return _symmetric(_nibbles(blocks[:, :, 2:]), _halves(blocks, 0), 8)


def _q4_1(blocks: Bytes) -> Groups:
    return Groups(_nibbles(blocks[:, :, 4:]), _halves(blocks, 0), _halves(blocks, 2), Loss())


def _q5_0(blocks: Bytes) -> Groups:
    return _symmetric(_nibbles(blocks[:, :, 6:]) | _fifth_bits(blocks, 2), _halves(blocks, 0), 16)


def _q5_1(blocks: Bytes) -> Groups:
    integers = _nibbles(blocks[:, :, 8:]) | _fifth_bits(blocks, 4)
    return Groups(integers, _halves(blocks, 0), _halves(blocks, 2), Loss())


def _q8_0(blocks: Bytes) -> Groups:
    return _symmetric(blocks[:, :, 2:] ^ np.uint8(128), _halves(blocks, 0), 128)


# --- groups with rounded scales -------------------------------------------------------------------------------


def _q4_k(blocks: Bytes) -> Groups:
    return _rounded(_pairs(blocks[:, :, 16:]), *_six_bit_scales(blocks))


def _q5_k(blocks: Bytes) -> Groups:
    """Convert Q5_K. The fifth bit of each number in group g is bit g of one of 32 bytes."""
    rows, count, _ = blocks.shape
    shifts = np.arange(8, dtype=np.uint8)[:, None]
    fifth = (blocks[:, :, None, 16:48] >> shifts & np.uint8(1)) << np.uint8(4)
    return _rounded(_pairs(blocks[:, :, 48:]) | fifth.reshape(rows, count * 8, GROUP), *_six_bit_scales(blocks))


def _pairs(nibbles: Bytes) -> Bytes:
    """Return the integers of groups, two of which share 32 bytes: (rows, groups, 32)."""
    rows, count, _ = nibbles.shape
    nibbles = nibbles.reshape(rows, count, 4, 1, GROUP)
    both = np.concatenate((nibbles & np.uint8(15), nibbles >> np.uint8(4)), axis=3)
    return both.reshape(rows, count * 8, GROUP)


def _six_bit_scales(blocks: Bytes) -> tuple[Floats, Floats]:
    """Return the scales and biases of the eight groups of each block: (rows, groups)."""
    rows, count, _ = blocks.shape
    low, high, rest = (blocks[:, :, begin : begin + 4] for begin in (4, 8, 12))
    six, four, two = np.uint8(63), np.uint8(15), np.uint8(48)
    scales = np.concatenate((low & six, rest & four | low >> np.uint8(2) & two), axis=-1).astype(np.float32)
    offsets = np.concatenate((high & six, rest >> np.uint8(4) | high >> np.uint8(2) & two), axis=-1).astype(np.float32)
    scales *= _halves(blocks, 0).astype(np.float32)[:, :, None]
    offsets *= -_halves(blocks, 2).astype(np.float32)[:, :, None]
    return scales.reshape(rows, count * 8), offsets.reshape(rows, count * 8)


def _rounded(integers: Bytes, scales: Floats, biases: Floats) -> Groups:
    """Round scales and biases to 16 bits. The loss follows from the sums of each group."""
    wide = integers.astype(np.float32)
    sums = wide.sum(axis=-1).astype(np.float64)
    squares = np.einsum("rgi,rgi->rg", wide, wide).astype(np.float64)
    rounded_scales, rounded_biases = scales.astype(np.float16), biases.astype(np.float16)

    def squared(scale: Array, bias: Array) -> float:
        return float((scale**2 * squares + 2 * scale * bias * sums + GROUP * bias**2).sum())

    scale, bias = scales.astype(np.float64), biases.astype(np.float64)
    loss = Loss(squared(rounded_scales - scale, rounded_biases - bias), squared(scale, bias), integers.size)
    return Groups(integers, rounded_scales, rounded_biases, loss)


# --- groups that are fitted -----------------------------------------------------------------------------------


def _q6_k(blocks: Bytes) -> Groups:
    rows, count, _ = blocks.shape
    low = blocks[:, :, :128].reshape(rows, count, 2, 1, 64)
    low = np.concatenate((low & np.uint8(15), low >> np.uint8(4)), axis=3).reshape(rows, count, 16, 16)
    shifts = np.array([0, 2, 4, 6], dtype=np.uint8)[:, None]
    high = blocks[:, :, 128:192].reshape(rows, count, 2, 1, 32) >> shifts & np.uint8(3)
    integers = low | (high << np.uint8(4)).reshape(rows, count, 16, 16)
    steps = np.ascontiguousarray(blocks[:, :, 192:208]).view(np.int8).astype(np.float32)
    steps *= _halves(blocks, 208).astype(np.float32)[:, :, None]
    values = (integers.astype(np.float32) - np.float32(32)) * steps[..., None]
    return _fitted(values.reshape(rows, -1), steps.reshape(rows, count * 8, 2))


def _dequantized(kind: TensorType, raw: Bytes) -> Floats:
    import gguf  # Imported here because it takes a tenth of a second, and few files need it.

    return gguf.dequantize(raw, gguf.GGMLQuantizationType[kind.name])


def _iq4_nl(blocks: Bytes) -> Groups:
    return _symmetric(_from_table(blocks[:, :, 2:]), _halves(blocks, 0), 128)


def _iq4_xs(blocks: Bytes) -> Groups:
    """Convert IQ4_XS: eight groups, each with a scale of six bits (four from byte 4 on, two from byte 2 on)."""
    rows, count, _ = blocks.shape
    low = blocks[:, :, 4:8, None] >> np.array([0, 4], dtype=np.uint8) & np.uint8(15)
    high = blocks[:, :, 2:4, None] >> np.array([0, 2, 4, 6], dtype=np.uint8) & np.uint8(3)
    factors = low.reshape(rows, count, 8) | (high << np.uint8(4)).reshape(rows, count, 8)
    scales = (factors.astype(np.float32) - np.float32(32)) * _halves(blocks, 0).astype(np.float32)[:, :, None]
    scales = scales.reshape(rows, count * 8)
    return _rounded(_from_table(blocks[:, :, 8:].reshape(rows, count * 8, 16)), scales, scales * np.float32(-128))


def _from_table(halves: Bytes) -> Bytes:
    """Return the integers of groups whose sixteen possible values are in a table."""
    return _UNEVEN[_nibbles(halves)]


_UNEVEN = np.array([1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241], dtype=np.uint8)


def _fitted(values: Floats, steps: Floats | None = None) -> Groups:
    """Approximate numbers, (rows, columns), by groups of 8-bit integers.

    `steps`, (rows, groups, 2): the numbers of both halves of each group are multiples of these. A step that divides the
    step of a half keeps the numbers of that half. It is used if its error is less than that of the shortest possible
    step.
    """
    values = values.reshape(len(values), -1, GROUP)
    lowest, highest = values.min(axis=-1), values.max(axis=-1)
    # The step is a little longer, as rounding the bias and the step to 16 bits moves both ends.
    least = (highest - lowest) * np.float32(1 / 254.5)
    step, error = least, least * np.float32(math.sqrt(2))
    for half in range(0 if steps is None else 2):
        assert steps is not None
        whole = np.abs(steps[:, :, half])
        parts = np.floor(np.divide(whole, least, out=np.zeros_like(whole), where=least > 0))
        part = np.divide(whole, parts, out=np.full_like(whole, np.inf), where=parts >= 1)
        step = np.where(part < error, part, step)
        error = np.minimum(part, error)
    scales = step.astype(np.float16)
    exact = scales.astype(np.float32)
    inverse = np.divide(np.float32(1), exact, out=np.zeros_like(exact), where=exact > 0)
    # The bias is a multiple of the step, so that 0 stays 0. Without a step all numbers of the group are the same.
    biases = np.where(exact > 0, np.floor(lowest * inverse) * exact, lowest).astype(np.float16)
    offsets = biases.astype(np.float32)[..., None]
    integers = values - offsets
    integers *= inverse[..., None]
    np.rint(integers, out=integers)
    np.clip(integers, 0, 255, out=integers)
    packed_integers = integers.astype(np.uint8)
    integers *= exact[..., None]
    integers += offsets
    integers -= values
    loss = Loss(_sum_of_squares(integers), _sum_of_squares(values), values.size)
    return Groups(packed_integers, scales, biases, loss)


def _sum_of_squares(values: Floats) -> float:
    return float(np.einsum("rgi,rgi->r", values, values).sum(dtype=np.float64))


_GROUPS: Mapping[str, Callable[[Bytes], Groups]] = {
    "Q4_0": _q4_0,
    "Q4_1": _q4_1,
    "Q5_0": _q5_0,
    "Q5_1": _q5_1,
    "Q8_0": _q8_0,
    "Q4_K": _q4_k,
    "Q5_K": _q5_k,
    "Q6_K": _q6_k,
    "IQ4_NL": _iq4_nl,
    "IQ4_XS": _iq4_xs,
}

_FITTED = (
    *("Q2_K", "Q3_K", "Q6_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"),
    *("TQ1_0", "TQ2_0", "NVFP4"),
)

_FORMS: Mapping[str, Form] = {
    **{name: Form(dtype=name) for name in ("F32", "F16", "BF16")},
    **{name: Form(4, "F16") for name in ("Q4_0", "Q4_1", "Q4_K")},
    **{name: Form(5, "F16") for name in ("Q5_0", "Q5_1", "Q5_K")},
    **{name: Form(8, "F16") for name in ("Q8_0", "IQ4_NL", "IQ4_XS")},
    "MXFP4": Form(4, "U8", "mxfp4"),
    **{name: Form(8, "F16") for name in _FITTED},
}
