"""Reads a GGUF file's header: metadata and the places of its tensors. Everything is checked before it is used.

The file may be hostile. Each length, count and offset is compared with the file's size and with a limit before the data
that it describes is read. The weights themselves are read later, tensor by tensor.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from worker.errors import ModelInvalidError, ModelNotFoundError
from worker.sentence import Sentence

Value: TypeAlias = bool | int | float | str | list[str] | npt.NDArray[Any]

MAX_HEADER_BYTES = 128 << 20
"""The limit for a header. Those of real files have up to 20 MB, mostly tokens and merges."""
_MAX_ENTRIES = 1 << 16
_MAX_TENSORS = 1 << 16
_MAX_TEXTS = 4 << 20
"""The limit for the number of texts in one list. Vocabularies have up to 300,000 tokens."""
_MAX_NAME_BYTES = 1 << 10
_MAX_TEXT_BYTES = 8 << 20
_MAX_DIMENSIONS = 4
_MAX_DIMENSION = 2**31 - 1
_MAX_ALIGNMENT = 1 << 20
_READ_BYTES = 1 << 20
_HEAD_READ_BYTES = 16 << 10
_MAX_FLOATS = 1 << 16


class TensorType(NamedTuple):
    """How the numbers of a tensor are stored: in blocks of `values` numbers, each of `num_bytes` bytes."""

    name: str
    values: int
    num_bytes: int


TYPES: Mapping[int, TensorType] = {
    0: TensorType("F32", 1, 4),
    1: TensorType("F16", 1, 2),
    2: TensorType("Q4_0", 32, 18),
    3: TensorType("Q4_1", 32, 20),
    6: TensorType("Q5_0", 32, 22),
    7: TensorType("Q5_1", 32, 24),
    8: TensorType("Q8_0", 32, 34),
    9: TensorType("Q8_1", 32, 40),
    10: TensorType("Q2_K", 256, 84),
    11: TensorType("Q3_K", 256, 110),
    12: TensorType("Q4_K", 256, 144),
    13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210),
    15: TensorType("Q8_K", 256, 292),
    16: TensorType("IQ2_XXS", 256, 66),
    17: TensorType("IQ2_XS", 256, 74),
    18: TensorType("IQ3_XXS", 256, 98),
    19: TensorType("IQ1_S", 256, 50),
    20: TensorType("IQ4_NL", 32, 18),
    21: TensorType("IQ3_S", 256, 110),
    22: TensorType("IQ2_S", 256, 82),
    23: TensorType("IQ4_XS", 256, 136),
    24: TensorType("I8", 1, 1),
    25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4),
    27: TensorType("I64", 1, 8),
    28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 56),
    30: TensorType("BF16", 1, 2),
    34: TensorType("TQ1_0", 256, 54),
    35: TensorType("TQ2_0", 256, 66),
    39: TensorType("MXFP4", 32, 17),
    40: TensorType("NVFP4", 64, 36),
    41: TensorType("Q1_0", 128, 18),
}
"""Types by their numbers in the file."""

# The kinds of values in the metadata, by their numbers in the file.
_BOOL, _TEXT, _LIST = 7, 8, 9
_NUMBERS: Mapping[int, np.dtype[Any]] = {
    0: np.dtype("<u1"),
    1: np.dtype("<i1"),
    2: np.dtype("<u2"),
    3: np.dtype("<i2"),
    4: np.dtype("<u4"),
    5: np.dtype("<i4"),
    6: np.dtype("<f4"),
    _BOOL: np.dtype("<u1"),
    10: np.dtype("<u8"),
    11: np.dtype("<i8"),
    12: np.dtype("<f8"),
}

_SPLIT = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE)
_MAX_SPLITS = 999


@dataclass(frozen=True)
class Tensor:
    """A tensor's place. `shape` has the longest stride first, as numpy's: the rows of a matrix come first."""

    name: str
    type: TensorType
    shape: tuple[int, ...]
    file: Path
    begin: int
    """The offset of the tensor's bytes in the file."""

    @property
    def num_values(self) -> int:
        return math.prod(self.shape)

    @property
    def num_bytes(self) -> int:
        return self.num_values // self.type.values * self.type.num_bytes


