"""Files that belong together: those of a folder or of a ZIP archive, each called by its path in it."""

from __future__ import annotations

import bisect
import logging
import zipfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, Protocol, TypeAlias

import msgspec

from app.model.imports.input_file import opened

_log = logging.getLogger(__name__)

_MAX_ATTACHED_BYTES = 32 << 20


class AttachedFile(NamedTuple):
    """A file in an export that belongs to a message."""

    name: str
    data: bytes


FindFile: TypeAlias = Callable[[str], AttachedFile | None]
"""Returns a file by its id or name, or None."""


class Nearby(NamedTuple):
    """The files around the one that is read, and its own path."""

    path: str
    """The file's path in its bundle, with slashes; if it was chosen alone, its name."""
    find: FindFile
    """Finds an attached file whose name begins with an id. Of files called “content”, it compares the folders'
    names."""
    beside: FindFile
    """Finds a file in the same folder by its name."""
    listed: Callable[[], dict[str, object]] = dict
    """Returns the archive's own list of its files, `manifest.json`, as JSON; empty if there is none."""


def _none(_name: str) -> None:
    return None


NOTHING_NEARBY = Nearby("", _none, _none)
"""The surroundings of a file that has no other files around it."""


class Bundle(Protocol):
    """Files that belong together. `paths` are sorted."""

    paths: Sequence[str]

    def open(self, path: str) -> IO[bytes]: ...

    def num_bytes(self, path: str) -> int: ...


class Folder:
    """Files of a folder and of the folders in it."""

    def __init__(self, root: Path, paths: Sequence[str]) -> None:
        """`paths`: the files that belong together, sorted."""
        self._root = root
        self.paths = paths

    def open(self, path: str) -> IO[bytes]:
        return opened(self._root / path)

    def num_bytes(self, path: str) -> int:
        return (self._root / path).stat().st_size


class Archive:
    """The files of a ZIP archive."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.paths: Sequence[str] = sorted(info.filename for info in archive.infolist() if not info.is_dir())

    def open(self, path: str) -> IO[bytes]:
        return self._archive.open(path)

    def num_bytes(self, path: str) -> int:
        return self._archive.getinfo(path).file_size


class Surroundings:
    """Finds the files that conversations of a bundle refer to."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def of(self, path: str) -> Nearby:
        """Return the files near the one with a path."""

        def beside(name: str) -> AttachedFile | None:
            return _read(self._bundle, str(PurePosixPath(path).with_name(name)), name)

        return Nearby(path, self._find, beside, lambda: self._manifest)

    @cached_property
    def _manifest(self) -> dict[str, object]:
        try:
            found = self._bundle.open("manifest.json").read(_MAX_ATTACHED_BYTES)
            return msgspec.json.decode(found, type=dict[str, object])
        except Exception:  # noqa: BLE001 (a damaged list must not stop the import)
            return {}

    @cached_property
    def _by_name(self) -> list[tuple[str, str]]:
        return sorted((_called(path), path) for path in self._bundle.paths)

    def _find(self, file_id: str) -> AttachedFile | None:
        start = bisect.bisect_left(self._by_name, (file_id, ""))
        if not file_id or start == len(self._by_name) or not self._by_name[start][0].startswith(file_id):
            return None
        name, path = self._by_name[start]
        return _read(self._bundle, path, name)


def alone(path: Path) -> Nearby:
    """Return the surroundings of a file that was chosen alone: no attached files, but the other files of its folder."""

    def beside(name: str) -> AttachedFile | None:
        return _read(Folder(path.parent, [name]), name, name)

    return Nearby(path.name, _none, beside)


def _read(bundle: Bundle, path: str, name: str) -> AttachedFile | None:
    """Read a small file; None if there is none or it can't be read."""
    try:
        if bundle.num_bytes(path) <= _MAX_ATTACHED_BYTES:
            with bundle.open(path) as file:
                return AttachedFile(name, file.read())
    except (KeyError, FileNotFoundError):
        pass
    except Exception:  # noqa: BLE001 (a damaged file must not stop the import)
        _log.warning("%s can't be read", path)
    return None


def _called(path: str) -> str:
    """Return the name by which messages refer to a file: Grok's are all called “content”, in folders of their own."""
    found = PurePosixPath(path)
    return found.parent.name if found.name == "content" else found.name
