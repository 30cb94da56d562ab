"""The folder where workers keep what models have read: how much it is, and emptying it; it reads no file in it.

A worker may use the folder meanwhile. A file that is gone is nothing worse to it than one that was never there; the
folders below and what it is just writing are left to it, or it would keep nothing more.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FOLDER = r"[0-9a-f]{32}"
_FILE = r"\d{8}-[0-9a-f]{24}-[0-9a-f]{32}\.safetensors|\.(?P<writer>\d{1,9})-\d+\.part"


@dataclass(frozen=True)
class Emptied:
    """What came of emptying the folder."""

    num_bytes: int
    """Removed."""
    num_left: int
    """Files that could not be removed."""
    why: str = ""
    """Why not, of one of them."""


class KeptFiles:
    """Workers' files below one folder; whatever else lies there is no concern of anybody here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def num_bytes(self) -> int:
        """Bytes of all files, of all models."""
        return sum(_num_bytes(entry) for entry, _ in self._entries())

    @property
    def disk_bytes(self) -> int | None:
        """How much the disk holds in all; None where that can't be said."""
        for folder in (self.folder, *self.folder.parents):
            with contextlib.suppress(OSError):
                return shutil.disk_usage(folder).total
        return None

    def empty(self) -> Emptied:
        """Remove every file of a worker but those that one is just writing."""
        removed, num_left, why = 0, 0, ""
        for entry, writer in self._entries():
            if writer is not None and _is_alive(writer):
                continue
            num_bytes = _num_bytes(entry)
            try:
                Path(entry.path).unlink(missing_ok=True)
                removed += num_bytes
            except OSError as error:
                num_left, why = num_left + 1, error.strerror or type(error).__name__
        return Emptied(removed, num_left, why)

    def _entries(self) -> Iterator[tuple[os.DirEntry[str], int | None]]:
        """Each file of a worker, with the process that was to write it if it is not finished."""
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


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's
    return True
