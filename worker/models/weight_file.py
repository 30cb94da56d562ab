"""Checks the header of a weight file in safetensors format, without reading the weights. Independent of MLX."""

from __future__ import annotations

import math
import re
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

# The bits of each element. MLX itself refuses other types.
_BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}


_NOT_TEXT = re.compile(
    r"(?:^|\.)(?:vision_tower|vision_model|vision_encoder|visual|vision_embed_tokens|multi_modal_projector|mm_projector"
    r"|audio_tower|audio_model|embed_vision|embed_audio|mtp)\."
)
"""Weights for images, audio and multi-token prediction, which mlx-lm does not load."""


EMBEDDING = re.compile(r"embed|wte")
"""Matches the names of embeddings, which are loaded first."""


class _Tensor(Struct, frozen=True, forbid_unknown_fields=True):
    dtype: str
    shape: Annotated[list[_Dimension], Meta(max_length=_MAX_DIMENSIONS)]
    data_offsets: tuple[_Offset, _Offset]


@dataclass(frozen=True)
class PackedWeight:
    """A quantized weight, several numbers of which are packed into each element."""

    name: str
    """The module's path, without ".weight"."""
    num_words: int
    """The number of packed elements, which have 32 bits."""
    num_bytes: int
    """The size of the weight with its scales and biases."""
    scales_bytes: int
    """The size of its scales and biases."""


@dataclass(frozen=True)
class WeightFile:
    """A weight file whose header agrees with its size."""

    num_bytes: int
    header_bytes: int
    num_tensors: int
    num_parameters: int
    """The parameters that the header lists. Several quantized weights packed into one number count as one."""
    longest_dimension: int
    packed: tuple[PackedWeight, ...] = ()
    """The file's quantized weights that a text model uses."""
    float_numbers: int = 0
    """How many other numbers a text model uses."""
    float_bytes: int = 0
    largest_float_bytes: int = 0
    """The size of the largest tensor of floats that is not an embedding; it is loaded last, or near the end."""
    main_dtype: str = ""
    """The type in which most bytes are stored, as the header names it."""


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
    used = {name: tensor for name, tensor in tensors.items() if not _NOT_TEXT.search(name)}
    packed, floats = _by_form(used)
    return WeightFile(
        num_bytes=size,
        header_bytes=length,
        num_tensors=len(tensors),
        num_parameters=sum(math.prod(tensor.shape) for tensor in tensors.values()),
        longest_dimension=max((max(tensor.shape, default=1) for tensor in tensors.values()), default=0),
        packed=packed,
        float_numbers=sum(math.prod(used[name].shape) for name in floats),
        float_bytes=sum(_num_bytes(used[name]) for name in floats),
        largest_float_bytes=max((_num_bytes(used[name]) for name in floats if not EMBEDDING.search(name)), default=0),
        main_dtype=_main_dtype(used),
    )


def _by_form(tensors: dict[str, _Tensor]) -> tuple[tuple[PackedWeight, ...], list[str]]:
    """Return the quantized weights, and the names of all other tensors."""
    packed: list[PackedWeight] = []
    rest = dict(tensors)
    for name, tensor in tensors.items():
        stem = name.removesuffix(".weight")
        scales = tensors.get(f"{stem}.scales")
        if stem == name or scales is None or tensor.dtype != "U32":
            continue
        parts = [rest.pop(key) for key in (name, f"{stem}.scales", f"{stem}.biases") if key in rest]
        num_bytes = sum(_num_bytes(part) for part in parts)
        packed.append(PackedWeight(stem, math.prod(tensor.shape), num_bytes, num_bytes - _num_bytes(tensor)))
    return tuple(packed), list(rest)


def _num_bytes(tensor: _Tensor) -> int:
    begin, end = tensor.data_offsets
    return end - begin


def _main_dtype(tensors: dict[str, _Tensor]) -> str:
    sizes: dict[str, int] = {}
    for tensor in tensors.values():
        sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + _num_bytes(tensor)
    return max(sizes, key=lambda dtype: sizes[dtype], default="")


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
