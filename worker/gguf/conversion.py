"""Converts a GGUF file to a model folder. The folder gets its name when it is complete.

Until then it is `NAME.partial`, with a list of its finished weight files. They are kept when the conversion is
cancelled or its process is killed. The next conversion checks them and continues after them, unless the GGUF file was
changed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from worker.errors import BadRequestError, ModelInvalidError
from worker.gguf.architectures import architecture_of, known_architecture, weights_of
from worker.gguf.blocks import Loss, form_named
from worker.gguf.gguf_file import GgufFiles, read_files
from worker.gguf.sampling import sampling_of
from worker.gguf.shapes import check_shapes
from worker.gguf.weight_files import (
    Plan,
    WeightFilePlan,
    checksum,
    index_of,
    plan_weights,
    split,
    write_weight_file,
)
from worker.gguf.words import token_ids, word_files
from worker.models.folder import check_folder
from worker.regular_file import read_regular
from worker.sentence import Sentence

RECORD = "bough.json"
"""The file in a converted folder that says where it comes from and how its numbers were changed."""

_JOURNAL = "conversion.json"
_LOCK = ".lock"
_VERSION = 1
_MAX_RECORD_BYTES = 16 << 20
"""Increase this when the same file would be converted to something else."""
_SPARE_BYTES = 64 << 20
_INDEX = "model.safetensors.index.json"


class ConvertedType(Struct, frozen=True):
    """The loss of one type of blocks: the root mean square of the differences, relative to that of the numbers."""

    type: str
    bits: int
    """The bits of the integers, in groups of 32, to which the numbers are converted."""
    relative_error: float
    num_parameters: int


class WrittenFile(Struct, frozen=True):
    """A finished weight file."""

    num_bytes: int
    sha256: str


class Conversion(Struct, frozen=True):
    """The record of a conversion, as stored in `bough.json`."""

    source: str
    """The name of the GGUF file."""
    source_bytes: int
    source_identity: str
    """A hash of the file. A different one means that the file was changed since."""
    title: str
    architecture: str
    quantization: str
    licence: str | None
    losses: tuple[ConvertedType, ...]
    """The types whose numbers were changed. The numbers of all other types are those of the file."""
    files: dict[str, WrittenFile]
    unused_sampling: tuple[str, ...] = ()
    """Sampling parameters that the file recommends with invalid values."""


class _Finished(Struct, frozen=True):
    """A finished weight file, with the losses of the types in it."""

    num_bytes: int
    sha256: str
    losses: dict[str, Loss]


class _Journal(Struct, frozen=True):
    version: int
    identity: str
    files: dict[str, _Finished]


@dataclass(frozen=True)
class GgufModel:
    """A model in GGUF format, as its header describes it."""

    path: Path
    title: str
    architecture: str
    quantization: str
    num_parameters: int
    context_length: int | None
    """In tokens; None if the file does not state it."""
    num_bytes: int
    files: tuple[Path, ...]
    """All parts of a split model, or the one file of any other."""
    licence: str | None
    identity: str
    """A hash that changes with the file; `Conversion.source_identity` is the same."""
    unused_sampling: tuple[str, ...] = ()
    """Sampling parameters that the file recommends with invalid values."""


@dataclass(frozen=True)
class Progress:
    """Progress of a conversion: `done_bytes` of `total_bytes` are written."""

    done_bytes: int
    total_bytes: int
    conversion: Conversion | None = None
    """The result, at the end."""


def inspect(path: Path) -> GgufModel:
    """Read a GGUF file's header; `path` may be any part of a split model. Raises a `WorkerError`."""
    return _described(path, read_files(path))


def convert(path: Path, folder: Path) -> Generator[Progress]:
    """Convert a GGUF file to the model folder `folder`; `path` may be any part of a split file. Raises a `WorkerError`.

    Close the generator to cancel. Finished files are then kept in `NAME.partial`; `discard` removes them.
    """
    files = read_files(path)
    texts, plans = _planned(files)
    parts = split(plans)
    if len(parts) > 1:
        texts[_INDEX] = index_of(parts)
    total = sum(part.num_bytes for part in parts)
    with _failures_explained(folder), _own_folder(folder) as partial:
        building = _Building(partial, files.identity)
        for part in parts:
            building.keep(part)
        done = sum(part.num_bytes for part in parts if part.name in building.files)
        _refuse_too_little_space(partial, total - done)
        yield Progress(done, total)
        for part in parts:
            if part.name in building.files:
                continue
            for num_bytes in building.write(part):
                done += num_bytes
                yield Progress(done, total)
        if not files.are_unchanged():
            building.empty()
            raise ModelInvalidError(
                Sentence(
                    "{path} was changed while it was converted, so nothing was kept. Wait until it is complete, "
                    "then try again.",
                    path=path,
                )
            )
        conversion = building.conversion(_described(path, files))
        texts[RECORD] = msgspec.json.format(msgspec.json.encode(conversion), indent=2).decode()
        building.finish(texts, folder)
    yield Progress(total, total, conversion)


