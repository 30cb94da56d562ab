"""Deletes a model from Bough's own folder or the Hugging Face cache. Other programs' models are never deleted."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Generator
from pathlib import Path

from app.catalog.entry import LocalModel
from app.catalog.hub_folder import HubFolder
from worker.sentence import Sentence, SentenceError


class RemovalError(SentenceError):
    """A model can't be deleted. The sentence says why, and what is left."""


def remove(model: LocalModel, *, models: Path, cache: Path) -> int:
    """Delete a model; return the number of bytes freed. Raises `RemovalError`.

    `models` is Bough's own folder. `cache` is the Hugging Face cache, where all commits of the repository are deleted.
    """
    path = _to_remove(model, models, cache)
    lock = HubFolder(model.repo, cache).lock if model.source == "hub" else None
    with _keeping_from_download(lock, model):
        return _remove(model, path, cache)


@contextlib.contextmanager
def _keeping_from_download(lock: Path | None, model: LocalModel) -> Generator[None]:
    """Keep other processes from downloading a repository meanwhile.

    Raises `RemovalError` if it is being downloaded now.
    """
    if lock is None or not lock.exists():
        yield
        return
    with lock.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RemovalError(
                Sentence(
                    "{title} is being downloaded now, so nothing was deleted. Cancel the download first, then try "
                    "again.",
                    title=model.title,
                )
            ) from None
        yield


def _remove(model: LocalModel, path: Path, cache: Path) -> int:
    # A GGUF model may be split in several files.
    paths = [path, *(path.parent / file.name for file in model.files[1:])] if model.source == "bough" else [path]
    before = sum(map(_num_bytes, paths))
    try:
        for each in paths:
            if each.is_symlink() or each.is_file():
                each.unlink()
            else:
                shutil.rmtree(each)
    except OSError as error:
        raise RemovalError(
            Sentence(
                "{file} could not be deleted ({error}), so a part of {title} may be left. "
                "Check that you may change this folder, then try again.",
                file=error.filename or path,
                error=error.strerror or error,
                title=model.title,
            )
        ) from error
    if model.source == "hub":
        # Only the lock of the downloads is left there.
        shutil.rmtree(HubFolder(model.repo, cache).lock.parent, ignore_errors=True)
    return before


def _to_remove(model: LocalModel, models: Path, cache: Path) -> Path:
    """Return the folder or file to delete. It is always inside one of the two folders, even if names are malicious."""
    if model.source == "bough":
        inside, path = models, model.path
    elif model.source == "hub" and model.repo:
        inside, path = cache, HubFolder(model.repo, cache).path
    else:
        raise _refused(model)
    # Only the last part may be a link: that link is deleted, not its target.
    parent = path.parent.resolve()
    if path.name in {"", ".", ".."} or not parent.is_relative_to(inside.resolve()):
        raise _refused(model)
    return parent / path.name


def _refused(model: LocalModel) -> RemovalError:
    return RemovalError(
        Sentence(
            "{title} belongs to another program ({path}), so Bough does not delete it. Delete it there.",
            title=model.title,
            path=model.path,
        )
    )


def _num_bytes(path: Path) -> int:
    """Return the size of all files below a path. Links are not followed."""
    if path.is_symlink() or not path.is_dir():
        with contextlib.suppress(OSError):
            return path.lstat().st_size
        return 0
    return sum(_num_bytes(inner) for inner in path.iterdir())
