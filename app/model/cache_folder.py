"""The folder of the workers' cache on disk: measures and empties it. Also measures this machine's memory.

A worker may be using the folder. It can handle missing files, but its subfolders and the files that it is writing must
not be removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.model.own_files import restrict
from worker.pids import is_alive

_FOLDER = r"[0-9a-f]{32}"
_FILE = r"\d{8}-[0-9a-f]{24}-[0-9a-f]{32}\.safetensors|\.(?P<writer>\d{1,9})-\d+\.part"


GIB = 1 << 30


@dataclass(frozen=True)
class Emptied:
    """The result of emptying the folder."""

    num_bytes: int
    """Bytes removed."""
    num_left: int
    """Number of files that could not be removed."""
    why: str = ""
    """The system's error message for one of these files."""


class CacheFolder:
    """The cache files of all models in one folder. Other files are ignored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def num_bytes(self) -> int:
        """The size of all cache files."""
        return sum(_num_bytes(entry) for entry, _ in self._entries())

    @property
    def disk_bytes(self) -> int | None:
        """The size of the disk; None if it is not known."""
        for folder in (self.folder, *self.folder.parents):
            with contextlib.suppress(OSError):
                return shutil.disk_usage(folder).total
        return None

    def restrict(self) -> None:
        """Let only the user read the files, including existing ones."""
        restrict(self.folder)
        for entry, _ in self._entries():
            path = Path(entry.path)
            restrict(path.parent, path)

    def empty(self) -> Emptied:
        """Remove all cache files except those that a running worker is writing."""
        removed, num_left, why = 0, 0, ""
        for entry, writer in self._entries():
            if writer is not None and is_alive(writer):
                continue
            num_bytes = _num_bytes(entry)
            try:
                Path(entry.path).unlink(missing_ok=True)
                removed += num_bytes
            except OSError as error:
                num_left, why = num_left + 1, error.strerror or type(error).__name__
        return Emptied(removed, num_left, why)

    def _entries(self) -> Iterator[tuple[os.DirEntry[str], int | None]]:
        """Yield each cache file, with the process id of its writer if it is not finished."""
        for folder in _listed(self.folder):
            if re.fullmatch(_FOLDER, folder.name) and folder.is_dir(follow_symlinks=False):
                for entry in _listed(Path(folder.path)):
                    named = re.fullmatch(_FILE, entry.name)
                    if named and entry.is_file(follow_symlinks=False):
                        yield entry, int(named["writer"]) if named["writer"] else None


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _num_bytes(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def memory_bytes() -> int | None:
    """Return the size of this machine's memory; None if it is not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
