"""GGUF files become model folders: whole, after an interruption too, or not at all."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import textwrap
import tracemalloc
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file

from tests.attacks.gguf_bytes import Entry, raw_file
from tests.driver import ROOT
from tests.worker.gguf.files import write_llama
from worker.errors import BadRequestError, ModelInvalidError, ModelNotFoundError
from worker.gguf import weight_files
from worker.gguf.conversion import convert, discard, inspect, record_of
from worker.models.folder import check_folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_llama(tmp_path / "small.gguf")


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weight files of up to 20 KB, so that a small model has several."""
    monkeypatch.setattr(weight_files, "MAX_FILE_BYTES", 20_000)


def made(file: Path, folder: Path) -> Path:
    for progress in convert(file, folder):
        assert progress.done_bytes <= progress.total_bytes
    return folder


def config_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "config.json").read_text())


def weights_of(folder: Path) -> dict[str, npt.NDArray[Any]]:
    return {name: array for path in folder.glob("model*.safetensors") for name, array in load_file(path).items()}


def same_files(one: Path, other: Path) -> bool:
    return {path.name: path.read_bytes() for path in one.iterdir()} == {
        path.name: path.read_bytes() for path in other.iterdir()
    }


def test_a_file_becomes_a_folder(file: Path, tmp_path: Path) -> None:
    steps = list(convert(file, tmp_path / "small"))
    assert [step.done_bytes for step in steps] == sorted(step.done_bytes for step in steps)
    assert steps[-1].done_bytes == steps[-1].total_bytes
    assert steps[-1].conversion == record_of(tmp_path / "small")
    assert check_folder(tmp_path / "small").architecture == "llama"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small", "small.gguf"]
    assert weights_of(tmp_path / "small")["model.layers.0.self_attn.q_proj.scales"].dtype == np.float16
    assert config_of(tmp_path / "small")["quantization"] == {"group_size": 32, "bits": 4}


def test_a_file_is_described_by_its_header(file: Path) -> None:
    found = inspect(file)
    assert (found.architecture, found.quantization, found.context_length) == ("llama", "Q4_0", 128)
    assert (found.title, found.licence, found.files) == ("A small model", None, (file,))
    assert found.num_bytes == file.stat().st_size
    assert found.num_parameters == sum(int(np.prod(each.shape)) for each in gguf.GGUFReader(file).tensors)


def test_each_matrix_has_its_own_form(tmp_path: Path) -> None:
    kinds = {"token_embd.weight": "Q8_0", "output.weight": "Q6_K", "blk.0.ffn_up.weight": "F16"}
    kinds |= {"blk.1.ffn_up.weight": "Q5_K", "blk.1.attn_q.weight": "MXFP4", "blk.0.attn_k.weight": "BF16"}
    file = write_llama(tmp_path / "m.gguf", lambda name: kinds.get(name, "Q4_K"), hidden=256, tied=False)
    folder = made(file, tmp_path / "m")
    layers = "model.layers"
    assert config_of(folder)["quantization"] == {
        "group_size": 32,
        "bits": 4,
        "model.embed_tokens": {"group_size": 32, "bits": 8},
        "lm_head": {"group_size": 32, "bits": 8},
        f"{layers}.1.mlp.up_proj": {"group_size": 32, "bits": 5},
        f"{layers}.1.self_attn.q_proj": {"group_size": 32, "bits": 4, "mode": "mxfp4"},
    }
    assert config_of(folder)["tie_word_embeddings"] is False
    record = record_of(folder)
    assert record is not None
    assert [(loss.type, loss.bits) for loss in record.losses] == [("Q4_K", 4), ("Q5_K", 5), ("Q6_K", 8)]
    assert all(0 < loss.relative_error < 0.01 for loss in record.losses)
    assert record.losses[1].num_parameters == 512 * 256


@pytest.mark.parametrize(("kind", "dtype"), [("Q4_0", "F16"), ("F16", "F16"), ("BF16", "BF16"), ("F32", "F32")])
def test_norms_have_the_type_that_the_model_computes_in(tmp_path: Path, kind: str, dtype: str) -> None:
    folder = made(write_llama(tmp_path / "m.gguf", kind), tmp_path / "m")
    data = (folder / "model.safetensors").read_bytes()
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    # The norms of the test have eleven bits, of which BF16 would lose some.
    assert header["model.norm.weight"]["dtype"] == ("F32" if dtype == "BF16" else dtype)
    assert ("quantization" in config_of(folder)) == (kind == "Q4_0")