@dataclass(frozen=True)
class Metadata:
    """The metadata of a file, by key. Each method raises `ModelInvalidError` if a value has another type."""

    path: Path
    values: Mapping[str, Value] = field(repr=False)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str) -> str | None:
        """Return the string value of a metadata key; None if the key is missing."""
        found = self.values.get(key)
        if found is None or isinstance(found, str):
            return found
        raise self._odd(key)

    def flag(self, key: str) -> bool | None:
        """Return the boolean value of a metadata key; None if the key is missing."""
        found = self.values.get(key)
        if found is None or isinstance(found, bool):
            return found
        raise self._odd(key)

    def integer(self, key: str, limit: int = 2**31 - 1) -> int | None:
        """Return an integer from 0 to `limit`; None if the key is missing."""
        found = self.values.get(key)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= limit:
            raise self._odd(key)
        return found

    def number(self, key: str) -> float | None:
        """Return a finite number; None if the key is missing."""
        found = self.values.get(key)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
            raise self._odd(key)
        return float(found)

    def texts(self, key: str) -> list[str] | None:
        """Return a list of texts; None if the key is missing."""
        found = self.values.get(key)
        if found is None or isinstance(found, list):
            return found
        raise self._odd(key)

    def numbers(self, key: str) -> npt.NDArray[Any] | None:
        """Return a list of numbers; None if the key is missing. A single number is a list of one."""
        found = self.values.get(key)
        if found is None or isinstance(found, np.ndarray):
            return found
        if isinstance(found, str | list):
            raise self._odd(key)
        return np.array([found])

    def required_integer(self, key: str, limit: int = 2**31 - 1) -> int:
        """Return an integer from 1 to `limit`. Raises `ModelInvalidError` if the key is missing, too."""
        found = self.integer(key, limit)
        if not found:
            raise self._odd(key) if key in self.values else self._missing(key)
        return found

    def required_number(self, key: str) -> float:
        """Return a finite number."""
        found = self.number(key)
        if found is None:
            raise self._missing(key)
        return found

    def _missing(self, key: str) -> ModelInvalidError:
        return ModelInvalidError(
            Sentence(
                "{path} has no value for `{key}`. Download the file again, or choose another one.",
                path=self.path,
                key=key,
            )
        )

    def _odd(self, key: str) -> ModelInvalidError:
        return ModelInvalidError(
            Sentence(
                "{path} has a value for `{key}` that Bough can't use ({value}). "
                "Download the file again, or choose another one.",
                path=self.path,
                key=key,
                value=repr(self.values.get(key))[:60],
            )
        )


@dataclass(frozen=True)
class GgufFiles:
    """A model: one GGUF file, or all the parts of one that was split."""

    paths: tuple[Path, ...]
    metadata: Metadata
    tensors: Mapping[str, Tensor]
    num_bytes: int
    header_bytes: tuple[int, ...]
    """The length of each file's header."""
    identity: str
    """A hash of the headers, sizes and times of the files. A different one means that a file was changed."""

    def are_unchanged(self) -> bool:
        """Return whether the files are still those whose headers were read. Raises `OSError`."""
        digest = hashlib.sha256()
        for path, length in zip(self.paths, self.header_bytes, strict=True):
            with opened(path) as stream:
                digest.update(_digest(stream.read(length), os.fstat(stream.fileno())))
        return digest.hexdigest() == self.identity

    def floats(self, name: str) -> npt.NDArray[np.float32] | None:
        """Return the numbers of a short tensor with one dimension; None if the file does not contain it.

        Raises `ModelInvalidError` unless the tensor has one dimension of up to 65,536 numbers with 32 bits.
        """
        tensor = self.tensors.get(name)
        if tensor is None:
            return None
        if tensor.type.name != "F32" or len(tensor.shape) != 1 or tensor.num_values > _MAX_FLOATS:
            raise ModelInvalidError(
                Sentence(
                    "{path} holds {name} in an unusual form. Choose another file of this model.",
                    path=tensor.file,
                    name=name,
                )
            )
        with opened(tensor.file) as stream:
            stream.seek(tensor.begin)
            numbers = np.frombuffer(stream.read(tensor.num_bytes), "<f4")
        if len(numbers) != tensor.num_values:
            raise changed_meanwhile(tensor.file)
        return numbers


