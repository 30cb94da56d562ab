"""GGUF files byte by byte, so that a test can write what no program would."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gguf

TEXT, LIST = 8, 9
_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


@dataclass(frozen=True)
class Entry:
    """A value of the metadata. `kind` is its type's number; that of a list's items is `items`."""

    key: str | bytes
    kind: int
    value: Any
    items: int = TEXT
    length: int | None = None
    """The length of a text or a list, if not the true one."""

    def __bytes__(self) -> bytes:
        return text(self.key) + struct.pack("<I", self.kind) + self._value()

    def _value(self) -> bytes:
        match self.kind:
            case _ if isinstance(self.value, bytes):
                return self.value
            case 8:
                return text(self.value, self.length)
            case 9:
                count = len(self.value) if self.length is None else self.length
                head = struct.pack("<IQ", self.items, count)
                if self.items == TEXT:
                    return head + b"".join(map(text, self.value))
                return head + b"".join(number(self.items, each) for each in self.value)
            case _:
                return number(self.kind, self.value)


@dataclass(frozen=True)
class TensorEntry:
    """A tensor as the header lists it. `shape` is as in the file: columns first."""

    name: str | bytes
    shape: tuple[int, ...]
    kind: int
    offset: int
    dimensions: int | None = None
    """The number of dimensions, if not the true one."""

    def __bytes__(self) -> bytes:
        count = len(self.shape) if self.dimensions is None else self.dimensions
        shape = struct.pack(f"<{len(self.shape)}Q", *self.shape)
        return text(self.name) + struct.pack("<I", count) + shape + struct.pack("<IQ", self.kind, self.offset)


@dataclass(frozen=True)
class RawFile:
    """A GGUF file."""

    entries: Sequence[Entry]
    tensors: Sequence[TensorEntry]
    data: bytes = field(repr=False)
    magic: bytes = b"GGUF"
    version: int = 3
    num_entries: int | None = None
    num_tensors: int | None = None
    alignment: int = 32

    def __bytes__(self) -> bytes:
        entries = len(self.entries) if self.num_entries is None else self.num_entries
        tensors = len(self.tensors) if self.num_tensors is None else self.num_tensors
        head = self.magic + struct.pack("<IQQ", self.version, tensors, entries)
        head += b"".join(map(bytes, self.entries)) + b"".join(map(bytes, self.tensors))
        return head + bytes(-len(head) % self.alignment) + self.data

    def with_entry(self, entry: Entry) -> RawFile:
        """Replace a value, or add it at the end."""
        keys = [each.key for each in self.entries]
        at = keys.index(entry.key) if entry.key in keys else len(keys)
        return replace(self, entries=[*self.entries[:at], entry, *self.entries[at + 1 :]])

    def without(self, *keys: str) -> RawFile:
        return replace(self, entries=[each for each in self.entries if each.key not in keys])

    def with_tensor(self, which: str, /, **changes: Any) -> RawFile:
        return replace(
            self, tensors=[replace(each, **changes) if each.name == which else each for each in self.tensors]
        )


def raw_file(path: Path) -> RawFile:
    """Return a good file in parts."""
    reader = gguf.GGUFReader(path)
    entries = [
        Entry(name, int(found.types[0]), found.contents(), int(found.types[1]) if len(found.types) > 1 else TEXT)
        for name, found in reader.fields.items()
        if not name.startswith("GGUF.")
    ]
    begin = reader.data_offset
    tensors = [
        TensorEntry(each.name, tuple(map(int, each.shape)), int(each.tensor_type), each.data_offset - begin)
        for each in reader.tensors
    ]
    return RawFile(entries, tensors, path.read_bytes()[begin:])


def text(value: str | bytes, length: int | None = None) -> bytes:
    """Return a text with its length, or with another one."""
    data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    return struct.pack("<Q", len(data) if length is None else length) + data


def number(kind: int, value: Any) -> bytes:
    """Return a number. One that is out of range is cut to its lowest bits."""
    code = _CODES.get(kind, "Q")
    if code in "fd?":
        return struct.pack(f"<{code}", value)
    size = struct.calcsize(f"<{code}")
    return (int(value) % (1 << 8 * size)).to_bytes(size, "little")