def test_recommended_sampling_is_kept(tmp_path: Path) -> None:
    def change(writer: gguf.GGUFWriter) -> None:
        writer.add_float32("general.sampling.temp", 0.7)
        writer.add_float32("general.sampling.top_p", 0.95)
        writer.add_int32("general.sampling.top_k", 20)
        writer.add_float32("general.sampling.min_p", 7.0)
        writer.add_float32("general.sampling.penalty_repeat", float("nan"))

    folder = made(write_llama(tmp_path / "m.gguf", change=change), tmp_path / "m")
    said = json.loads((folder / "generation_config.json").read_text())
    assert said == {"do_sample": True, "temperature": 0.7, "top_p": 0.95, "top_k": 20}
    record = record_of(folder)
    assert record is not None
    assert record.unused_sampling == ("min_p", "repetition_penalty")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    words = 1 << 17
    raw = raw_file(write_llama(tmp_path / "m.gguf", "F16"))
    # The embedding lies in a hole behind the other weights.
    end = -(-len(raw.data) // 32) * 32
    raw = raw.with_tensor("token_embd.weight", shape=(64, words), offset=end)
    with (tmp_path / "m.gguf").open("wb") as stream:
        stream.write(bytes(raw))
        stream.truncate(stream.tell() + end - len(raw.data) + words * 64 * 2)
    tracemalloc.start()
    try:
        made(tmp_path / "m.gguf", tmp_path / "m")
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert weights_of(tmp_path / "m")["model.embed_tokens.weight"].shape == (words, 64)


# --- several files ------------------------------------------------------------------------------------------


def test_any_part_of_a_split_model_stands_for_all(tmp_path: Path) -> None:
    whole = made(write_llama(tmp_path / "whole.gguf"), tmp_path / "whole")
    (tmp_path / "split").mkdir()
    write_llama(tmp_path / "split" / "m.gguf", split_tensors=8)
    parts = sorted((tmp_path / "split").glob("*.gguf"))
    assert [part.name for part in parts] == [f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    for number, part in enumerate(parts):
        assert inspect(part).files == tuple(parts)
        folder = made(part, tmp_path / f"split{number}")
        assert weights_of(folder).keys() == weights_of(whole).keys()
        assert (folder / "config.json").read_bytes() == (whole / "config.json").read_bytes()


def test_missing_parts_are_named(tmp_path: Path) -> None:
    write_llama(tmp_path / "m.gguf", split_tensors=8)
    (tmp_path / "m-00002-of-00003.gguf").unlink()
    with pytest.raises(ModelNotFoundError, match=r"1 of the 3 parts.*the first is m-00002-of-00003\.gguf"):
        inspect(tmp_path / "m-00003-of-00003.gguf")


def test_parts_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    write_llama(tmp_path / "m.gguf", split_tensors=8)
    first, second, third = (tmp_path / f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3))
    first.rename(tmp_path / "first.gguf")
    with pytest.raises(ModelInvalidError, match=r"is part 1 of 3 of a model.*-of-00003\.gguf"):
        inspect(tmp_path / "first.gguf")
    (tmp_path / "first.gguf").rename(first)
    second.write_bytes(third.read_bytes())
    with pytest.raises(ModelInvalidError, match="is part 3 of 3 of a model"):
        inspect(first)
    write_llama(tmp_path / "n.gguf", layers=3, split_tensors=8)
    second.write_bytes((tmp_path / "n-00002-of-00004.gguf").read_bytes())
    with pytest.raises(ModelInvalidError, match="is part 2 of 4"):
        inspect(first)
    raw = raw_file(third)
    second.write_bytes(bytes(replace(raw, tensors=raw.tensors[:1]).with_entry(Entry("split.no", 2, 1))))
    with pytest.raises(ModelInvalidError, match="occurs twice"):
        inspect(first)
    third.write_bytes(bytes(replace(raw, tensors=raw.tensors[:1])))
    second.write_bytes(bytes(replace(raw, tensors=[]).with_entry(Entry("split.no", 2, 1))))
    with pytest.raises(ModelInvalidError, match="do not belong together"):
        inspect(first)


def test_large_models_have_several_weight_files(file: Path, tmp_path: Path, small_files: None) -> None:
    folder = made(file, tmp_path / "small")
    names = sorted(path.name for path in folder.glob("model*"))
    assert names == [
        *(f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)),
        "model.safetensors.index.json",
    ]
    places = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    assert places.keys() == weights_of(folder).keys()
    check_folder(folder)


# --- interruptions ------------------------------------------------------------------------------------------


def test_a_cancelled_conversion_resumes_after_its_last_file(file: Path, tmp_path: Path, small_files: None) -> None:
    whole = made(file, tmp_path / "whole")
    folder, partial = tmp_path / "small", tmp_path / "small.partial"
    steps = convert(file, folder)
    while len(list(partial.glob("model-*"))) < 2:
        next(steps)
    steps.close()
    assert not folder.exists()
    kept = partial / "model-00001-of-00003.safetensors"
    before = kept.stat()
    steps = convert(file, folder)
    first = next(steps)
    assert 0 < first.done_bytes < first.total_bytes
    assert list(steps)[-1].conversion
    assert (folder / kept.name).stat().st_ino == before.st_ino
    assert (folder / kept.name).stat().st_mtime_ns == before.st_mtime_ns
    assert same_files(folder, whole)


