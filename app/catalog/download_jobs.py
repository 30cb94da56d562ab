"""Stores the entries of the download queue as files, so that interrupted downloads can be resumed after a restart.

Each entry has a folder. A downloaded GGUF file is also kept there until it is converted. Several running Boughs may
share these folders: each writes only the entries that it has changed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.catalog.download_events import Phase
from app.catalog.entry import LocalGguf, RemoteModel
from app.catalog.hub_folder import HubFolder, places
from app.catalog.places_of_models import hub_cache
from app.model.own_files import make_folder, set_aside
from app.model.settings import write_atomically
from app.places import Places
from worker.regular_file import read_regular
from worker.sentence import Sentence, SentenceError, SentenceParts, received, verbatim

_log = logging.getLogger(__name__)

DownloadState: TypeAlias = Literal["queued", "running", "paused", "failed", "landed"]
_FILE = "job.json"
_MAX_BYTES = 16 << 20


class Download(Struct, frozen=True, kw_only=True):
    """An entry of the queue: a model to download from the hub, or a GGUF file on this machine to convert."""

    id: str
    model: RemoteModel | LocalGguf
    state: DownloadState = "queued"
    is_held: bool = False
    """Whether the user has paused it."""
    phase: Phase = "downloading"
    num_bytes: int = 0
    """The number of bytes downloaded so far; while a GGUF file is converted, the number of bytes converted."""
    total_bytes: int | None = None
    """The size in bytes; None until the files are known."""
    target: str = ""
    """The model folder that a conversion has begun to write; empty if none has begun."""
    target_bytes: int = 0
    """The size of the weights that the conversion writes; 0 if unknown."""
    bytes_per_s: float | None = None
    """The speed; None while the entry does not run, or while the speed is not known yet."""
    waiting: Sentence | None = None
    """Why the connection brings nothing just now, although it is tried again; None if it works."""
    failure: Sentence | None = None
    failure_kind: str = ""
    """The kind of the failure: a kind of `HubError`, "disk" or "internal"."""
    name: str = ""
    """The name by which `load_model` finds the model, once all files are there."""
    path: str = ""
    """The folder of the model, once it is complete."""

    @property
    def seconds_left(self) -> float | None:
        """The expected remaining time; None if unknown."""
        if not self.bytes_per_s or self.total_bytes is None:
            return None
        return max(0, self.total_bytes - self.num_bytes) / self.bytes_per_s

    @property
    def is_local(self) -> bool:
        """Whether the entry is a conversion of a local file, which needs no hub."""
        return isinstance(self.model, LocalGguf)

    @property
    def is_over(self) -> bool:
        """Whether the entry is complete, or stays as it is until the user does something."""
        return self.state in {"paused", "failed", "landed"}


class _Saved(Struct):
    """The contents of an entry's file."""

    order: int
    model: RemoteModel | None = None
    file: LocalGguf | None = None
    """Either this or `local` is set."""
    failure: SentenceParts | None = None
    failure_kind: str = ""
    is_held: bool = False
    target: str = ""
    target_bytes: int = 0


