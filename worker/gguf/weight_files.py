"""Distributes a converted model's weights over weight files, and writes the files."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from worker.errors import ModelInvalidError
from worker.gguf.architectures import Weight
from worker.gguf.blocks import ITEM_BYTES, BlockError, Bytes, Form, Loss, converted, dequantized, form_of, is_exact
from worker.gguf.gguf_file import Tensor, changed_meanwhile, opened
from worker.sentence import Sentence

MAX_FILE_BYTES = 10**9
"""The limit for a weight file. An interrupted conversion resumes after the last whole file, so files are small."""

_MAX_SHORT_BYTES = 16 << 20
_MAX_COLUMNS = 1 << 20
"""A row is converted in one piece. The widest matrices of real models have up to 60,000 columns."""
_CHUNK_VALUES = 1 << 19
"""Numbers that are converted at once: few enough for the processor's cache."""
_TOLERANCE = 2.0**-24


@dataclass(frozen=True)
class WrittenArray:
    """An array of a weight file, with `num_rows` rows."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    num_rows: int
    row_bytes: int

    @property
    def num_bytes(self) -> int:
        return self.num_rows * self.row_bytes


@dataclass(frozen=True)
class Plan:
    """How to write a weight."""

    weight: Weight
    form: Form
    arrays: tuple[WrittenArray, ...]

    @property
    def num_bytes(self) -> int:
        return sum(array.num_bytes for array in self.arrays)

    @property
    def path(self) -> str:
        """The path of the weight's module, as in config.json."""
        return self.weight.name.rpartition(".")[0]


@dataclass(frozen=True)
class WeightFilePlan:
    """A weight file that will be written."""

    name: str
    plans: Sequence[Plan]

    @property
    def num_bytes(self) -> int:
        return sum(plan.num_bytes for plan in self.plans)


def plan_weights(weights: Sequence[Weight]) -> list[Plan]:
    """Choose the form of each weight. Raises `ModelInvalidError` for an unknown type.

    Norms and other short tensors get the type in which the model computes, if that keeps their numbers: one with 32
    bits makes MLX compute everything after it in 32 bits.
    """
    sizes: dict[str, int] = {}
    for weight in weights:
        if not _is_short(weight.tensor):
            form = _form_of(weight.tensor)
            dtype = "F16" if form.bits else form.dtype
            sizes[dtype] = sizes.get(dtype, 0) + weight.tensor.num_values
    usual = max(sizes, key=lambda dtype: sizes[dtype], default="F32")
    return [_plan(weight, usual) for weight in weights]


def split(plans: Sequence[Plan]) -> list[WeightFilePlan]:
    """Distribute weights over files of up to `MAX_FILE_BYTES`. A larger weight has a file of its own."""
    parts: list[list[Plan]] = []
    reached = MAX_FILE_BYTES
    for plan in plans:
        if reached + plan.num_bytes > MAX_FILE_BYTES:
            parts.append([])
            reached = 0
        parts[-1].append(plan)
        reached += plan.num_bytes
    if len(parts) == 1:
        return [WeightFilePlan("model.safetensors", parts[0])]
    count = len(parts)
    return [WeightFilePlan(f"model-{at:05}-of-{count:05}.safetensors", part) for at, part in enumerate(parts, 1)]


def index_of(files: Sequence[WeightFilePlan]) -> str:
    """Return the text of `model.safetensors.index.json`."""
    places = {array.name: file.name for file in files for plan in file.plans for array in plan.arrays}
    total = sum(file.num_bytes for file in files)
    return json.dumps({"metadata": {"total_size": total}, "weight_map": places}, indent=1)


def write_weight_file(path: Path, plans: Sequence[Plan], losses: dict[str, Loss]) -> Iterator[int]:
    """Write a weight file piece by piece, and yield the number of bytes of each piece.

    When the generator ends, the file is on disk. The losses of types whose numbers are changed are added to `losses`.
    Raises `ModelInvalidError` and `OSError`.
    """
    text, begins = _header(plans)
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for plan in plans:
            yield from _write_weight(
                stream, plan, [len(text) + 8 + begins[array.name] for array in plan.arrays], losses
            )
        stream.flush()
        os.fsync(stream.fileno())


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file. Raises `OSError`."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _header(plans: Sequence[Plan]) -> tuple[bytes, dict[str, int]]:
    """Return the header of a weight file, and where each array begins after it."""
    header: dict[str, Any] = {"__metadata__": {"format": "mlx"}}
    begins: dict[str, int] = {}
    reached = 0
    for plan in plans:
        for array in plan.arrays:
            end = reached + array.num_bytes
            header[array.name] = {"dtype": array.dtype, "shape": array.shape, "data_offsets": [reached, end]}
            begins[array.name] = reached
            reached = end
    text = json.dumps(header, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8), begins


def _is_short(tensor: Tensor) -> bool:
    """Return whether a tensor is a vector, or a small plain matrix such as a router of experts."""
    return len(tensor.shape) == 1 or (tensor.type.name == "F32" and tensor.num_bytes <= _MAX_SHORT_BYTES)