def changed_meanwhile(path: Path) -> ModelInvalidError:
    """Return the error for a file that was changed after its header was read."""
    return ModelInvalidError(
        Sentence("{path} was changed while it was read. Wait until it is complete, then try again.", path=path)
    )


def read_files(path: Path) -> GgufFiles:
    """Read the headers of a GGUF file and, if it was split, of all its parts; `path` may be any part.

    Raises `ModelNotFoundError` if a part is missing, and `ModelInvalidError` if a header is invalid.
    """
    paths = _parts_of(path)
    tensors: dict[str, Tensor] = {}
    digest = hashlib.sha256()
    metadata: Metadata | None = None
    lengths: list[int] = []
    num_bytes = 0
    for number, part in enumerate(paths):
        found = _File(part)
        metadata = metadata or found.metadata
        _check_part(found.metadata, number, len(paths))
        for tensor in found.tensors:
            if tensors.setdefault(tensor.name, tensor) is not tensor:
                raise found.damaged(Sentence("the tensor {name} occurs twice", name=tensor.name[:80]))
        digest.update(found.digest)
        lengths.append(found.header_bytes)
        num_bytes += found.num_bytes
    assert metadata is not None
    count = metadata.integer("split.tensors.count")
    if len(paths) > 1 and count not in (None, len(tensors)):
        raise ModelInvalidError(
            Sentence(
                "The parts of this model do not belong together: {path} says that there are {count} tensors, "
                "and they hold {found}. Download all parts again.",
                path=paths[0],
                count=count,
                found=len(tensors),
            )
        )
    return GgufFiles(tuple(paths), metadata, tensors, num_bytes, tuple(lengths), digest.hexdigest())


def read_head(path: Path) -> Metadata:
    """Read the metadata up to the tokens, which is quick. Raises `ModelNotFoundError` and `ModelInvalidError`.

    Writers put the tokenizer's values last, and before the tensors.
    """
    return _File(path, is_head=True).metadata


def _check_part(metadata: Metadata, number: int, count: int) -> None:
    """Raise `ModelInvalidError` if a file is not the part that its name says. `number` counts from 0."""
    stated_number, stated_count = metadata.integer("split.no") or 0, metadata.integer("split.count") or 1
    if (stated_number, stated_count) != (number, count):
        raise ModelInvalidError(
            Sentence(
                "{path} is part {number} of {count} of a model, but its name does not say so. Put all parts in one "
                "folder, with their original names (…-00001-of-{count_digits}.gguf).",
                path=metadata.path,
                number=stated_number + 1,
                count=stated_count,
                count_digits=f"{stated_count:05}",
            )
        )


def _parts_of(path: Path) -> list[Path]:
    """Return the files of a split model. Raises `ModelNotFoundError` if one is missing."""
    split = _SPLIT.fullmatch(path.name)
    if split is None:
        return [path]
    number, count = int(split[2]), int(split[3])
    if not 1 <= number <= count <= _MAX_SPLITS:
        return [path]
    parts = [path.with_name(f"{split[1]}-{each:05}-of-{split[3]}{path.suffix}") for each in range(1, count + 1)]
    missing = [part.name for part in parts if not part.exists()]
    if missing:
        raise ModelNotFoundError(
            Sentence(
                "{num_missing} of the {count} parts of this model are missing; the first is {file}. "
                "Put all parts in {folder}, then try again.",
                num_missing=len(missing),
                count=count,
                file=missing[0],
                folder=path.parent,
            )
        )
    return parts


