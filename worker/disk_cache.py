"""A folder of immutable files, each with arrays and the token ids that they belong to; it knows no tree and no model.

Below the folder each key has a folder of its own: what one model kept is nothing to another one. A file's name says
after how many tokens it begins, and the checksums of its header and of its arrays: a file whose bytes are not those
that were written is not used. Each file names the one that it goes on from, so its name stands for all before it, too.

Several programs may share the folder. What another one removed is missing, which is never an error; whatever can't be
read is as good as missing; where nothing can be written nothing is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from worker.array_file import DamagedFileError, Nested, from_bytes, header_length, read_header, to_buffers
from worker.token_tree import as_ids

_log = logging.getLogger(__name__)

_NAME = re.compile(r"(\d{8})-([0-9a-f]{24})-([0-9a-f]{32})\.safetensors")
_UNFINISHED = re.compile(r"\.(\d+)-\d+\.part")
_FIRST_BYTES = 16 << 10
"""Most headers are shorter."""
_UNFINISHED_S = 24 * 3600
"""A file that nobody finished in so long never will be, even if there is a process of that number."""
_USE_NS = 60 * 10**9
"""Uses are noted to the minute."""
_FULL, _FILL = 1.0, 0.95
"""Where the limit is passed, some more is removed at once: then the next files need no look at the folder."""
DEFAULT_LIMIT_BYTES = 10 << 30


class StoredFile:
    """One file of the folder."""

    __slots__ = ("is_gone", "name", "num_bytes", "used_ns")

    def __init__(self, name: str, num_bytes: int, used_ns: int) -> None:
        self.name = name
        self.num_bytes = num_bytes
        self.used_ns = used_ns
        """When it was last used, by `time.time_ns`; never later than the file that it goes on from."""
        self.is_gone = False
        """Whether it is known to be there no more."""


@dataclass(frozen=True)
class Stretch:
    """What a file is about: some tokens that follow one another."""

    after: str | None
    """The name of the file that they go on from; None at the beginning of everything."""
    num_after: int
    """How many of that file's tokens come before."""
    start: int
    """How many tokens come before in all."""
    ids: Sequence[int]
    about: dict[str, int | list[bool]] = field(default_factory=dict[str, "int | list[bool]"])
    """Whatever else one must know before reading the arrays."""


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
                stretch = self._stretch(entry.name, stat.st_size)
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

    def _stretch(self, name: str, num_bytes: int) -> Stretch | None:
        """What a file is about; None if it is none of ours, or not whole."""
        named = _NAME.fullmatch(name)
        if named is None:
            return None
        try:
            with (self._folder / name).open("rb") as file:
                data = file.read(_FIRST_BYTES)
                data += file.read(max(header_length(data) - len(data), 0))
            if _checksum(data[: header_length(data)], size=12) != named[2]:
                return None
            header = read_header(data)
            if header.num_file_bytes != num_bytes:
                return None
            head = json.loads(header.metadata["stretch"])
            if head["key"] != self._key:
                return None
            ids = as_ids(())
            ids.frombytes(b64decode(head["ids"]))
            return Stretch(head["after"], head["num_after"], int(named[1]), ids, head["about"])
        except (DamagedFileError, ValueError, KeyError, TypeError):
            return None

    # --- one file ------------------------------------------------------------------------------------------

    def write(self, stretch: Stretch, value: Nested) -> StoredFile | None:
        """Store `value`; return its file, or None if there is no room. Raises `NotStorableError`."""
        if not self.can_write:
            return None
        head = {
            "key": self._key,
            "after": stretch.after,
            "num_after": stretch.num_after,
            "ids": b64encode(as_ids(stretch.ids).tobytes()).decode(),
            "about": stretch.about,
        }
        header, buffers = to_buffers(value, {"stretch": json.dumps(head, separators=(",", ":"))})
        checksum = hashlib.sha256()
        for buffer in buffers:
            checksum.update(buffer)
        name = f"{stretch.start:08d}-{_checksum(header, size=12)}-{checksum.hexdigest()[:32]}.safetensors"
        if name in self._files:
            return self._files[name]
        before = self._files.get(stretch.after) if stretch.after is not None else None
        if before is None and stretch.after is not None:
            return None
        used_ns = time.time_ns() if before is None else before.used_ns
        num_bytes = len(header) + sum(memoryview(buffer).nbytes for buffer in buffers)
        if not self._make_room(num_bytes, used_ns, stretch.start):
            return None
        self._number += 1
        unfinished = self._folder / f".{os.getpid()}-{self._number}.part"
        try:
            with unfinished.open("xb", buffering=0) as out:
                for buffer in (header, *buffers):
                    view = memoryview(buffer).cast("B")
                    while view:
                        view = view[out.write(view) :]
            os.utime(unfinished, ns=(used_ns, used_ns))
            # Not synced: what a power cut leaves half-written has another checksum than its name says.
            unfinished.rename(self._folder / name)
        except OSError as error:
            _unlink(unfinished)
            if not (isinstance(error, FileNotFoundError) and self._begin_anew()):
                self._give_up(error)
            return None
        file = StoredFile(name, num_bytes, used_ns)
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
        """Return a file's bytes, if they are those that its name tells of."""
        named = _NAME.fullmatch(file.name)
        assert named is not None
        try:
            # Not mapped into memory: a file that somebody cuts short would end this process.
            with (self._folder / file.name).open("rb", buffering=0) as source:
                if os.fstat(source.fileno()).st_size != file.num_bytes:
                    return None
                if len(buffer) < file.num_bytes:
                    buffer.extend(bytes(file.num_bytes - len(buffer)))
                data = memoryview(buffer)[: file.num_bytes]
                place = 0
                while place < len(data) and (num_read := source.readinto(data[place:])):
                    place += num_read
            length = header_length(data)
            if place < len(data) or _checksum(data[:length], size=12) != named[2]:
                return None
            return data if _checksum(data[length:], size=16) == named[3] else None
        except (OSError, DamagedFileError):
            return None

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
            if _NAME.fullmatch(entry.name) and (stat := _stat(entry)) is not None
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


def _checksum(data: bytes | memoryview, size: int) -> str:
    return hashlib.sha256(data).hexdigest()[: 2 * size]


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
