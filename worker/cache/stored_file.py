"""One file of the disk cache: its name, what its header says, and whether its bytes are those that were written.

It knows no other file and no limit. A file's name says after how many tokens it begins, and the checksums of its
header and of its arrays. Each file names the one that it goes on from, so its name stands for all before it, too.
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
"""Of their checksums."""
_FIRST_BYTES = 16 << 10
"""Most headers are shorter."""


class StoredFile:
    """One file of the folder."""

    __slots__ = ("is_gone", "name", "num_bytes", "used_ns")

    def __init__(self, name: str, num_bytes: int, used_ns: int) -> None:
        self.name = name
        self.num_bytes = num_bytes
        self.used_ns = used_ns
        """When it was last used, by `time.time_ns`; never later than the file that it goes on from."""
        self.is_gone = False
        """Whether it is known to be there no more."""


@dataclass(frozen=True)
class Stretch:
    """What a file is about: some tokens that follow one another."""

    after: str | None
    """The name of the file that they go on from; None at the beginning of everything."""
    num_after: int
    """How many of that file's tokens come before."""
    start: int
    """How many tokens come before in all."""
    ids: Sequence[int]
    about: dict[str, int | list[bool]] = field(default_factory=dict[str, "int | list[bool]"])
    """Whatever else one must know before reading the arrays."""


@dataclass(frozen=True)
class Unwritten:
    """A file that is yet to be written."""

    name: str
    buffers: Sequence[Buffer]

    @property
    def num_bytes(self) -> int:
        return sum(memoryview(buffer).nbytes for buffer in self.buffers)

    def write(self, path: Path) -> None:
        """Write it where nothing is. Raises `OSError`."""
        with path.open("xb", buffering=0) as out:
            for buffer in self.buffers:
                view = memoryview(buffer).cast("B")
                while view:
                    view = view[out.write(view) :]


def laid_out(stretch: Stretch, key: str, value: Nested) -> Unwritten:
    """Return the file of `value`. Raises `NotStorableError`."""
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
    """What a file of so many bytes is about; None if it is none of this key's, or not whole. Raises `OSError`."""
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
    """Read a file into `buffer`, which grows where it is too short; None if it is not what its name tells of."""
    named = NAME.fullmatch(path.name)
    assert named is not None
    try:
        # Not mapped into memory: a file that somebody cuts short would end this process.
        with path.open("rb", buffering=0) as source:
            if os.fstat(source.fileno()).st_size != num_bytes:
                return None
            if len(buffer) < num_bytes:
                buffer.extend(bytes(num_bytes - len(buffer)))
            data = memoryview(buffer)[:num_bytes]
            place = 0
            while place < len(data) and (num_read := source.readinto(data[place:])):
                place += num_read
        length = header_length(data)
        if place < len(data) or _checksum([data[:length]], _HEADER_BYTES) != named[2]:
            return None
        return data if _checksum([data[length:]], _ARRAYS_BYTES) == named[3] else None
    except (OSError, DamagedFileError):
        return None


def _checksum(buffers: Iterable[Buffer], num_bytes: int) -> str:
    checksum = hashlib.sha256()
    for buffer in buffers:
        checksum.update(buffer)
    return checksum.hexdigest()[: 2 * num_bytes]