def discard(folder: Path) -> int:
    """Remove the files of a cancelled conversion to `folder`. Returns the bytes freed. Raises a `WorkerError`."""
    partial = _partial(folder)
    if not partial.exists():
        return 0
    with _failures_explained(folder), _own_folder(folder):
        num_bytes = sum(file.stat().st_size for file in partial.iterdir() if file.is_file())
        # The lock goes last: a folder without it would count as someone else's.
        _empty(partial)
        shutil.rmtree(partial)
    return num_bytes


def kept_bytes(folder: Path) -> int:
    """Return the size of the finished weight files of an unfinished conversion to `folder`."""
    journal = _journal_of(_partial(folder))
    return 0 if journal is None else sum(file.num_bytes for file in journal.files.values())


def record_of(folder: Path) -> Conversion | None:
    """Return the record of a folder's conversion; None if there is none, or if it can't be read."""
    try:
        return msgspec.json.decode(read_regular(folder / RECORD, _MAX_RECORD_BYTES), type=Conversion)
    except (OSError, ValueError, RecursionError):
        return None


def _described(path: Path, files: GgufFiles) -> GgufModel:
    metadata = files.metadata
    architecture = architecture_of(files)
    return GgufModel(
        path=path,
        title=_one_line(metadata.text("general.name") or path.stem),
        architecture=_one_line(architecture),
        quantization=_quantization_of(files),
        num_parameters=sum(tensor.num_values for tensor in files.tensors.values()),
        context_length=metadata.integer(f"{architecture}.context_length"),
        num_bytes=files.num_bytes,
        files=files.paths,
        licence=_one_line(metadata.text("general.license") or "") or None,
        identity=files.identity,
        unused_sampling=sampling_of(metadata)[1],
    )


def _one_line(text: str) -> str:
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:200]


def _quantization_of(files: GgufFiles) -> str:
    """Return the name of the type that most weights have."""
    sizes: dict[str, int] = {}
    for tensor in files.tensors.values():
        sizes[tensor.type.name] = sizes.get(tensor.type.name, 0) + tensor.num_values
    return max(sizes, key=lambda name: sizes[name], default="")


def _planned(files: GgufFiles) -> tuple[dict[str, str], list[Plan]]:
    """Return the contents of the folder's text files by name, and how to write the weights. Raises a `WorkerError`."""
    architecture = known_architecture(files)
    config = architecture.config(files)
    weights = weights_of(architecture, files)
    texts = word_files(files.metadata)
    check_shapes(weights, config, len(files.metadata.texts("tokenizer.ggml.tokens") or ()))
    config |= token_ids(files.metadata)
    plans = plan_weights(weights)
    _add_quantization(config, plans)
    texts["config.json"] = json.dumps(config, indent=2)
    sampling, _ = sampling_of(files.metadata)
    if sampling:
        texts["generation_config.json"] = json.dumps(sampling, indent=2)
    return texts, plans


def _add_quantization(config: dict[str, Any], plans: Sequence[Plan]) -> None:
    """Add to `config` how the weights are packed: the usual form, and the modules that have another form."""
    sizes: dict[str, int] = {}
    packed = [plan for plan in plans if plan.form.bits]
    for plan in packed:
        key = json.dumps(plan.form.description)
        sizes[key] = sizes.get(key, 0) + plan.num_bytes
    if not sizes:
        return
    usual: dict[str, Any] = json.loads(max(sizes, key=lambda key: sizes[key]))
    others = {plan.path: plan.form.description for plan in packed if plan.form.description != usual}
    config["quantization"] = {**usual, **others}


# --- the folder that is being built ---------------------------------------------------------------------------


