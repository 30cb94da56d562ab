"""A folder of immutable files that are written, found, read and removed; it knows no tree and no model.

Below the folder each key has a folder of its own: what one model kept is nothing to another one. A file whose bytes
are not those that were written is not used.

Several programs may share the folder. What another one removed is missing, which is never an error; whatever can't be
read is as good as missing; where nothing can be written nothing is.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from worker.cache.array_file import DamagedFileError, Nested, from_bytes
from worker.cache.stored_file import NAME, StoredFile, Stretch, bytes_in, laid_out, stretch_in

_log = logging.getLogger(__name__)

_UNFINISHED = re.compile(r"\.(\d+)-\d+\.part")
_UNFINISHED_S = 24 * 3600
"""A file that nobody finished in so long never will be, even if there is a process of that number."""
_USE_NS = 60 * 10**9
"""Uses are noted to the minute."""
_FULL, _FILL = 1.0, 0.95
"""Where the limit is passed, some more is removed at once: then the next files need no look at the folder."""
DEFAULT_LIMIT_BYTES = 10 << 30


class DiskCache:
    """The files of one key in a folder that several share."""

    def __init__(self, folder: Path, key: str, limit_bytes: int | None = None) -> None:
        """`limit_bytes`: of all keys' files together. Never raises: where nothing can be stored, nothing is."""
        self._all = folder
        self._key = key
        self._folder = folder / hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        self._files: dict[str, StoredFile] = {}
        self._number = 0
        self._num_bytes_in_all: int | None = None
        """Of all keys' files, as far as one knows what other programs do; None: look."""
        self.num_bytes = 0
        """Of this key's files."""
        self.num_gone = 0
        """How many files are known to be there no more."""
        self.can_write = True
        try:
            # What people wrote can be read out of these files.
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            self._give_up(error)
        self.limit_bytes = _default_limit_bytes(folder) if limit_bytes is None else limit_bytes

    # --- what is there -------------------------------------------------------------------------------------

    def find(self) -> Iterator[tuple[StoredFile, Stretch]]:
        """Look through the folder; yield what is usable by its looks, each file behind the one it goes on from.

        Whatever else lies in the key's folder is removed, and what dead programs left half-written in any.
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
        return _is_alive(int(unfinished[1])) and not is_old

    # --- one file ------------------------------------------------------------------------------------------

    def write(self, stretch: Stretch, value: Nested) -> StoredFile | None:
        """Store `value`; return its file, or None if there is no room. Raises `NotStorableError`."""
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
            # Not synced: what a power cut leaves half-written has another checksum than its name says.
            unfinished.rename(self._folder / new.name)
        except OSError as error:
            _unlink(unfinished)
            if not (isinstance(error, FileNotFoundError) and self._begin_anew()):
                self._give_up(error)
            return None
        file = StoredFile(new.name, new.num_bytes, used_ns)
        self._add(file)
        return file

    def read(self, files: Sequence[StoredFile]) -> Iterator[Nested | None]:
        """Yield what was stored in each; None if it is gone, or not what was written, and then it goes.

        While one is looked at, the next is already being read.
        """
        # Memory that is new to the process is slower than the disk: these are used again for every second file.
        buffers = bytearray(), bytearray()
        with ThreadPoolExecutor(1) as ahead:
            coming = [ahead.submit(self._read, file, buffers[number % 2]) for number, file in enumerate(files[:1])]
            for number, file in enumerate(files):
                data = coming.pop().result()
                if number + 1 < len(files):
                    coming.append(ahead.submit(self._read, files[number + 1], buffers[1 - number % 2]))
                value = None
                with contextlib.suppress(DamagedFileError):
                    value = None if data is None else from_bytes(data)
                if value is None:
                    self.remove(file)
                yield value

    def _read(self, file: StoredFile, buffer: bytearray) -> memoryview | None:
        return bytes_in(self._folder / file.name, file.num_bytes, buffer)

    def remove(self, file: StoredFile) -> None:
        """Remove a file, if it is still there."""
        _unlink(self._folder / file.name)
        self._forget(file.name)

    def touch(self, files: Sequence[StoredFile]) -> None:
        """Note that these are in use, who go on from one another."""
        now = time.time_ns()
        # All or none: who goes on from another must not seem used later.
        if any(file.used_ns < now - _USE_NS for file in files):
            for file in files:
                with contextlib.suppress(OSError):
                    os.utime(self._folder / file.name, ns=(now, now))
                file.used_ns = now

    # --- room ----------------------------------------------------------------------------------------------

    def _make_room(self, num_bytes: int, used_ns: int = 1 << 63, start: int = 0) -> bool:
        """Remove what was used longest ago, last tokens first; return whether so many bytes may come now.

        Nothing goes that is used later than what comes, nor what that goes on from.
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

    def _begin_anew(self) -> bool:
        """Somebody has cleared the cache away, as one may: go on with an empty one, if that is what it was."""
        if self._folder.exists():
            return False
        for name in list(self._files):
            self._forget(name)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return False
        return True

    def _give_up(self, error: OSError) -> None:
        self.can_write = False
        _log.warning("Nothing more is kept on disk in %s: %s", self._folder, error)


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


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's
    return True


def _default_limit_bytes(folder: Path) -> int:
    """Ten gigabytes, or a tenth of what is free where that is less."""
    try:
        return min(DEFAULT_LIMIT_BYTES, shutil.disk_usage(folder).free // 10)
    except OSError:
        return 0
