"""Hostile GGUF files: each is refused in a sentence, before anything large is read or written."""

from __future__ import annotations

import math
import os
import resource
import struct
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.attacks.gguf_bytes import LIST, TEXT, Entry, RawFile, TensorEntry, raw_file
from tests.attacks.gguf_fuzz import fuzz_gguf
from tests.long import in_long_runs
from tests.worker.gguf.files import write_llama
from worker.errors import ModelInvalidError, ModelNotFoundError, WorkerError
from worker.gguf.conversion import convert, inspect

_MAX_BYTES = 24 << 20

Change = Callable[[RawFile], RawFile | bytes]


class Attack(NamedTuple):
    """A change of a good file, and a part of the sentence that refuses it. `when`: by `inspect`, or by `convert`."""

    name: str
    change: Change
    says: str
    when: str = "inspect"


def entry(key: str | bytes, kind: int, value: object, items: int = TEXT, length: int | None = None) -> Change:
    return lambda file: file.with_entry(Entry(key, kind, value, items, length))


def tensor(which: str = "output_norm.weight", /, **changes: object) -> Change:
    return lambda file: file.with_tensor(which, **changes)


def header(**changes: object) -> Change:
    return lambda file: replace(file, **changes)  # pyright: ignore[reportArgumentType]


def both(one: Change, other: Change) -> Change:
    def change(file: RawFile) -> RawFile | bytes:
        first = one(file)
        assert isinstance(first, RawFile)
        return other(first)

    return change


def only(data: bytes) -> Change:
    def change(_: RawFile) -> bytes:
        return data

    return change


def without(key: str) -> Change:
    return lambda file: file.without(key)


def last_value_twice(file: RawFile) -> RawFile:
    return replace(file, entries=[*file.entries, file.entries[-1]])


def twice(file: RawFile) -> RawFile:
    return replace(file, tensors=[*file.tensors, file.tensors[-1]])


def more_tensors(file: RawFile) -> RawFile:
    again = [TensorEntry(f"x{number}", (32,), 0, 0) for number in range(3)]
    return replace(file, tensors=[*file.tensors, *again])


EMBEDDING = "token_embd.weight"
QUERY = "blk.0.attn_q.weight"
TOKENS = "tokenizer.ggml.tokens"

ATTACKS = [
    Attack("nothing", only(b""), "ends too early"),
    Attack("three bytes", only(b"GGU"), "ends too early"),
    Attack("another file", only(b"PK\3\4" + bytes(100)), "is not a GGUF file"),
    Attack("version 1", header(version=1), "has version 1 of GGUF"),
    Attack("version 4", header(version=4), "has version 4 of GGUF"),
    Attack("big endian", header(version=3 << 24), "big-endian"),
    Attack("2^63 values", header(num_entries=2**63), "values"),
    Attack("2^63 tensors", header(num_tensors=2**63), "tensors"),
    Attack("more values than there are", header(num_entries=60_000), "is damaged"),
    Attack("more tensors than there are", header(num_tensors=60_000), "is damaged"),
    Attack("a key of a gigabyte", only(b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 2**30)), "a name has"),
    Attack("a key of 2^64 - 1", only(b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 2**64 - 1)), "a name has"),
    Attack("a text of 2^62", entry("a", TEXT, "x", length=2**62), "a text has"),
    Attack("a text beyond the end", entry("a", TEXT, "x", length=2**22), "ends too early"),
    Attack("a list of 2^60 numbers", entry("a", LIST, [1], items=4, length=2**60), "ends too early"),
    Attack("a list of 2^60 texts", entry("a", LIST, ["x"], length=2**60), "texts"),
    Attack("a list of lists", entry("a", LIST, struct.pack("<IQ", LIST, 1)), "is a list of an unknown type"),
    Attack("a list of an unknown type", entry("a", LIST, struct.pack("<IQ", 77, 1)), "is a list of an unknown type"),
    Attack("an unknown type", entry("a", 13, b""), "has an unknown type"),
    Attack("a value twice", last_value_twice, "occurs twice"),
    *(
        Attack(f"an alignment of {number}", entry("general.alignment", 4, number), "alignment")
        for number in (0, 3, 48, 2**31 - 1)
    ),
    Attack("an alignment that is a text", entry("general.alignment", TEXT, "32"), "general.alignment"),
    Attack("a tensor twice", twice, "overlaps another one"),
    Attack("the same name twice", both(more_tensors, tensor("x1", name="x0")), "is damaged"),
    Attack("tensors at the same place", more_tensors, "overlaps another one"),
    Attack("a tensor that is not aligned", tensor(offset=2**20 + 1), "is not aligned"),
    Attack("a tensor beyond the end", tensor(offset=2**40), "is incomplete"),
    Attack("a tensor at 2^64 - 32", tensor(offset=2**64 - 32), "is incomplete"),
    Attack("a dimension of 2^60", tensor(shape=(2**60,)), "has the shape"),
    Attack("dimensions that wrap around", tensor(shape=(2**31 - 1, 2**31 - 1, 2**31 - 1)), "has the shape"),
    Attack("a dimension of 0", tensor(shape=(0,)), "has the shape"),
    Attack("a part of a block", tensor(EMBEDDING, shape=(63, 103)), "has the shape"),
    Attack("no dimensions", tensor(shape=()), "has 0 dimensions"),
    Attack("2^32 - 1 dimensions", tensor(dimensions=2**32 - 1), "dimensions"),
    Attack("a type that is not known", tensor(kind=99), "number 99"),
    Attack("a type that was removed", tensor(kind=4), "number 4"),
    Attack("a tensor's name of 2 KB", tensor(name="x" * 2000), "a name has"),
    Attack("no architecture", without("general.architecture"), "does not name its architecture"),
    Attack("an architecture that is a number", entry("general.architecture", 4, 7), "general.architecture"),
    Attack("a context that is a text", entry("llama.context_length", TEXT, "many"), "llama.context_length"),
    Attack("a context of 10^15", entry("llama.context_length", 10, 10**15), "llama.context_length"),
    Attack("another architecture", entry("general.architecture", TEXT, "mamba9"), "architecture mamba9", "convert"),
    Attack("an image model", entry("general.architecture", TEXT, "clip"), "architecture clip", "convert"),
    Attack("no tokens", without(TOKENS), "contains no tokenizer", "convert"),
    Attack("too many tokens", entry(TOKENS, LIST, [f"t{n}" for n in range(500)]), "", "convert"),
    Attack("a name that leaves the folder", tensor(QUERY, name="../../x"), "unknown tensor", "convert"),
    Attack("an unknown tensor", tensor(QUERY, name="blk.0.extra.weight"), "unknown tensor", "convert"),
    Attack("a layer beyond the last", tensor(QUERY, name="blk.7.attn_q.weight"), "is inconsistent", "convert"),
    Attack("no embedding", tensor(EMBEDDING, name="token_types.weight"), "", "convert"),
    *(
        Attack(f"{key} of {number}", entry(f"llama.{key}", 4, number), "", "convert")
        for key in ("block_count", "embedding_length", "feed_forward_length", "attention.head_count")
        for number in (0, 3, 2**31 - 1, 2**32 - 1)
    ),
    *(
        Attack(f"{key} of {number}", entry(f"llama.{key}", 4, number), "", "convert")
        for key in ("attention.head_count_kv", "attention.key_length")
        for number in (3, 2**31 - 1, 2**32 - 1)
    ),
    *(
        Attack(f"an epsilon of {number}", entry("llama.attention.layer_norm_rms_epsilon", 6, number), "", "convert")
        for number in (float("nan"), float("inf"))
    ),
    Attack("layers as a list", entry("llama.block_count", LIST, [2], items=4), "llama.block_count", "convert"),
    Attack("an expert model", entry("llama.expert_count", 4, 8), "", "convert"),
    Attack("a type that can't be converted", tensor("output_norm.weight", kind=24, shape=(64,)), "as I8", "convert"),
]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> RawFile:
    return raw_file(write_llama(tmp_path_factory.mktemp("good") / "good.gguf"))


