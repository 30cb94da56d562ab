"""Nested arrays as bytes and back: every bit of every kind of array returns, and other bytes raise an error."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import mlx.core as mx
import pytest

from tests.long import in_long_runs
from worker.cache.array_file import DamagedFileError, NotStorableError, from_bytes, read_header, to_buffers

DTYPES = (
    mx.bool_,
    mx.uint8,
    mx.int8,
    mx.uint16,
    mx.int16,
    mx.uint32,
    mx.int32,
    mx.uint64,
    mx.int64,
    mx.float16,
    mx.bfloat16,
    mx.float32,
    mx.complex64,
)


def as_bytes(value: Any) -> bytes:
    header, buffers = to_buffers(value, {"said": "so"})
    return header + b"".join(bytes(memoryview(buffer)) for buffer in buffers)


def is_same(one: Any, other: Any) -> bool:
    match one:
        case mx.array():
            if not isinstance(other, mx.array) or one.dtype != other.dtype or one.shape != other.shape:
                return False
            mine, others = (array.reshape(-1).view(mx.uint8) for array in (one, other))
            return not one.size or bool(mx.array_equal(mine, others))
        case dict():
            return type(other) is dict and one.keys() == other.keys() and all(is_same(one[k], other[k]) for k in one)
        case list() | tuple():
            return (
                type(one) is type(other)
                and len(one) == len(other)
                and all(is_same(*pair) for pair in zip(one, other, strict=True))
            )
        case _:
            return type(one) is type(other) and one == other


def random_array(rng: Random) -> mx.array:
    shape = [rng.choice([0, 1, 1, 2, 3, 7]) for _ in range(rng.randrange(5))]
    size = 1
    for each in shape:
        size *= each
    dtype = rng.choice(DTYPES)
    if dtype == mx.bool_:
        return mx.array([rng.random() < 0.5 for _ in range(size)], mx.bool_).reshape(shape)
    drawn = mx.array([rng.randrange(256) for _ in range(size * dtype.size)], mx.uint8)
    return drawn.view(dtype).reshape(shape)


def random_value(rng: Random, depth: int = 0) -> Any:
    kind = rng.choice(["array", "array", "leaf", "list", "tuple", "dict"] if depth < 4 else ["array", "leaf"])
    several = range(rng.randrange(4))
    match kind:
        case "array":
            return random_array(rng)
        case "list":
            return [random_value(rng, depth + 1) for _ in several]
        case "tuple":
            return tuple(random_value(rng, depth + 1) for _ in several)
        case "dict":
            return {rng.choice(["array", "tuple", "dict", "x", ""]): random_value(rng, depth + 1) for _ in several}
        case _:
            return rng.choice([None, True, False, 0, -5, 2**40, 0.1, -1e300, float("inf"), "", "ä\n"])


@pytest.mark.parametrize("seed", [*range(40), *in_long_runs(range(40, 300))])
def test_stored_values_come_back_bit_for_bit(seed: int):
    value = random_value(Random(seed))
    data = as_bytes(value)
    assert is_same(value, from_bytes(data))
    header = read_header(data)
    assert header.metadata["said"] == "so"
    assert header.num_file_bytes == len(data)


def test_views_and_transposed_arrays_are_stored_with_their_visible_values():
    grid = mx.arange(24).reshape(4, 6)
    value = [grid[1:3, 2:5], grid.T, mx.broadcast_to(grid[:1], (3, 6))]
    assert is_same(value, from_bytes(as_bytes(value)))


def test_other_programs_can_read_the_file(tmp_path: Path):
    value = {"a": mx.arange(5), "b": mx.ones((2, 3), mx.bfloat16)}
    (tmp_path / "file.safetensors").write_bytes(as_bytes(value))
    arrays = mx.load(str(tmp_path / "file.safetensors"))
    assert isinstance(arrays, dict)
    assert is_same([arrays["0"], arrays["1"]], [value["a"], value["b"]])


@pytest.mark.parametrize("value", [{1: 2}, object(), [{"a": {3, 4}}], 1j])
def test_values_that_cannot_be_stored_are_refused(value: Any):
    with pytest.raises(NotStorableError):
        to_buffers(value, {})


@pytest.mark.parametrize("seed", [*range(40), *in_long_runs(range(40, 200))])
def test_changed_bytes_are_read_or_raise_a_damaged_file_error(seed: int):
    """Checksums are another module's job, but no other error may come from here."""
    rng = Random(seed)
    data = bytearray(as_bytes([random_value(rng) for _ in range(3)]))
    match rng.randrange(3):
        case 0:
            del data[rng.randrange(len(data)) :]
        case 1:
            data[rng.randrange(min(len(data), 200))] ^= 1 << rng.randrange(8)
        case _:
            data[:] = rng.randbytes(rng.randrange(200))
    try:
        from_bytes(bytes(data))
    except DamagedFileError:
        return
