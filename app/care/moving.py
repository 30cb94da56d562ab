"""Moves all data of a user to another computer in one file: conversations, settings, presets, hooks and projects.

The file is a ZIP archive with a copy of the store and a settings file. Models and keys are not in it. Nothing that is
on the other computer is overwritten: its conversations gain those of the file, as with a `.bough` file.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from app.model.backups import copy_database, opened_backup, refuse_unsound
from app.model.database import StoreError, application_of
from app.model.exports.bough_file import bough_file
from app.model.exports.excerpt import whole_tree
from app.model.imports.importing import Progress, Summary, import_files
from app.model.migrations import APPLICATION_ID, MIGRATIONS, version_of
from app.model.own_files import make_folder
from app.model.restoring import restore
from app.model.settings import Settings
from app.model.settings_file import ReadSettings, read_settings_file, write_settings_file
from app.model.store import Store
from worker.sentence import Sentence, SentenceError

SUFFIX = ".boughmove"
FILE_NAME = f"Bough{SUFFIX}"

_FORMAT = "bough-move"
_VERSION = 1
_HEAD, _STORE, _SETTINGS = "bough-move.json", "conversations.sqlite3", "settings.json"
_MAX_HEAD_BYTES = 1 << 16
_MAX_SETTINGS_BYTES = 16 << 20
_CHUNK_BYTES = 1 << 20
_FOLDER = ".moved-"


class MoveError(SentenceError):
    """The file can't be read or written. Nothing was changed."""


class _Head(Struct, frozen=True, kw_only=True):
    format: str
    version: int


class Step(NamedTuple):
    """How many bytes of a file were written or read."""

    done: int
    total: int


class Moved(NamedTuple):
    """A file that was unpacked and checked. Call `forget` with its store when it is no longer needed."""

    store: Path | None
    """A copy of the other computer's store; None if it had none."""
    settings: ReadSettings


# --- out -------------------------------------------------------------------------------------------------------


def move_out(path: Path, store: Path, settings: Settings, hooks: Path) -> Generator[Step]:
    """Write the file. If the generator is closed early, `path` is not changed. Raises `MoveError` and `OSError`.

    `store` need not exist. `hooks` is the folder of the user's hooks.
    """
    part = path.with_name(f".{path.name}-{os.urandom(4).hex()}.part")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=_FOLDER) as name:
        folder = Path(name)
        if store.exists():
            _copy_store(store, folder / _STORE)
        write_settings_file(folder / _SETTINGS, settings, hooks)
        (folder / _HEAD).write_bytes(msgspec.json.encode(_Head(format=_FORMAT, version=_VERSION)))
        files = [folder / name for name in (_HEAD, _SETTINGS, _STORE) if (folder / name).exists()]
        try:
            # The file contains the user's texts, so only the user may read it.
            handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                yield from _packed(archive, files)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _copy_store(store: Path, copy: Path) -> None:
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)) as source,
            contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as target,
        ):
            source.isolation_level = None
            copy_database(source, target, lambda: False)
            target.execute("PRAGMA journal_mode = DELETE")
            refuse_unsound(target)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise MoveError(
            Sentence(
                "The conversations in {path} can't be copied ({error}). No file was written. Run `bough doctor` to "
                "find out more.",
                path=store,
                error=error,
            )
        ) from error


def _packed(archive: zipfile.ZipFile, files: list[Path]) -> Generator[Step]:
    total, done = sum(file.stat().st_size for file in files), 0
    for file in files:
        with file.open("rb") as source, archive.open(file.name, "w", force_zip64=True) as target:
            while data := source.read(_CHUNK_BYTES):
                target.write(data)
                done += len(data)
                yield Step(done, total)


# --- in --------------------------------------------------------------------------------------------------------


