"""Serializes nested arrays to the bytes of a safetensors file, and back.

The file holds the length of the header, the header (JSON with each array's location, and metadata), and the arrays.
The nesting is part of the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import mlx.core as mx
import numpy as np
from typing_extensions import Buffer

_LENGTH_BYTES = 8
_MAX_HEADER_BYTES = 64 << 20
_METADATA, _NESTING = "__metadata__", "nesting"

_CODES = {
    mx.bool_: "BOOL",
    mx.uint8: "U8",
    mx.int8: "I8",
    mx.uint16: "U16",
    mx.int16: "I16",
    mx.uint32: "U32",
    mx.int32: "I32",
    mx.uint64: "U64",
    mx.int64: "I64",
    mx.float16: "F16",
    mx.bfloat16: "BF16",
    mx.float32: "F32",
    mx.float64: "F64",
    mx.complex64: "C64",
}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}

Nested: TypeAlias = Any
"""Arrays, numbers, strings and None in lists, tuples and dictionaries."""


class NotStorableError(Exception):
    """A value contains an object of a type that can't be stored."""


class DamagedFileError(Exception):
    """The bytes are not those of a complete file that this module wrote."""


@dataclass(frozen=True)
class Header:
    """The header of a file."""

    metadata: Mapping[str, str]
    arrays: Mapping[str, Any]
    num_bytes: int
    """The length of the header; the arrays follow it."""
    num_file_bytes: int
    """The length of the whole file."""


def to_buffers(value: Nested, metadata: Mapping[str, str]) -> tuple[bytes, list[Buffer]]:
    """Return the header and the arrays of a file, without copying. Raises `NotStorableError`."""
    arrays: list[mx.array] = []
    nesting = _flatten(value, arrays)
    # Wide numbers come first, so that each is aligned to its width.
    order = sorted(range(len(arrays)), key=lambda number: -arrays[number].itemsize)
    entries: dict[str, Any] = {_METADATA: {**metadata, _NESTING: json.dumps(nesting, separators=(",", ":"))}}
    end = 0
    for number in order:
        array = arrays[number]
        begin, end = end, end + array.nbytes
        entries[str(number)] = {
            "dtype": _CODES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _LENGTH_BYTES)
    flat = [arrays[number].reshape(-1).view(mx.uint8) for number in order if arrays[number].size]
    mx.eval(flat)
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text, [memoryview(cast("Buffer", each)) for each in flat]


def header_length(data: Buffer) -> int:
    """Return the length of the header in bytes, which the first eight bytes hold. Raises `DamagedFileError`."""
    length = int.from_bytes(bytes(memoryview(data)[:_LENGTH_BYTES]), "little")
    if not 0 < length <= _MAX_HEADER_BYTES:
        raise DamagedFileError
    return _LENGTH_BYTES + length


def read_header(data: Buffer) -> Header:
    """Parse the header, with which `data` begins. Raises `DamagedFileError`."""
    length = header_length(data)
    try:
        entries = json.loads(bytes(memoryview(data)[_LENGTH_BYTES:length]))
        metadata: dict[str, str] = entries.pop(_METADATA)
        end = max((entry["data_offsets"][1] for entry in entries.values()), default=0)
        return Header(metadata, entries, length, length + end)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise DamagedFileError from error


def from_bytes(data: Buffer) -> Nested:
    """Return the stored value, which does not share memory with `data`. Raises `DamagedFileError`."""
    header = read_header(data)
    view = memoryview(data).cast("B")[header.num_bytes :]
    try:
        arrays = {name: _array(entry, view) for name, entry in header.arrays.items()}
        return _rebuild(json.loads(header.metadata[_NESTING]), arrays)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise DamagedFileError from error


def _array(entry: Mapping[str, Any], view: memoryview) -> mx.array:
    dtype, shape = _DTYPES[entry["dtype"]], entry["shape"]
    begin, end = entry["data_offsets"]
    if begin == end:
        return mx.zeros(shape, dtype)
    # numpy has no bfloat16, so read integers of the same width.
    width = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[dtype.size]
    words = mx.array(cast("Any", np.frombuffer(view[begin:end], width)))
    return words.view(dtype).reshape(shape)


def _flatten(value: Nested, arrays: list[mx.array]) -> Any:
    match value:
        case mx.array():
            arrays.append(value)
            return {"array": len(arrays) - 1}
        case dict():
            items = cast("dict[Any, Any]", value)
            if not all(isinstance(name, str) for name in items):
                raise NotStorableError(f"a key that is no text: {list(items)}")
            return {"dict": {name: _flatten(each, arrays) for name, each in items.items()}}
        case tuple():
            return {"tuple": [_flatten(each, arrays) for each in cast("tuple[Any, ...]", value)]}
        case list():
            return [_flatten(each, arrays) for each in cast("list[Any]", value)]
        case None | bool() | int() | float() | str():
            return value
        case _:
            raise NotStorableError(f"a {type(value).__name__}")


def _rebuild(nesting: Any, arrays: Mapping[str, mx.array]) -> Nested:
    match nesting:
        case {"array": number}:
            return arrays[str(number)]
        case {"dict": items}:
            return {name: _rebuild(each, arrays) for name, each in items.items()}
        case {"tuple": items}:
            return tuple(_rebuild(each, arrays) for each in items)
        case list():
            return [_rebuild(each, arrays) for each in cast("list[Any]", nesting)]
        case _:
            return nesting