def test_the_good_file_is_written_as_it_was(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "good.gguf")
    assert bytes(raw_file(path)) == path.read_bytes()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_hostile_gguf_file_is_refused_in_a_sentence(good: RawFile, tmp_path: Path, attack: Attack) -> None:
    path = tmp_path / "hostile.gguf"
    path.write_bytes(bytes(attack.change(good)))
    tracemalloc.start()
    try:
        if attack.when == "convert":
            with pytest.raises(WorkerError, match=attack.says or None):
                list(convert(path, tmp_path / "made"))
        else:
            with pytest.raises(WorkerError, match=attack.says or None):
                inspect(path)
        assert tracemalloc.get_traced_memory()[1] < _MAX_BYTES
    finally:
        tracemalloc.stop()
    assert not (tmp_path / "made").exists()


def test_a_pipe_and_a_device_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    (tmp_path / "zero.gguf").symlink_to("/dev/zero")
    for name in ("pipe.gguf", "zero.gguf", "."):
        with pytest.raises(ModelInvalidError, match="not an ordinary file"):
            inspect(tmp_path / name)
    for name in ("none.gguf", "a\0b", "x" * 5000):
        with pytest.raises(ModelNotFoundError):
            inspect(tmp_path / name)


def test_a_terabyte_of_zeros_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hole.gguf"
    with path.open("wb") as stream:
        stream.write(b"GGUF" + struct.pack("<IQQ", 3, 60_000, 60_000))
        stream.truncate(10**12)
    with pytest.raises(ModelInvalidError, match="twice"):
        inspect(path)


def test_rows_of_gigabytes_are_refused(good: RawFile, tmp_path: Path) -> None:
    """All shapes agree, and the file is as large as it says: a hole."""
    hidden = 1 << 29
    tensors: list[TensorEntry] = []
    end = 0
    for each in good.tensors:
        shape = list(each.shape)
        shape[-1 if str(each.name).endswith(("attn_output.weight", "ffn_down.weight")) else 0] = hidden
        tensors.append(replace(each, shape=tuple(shape), kind=1, offset=end))
        end += math.prod(shape) * 2
    file = replace(good, tensors=tensors, data=b"").with_entry(Entry("llama.embedding_length", 4, hidden))
    path = tmp_path / "wide.gguf"
    with path.open("wb") as stream:
        stream.write(bytes(file.with_entry(Entry("llama.attention.key_length", 4, 16))))
        stream.truncate(stream.tell() + end + 32)
    tracemalloc.start()
    try:
        with pytest.raises(WorkerError, match="impossibly wide"):
            list(convert(path, tmp_path / "made"))
        assert tracemalloc.get_traced_memory()[1] < _MAX_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.timeout(24 * 3600)
@pytest.mark.parametrize(("num_files", "seed"), [(60, 0), *in_long_runs([(20_000, 1)])])
def test_every_changed_gguf_file_is_converted_or_refused(num_files: int, seed: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = fuzz_gguf(num_files, seed)
    print(figures)
    assert figures.faults == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10