def unpacked(path: Path, data: Path) -> Generator[Step, None, Moved]:
    """Unpack a file into a folder of its own below `data`, and check it. Raises `MoveError` and `OSError`."""
    make_folder(data)
    folder = Path(tempfile.mkdtemp(dir=data, prefix=_FOLDER))
    try:
        return (yield from _unpacked(path, folder))
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, msgspec.MsgspecError, KeyError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _not_ours(path, str(error)) from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _unpacked(path: Path, folder: Path) -> Generator[Step, None, Moved]:
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo(_HEAD).file_size > _MAX_HEAD_BYTES:
            raise _not_ours(path, _HEAD)
        head = msgspec.json.decode(archive.read(_HEAD), type=_Head)
        if head.format != _FORMAT:
            raise _not_ours(path, head.format)
        if head.version > _VERSION:
            raise MoveError(
                Sentence("{file} comes from a newer version of Bough. Nothing was changed.", file=path.name)
            )
        sizes = {name: archive.getinfo(name).file_size for name in (_SETTINGS, _STORE) if name in archive.namelist()}
        if sizes[_SETTINGS] > _MAX_SETTINGS_BYTES:
            raise _not_ours(path, _SETTINGS)
        total, done = sum(sizes.values()), 0
        if total > shutil.disk_usage(folder).free:
            raise MoveError(
                Sentence(
                    "{file} needs {total_bytes} on the disk, but less is free. Nothing was changed.",
                    file=path.name,
                    total_bytes=total,
                )
            )
        for name, size in sizes.items():
            with archive.open(name) as source, (folder / name).open("xb") as target:
                written = 0
                # An archive may contain more data than its header says.
                while written < size and (data := source.read(min(_CHUNK_BYTES, size - written))):
                    target.write(data)
                    written += len(data)
                    yield Step(done + written, total)
            done += size
            (folder / name).chmod(0o600)
    settings = read_settings_file(folder / _SETTINGS)
    if _STORE not in sizes:
        shutil.rmtree(folder, ignore_errors=True)
        return Moved(None, settings)
    _check_store(path, folder / _STORE)
    return Moved(folder / _STORE, settings)


def _not_ours(path: Path, why: str) -> MoveError:
    return MoveError(
        Sentence(
            "{file} is not a file that Bough wrote for another computer, or it is damaged ({error}). Nothing was "
            "changed.",
            file=path.name,
            error=why,
        )
    )


def _check_store(path: Path, store: Path) -> None:
    try:
        with contextlib.closing(opened_backup(store)) as connection:
            refuse_unsound(connection)
            application, version = application_of(connection), version_of(connection)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _not_ours(path, str(error)) from error
    if application != APPLICATION_ID:
        raise _not_ours(path, _STORE)
    if version > len(MIGRATIONS):
        raise MoveError(
            Sentence(
                "The conversations in {file} come from a newer version of Bough. Nothing was changed. Install that "
                "version here, too.",
                file=path.name,
            )
        )
    try:
        # An older version is updated, and another schema is refused.
        Store(store).close()
    except StoreError as error:
        raise _not_ours(path, error.sentence) from error


def settle(store: Path, moved: Path) -> Generator[Progress, None, Summary | None]:
    """Replace a store without conversations by an unpacked store; import into a store that has conversations.

    Return what was imported; None if all is there as it was. Raises `StoreError` and `OSError`.
    """
    make_folder(store.parent)
    with contextlib.closing(Store(store)) as present:
        if present.has_conversations:
            return (yield from merge(present, moved))
    restore(store, moved)
    return None


def merge(store: Store, moved: Path) -> Generator[Progress, None, Summary]:
    """Import the conversations and projects of an unpacked store into `store`. Raises `StoreError` and `OSError`.

    Conversations that are there gain what is new, by their lasting ids. The trash and unsent texts are left out.
    """
    with contextlib.closing(Store(moved)) as other:
        file = moved.with_name("conversations.bough")
        trees = (whole_tree(other, one.id) for one in other.conversations.all())
        with file.open("w", encoding="utf-8") as out:
            for piece in bough_file(trees):
                out.write(piece.text)
        summary = yield from import_files(store, [file])
        for folder in other.projects.names():
            project = other.projects.get(folder)
            if project is not None:
                store.projects.add(folder, project)
    return summary


def is_moved(store: Path) -> bool:
    """Return whether this is the path of an unpacked store."""
    return store.parent.name.startswith(_FOLDER)


def forget(store: Path) -> None:
    """Remove an unpacked store, and the folder made for it. Do nothing for any other file."""
    if is_moved(store):
        shutil.rmtree(store.parent, ignore_errors=True)
