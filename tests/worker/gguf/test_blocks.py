"""GGUF's blocks as MLX's groups: MLX gives the numbers that the `gguf` package gives."""

from __future__ import annotations

import gguf
import mlx.core as mx
import numpy as np
import numpy.typing as npt
import pytest
from gguf.constants import GGML_QUANT_SIZES

from tests.worker.gguf.files import BY_NAME, random_blocks
from worker.gguf.blocks import BlockError, converted, form_of, is_exact, packed
from worker.gguf.gguf_file import TYPES, TensorType

ROWS, COLUMNS = 6, 512
CONVERTED = [kind for kind in TYPES.values() if form_of(kind) is not None]
EXACT = {"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "MXFP4"}
MOST = {"Q4_K": 3e-4, "Q5_K": 3e-4, "IQ4_XS": 3e-4}
"""The largest loss of types with a rounded scale; the others lose up to 0.7 %."""


def by_mlx(kind: TensorType, raw: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    form = form_of(kind)
    assert form is not None
    arrays, _ = converted(kind, raw)
    if not form.bits:
        dtype = {"F32": mx.float32, "F16": mx.float16, "BF16": mx.bfloat16}[form.dtype]
        return np.array(mx.array(arrays[0]).view(dtype).astype(mx.float32))
    weight, scales, *biases = map(mx.array, arrays)
    weight = weight.view(mx.uint32)
    if form.mode == "affine":
        scales, biases = scales.astype(mx.float32), [biases[0].astype(mx.float32)]
    found = mx.dequantize(weight, scales, *biases, group_size=32, bits=form.bits, mode=form.mode)
    return np.array(found.astype(mx.float32))


def test_all_types_are_listed() -> None:
    assert {number: tuple(kind) for number, kind in TYPES.items()} == {
        int(kind): (kind.name, *sizes) for kind, sizes in GGML_QUANT_SIZES.items() if int(kind) in TYPES
    }
    assert {kind.name for kind in CONVERTED if is_exact(kind)} == EXACT


@pytest.mark.parametrize("kind", CONVERTED, ids=lambda kind: kind.name)
def test_numbers_are_kept(kind: TensorType) -> None:
    raw = random_blocks(kind, ROWS, COLUMNS)
    ours = by_mlx(kind, raw)
    theirs = gguf.dequantize(raw, gguf.GGMLQuantizationType[kind.name])
    if kind.name in EXACT:
        assert np.array_equal(ours, theirs)
        assert converted(kind, raw)[1].squared_error == 0
    else:
        loss = np.sqrt(((ours - theirs).astype(float) ** 2).sum() / (theirs.astype(float) ** 2).sum())
        assert loss <= MOST.get(kind.name, 7e-3)
        assert converted(kind, raw)[1].relative == pytest.approx(loss, rel=0.05)


@pytest.mark.parametrize("name", ["Q4_K", "Q5_K", "IQ4_XS"])
def test_only_the_scale_is_rounded(name: str) -> None:
    raw = random_blocks(BY_NAME[name], ROWS, COLUMNS, 7)
    theirs = gguf.dequantize(raw, gguf.GGMLQuantizationType[name]).reshape(ROWS, -1, 32)
    ours = by_mlx(BY_NAME[name], raw).reshape(ROWS, -1, 32)
    largest = np.abs(theirs).max(axis=-1, keepdims=True)
    # A scale and a bias, each rounded to eleven bits, and their product with up to 255.
    assert (np.abs(ours - theirs) <= 4 * largest * 2.0**-11 + 1e-6).all()


@pytest.mark.parametrize("value", [0.0, 1.0, -3.0, 1e-6])
def test_equal_numbers_are_fitted(value: float) -> None:
    """A group whose numbers are all the same has no step."""
    raw = np.zeros((1, 1, 84), dtype=np.uint8)
    raw[:, :, 82:] = np.array([-value], "<f2").view(np.uint8)
    raw[:, :, :16] = 16
    theirs = gguf.dequantize(raw.reshape(1, -1), gguf.GGMLQuantizationType.Q2_K)
    assert np.array_equal(by_mlx(BY_NAME["Q2_K"], raw.reshape(1, -1)), theirs)


def test_both_halves_of_equal_steps_are_kept() -> None:
    """A group of Q6_K whose halves have the same step keeps its numbers, up to the rounding of the step."""
    raw = random_blocks(BY_NAME["Q6_K"], ROWS, COLUMNS).reshape(ROWS, -1, 210)
    raw[:, :, 192:208] = 64
    theirs = gguf.dequantize(raw.reshape(ROWS, -1), gguf.GGMLQuantizationType.Q6_K)
    error = np.abs(by_mlx(BY_NAME["Q6_K"], raw.reshape(ROWS, -1)) - theirs).max()
    assert error <= np.abs(theirs).max() * 2.0**-10


@pytest.mark.parametrize("name", ["Q4_0", "Q8_0", "Q4_K", "Q6_K", "Q3_K"])
@pytest.mark.parametrize("scale", [np.inf, np.nan, 65504.0])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_impossible_numbers_are_refused(name: str, scale: float) -> None:
    kind = BY_NAME[name]
    begin = {"Q6_K": 208, "Q3_K": 108}.get(name, 0)
    raw = random_blocks(kind, 1, 256).reshape(1, -1, kind.num_bytes)
    raw[:, 0, begin : begin + 2] = np.array([scale], "<f2").view(np.uint8)
    with pytest.raises(BlockError):
        converted(kind, raw.reshape(1, -1))


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_integers_are_packed_as_mlx_packs_them(bits: int) -> None:
    integers = np.random.default_rng(bits).integers(0, 1 << bits, (3, 64), dtype=np.uint8)
    weight = mx.array(packed(integers, bits)).view(mx.uint32)
    ones, zeros = mx.ones((3, 2)), mx.zeros((3, 2))
    found = mx.dequantize(weight, ones, zeros, group_size=32, bits=bits)
    assert np.array_equal(np.array(found), integers)