def _form_of(tensor: Tensor) -> Form:
    form = form_of(tensor.type)
    if tensor.shape[-1] > _MAX_COLUMNS and not _is_short(tensor):
        raise ModelInvalidError(
            Sentence(
                "{path} contains an impossibly wide matrix ({name}). Choose another file of this model.",
                path=tensor.file,
                name=tensor.name[:80],
            )
        )
    if form is None:
        raise ModelInvalidError(
            Sentence(
                "{path} stores {name} as {type}, which Bough can't convert. Choose another quantization of this model.",
                path=tensor.file,
                name=tensor.name[:80],
                type=tensor.type.name,
            )
        )
    return form


def _plan(weight: Weight, usual: str) -> Plan:
    tensor = weight.tensor
    form = _form_of(tensor)
    *leading, columns = tensor.shape
    if _is_short(tensor):
        form = Form(dtype=_short_dtype(weight, usual))
    num_rows = tensor.num_values // columns
    stem = weight.name.removesuffix(".weight")
    arrays = tuple(
        WrittenArray(
            name=weight.name if ending == "weight" else f"{stem}.{ending}",
            dtype=dtype,
            shape=(*leading, width),
            num_rows=num_rows,
            row_bytes=width * ITEM_BYTES[dtype],
        )
        for ending, (dtype, width) in form.arrays(columns).items()
    )
    return Plan(weight, form, arrays)


def _short_dtype(weight: Weight, usual: str) -> str:
    """Return `usual` if it keeps the numbers, within the precision of 32 bits beside the largest; otherwise F32."""
    values = _short_values(weight)
    error = np.abs(dequantized_as(usual, as_dtype(values, usual)) - values).max(initial=0.0)
    return usual if error <= _TOLERANCE * np.abs(values).max(initial=0.0) else "F32"


def _short_values(weight: Weight) -> npt.NDArray[np.float32]:
    tensor = weight.tensor
    if tensor.num_bytes > _MAX_SHORT_BYTES:
        raise ModelInvalidError(
            Sentence(
                "{path} contains an impossibly long list ({name}). Choose another file of this model.",
                path=tensor.file,
                name=tensor.name[:80],
            )
        )
    with opened(tensor.file) as source:
        raw = _read(source, tensor, 0, tensor.num_bytes)
    values = dequantized(tensor.type, raw.reshape(1, -1)).reshape(-1) + np.float32(weight.shift)
    if not np.isfinite(values).all():
        raise _not_finite(tensor)
    return values


def as_dtype(values: npt.NDArray[np.float32], dtype: str) -> Bytes:
    """Return the bytes of numbers, rounded to a type."""
    match dtype:
        case "F16":
            with np.errstate(over="ignore"):
                return values.astype("<f2").view(np.uint8)
        case "BF16":
            bits = values.view(np.uint32)
            even = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
            return (even >> np.uint32(16)).astype("<u2").view(np.uint8)
        case _:
            return values.astype("<f4").view(np.uint8)


def dequantized_as(dtype: str, raw: Bytes) -> npt.NDArray[np.float32]:
    """Return the numbers of bytes in this type."""
    match dtype:
        case "F16":
            return raw.view("<f2").astype(np.float32)
        case "BF16":
            return (raw.view("<u2").astype(np.uint32) << np.uint32(16)).view(np.float32)
        case _:
            return raw.view("<f4")


def _write_weight(stream: BinaryIO, plan: Plan, begins: Sequence[int], losses: dict[str, Loss]) -> Iterator[int]:
    tensor = plan.weight.tensor
    if _is_short(tensor):
        stream.seek(begins[0])
        stream.write(as_dtype(_short_values(plan.weight), plan.form.dtype).data)
        yield plan.num_bytes
        return
    num_rows, columns = plan.arrays[0].num_rows, tensor.shape[-1]
    row_bytes = tensor.num_bytes // num_rows
    step = max(1, _CHUNK_VALUES // columns)
    with opened(tensor.file) as source:
        for begin in range(0, num_rows, step):
            count = min(step, num_rows - begin)
            raw = _read(source, tensor, begin * row_bytes, count * row_bytes)
            try:
                arrays, loss = converted(tensor.type, raw.reshape(count, row_bytes))
            except BlockError as error:
                raise _not_finite(tensor) from error
            if not is_exact(tensor.type):
                losses[tensor.type.name] = losses.get(tensor.type.name, Loss()).plus(loss)
            for array, values, at in zip(plan.arrays, arrays, begins, strict=True):
                stream.seek(at + begin * array.row_bytes)
                stream.write(np.ascontiguousarray(values).view(np.uint8).data)
            yield sum(count * array.row_bytes for array in plan.arrays)


def _read(source: BinaryIO, tensor: Tensor, begin: int, length: int) -> Bytes:
    source.seek(tensor.begin + begin)
    raw = source.read(length)
    if len(raw) != length:
        raise changed_meanwhile(tensor.file)
    return np.frombuffer(raw, np.uint8)


def _not_finite(tensor: Tensor) -> ModelInvalidError:
    return ModelInvalidError(
        Sentence(
            "{path} is damaged: {name} holds numbers that are infinite or far too large. "
            "Download the file again, or choose another one.",
            path=tensor.file,
            name=tensor.name[:80],
        )
    )