class _Building:
    """The folder that is being built, with its journal."""

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder = folder
        self.files: dict[str, _Finished] = {}
        self._identity = identity
        self._earlier = self._read_journal()
        if not self._earlier:
            self.empty()

    def keep(self, part: WeightFilePlan) -> None:
        """Keep a weight file of an earlier conversion if it is unchanged."""
        path, written = self.folder / part.name, self._earlier.get(part.name)
        if written is None:
            return
        with contextlib.suppress(OSError):
            if path.stat().st_size == written.num_bytes and checksum(path) == written.sha256:
                self.files[part.name] = written

    def write(self, part: WeightFilePlan) -> Iterator[int]:
        """Write a weight file piece by piece, and yield the number of bytes of each piece."""
        path = self.folder / part.name
        losses: dict[str, Loss] = {}
        yield from write_weight_file(path, part.plans, losses)
        self.files[part.name] = _Finished(path.stat().st_size, checksum(path), losses)
        journal = _Journal(_VERSION, self._identity, self.files)
        new = self.folder / f"{_JOURNAL}.new"
        _write(new, msgspec.json.encode(journal))
        new.replace(self.folder / _JOURNAL)
        _sync_folder(self.folder)

    def conversion(self, model: GgufModel) -> Conversion:
        files = {name: WrittenFile(file.num_bytes, file.sha256) for name, file in sorted(self.files.items())}
        return Conversion(
            source=_one_line(model.path.name),
            source_bytes=model.num_bytes,
            source_identity=model.identity,
            title=model.title,
            architecture=model.architecture,
            quantization=model.quantization,
            licence=model.licence,
            losses=tuple(self._converted_types()),
            files=files,
            unused_sampling=model.unused_sampling,
        )

    def _converted_types(self) -> Iterator[ConvertedType]:
        losses: dict[str, Loss] = {}
        for name in sorted(self.files):
            for kind, loss in self.files[name].losses.items():
                losses[kind] = losses.get(kind, Loss()).plus(loss)
        for kind, loss in sorted(losses.items()):
            form = form_named(kind)
            yield ConvertedType(kind, form.bits if form else 0, float(f"{loss.relative:.3g}"), loss.num_values)

    def finish(self, texts: Mapping[str, str], folder: Path) -> None:
        """Write the other files, check everything, and rename the folder to its final name."""
        for name, text in texts.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            _write(path, text.encode())
        (self.folder / _JOURNAL).unlink(missing_ok=True)
        check_folder(self.folder)
        _sync_folder(self.folder)
        self.folder.rename(folder)
        (folder / _LOCK).unlink()
        _sync_folder(folder.parent)

    def empty(self) -> None:
        """Remove everything."""
        self.files.clear()
        _empty(self.folder)

    def _read_journal(self) -> dict[str, _Finished]:
        """Return the files that an earlier conversion of the same file finished."""
        journal = _journal_of(self.folder)
        if journal is None or (journal.version, journal.identity) != (_VERSION, self._identity):
            return {}
        return journal.files


def _empty(partial: Path) -> None:
    """Remove everything but the lock."""
    for path in partial.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != _LOCK:
            path.unlink()


def _journal_of(partial: Path) -> _Journal | None:
    """Return the list of an unfinished folder's finished files; None if the list is missing or can't be read."""
    try:
        return msgspec.json.decode(read_regular(partial / _JOURNAL, _MAX_RECORD_BYTES), type=_Journal)
    except (OSError, ValueError, RecursionError):
        return None


def _partial(folder: Path) -> Path:
    return folder.with_name(folder.name + ".partial")


@contextmanager
def _own_folder(folder: Path) -> Generator[Path]:
    """Create the folder to build, and lock it against other processes. Raises `BadRequestError` if it is locked."""
    partial = _partial(folder)
    partial.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in partial.iterdir()}
    if partial.is_symlink() or (names and _LOCK not in names):
        raise BadRequestError(
            Sentence("There is a folder {folder} that Bough did not make. Rename it, then try again.", folder=partial)
        )
    with (partial / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadRequestError(
                Sentence("{folder} is already being written. Wait until it is complete.", folder=folder)
            ) from error
        if folder.exists():
            with contextlib.suppress(OSError):
                (partial / _LOCK).unlink()
                partial.rmdir()
            raise BadRequestError(
                Sentence(
                    "There is a folder {folder} already, so nothing was written. Remove it, or choose another name.",
                    folder=folder,
                )
            )
        yield partial


@contextmanager
def _failures_explained(folder: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            sentence = Sentence(
                "The disk is full, so {folder} is not complete. The finished weight files are kept. "
                "Free some space, then try again.",
                folder=folder,
            )
        else:
            sentence = Sentence(
                "{folder} can't be written ({error}). The finished weight files are kept. Try again.",
                folder=folder,
                error=error.strerror or str(error),
            )
        raise ModelInvalidError(sentence) from error


def _refuse_too_little_space(partial: Path, needed_bytes: int) -> None:
    free = shutil.disk_usage(partial).free
    if free < needed_bytes + _SPARE_BYTES:
        raise ModelInvalidError(
            Sentence(
                "The disk has {free_bytes} left, and this model needs {needed_bytes} more. "
                "Free some space, then try again.",
                free_bytes=free,
                needed_bytes=needed_bytes + _SPARE_BYTES,
            )
        )


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