class DownloadJobs:
    """Reads and writes the entries of the download queue, each in a folder of its own."""

    def __init__(self, bough: Places, report: Callable[[Sentence], None] = lambda _: None) -> None:
        """`report` is called with a sentence about each entry that can't be read."""
        self._folder = bough.data / "fetching"
        self._report = report
        self._written: dict[str, bytes] = {}
        """The content of each entry's file when this program last wrote or read it."""

    def folder(self, id_: str) -> Path:
        """Return an entry's folder."""
        return self._folder / id_

    def load(self) -> list[Download]:
        """Return the entries of earlier runs, in their order. All are paused or have failed."""
        found: list[tuple[int, Download]] = []
        for folder in sorted(self._folder.glob("*")):
            path = folder / _FILE
            if not os.path.lexists(path):
                continue
            try:
                text = read_regular(path, _MAX_BYTES)
                saved = msgspec.json.decode(text, type=_Saved, dec_hook=decoded)
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                self._set_aside(path, str(error))
                continue
            model = saved.model or saved.file
            if model is None:
                self._set_aside(path, "it names no model")
                continue
            failure = received("", saved.failure) if saved.failure else None
            download = Download(
                id=path.parent.name,
                model=model,
                state="failed" if failure else "paused",
                is_held=saved.is_held,
                failure=failure,
                failure_kind=saved.failure_kind,
                target=saved.target,
                target_bytes=saved.target_bytes,
            )
            self._written[download.id] = text
            found.append((saved.order, self.measured(download)))
        return [download for _, download in sorted(found, key=lambda item: item[0])]

    def _set_aside(self, path: Path, why: str) -> None:
        self._report(
            Sentence(
                "An unfinished model can't be resumed, because its entry can't be read ({error}). The entry is kept "
                "as {file}. Download or convert the model again.",
                error=why,
                file=set_aside(path) or path,
            )
        )

    def save(self, downloads: Sequence[Download]) -> None:
        """Write the entries that have changed and are not complete."""
        order = 0
        for download in downloads:
            if download.state == "landed":
                continue
            order += 1
            try:
                text = msgspec.json.encode(_saved(download, order), enc_hook=str)
            except UnicodeEncodeError as error:
                if download.id not in self._written:
                    _log.warning("%r is not kept for the next start: %s", download.model.key, error)
                self._written[download.id] = b""
                continue
            if self._written.get(download.id) == text:
                continue
            path = self.folder(download.id) / _FILE
            if download.is_over and download.id in self._written and not path.exists():
                continue  # another program removed it
            try:
                make_folder(path.parent)
                write_atomically(path, text, is_own=True, waits=False)
                self._written[download.id] = text
            except OSError as error:
                _log.warning("%s could not be written: %s", path, error)

    def measured(self, download: Download) -> Download:
        """Return an entry with the number of bytes that are on the disk."""
        if isinstance(download.model, LocalGguf):
            total = download.target_bytes or download.model.num_bytes
            return replace(download, phase="converting", num_bytes=_converted_bytes(download), total_bytes=total)
        if not download.model.files:
            return download
        found = places(download.model, hub_cache(), self.folder(download.id))
        return replace(
            download,
            num_bytes=sum(place.num_bytes for place in found),
            total_bytes=sum(place.file.num_bytes for place in found),
        )

    def forget(self, id_: str) -> None:
        """Remove the folder of an entry that is complete."""
        self._written.pop(id_, None)
        shutil.rmtree(self.folder(id_), ignore_errors=True)

    def discard(self, download: Download) -> int:
        """Remove an entry with all files that it has so far; return the number of bytes freed."""
        folder, model = self.folder(download.id), download.model
        if isinstance(model, RemoteModel) and model.format == "mlx":
            freed = HubFolder(model.repo, hub_cache(), model.revision).discard(model.files)
        else:
            freed = _discard_conversion(download)
        freed += sum(path.lstat().st_size for path in (folder / "files").rglob("*") if path.is_file())
        self.forget(download.id)
        return freed


def _saved(download: Download, order: int) -> _Saved:
    return _Saved(
        order=order,
        model=download.model if isinstance(download.model, RemoteModel) else None,
        file=download.model if isinstance(download.model, LocalGguf) else None,
        failure=download.failure.parts if download.failure else None,
        failure_kind=download.failure_kind,
        is_held=download.is_held,
        target=download.target,
        target_bytes=download.target_bytes,
    )


def _converted_bytes(download: Download) -> int:
    """Return the size in bytes of an unfinished conversion's files."""
    if not download.target:
        return 0
    from worker.gguf.conversion import kept_bytes

    return kept_bytes(Path(download.target))


def _discard_conversion(download: Download) -> int:
    """Remove a model folder that is not complete; return the number of bytes freed."""
    if not download.target:
        return 0
    from worker.gguf.conversion import discard

    try:
        return discard(Path(download.target))
    except SentenceError as error:
        _log.warning("A conversion could not be removed: %s", error)
        return 0


def id_of(model: RemoteModel | LocalGguf) -> str:
    """Return a name for the folder of an entry. The same model always has the same name."""
    words = re.sub(r"[^\w.-]+", "-", model.key, flags=re.ASCII)[-60:].strip("-.")
    digest = hashlib.sha256(model.key.encode(errors="surrogateescape")).hexdigest()
    return f"{words}-{digest[:8]}"


def decoded(kind: type, value: object) -> object:
    """Read a path or a sentence, which are written as text."""
    return verbatim(str(value)) if kind is Sentence else kind(value)
