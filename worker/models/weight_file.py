"""A weight file in safetensors format: checks what its header says, without reading the weights. Independent of MLX."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from worker.errors import ModelInvalidError
from worker.sentence import Sentence

MAX_HEADER_BYTES = 32 << 20
"""Real headers have up to a few megabytes: some hundred bytes for each tensor."""

_MAX_DIMENSIONS = 16
_UNREADABLE = (OSError, ValueError, OverflowError, struct.error)

_Dimension = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_Offset = Annotated[int, Meta(ge=0, le=2**62)]

# The bits of each element. MLX refuses other types by itself.
_BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}


class _Tensor(Struct, frozen=True, forbid_unknown_fields=True):
    dtype: str
    shape: Annotated[list[_Dimension], Meta(max_length=_MAX_DIMENSIONS)]
    data_offsets: tuple[_Offset, _Offset]


@dataclass(frozen=True)
class WeightFile:
    """A weight file whose header agrees with its size."""

    num_bytes: int
    header_bytes: int
    num_tensors: int
    num_parameters: int
    """The parameters that the header lists. Several quantized weights packed into one number count as one."""
    longest_dimension: int


def check_weight_file(file: Path) -> WeightFile:
    """Check the header of a weight file, and that the file is complete. Raises `ModelInvalidError`."""
    try:
        size = file.stat().st_size
        length, tensors = _tensors(file, size)
        for name, tensor in tensors.items():
            _check_size(name, tensor)
        end = _end_of_last(tensors)
    except _UNREADABLE as error:
        raise ModelInvalidError(
            Sentence(
                "The weight file {file} is damaged ({error}). Download it again, then open the folder again.",
                file=file,
                error=str(error)[:300],
            )
        ) from error
    num_missing = 8 + length + end - size
    if num_missing > 0:
        raise ModelInvalidError(
            Sentence(
                "{file} is incomplete: {num_missing} bytes are missing at its end. "
                "Finish the download, then open the folder again.",
                file=file,
                num_missing=num_missing,
            )
        )
    return WeightFile(
        num_bytes=size,
        header_bytes=length,
        num_tensors=len(tensors),
        num_parameters=sum(math.prod(tensor.shape) for tensor in tensors.values()),
        longest_dimension=max((max(tensor.shape, default=1) for tensor in tensors.values()), default=0),
    )


def _tensors(file: Path, size: int) -> tuple[int, dict[str, _Tensor]]:
    """Return the length of the header, and the tensors that it lists."""
    with file.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        if length > min(size, MAX_HEADER_BYTES):
            raise ValueError(f"its header has {length} bytes")
        header = stream.read(length)
    entries = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
    # The metadata holds only texts, but any number of them.
    msgspec.json.decode(entries.pop("__metadata__", b"{}"), type=dict[str, str])
    return length, {name: msgspec.json.decode(entry, type=_Tensor) for name, entry in entries.items()}


def _check_size(name: str, tensor: _Tensor) -> None:
    begin, end = tensor.data_offsets
    bits = _BITS.get(tensor.dtype)
    if bits is not None and math.prod(tensor.shape) * bits != (end - begin) * 8:
        raise ValueError(f"the tensor {name[:80]} has {end - begin} bytes, which is not the size of its shape")


def _end_of_last(tensors: dict[str, _Tensor]) -> int:
    """Return where the last tensor ends. Raises `ValueError` if tensors overlap."""
    reached = 0
    for (begin, end), name in sorted((tensor.data_offsets, name) for name, tensor in tensors.items()):
        if begin < reached or end < begin:
            raise ValueError(f"the tensor {name[:80]} overlaps another one")
        reached = end
    return reached
