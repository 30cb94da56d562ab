"""The entries of the queue as files, so that what was interrupted is there when Bough starts again.

Each entry has a folder, in which a GGUF file also lies until it is converted. Several Boughs may share these folders:
each writes only the entries that it changed.
"""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.catalog.entry import RemoteModel
from app.catalog.fetch_events import Phase
from app.catalog.fetch_process import folder_of, gguf_file
from app.catalog.hub_folder import HubFolder, Place, places
from app.catalog.places_of_models import hub_cache
from app.model.own_files import make_folder
from app.places import Places
from worker.sentence import Sentence, SentenceError, SentenceParts, received, verbatim

_log = logging.getLogger(__name__)

FetchState: TypeAlias = Literal["queued", "running", "paused", "failed", "landed"]
_FILE = "job.json"


class Fetch(Struct, frozen=True, kw_only=True):
    """A model in the queue."""

    id: str
    model: RemoteModel
    state: FetchState = "queued"
    phase: Phase = "fetching"
    num_bytes: int = 0
    """Bytes that are here; while a GGUF file is converted, bytes converted."""
    total_bytes: int | None = None
    """None until the files are known."""
    bytes_per_s: float | None = None
    """None while it does not run, or is not known yet."""
    waiting: Sentence | None = None
    """Why nothing comes just now; it is tried again."""
    failure: Sentence | None = None
    failure_kind: str = ""
    """A kind of `HubError`, or "disk", "internal"."""
    name: str = ""
    """The name that `load_model` takes, once all of it is here."""
    path: str = ""
    """The folder of the model, once it has landed."""

    @property
    def seconds_left(self) -> float | None:
        """None if unknown."""
        if not self.bytes_per_s or self.total_bytes is None:
            return None
        return max(0, self.total_bytes - self.num_bytes) / self.bytes_per_s

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.state in {"paused", "failed", "landed"}


class _Saved(Struct):
    """An entry as its file keeps it."""

    model: RemoteModel
    order: int
    failure: SentenceParts | None = None
    failure_kind: str = ""


class FetchJobs:
    """The entries' folders."""

    def __init__(self, bough: Places) -> None:
        self._folder = bough.data / "fetching"
        self._models = bough.models
        self._written: dict[str, bytes] = {}
        """The content of each entry's file when this program last wrote or read it."""

    def folder(self, id_: str) -> Path:
        """Return an entry's folder."""
        return self._folder / id_

    def load(self) -> list[Fetch]:
        """Return the entries of earlier runs, in their order. All are paused or have failed."""
        found: list[tuple[int, Fetch]] = []
        for path in sorted(self._folder.glob(f"*/{_FILE}")):
            try:
                text = path.read_bytes()
                saved = msgspec.json.decode(text, type=_Saved, dec_hook=decoded)
            except (OSError, msgspec.MsgspecError, RecursionError) as error:
                _log.warning("%s is ignored: %s", path, error)
                continue
            failure = received("", saved.failure) if saved.failure else None
            fetch = Fetch(
                id=path.parent.name,
                model=saved.model,
                state="failed" if failure else "paused",
                failure=failure,
                failure_kind=saved.failure_kind,
            )
            self._written[fetch.id] = text
            found.append((saved.order, self.measured(fetch)))
        return [fetch for _, fetch in sorted(found, key=lambda item: item[0])]

    def save(self, fetches: Sequence[Fetch]) -> None:
        """Write the entries that changed and have not landed."""
        order = 0
        for fetch in fetches:
            if fetch.state == "landed":
                continue
            order += 1
            saved = _Saved(fetch.model, order, fetch.failure.parts if fetch.failure else None, fetch.failure_kind)
            text = msgspec.json.encode(saved, enc_hook=str)
            if self._written.get(fetch.id) == text:
                continue
            path = self.folder(fetch.id) / _FILE
            if fetch.is_over and fetch.id in self._written and not path.exists():
                continue  # another program removed it
            try:
                make_folder(path.parent)
                new = path.with_suffix(".new")
                new.write_bytes(text)
                new.replace(path)
                self._written[fetch.id] = text
            except OSError as error:
                _log.warning("%s could not be written: %s", path, error)

    def measured(self, fetch: Fetch) -> Fetch:
        """Return an entry with the bytes that are on the disk."""
        if not fetch.model.files:
            return fetch
        found = places(fetch.model, hub_cache(), self.folder(fetch.id))
        return replace(
            fetch,
            num_bytes=sum(place.num_bytes for place in found),
            total_bytes=sum(place.file.num_bytes for place in found),
        )

    def forget(self, id_: str) -> None:
        """Remove the folder of an entry that has landed."""
        self._written.pop(id_, None)
        shutil.rmtree(self.folder(id_), ignore_errors=True)

    def discard(self, fetch: Fetch) -> int:
        """Remove an entry with all that has come; return the bytes freed."""
        folder = self.folder(fetch.id)
        if fetch.model.format == "mlx":
            freed = HubFolder(fetch.model.repo, hub_cache(), fetch.model.revision).discard(fetch.model.files)
        else:
            freed = self._discard_conversion(places(fetch.model, hub_cache(), folder))
        freed += sum(path.lstat().st_size for path in (folder / "files").rglob("*") if path.is_file())
        self.forget(fetch.id)
        return freed

    def _discard_conversion(self, found: Sequence[Place]) -> int:
        """Remove a model folder that is not complete; return the bytes freed."""
        source = gguf_file(found) if found else None
        if source is None or not source.is_file() or not list(self._models.glob("*.partial")):
            return 0
        from worker.gguf.conversion import discard

        try:
            return discard(folder_of(source, self._models))
        except SentenceError as error:
            _log.warning("A conversion could not be removed: %s", error)
            return 0


def id_of(model: RemoteModel) -> str:
    """Return a name for a folder: the same model has the same one."""
    words = re.sub(r"[^\w.-]+", "-", model.key, flags=re.ASCII)[-60:].strip("-.")
    return f"{words}-{hashlib.sha256(model.key.encode()).hexdigest()[:8]}"


def decoded(kind: type, value: object) -> object:
    """Read a path or a sentence, which are written as text."""
    return verbatim(str(value)) if kind is Sentence else kind(value)
