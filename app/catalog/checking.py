"""Checks whether a model on this machine is complete: its files, known hashes, and a trial in a worker."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Iterator
from pathlib import Path

from msgspec import Struct

from app.catalog.entry import LocalModel
from worker.process import WorkerClient, WorkerExitedError, WorkerSilentError
from worker.protocol import CacheOptions, Failed, Finished, Generate, LoadModel, ModelLoaded, ModelLoading
from worker.sentence import Sentence, SentenceError, joined

_BLOCK_BYTES = 4 << 20
_PATIENCE_S = 60.0
"""A worker that has been silent for this time is killed."""
_NAME = re.compile(r"(?:sha256[:-])?([0-9a-f]{64})|([0-9a-f]{40})")


class Checking(Struct, frozen=True):
    """The progress of a check: the current step, and the fraction of it that is done, from 0 to 1."""

    stage: str
    fraction: float


class Checked(Struct, frozen=True, kw_only=True):
    """The result of a check."""

    name: str
    path: Path
    problems: tuple[Sentence, ...] = ()
    """The problems that were found; empty if the model is complete."""
    num_hashed: int = 0
    """The number of files whose content matches their known hash."""
    hashed_bytes: int = 0
    is_loaded: bool = False
    """Whether a worker has loaded the model and generated a token. GGUF files are not loaded."""

    @property
    def is_whole(self) -> bool:
        return not self.problems


class _Expected(Struct, frozen=True):
    """A file and its known hash."""

    path: Path
    num_bytes: int
    hash: str
    is_git: bool = False
    """Whether the hash is git's own, which the hub gives for small files."""


def check(model: LocalModel) -> Generator[Checking, None, Checked]:
    """Check a model. The result lists the problems; no errors are raised."""
    problems: list[Sentence] = [] if model.problem is None else [model.problem]
    if model.format == "gguf" and not problems:
        problems += _gguf_problems(model)
    hashed: list[_Expected] = []
    expected = list(_expected(model))
    total = sum(file.num_bytes for file in expected) or 1
    done = 0
    for file in expected:
        try:
            found = hashlib.sha1(usedforsecurity=False) if file.is_git else hashlib.sha256()
            if file.is_git:
                found.update(f"blob {file.num_bytes}\0".encode())
            with file.path.open("rb") as stream:
                while block := stream.read(_BLOCK_BYTES):
                    found.update(block)
                    done += len(block)
                    yield Checking("checking the files", min(done / total, 1.0))
        except OSError as error:
            problems.append(
                Sentence("{file} can't be read ({error}).", file=file.path, error=error.strerror or str(error))
            )
            continue
        if found.hexdigest() == file.hash:
            hashed.append(file)
        else:
            problems.append(
                Sentence(
                    "{file} is damaged: its content does not match its hash. Remove the model, and download it again.",
                    file=file.path,
                )
            )
    is_loaded = False
    if model.format == "mlx" and not problems:
        why_not = yield from _tried(model)
        is_loaded = why_not is None
        problems += [] if why_not is None else [why_not]
    return Checked(
        name=model.name,
        path=model.path,
        problems=tuple(problems),
        num_hashed=len(hashed),
        hashed_bytes=sum(file.num_bytes for file in hashed),
        is_loaded=is_loaded,
    )


def _gguf_problems(model: LocalModel) -> list[Sentence]:
    """Return the problems in the headers of all parts of a GGUF file, which are read as a whole."""
    from worker.gguf.conversion import inspect

    try:
        inspect(model.path)
    except SentenceError as error:
        return [error.sentence]
    return []


def _expected(model: LocalModel) -> Iterator[_Expected]:
    """Yield the files whose hashes are known.

    The hub's cache and Ollama name files by their hashes. Bough's own conversions list them.
    """
    if model.format == "mlx" and model.source == "bough":
        from worker.gguf.conversion import record_of

        record = record_of(model.path)
        for name, file in {} if record is None else record.files.items():
            yield _Expected(model.path / Path(name).name, file.num_bytes, file.sha256)
        return
    try:
        paths = sorted(model.path.iterdir()) if model.format == "mlx" else list(model.files)
    except OSError:
        return
    for path in paths:
        try:
            final = path.resolve(strict=True)
            named = _NAME.fullmatch(final.name)
            if named is not None and final.is_file():
                yield _Expected(final, final.stat().st_size, named[1] or named[2], is_git=named[1] is None)
        except OSError:
            continue


def _tried(model: LocalModel) -> Generator[Checking, None, Sentence | None]:
    """Load a model in a worker and let it generate a token. Return why this failed; None if it worked."""
    client = WorkerClient()
    try:
        client.send(LoadModel(request_id="check", model=model.name, cache=CacheOptions(disk_limit_bytes=0)))
        while True:
            match client.receive_unless_silent(_PATIENCE_S):
                case ModelLoading(fraction=fraction):
                    yield Checking("loading the model", fraction)
                case ModelLoaded():
                    break
                case Failed() as failed:
                    return failed.sentence
                case _:
                    pass
        client.send(Generate(request_id="try", token_ids=[0], max_tokens=1))
        while True:
            match client.receive_unless_silent(_PATIENCE_S):
                case Failed() as failed:
                    return failed.sentence
                case Finished():
                    return None
                case _:
                    pass
    except WorkerExitedError:
        return Sentence("The model process stopped while it tried the model.")
    except WorkerSilentError:
        client.end()
        return Sentence("The model process did not respond for {num} seconds, so it was ended.", num=round(_PATIENCE_S))
    finally:
        client.stop()


def summary(checked: Checked) -> Sentence:
    """Return a sentence about a check that found no problems."""
    loaded = Sentence("It loads and answers.") if checked.is_loaded else Sentence("The file's header can be read.")
    if not checked.num_hashed:
        return loaded
    hashed = Sentence(
        "Files whose content matches their hash: {num_files} ({hashed_bytes}).",
        num_files=checked.num_hashed,
        hashed_bytes=checked.hashed_bytes,
    )
    return joined([hashed, loaded])
