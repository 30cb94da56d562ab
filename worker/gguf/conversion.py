"""Makes a model folder of a GGUF file, with progress. The folder gets its name when it is complete."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from worker.errors import ModelInvalidError
from worker.gguf.architectures import Weight, architecture_of, known_architecture, weights_of
from worker.gguf.blocks import GROUP, Form, form_of, rows_of
from worker.gguf.gguf_file import GgufFiles, read_files
from worker.gguf.words import token_ids, word_files
from worker.sentence import Sentence

Stage: TypeAlias = Literal["weights", "done"]

_CHUNK_BYTES = 16 << 20
_MAX_FILE_BYTES = 4 * 10**9


@dataclass(frozen=True)
class GgufModel:
    """A model in GGUF format, as its header describes it."""

    path: Path
    title: str
    architecture: str
    quantization: str
    num_parameters: int
    context_length: int | None
    """None: the file does not say it."""
    num_bytes: int
    files: tuple[Path, ...]
    """All parts of a split model; otherwise the one file."""
    licence: str | None


@dataclass(frozen=True)
class Progress:
    """How far a conversion is. `done_bytes` of `total_bytes` are written."""

    done_bytes: int
    total_bytes: int


def inspect(path: Path) -> GgufModel:
    """Read a GGUF file's header; `path` may be any part of a split model. Raises a `WorkerError`."""
    files = read_files(path)
    said = files.metadata
    architecture = architecture_of(files)
    return GgufModel(
        path=path,
        title=(said.text("general.name") or path.stem)[:200],
        architecture=architecture,
        quantization=_quantization_of(files),
        num_parameters=sum(tensor.num_values for tensor in files.tensors.values()),
        context_length=said.integer(f"{architecture}.context_length"),
        num_bytes=files.num_bytes,
        files=files.paths,
        licence=said.text("general.license"),
    )


def convert(path: Path, folder: Path) -> Iterator[Progress]:
    """Make the model folder `folder` of a GGUF file. Raises a `WorkerError`.

    The folder is built beside it, as `NAME.partial`, and gets its name at the end. Close the iterator to cancel.
    """
    files = read_files(path)
    architecture = known_architecture(files)
    config = architecture.config(files) | token_ids(files.metadata)
    texts = word_files(files.metadata)
    plans = [_plan(weight) for weight in weights_of(architecture, files)]
    _add_quantization(config, plans)
    texts["config.json"] = json.dumps(config, indent=2)
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    total = sum(plan.num_bytes for plan in plans)
    done = 0
    for wrote in _write_weights(partial / "model.safetensors", plans):
        done += wrote
        yield Progress(done, total)
    for name, text in texts.items():
        (partial / name).parent.mkdir(exist_ok=True)
        (partial / name).write_text(text, encoding="utf-8")
    partial.rename(folder)


def _quantization_of(files: GgufFiles) -> str:
    """Return the type that most weights have."""
    sizes: dict[str, int] = {}
    for tensor in files.tensors.values():
        sizes[tensor.type.name] = sizes.get(tensor.type.name, 0) + tensor.num_values
    return max(sizes, key=lambda name: sizes[name], default="")


class _Plan(NamedTuple):
    """How a weight is written: its arrays, each with its name, type, shape and bytes of a row."""

    weight: Weight
    form: Form
    arrays: tuple[tuple[str, str, tuple[int, ...], int], ...]

    @property
    def num_rows(self) -> int:
        return self.weight.tensor.num_values // self.weight.tensor.shape[-1]

    @property
    def num_bytes(self) -> int:
        return self.num_rows * sum(row_bytes for *_, row_bytes in self.arrays)


def _plan(weight: Weight) -> _Plan:
    tensor = weight.tensor
    form = form_of(tensor.type)
    if form is None:
        raise ModelInvalidError(
            Sentence(
                "{path} stores {name} as {type}, which Bough can't convert. Choose another quantization.",
                path=tensor.file,
                name=tensor.name,
                type=tensor.type.name,
            )
        )
    if len(tensor.shape) == 1:
        form = Form(0, "F16")
    *rows, columns = tensor.shape
    widths = form.num_bytes(columns)
    if not form.bits:
        return _Plan(weight, form, ((weight.name, form.dtype, tensor.shape, widths[0]),))
    stem = weight.name.removesuffix(".weight")
    groups = (*rows, columns // GROUP)
    return _Plan(
        weight,
        form,
        (
            (weight.name, "U32", (*rows, columns * form.bits // 32), widths[0]),
            (f"{stem}.scales", form.dtype, groups, widths[1]),
            (f"{stem}.biases", form.dtype, groups, widths[2]),
        ),
    )


def _add_quantization(config: dict[str, Any], plans: Sequence[_Plan]) -> None:
    sizes: dict[int, int] = {}
    for plan in plans:
        if plan.form.bits:
            sizes[plan.form.bits] = sizes.get(plan.form.bits, 0) + plan.num_bytes
    if not sizes:
        return
    usual = max(sizes, key=lambda bits: sizes[bits])
    quantization: dict[str, Any] = {"group_size": GROUP, "bits": usual}
    for plan in plans:
        if plan.form.bits not in (0, usual):
            path = plan.weight.name.removesuffix(".weight")
            quantization[path] = {"group_size": GROUP, "bits": plan.form.bits}
    config["quantization"] = quantization


def _write_weights(path: Path, plans: Sequence[_Plan]) -> Iterator[int]:
    """Write a weight file. Yields the bytes of each piece."""
    header: dict[str, Any] = {"__metadata__": {"format": "mlx"}}
    begins: dict[str, int] = {}
    reached = 0
    for plan in plans:
        for name, dtype, shape, row_bytes in plan.arrays:
            end = reached + plan.num_rows * row_bytes
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [reached, end]}
            begins[name] = reached
            reached = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        start = stream.tell()
        for plan in plans:
            tensor = plan.weight.tensor
            row = tensor.num_bytes // plan.num_rows
            step = max(1, _CHUNK_BYTES // row)
            with tensor.file.open("rb") as source:
                source.seek(tensor.begin)
                for begin in range(0, plan.num_rows, step):
                    count = min(step, plan.num_rows - begin)
                    raw = np.frombuffer(source.read(count * row), np.uint8).reshape(count, row)
                    if len(tensor.shape) == 1 and tensor.type.name == "F32":
                        arrays = (raw.view("<f4").astype(np.float16),)
                    else:
                        arrays = rows_of(tensor.type, plan.form, raw)
                    for (name, _, _, row_bytes), array in zip(plan.arrays, arrays, strict=True):
                        stream.seek(start + begins[name] + begin * row_bytes)
                        stream.write(np.ascontiguousarray(array).data)
                    yield count * sum(row_bytes for *_, row_bytes in plan.arrays)