@pytest.mark.parametrize("damage", ["changed", "shorter", "gone", "journal"])
def test_kept_files_are_checked(file: Path, tmp_path: Path, small_files: None, damage: str) -> None:
    whole = made(file, tmp_path / "whole")
    steps = convert(file, tmp_path / "small")
    partial = tmp_path / "small.partial"
    while not (partial / "model-00003-of-00003.safetensors").exists():
        next(steps)
    steps.close()
    kept = partial / "model-00001-of-00003.safetensors"
    data = kept.read_bytes()
    match damage:
        case "changed":
            kept.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        case "shorter":
            kept.write_bytes(data[:-1])
        case "gone":
            kept.unlink()
        case _:
            (partial / "conversion.json").write_bytes(b"{")
    assert same_files(made(file, tmp_path / "small"), whole)


def test_another_file_starts_from_the_beginning(file: Path, tmp_path: Path, small_files: None) -> None:
    steps = convert(file, tmp_path / "small")
    while not (tmp_path / "small.partial" / "model-00002-of-00003.safetensors").exists():
        next(steps)
    steps.close()
    write_llama(file, "Q4_1")
    steps = convert(file, tmp_path / "small")
    assert next(steps).done_bytes == 0
    assert list(steps)
    assert same_files(tmp_path / "small", made(file, tmp_path / "whole"))


def test_a_file_that_changes_meanwhile_is_noticed(file: Path, tmp_path: Path) -> None:
    steps = convert(file, tmp_path / "small")
    next(steps)
    os.utime(file, ns=(1, 1))
    with pytest.raises(ModelInvalidError, match="was changed while it was converted"):
        list(steps)
    assert not (tmp_path / "small").exists()


def test_a_file_that_is_cut_meanwhile_is_noticed(file: Path, tmp_path: Path) -> None:
    steps = convert(file, tmp_path / "small")
    next(steps)
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(ModelInvalidError, match="was changed while it was read"):
        list(steps)


def test_a_killed_conversion_resumes(file: Path, tmp_path: Path, small_files: None) -> None:
    code = """
        import sys
        from pathlib import Path
        from worker.gguf import weight_files
        from worker.gguf.conversion import convert
        weight_files.MAX_FILE_BYTES = 20_000
        for progress in convert(Path(sys.argv[1]), Path(sys.argv[2])):
            print(progress.done_bytes, flush=True)
            sys.stdin.readline()
    """
    arguments = [sys.executable, "-c", textwrap.dedent(code), str(file), str(tmp_path / "small")]
    with subprocess.Popen(arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        while not (tmp_path / "small.partial" / "model-00002-of-00003.safetensors").exists():
            assert process.stdout.readline()
            process.stdin.write(b"\n")
            process.stdin.flush()
        with pytest.raises(BadRequestError, match="is already being written"):
            next(iter(convert(file, tmp_path / "small")))
        process.send_signal(signal.SIGKILL)
        process.wait()
    steps = convert(file, tmp_path / "small")
    assert next(steps).done_bytes > 0
    assert list(steps)
    assert same_files(tmp_path / "small", made(file, tmp_path / "whole"))


# --- disk ---------------------------------------------------------------------------------------------------


def test_space_is_checked_first(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def almost_full(_: Path) -> SimpleNamespace:
        return SimpleNamespace(free=1000)

    monkeypatch.setattr(shutil, "disk_usage", almost_full)
    with pytest.raises(ModelInvalidError, match=r"has 1,000 bytes left.*needs 64 MiB more"):
        list(convert(file, tmp_path / "small"))
    assert not list((tmp_path / "small.partial").glob("model*"))


def test_a_full_disk_is_reported(file: Path, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(ModelInvalidError, match="can't be written"):
            list(convert(file, tmp_path / "small"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (tmp_path / "small").exists()
    made(file, tmp_path / "small")


def test_nothing_is_overwritten(file: Path, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    with pytest.raises(BadRequestError, match="There is a folder"):
        list(convert(file, tmp_path / "small"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small", "small.gguf"]
    (tmp_path / "other.partial").mkdir()
    (tmp_path / "other.partial" / "mine.txt").write_text("mine")
    with pytest.raises(BadRequestError, match="did not make"):
        list(convert(file, tmp_path / "other"))
    with pytest.raises(BadRequestError, match="did not make"):
        discard(tmp_path / "other")
    assert [path.name for path in (tmp_path / "other.partial").iterdir()] == ["mine.txt"]


def test_the_rest_of_a_cancelled_conversion_is_removed(file: Path, tmp_path: Path, small_files: None) -> None:
    assert discard(tmp_path / "small") == 0
    steps = convert(file, tmp_path / "small")
    while not (tmp_path / "small.partial" / "model-00002-of-00003.safetensors").exists():
        next(steps)
    steps.close()
    assert discard(tmp_path / "small") > 10_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.gguf"]
