"""One file of the disk cache: its name, its header and its checksums.

A file's name holds the number of tokens before it and the checksums of its header and arrays. Its header names its
parent file, so the name identifies everything before it, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import Buffer

from worker.cache.array_file import DamagedFileError, Nested, header_length, read_header, to_buffers
from worker.cache.token_tree import as_ids

NAME = re.compile(r"(\d{8})-([0-9a-f]{24})-([0-9a-f]{32})\.safetensors")
_HEADER_BYTES, _ARRAYS_BYTES = 12, 16
"""The lengths of the checksums of headers and arrays, in bytes."""
_FIRST_BYTES = 16 << 10
"""The size of the first read; most headers are shorter."""


class StoredFile:
    """One file of the disk cache."""

    __slots__ = ("is_gone", "name", "num_bytes", "used_ns")

    def __init__(self, name: str, num_bytes: int, used_ns: int) -> None:
        self.name = name
        self.num_bytes = num_bytes
        self.used_ns = used_ns
        """The time of the last use (`time.time_ns`), never later than its parent's."""
        self.is_gone = False
        """Whether the file is known to be missing now."""


@dataclass(frozen=True)
class Stretch:
    """The consecutive tokens that a file describes."""

    after: str | None
    """The name of the parent file; None at the start of a sequence."""
    num_after: int
    """How many of the parent's tokens come before this stretch."""
    start: int
    """The number of all tokens before this stretch."""
    ids: Sequence[int]
    about: dict[str, int | list[bool]] = field(default_factory=dict[str, "int | list[bool]"])
    """Other values that are needed before the arrays are read."""


def _open_own(path: str, flags: int) -> int:
    # The files contain what the user wrote.
    return os.open(path, flags, 0o600)


@dataclass(frozen=True)
class Unwritten:
    """A file that is ready to be written."""

    name: str
    buffers: Sequence[Buffer]

    @property
    def num_bytes(self) -> int:
        return sum(memoryview(buffer).nbytes for buffer in self.buffers)

    def write(self, path: Path) -> None:
        """Write the new file `path`. Raises `OSError`, also if it exists."""
        with open(path, "xb", buffering=0, opener=_open_own) as out:
            for buffer in self.buffers:
                view = memoryview(buffer).cast("B")
                while view:
                    view = view[out.write(view) :]


def laid_out(stretch: Stretch, key: str, value: Nested) -> Unwritten:
    """Return a file of `value` that is not written yet. Raises `NotStorableError`."""
    head = {
        "key": key,
        "after": stretch.after,
        "num_after": stretch.num_after,
        "ids": b64encode(as_ids(stretch.ids).tobytes()).decode(),
        "about": stretch.about,
    }
    header, buffers = to_buffers(value, {"stretch": json.dumps(head, separators=(",", ":"))})
    header_sum, arrays_sum = _checksum([header], _HEADER_BYTES), _checksum(buffers, _ARRAYS_BYTES)
    return Unwritten(f"{stretch.start:08d}-{header_sum}-{arrays_sum}.safetensors", [header, *buffers])


def stretch_in(path: Path, key: str, num_bytes: int) -> Stretch | None:
    """Return the tokens that a file describes; None if it has another key or is incomplete. Raises `OSError`."""
    named = NAME.fullmatch(path.name)
    if named is None:
        return None
    try:
        with path.open("rb") as file:
            data = file.read(_FIRST_BYTES)
            data += file.read(max(header_length(data) - len(data), 0))
        if _checksum([data[: header_length(data)]], _HEADER_BYTES) != named[2]:
            return None
        header = read_header(data)
        if header.num_file_bytes != num_bytes:
            return None
        head = json.loads(header.metadata["stretch"])
        if head["key"] != key:
            return None
        ids = as_ids(())
        ids.frombytes(b64decode(head["ids"]))
        return Stretch(head["after"], head["num_after"], int(named[1]), ids, head["about"])
    except (DamagedFileError, ValueError, KeyError, TypeError):
        return None


def bytes_in(path: Path, num_bytes: int, buffer: bytearray) -> memoryview | None:
    """Read a file into `buffer`, which grows if needed. Return None if the file does not match its name."""
    named = NAME.fullmatch(path.name)
    assert named is not None
    try:
        # Not mapped into memory: if another program shortened the file, the mapping would kill this process.
        with path.open("rb", buffering=0) as source:
            if os.fstat(source.fileno()).st_size != num_bytes:
                return None
            if len(buffer) < num_bytes:
                buffer.extend(bytes(num_bytes - len(buffer)))
            data = memoryview(buffer)[:num_bytes]
            end = 0
            while end < len(data) and (num_read := source.readinto(data[end:])):
                end += num_read
        length = header_length(data)
        if end < len(data) or _checksum([data[:length]], _HEADER_BYTES) != named[2]:
            return None
        return data if _checksum([data[length:]], _ARRAYS_BYTES) == named[3] else None
    except (OSError, DamagedFileError):
        return None


def _checksum(buffers: Iterable[Buffer], num_bytes: int) -> str:
    checksum = hashlib.sha256()
    for buffer in buffers:
        checksum.update(buffer)
    return checksum.hexdigest()[: 2 * num_bytes]
