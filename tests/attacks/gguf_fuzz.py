"""Random changes of good GGUF files. Each is converted to a folder, or refused in a sentence."""

from __future__ import annotations

import random
import shutil
import struct
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.attacks.figures import Figures
from tests.attacks.gguf_bytes import LIST, TEXT, Entry, RawFile, raw_file
from tests.attacks.mutations import changed_bytes
from tests.worker.gguf.files import write_llama
from worker.errors import WorkerError
from worker.gguf.conversion import convert, inspect
from worker.models.folder import check_folder

_HEADER_BYTES = 6000
_NUMBERS = (0, 1, 2, 3, 31, 32, 63, 64, 255, 2**16, 2**20, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**60, 2**63, 2**64 - 1)
_FLOATS = (0.0, -1.0, 1e-30, 1e30, float("inf"), float("nan"))
_TEXTS = ("", "a", "llama", "gpt2", "smollm", "qwen2", "bert", "../../x", "\0", "x" * 3000, "ééé", b"\xff\xfe", "<s>")
_KINDS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 255)
_TYPES = (0, 1, 2, 3, 6, 7, 8, 10, 11, 12, 13, 14, 20, 23, 30, 34, 39, 41, 99)


def fuzz_gguf(num_files: int, seed: int, *, first: int = 0) -> Figures:
    """Convert changed files. `first`: the number of the first, to repeat a part."""
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="bough-fuzz-") as place:
        goods = [
            raw_file(write_llama(Path(place, f"{kind}.gguf"), kind, tied=kind == "Q4_0", hidden=hidden))
            for kind, hidden in (("Q4_0", 64), ("F16", 64), ("Q6_K", 256), ("Q4_K", 256))
        ]
        for number in range(first, first + num_files):
            draw = random.Random(f"{seed} {number}")
            data, words = _changed(draw, draw.choice(goods))
            path = Path(place, "changed.gguf")
            path.write_bytes(data)
            began = time.monotonic()
            attack = f"seed {seed}, file {number}: {words}"
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)
                    end = _converted(path, Path(place, "made"))
            except Exception as error:  # noqa: BLE001 (any other one is a fault)
                figures.blame(f"{attack}: {type(error).__name__}: {error}")
                end = "fault"
            figures.add(end, time.monotonic() - began, 0, attack)
            for made in Path(place).glob("made*"):
                shutil.rmtree(made)
    return figures


def _converted(path: Path, folder: Path) -> str:
    try:
        found = inspect(path)
        assert found.title.isprintable()
        for progress in convert(path, folder):
            assert 0 <= progress.done_bytes <= progress.total_bytes
    except WorkerError as error:
        assert not folder.exists()
        return error.sentence.template[:60]
    check_folder(folder)
    return "converted"


def _changed(draw: random.Random, file: RawFile) -> tuple[bytes, str]:
    words: list[str] = []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        file, change = _changed_part(draw, file)
        words.append(change)
    data = bytes(file)
    if draw.random() < 0.3:
        head, change = changed_bytes(draw, data[:_HEADER_BYTES])
        data = head + data[_HEADER_BYTES:]
        words.append(change)
    if draw.random() < 0.3:
        at = draw.randrange(min(len(data), _HEADER_BYTES) - 8)
        number = draw.choice(_NUMBERS)
        data = data[:at] + struct.pack("<Q", number) + data[at + 8 :]
        words.append(f"{number} at {at}")
    return data, ", ".join(words)


def _changed_part(draw: random.Random, file: RawFile) -> tuple[RawFile, str]:
    if draw.random() < 0.6:
        at = draw.randrange(len(file.entries))
        entry, change = _changed_entry(draw, file.entries[at])
        entries = [*file.entries[:at], *entry, *file.entries[at + 1 :]]
        return replace(file, entries=entries), f"{file.entries[at].key!r}: {change}"
    at = draw.randrange(len(file.tensors))
    tensor = file.tensors[at]
    match draw.choice(("shape", "type", "offset", "name", "drop", "order", "dimensions")):
        case "shape":
            shape = list(tensor.shape)
            shape[draw.randrange(len(shape))] = draw.choice(_NUMBERS)
            new, change = [replace(tensor, shape=tuple(shape))], f"shape {shape}"
        case "type":
            kind = draw.choice(_TYPES)
            new, change = [replace(tensor, kind=kind)], f"type {kind}"
        case "offset":
            offset = draw.choice((*_NUMBERS, draw.choice(file.tensors).offset))
            new, change = [replace(tensor, offset=offset)], f"offset {offset}"
        case "name":
            name = draw.choice((*_TEXTS, draw.choice(file.tensors).name, "blk.99999.attn_q.weight", "blk.-1.x.weight"))
            new, change = [replace(tensor, name=name)], f"name {name[:40]!r}"
        case "drop":
            new, change = [], "drop"
        case "dimensions":
            number = draw.choice((0, 1, 2, 3, 5, 2**32 - 1))
            new, change = [replace(tensor, dimensions=number)], f"{number} dimensions"
        case _:
            new, change = [replace(tensor, shape=tensor.shape[::-1])], "turned"
    tensors = [*file.tensors[:at], *new, *file.tensors[at + 1 :]]
    return replace(file, tensors=tensors), f"{tensor.name!r}: {change}"


def _changed_entry(draw: random.Random, entry: Entry) -> tuple[list[Entry], str]:
    match draw.choice(("value", "value", "value", "kind", "items", "length", "key", "drop", "twice")):
        case "value":
            value = _other_value(draw, entry)
            return [replace(entry, value=value)], f"value {str(value)[:60]!r}"
        case "kind":
            kind = draw.choice(_KINDS)
            value = entry.value if kind == entry.kind else _value_of(draw, kind)
            return [replace(entry, kind=kind, value=value)], f"type {kind}"
        case "items":
            items = draw.choice(_KINDS[:8])
            value = [_value_of(draw, items) for _ in range(draw.choice((0, 1, 3, 103, 500)))]
            return [replace(entry, kind=LIST, items=items, value=value)], f"list of {len(value)} of type {items}"
        case "length":
            length = draw.choice(_NUMBERS)
            return [replace(entry, length=length)], f"length {length}"
        case "key":
            key = draw.choice(_TEXTS)
            return [replace(entry, key=key)], f"key {key[:40]!r}"
        case "drop":
            return [], "drop"
        case _:
            return [entry, entry], "twice"


def _other_value(draw: random.Random, entry: Entry) -> Any:
    if entry.kind != LIST:
        return _value_of(draw, entry.kind)
    values = list(entry.value)
    for _ in range(draw.choice((1, 1, 3, 50))):
        match draw.choice(("set", "drop", "insert", "copy", "all")):
            case "set" if values:
                values[draw.randrange(len(values))] = _value_of(draw, entry.items)
            case "drop" if values:
                del values[draw.randrange(len(values))]
            case "copy" if values:
                values[draw.randrange(len(values))] = draw.choice(values)
            case "all" if draw.random() < 0.1:
                values = []
            case _:
                values.insert(draw.randrange(len(values) + 1), _value_of(draw, entry.items))
    return values


def _value_of(draw: random.Random, kind: int) -> Any:
    if kind == TEXT:
        return draw.choice(_TEXTS)
    if kind in (6, 12):
        return draw.choice(_FLOATS)
    return [] if kind == LIST else draw.choice(_NUMBERS)