class _File:
    """Reads the header of one file."""

    def __init__(self, path: Path, *, is_head: bool = False) -> None:
        """`is_head`: read only up to the tokens."""
        self.path = path
        self.tensors: list[Tensor] = []
        self._is_head = is_head
        try:
            with opened(path) as stream:
                found = os.fstat(stream.fileno())
                self.num_bytes = found.st_size
                self._stream = stream
                self._buffer = bytearray()
                self._at = 0
                self._read_header()
        except OSError as error:
            raise ModelInvalidError(
                Sentence("{path} can't be read ({error}).", path=path, error=error.strerror or str(error))
            ) from error
        except struct.error as error:
            raise self.damaged(Sentence("its header ends too early")) from error
        self.header_bytes = self._at
        self.digest = _digest(self._buffer[: self._at], found)
        del self._stream, self._buffer

    def damaged(self, reason: Sentence) -> ModelInvalidError:
        return ModelInvalidError(
            Sentence(
                "{path} is damaged: {reason}. Download the file again, or choose another one.",
                path=self.path,
                reason=reason,
            )
        )

    def _read_header(self) -> None:
        magic = self._take(4)
        if magic != b"GGUF":
            raise ModelInvalidError(Sentence("{path} is not a GGUF file. Choose a model's file.", path=self.path))
        (version,) = struct.unpack("<I", self._take(4))
        if version & 0xFFFF == 0 and version:
            raise ModelInvalidError(
                Sentence(
                    "{path} was written for big-endian machines. Choose the usual, little-endian file of this model.",
                    path=self.path,
                )
            )
        if version not in (2, 3):
            raise ModelInvalidError(
                Sentence(
                    "{path} has version {version} of GGUF; Bough reads 2 and 3. Choose a newer file of this model.",
                    path=self.path,
                    version=str(version),
                )
            )
        num_tensors, num_entries = struct.unpack("<QQ", self._take(16))
        if num_tensors > _MAX_TENSORS or num_entries > _MAX_ENTRIES:
            raise self.damaged(
                Sentence(
                    "it lists {num_tensors} tensors and {num_entries} values",
                    num_tensors=num_tensors,
                    num_entries=num_entries,
                )
            )
        values: dict[str, Value] = {}
        for _ in range(num_entries):
            key = self._name()
            if self._is_head and key.startswith("tokenizer."):
                break
            if key in values:
                raise self.damaged(Sentence("`{key}` occurs twice", key=key[:80]))
            values[key] = self._value(key)
        self.metadata = Metadata(self.path, values)
        if not self._is_head:
            self._read_tensors(num_tensors)

    def _read_tensors(self, num_tensors: int) -> None:
        alignment = self.metadata.integer("general.alignment")
        if alignment is None:
            alignment = 32
        elif not 1 <= alignment <= _MAX_ALIGNMENT or alignment & (alignment - 1):
            raise self.damaged(Sentence("its alignment is {alignment}", alignment=str(alignment)))
        listed = [self._tensor() for _ in range(num_tensors)]
        start = -(-self._at // alignment) * alignment
        reached = 0
        for name, kind, shape, offset in sorted(listed, key=lambda each: each[3]):
            tensor = Tensor(name, kind, shape, self.path, start + offset)
            if offset % alignment:
                raise self.damaged(Sentence("the tensor {name} is not aligned", name=name[:80]))
            if offset < reached:
                raise self.damaged(Sentence("the tensor {name} overlaps another one", name=name[:80]))
            reached = offset + tensor.num_bytes
            if start + reached > self.num_bytes:
                raise ModelInvalidError(
                    Sentence(
                        "{path} is incomplete: {num_missing} bytes are missing at its end. "
                        "Finish the download, then try again.",
                        path=self.path,
                        num_missing=start + reached - self.num_bytes,
                    )
                )
            self.tensors.append(tensor)

    def _tensor(self) -> tuple[str, TensorType, tuple[int, ...], int]:
        name = self._name()
        (num_dimensions,) = struct.unpack("<I", self._take(4))
        if not 1 <= num_dimensions <= _MAX_DIMENSIONS:
            raise self.damaged(
                Sentence("the tensor {name} has {count} dimensions", name=name[:80], count=num_dimensions)
            )
        shape = cast("tuple[int, ...]", struct.unpack(f"<{num_dimensions}Q", self._take(8 * num_dimensions)))
        number, offset = struct.unpack("<IQ", self._take(12))
        kind = TYPES.get(number)
        if kind is None:
            raise ModelInvalidError(
                Sentence(
                    "{path} stores the tensor {name} in a format that Bough can't read (number {number}). "
                    "Choose another quantization of this model.",
                    path=self.path,
                    name=name[:80],
                    number=str(number),
                )
            )
        # Python's integers don't wrap around, so the product is what the file says.
        if max(shape) > _MAX_DIMENSION or 0 in shape or shape[0] % kind.values or math.prod(shape) > 8 * 2**40:
            raise self.damaged(
                Sentence("the tensor {name} has the shape {shape}", name=name[:80], shape="×".join(map(str, shape)))
            )
        return name, kind, shape[::-1], offset

    def _value(self, key: str) -> Value:
        (kind,) = struct.unpack("<I", self._take(4))
        if kind == _TEXT:
            return self._text(_MAX_TEXT_BYTES)
        if kind == _LIST:
            return self._list(key)
        if kind not in _NUMBERS:
            raise self.damaged(Sentence("`{key}` has an unknown type ({kind})", key=key[:80], kind=str(kind)))
        number = np.frombuffer(self._take(_NUMBERS[kind].itemsize), _NUMBERS[kind])[0].item()
        return bool(number) if kind == _BOOL else number

    def _list(self, key: str) -> Value:
        kind, count = struct.unpack("<IQ", self._take(12))
        if kind == _TEXT:
            if count > _MAX_TEXTS:
                raise self.damaged(Sentence("`{key}` has {count} texts", key=key[:80], count=count))
            self._need(8 * count)
            # A token may be a part of a character. Different parts must stay different texts.
            return [self._text(_MAX_TEXT_BYTES, "surrogateescape") for _ in range(count)]
        if kind not in _NUMBERS:
            raise self.damaged(Sentence("`{key}` is a list of an unknown type ({kind})", key=key[:80], kind=str(kind)))
        numbers = np.frombuffer(self._take(count * _NUMBERS[kind].itemsize), _NUMBERS[kind])
        return numbers.astype(bool) if kind == _BOOL else numbers

    def _name(self) -> str:
        (length,) = struct.unpack("<Q", self._take(8))
        if length > _MAX_NAME_BYTES:
            raise self.damaged(Sentence("a name has {length} characters", length=length))
        return self._take(length).decode("utf-8", "replace")

    def _text(self, limit: int, errors: str = "replace") -> str:
        at = self._at
        self._need(8)
        length = int.from_bytes(self._buffer[at : at + 8], "little")
        if length > limit:
            raise self.damaged(Sentence("a text has {length} characters", length=length))
        self._at = at + 8
        self._need(length)
        self._at = end = at + 8 + length
        return self._buffer[at + 8 : end].decode("utf-8", errors)

    def _take(self, length: int) -> bytes:
        self._need(length)
        self._at += length
        return bytes(self._buffer[self._at - length : self._at])

    def _need(self, length: int) -> None:
        """Read from the file until the buffer holds `length` bytes that are not used yet."""
        end = self._at + length
        if end <= len(self._buffer):
            return
        if end > self.num_bytes:
            raise self.damaged(Sentence("its header ends too early"))
        if end > MAX_HEADER_BYTES:
            raise self.damaged(Sentence("its header is too long"))
        while len(self._buffer) < end:
            more = self._stream.read(_HEAD_READ_BYTES if self._is_head else _READ_BYTES)
            if not more:
                raise self.damaged(Sentence("its header ends too early"))
            self._buffer += more


def _digest(header: bytes | bytearray, found: os.stat_result) -> bytes:
    """Return a hash of a file's header, size and time, which differs if the file was changed."""
    return hashlib.sha256(header + f"{found.st_size} {found.st_mtime_ns}".encode()).digest()


def opened(path: Path) -> BinaryIO:
    """Open a regular file. Raises `ModelNotFoundError`, and `ModelInvalidError` for a pipe or a device."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(Sentence("There is no file {path}. Choose a GGUF file.", path=path)) from error
    if not stat.S_ISREG(found.st_mode):
        raise ModelInvalidError(
            Sentence("{path} is not an ordinary file, so Bough does not read it. Choose a GGUF file.", path=path)
        )
    # If a pipe replaces the file meanwhile, opening it must not block.
    stream = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise ModelInvalidError(
            Sentence("{path} is not an ordinary file, so Bough does not read it. Choose a GGUF file.", path=path)
        )
    return stream
