"""Files that are written whole or not at all, a piece at a time: who writes sees how far it is and may stop."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple

_TEMPORARY = re.compile(r"\.bough-[0-9a-f]{16}")
_FORGOTTEN_AFTER_S = 24 * 60 * 60
_MOST_LOOKED_AT = 1_000
"""Files in a folder, so that thousands of exports into one take no longer each."""


class Piece(NamedTuple):
    """A stretch of a file, and how many messages are told with it."""

    text: str
    num_messages: int = 0


class Progress(NamedTuple):
    """How many messages are written, and of how many."""

    done: int
    total: int


@contextlib.contextmanager
def whole_file(path: Path) -> Generator[BinaryIO]:
    """Open a file that stands at `path` once all of it is on the disk; else what was there stays. Raises `OSError`."""
    _remove_forgotten(path.parent)
    # Beside it, and made as any new file is, so that it gets the rights that the person's files have.
    temporary = path.with_name(f".bough-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _remove_forgotten(folder: Path) -> None:
    """Remove what an export left there whose program was killed: nobody has written to it for long."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        before_s = time.time() - _FORGOTTEN_AFTER_S
        for entry in itertools.islice(found, _MOST_LOOKED_AT):
            if (
                _TEMPORARY.fullmatch(entry.name)
                and entry.is_file(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_mtime < before_s
            ):
                Path(entry.path).unlink(missing_ok=True)


def written(path: Path, pieces: Iterable[Piece], num_messages: int) -> Generator[Progress]:
    """Write a file, and yield how far it is. Who closes this early leaves no file. Raises `OSError`."""
    done = 0
    with whole_file(path) as file:
        for piece in pieces:
            file.write(piece.text.encode())
            if piece.num_messages:
                done += piece.num_messages
                yield Progress(done, num_messages)
