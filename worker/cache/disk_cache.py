"""Finds, writes, reads and removes the files of a cache folder. Independent of the token tree and the model.

Files are never changed. Each key (a model's identity) has its own subfolder. A file whose bytes do not match their
checksums is not used.

Several programs may share the folder. A file that is missing or can't be read is never an error. If the folder can't be
written, nothing is stored.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import shutil
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from worker.cache.array_file import DamagedFileError, Nested, from_bytes
from worker.cache.stored_file import NAME, StoredFile, Stretch, bytes_in, laid_out, stretch_in
from worker.pids import is_alive

_log = logging.getLogger(__name__)

_UNFINISHED = re.compile(r"\.(\d+)-\d+\.part")
_UNFINISHED_S = 24 * 3600
"""An unfinished file older than this is removed, even if the process named in it still seems to run."""
_USE_NS = 60 * 10**9
"""Times of use are exact to the minute."""
_FULL, _FILL = 1.0, 0.95
"""When the limit is exceeded, files are removed down to `_FILL` of the limit, so that the next files need no scan."""
DEFAULT_LIMIT_BYTES = 10 << 30
_NUM_AHEAD = 2
"""The number of files that are read at once. A thread spends most of its time on the checksum."""


class DiskCache:
    """The files of one key, in a folder that several keys and programs share."""

    def __init__(self, folder: Path, key: str, limit_bytes: int | None = None) -> None:
        """`limit_bytes` is for the files of all keys together; None means a default based on free disk space.

        Never raises: if the folder can't be used, nothing is stored.
        """
        self._all = folder
        self._key = key
        self._folder = folder / hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        self._files: dict[str, StoredFile] = {}
        self._number = 0
        self._num_bytes_in_all: int | None = None
        """Bytes of the files of all keys, as far as known; None means that the folder must be scanned."""
        self.num_bytes = 0
        """Bytes of this key's files."""
        self.num_gone = 0
        """The number of files that are known to be missing now."""
        self.can_write = True
        try:
            # The files contain what the user wrote, so only the user may read them.
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            self._stop_writing(error)
        self.limit_bytes = _default_limit_bytes(folder) if limit_bytes is None else limit_bytes

    # --- finding -------------------------------------------------------------------------------------------

    def find(self) -> Iterator[tuple[StoredFile, Stretch]]:
        """Scan the folder. Yield the files with a valid name and header, parents before children.

        Removes all other files of this key, and unfinished files that dead programs left for any key.
        """
        for folder in _entries(self._all):
            for entry in _entries(Path(folder.path)):
                with contextlib.suppress(OSError):
                    if _UNFINISHED.fullmatch(entry.name) and not self._is_being_written(entry):
                        Path(entry.path).unlink()
        found: list[tuple[StoredFile, Stretch]] = []
        for entry in _entries(self._folder):
            with contextlib.suppress(OSError):
                if not entry.is_file(follow_symlinks=False) or self._is_being_written(entry):
                    continue
                stat = entry.stat(follow_symlinks=False)
                stretch = stretch_in(Path(entry.path), self._key, stat.st_size)
                if stretch is None:
                    Path(entry.path).unlink()
                else:
                    found.append((StoredFile(entry.name, stat.st_size, stat.st_mtime_ns), stretch))
        names = {file.name for file, _ in found}
        for file, stretch in sorted(found, key=lambda pair: pair[1].start):
            if stretch.after is not None and stretch.after not in names:
                names.remove(file.name)
                _unlink(self._folder / file.name)
            else:
                self._add(file)
                yield file, stretch
        self._make_room(0)

    def _is_being_written(self, entry: os.DirEntry[str]) -> bool:
        unfinished = _UNFINISHED.fullmatch(entry.name)
        if unfinished is None:
            return False
        is_old = time.time() - entry.stat(follow_symlinks=False).st_mtime > _UNFINISHED_S
        return is_alive(int(unfinished[1])) and not is_old

    # --- one file ------------------------------------------------------------------------------------------

    def write(self, stretch: Stretch, value: Nested) -> StoredFile | None:
        """Store `value`. Return the new file, or None if it could not be stored. Raises `NotStorableError`."""
        if not self.can_write:
            return None
        new = laid_out(stretch, self._key, value)
        if new.name in self._files:
            return self._files[new.name]
        before = self._files.get(stretch.after) if stretch.after is not None else None
        if before is None and stretch.after is not None:
            return None
        used_ns = time.time_ns() if before is None else before.used_ns
        if not self._make_room(new.num_bytes, used_ns, stretch.start):
            return None
        self._number += 1
        unfinished = self._folder / f".{os.getpid()}-{self._number}.part"
        try:
            new.write(unfinished)
            os.utime(unfinished, ns=(used_ns, used_ns))
            # Not synced: a file that a power cut leaves half-written does not match the checksum in its name.
            unfinished.rename(self._folder / new.name)
        except OSError as error:
            _unlink(unfinished)
            if not (isinstance(error, FileNotFoundError) and self._start_again()):
                self._stop_writing(error)
            return None
        file = StoredFile(new.name, new.num_bytes, used_ns)
        self._add(file)
        return file

    def read(self, files: Sequence[StoredFile]) -> Iterator[Nested | None]:
        """Yield the value of each file; None if it is missing or damaged. A damaged file is removed.

        The next files are read while the caller handles the last one.
        """
        # Fresh memory is slower than the disk, so a few buffers take turns.
        buffers = [bytearray() for _ in range(_NUM_AHEAD + 1)]
        with ThreadPoolExecutor(_NUM_AHEAD) as ahead:
            coming = deque(ahead.submit(self._read, *pair) for pair in zip(files[:_NUM_AHEAD], buffers, strict=False))
            for number, file in enumerate(files):
                data = coming.popleft().result()
                if (later := number + _NUM_AHEAD) < len(files):
                    coming.append(ahead.submit(self._read, files[later], buffers[later % len(buffers)]))
                value = None
                with contextlib.suppress(DamagedFileError):
                    value = None if data is None else from_bytes(data)
                if value is None:
                    self.remove(file)
                yield value

    def _read(self, file: StoredFile, buffer: bytearray) -> memoryview | None:
        return bytes_in(self._folder / file.name, file.num_bytes, buffer)

    def remove(self, file: StoredFile) -> None:
        """Remove a file if it still exists."""
        _unlink(self._folder / file.name)
        self._forget(file.name)

    def touch(self, files: Sequence[StoredFile]) -> None:
        """Note that these files, each the parent of the next, are in use."""
        now = time.time_ns()
        # Update all or none of them: a file must never seem used later than its parent.
        if any(file.used_ns < now - _USE_NS for file in files):
            for file in files:
                with contextlib.suppress(OSError):
                    os.utime(self._folder / file.name, ns=(now, now))
                file.used_ns = now

    # --- room ----------------------------------------------------------------------------------------------

    def _make_room(self, num_bytes: int, used_ns: int = 1 << 63, start: int = 0) -> bool:
        """Remove the least recently used files, last tokens first. Return whether `num_bytes` fit now.

        Files used later than `used_ns`, and parents of the new file, are kept.
        """
        if num_bytes > self.limit_bytes:
            return False
        if self._num_bytes_in_all is not None and self._num_bytes_in_all + num_bytes <= self.limit_bytes:
            return True
        files = [
            (stat.st_mtime_ns, -int(entry.name[:8]), stat.st_size, Path(entry.path))
            for folder in _entries(self._all)
            for entry in _entries(Path(folder.path))
            if NAME.fullmatch(entry.name) and (stat := _stat(entry)) is not None
        ]
        total = sum(size for _, _, size, _ in files)
        fill = _FULL if total + num_bytes <= self.limit_bytes else _FILL
        for mtime_ns, minus_start, size, path in sorted(files):
            if total + num_bytes <= self.limit_bytes * fill or (mtime_ns, minus_start) >= (used_ns, -start):
                break
            _unlink(path)
            total -= size
            if path.parent == self._folder:
                self._forget(path.name)
        self._num_bytes_in_all = total
        return total + num_bytes <= self.limit_bytes

    def _add(self, file: StoredFile) -> None:
        self._files[file.name] = file
        self.num_bytes += file.num_bytes
        if self._num_bytes_in_all is not None:
            self._num_bytes_in_all += file.num_bytes

    def _forget(self, name: str) -> None:
        file = self._files.pop(name, None)
        if file is not None:
            file.is_gone = True
            self.num_gone += 1
            self.num_bytes -= file.num_bytes
            if self._num_bytes_in_all is not None:
                self._num_bytes_in_all -= file.num_bytes

    def _start_again(self) -> bool:
        """If the user has deleted the folder, create it again. Return whether it was deleted and exists now."""
        if self._folder.exists():
            return False
        for name in list(self._files):
            self._forget(name)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return False
        return True

    def _stop_writing(self, error: OSError) -> None:
        self.can_write = False
        _log.warning("%s can't be written, so nothing more is kept on disk: %s", self._folder, error)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _default_limit_bytes(folder: Path) -> int:
    """Return ten gibibytes, or a tenth of the free space, whichever is less."""
    try:
        return min(DEFAULT_LIMIT_BYTES, shutil.disk_usage(folder).free // 10)
    except OSError:
        return 0
