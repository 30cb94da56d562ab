"""Writes the files of exports, piece by piece, completely or not at all. Also their formats and names.

Quick to import, because the window's start and the command line need the formats' names.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import shutil
import time
from bisect import bisect_left
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, TypeAlias, get_args

from typing_extensions import TypeIs

from app.model.own_files import real_file
from app.model.text import as_title

ReadableFormat: TypeAlias = Literal["md", "html", "pdf", "txt", "docx"]
"""Formats for readers, with one conversation a file."""
LineFormat: TypeAlias = Literal["openai-jsonl", "sharegpt-jsonl", "preference-jsonl"]
"""Formats for fine-tuning in one file."""
Trainer: TypeAlias = Literal["mlx-lm", "trl", "axolotl"]
"""Formats for fine-tuning that are folders with `train.jsonl` and `valid.jsonl`."""
FileFormat: TypeAlias = Literal[ReadableFormat, LineFormat, "bough"]
Format: TypeAlias = Literal[FileFormat, Trainer]
READABLE: tuple[ReadableFormat, ...] = get_args(ReadableFormat)
LINES: tuple[LineFormat, ...] = get_args(LineFormat)
TRAINERS: tuple[Trainer, ...] = get_args(Trainer)
FILE_FORMATS: tuple[FileFormat, ...] = (*READABLE, *LINES, "bough")
FORMATS: tuple[Format, ...] = (*READABLE, *LINES, *TRAINERS, "bough")

NEEDS_QT: frozenset[Format] = frozenset({"pdf", "docx"})
ONE_FILE: frozenset[Format] = frozenset((*LINES, "bough"))
"""Formats in which one file holds many conversations."""

_SUFFIXES: dict[Format, str] = {
    "openai-jsonl": ".openai.jsonl",
    "sharegpt-jsonl": ".sharegpt.jsonl",
    "preference-jsonl": ".preference.jsonl",
}

_MAX_NAME_BYTES = 120
_FORBIDDEN = re.compile(r'[<>:"/\\|?*]+')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)

_TEMPORARY = re.compile(r"\.bough-[0-9a-f]{16}")
_ABANDONED_AFTER_S = 24 * 60 * 60
_MAX_SCANNED = 1_000
"""At most this many files of a folder are searched for abandoned ones, which keeps exports to large folders fast."""


class Piece(NamedTuple):
    """A piece of a file, and the number of messages that it completes."""

    text: str
    num_messages: int = 0


class Progress(NamedTuple):
    """The number of messages written, and of all messages."""

    done: int
    total: int


def is_trainer(format_: Format) -> TypeIs[Trainer]:
    return format_ in TRAINERS


def is_readable(format_: Format) -> TypeIs[ReadableFormat]:
    return format_ in READABLE


def suffix(format_: Format) -> str:
    return _SUFFIXES.get(format_, f".{format_}")


def file_name(name: str, suffix: str, taken: set[str]) -> str:
    """Return a file name for a conversation that every file system accepts, and add it to `taken`.

    It differs from all names in `taken`, which are case-folded.
    """
    stem = " ".join(_FORBIDDEN.sub(" ", as_title(name)).split()).strip(". ") or "Conversation"
    # Before the loop, which would take quadratic time.
    stem = stem[:_MAX_NAME_BYTES].rstrip()
    while len(stem.encode()) > _MAX_NAME_BYTES:
        stem = stem[:-1].rstrip()
    if _RESERVED.fullmatch(stem):
        stem += " (conversation)"

    def numbered(number: int) -> str:
        return f"{stem}{suffix}" if number == 1 else f"{stem} ({number}){suffix}"

    def is_free(number: int) -> bool:
        return numbered(number).casefold() not in taken

    # Many conversations may have the same name, so the numbers are not tried one by one.
    end = 1
    while not is_free(end):
        end *= 2
    untried = range(end // 2 + 1, end)
    chosen = numbered(untried.start + bisect_left(untried, True, key=is_free))
    taken.add(chosen.casefold())
    return chosen


@contextlib.contextmanager
def whole_file(path: Path) -> Generator[BinaryIO]:
    """Open a file that replaces `path` once it is completely on the disk. After an error, `path` is unchanged.

    If `path` is a link to a file, that file is replaced. Raises `OSError`.
    """
    path = real_file(path)
    _remove_abandoned(path.parent)
    # Created in the same folder with the default mode, so that it gets the permissions of the user's other files.
    temporary = path.with_name(f".bough-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: Path) -> Generator[None]:
    """Make a folder where it is missing, with those above it. On leaving, made folders that are empty are removed.

    Raises `OSError`.
    """
    made = list(itertools.takewhile(lambda folder: not folder.exists(), (path, *path.parents)))
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        with contextlib.suppress(OSError):
            for folder in made:
                folder.rmdir()


@contextlib.contextmanager
def staging_folder(beside: Path) -> Generator[Path]:
    """Make an empty folder beside a path, and remove it with all that is left in it. Raises `OSError`."""
    _remove_abandoned(beside.parent)
    folder = beside.with_name(f".bough-{secrets.token_hex(8)}")
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files and folders of exports that were killed."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        before_s = time.time() - _ABANDONED_AFTER_S
        for entry in itertools.islice(entries, _MAX_SCANNED):
            if _TEMPORARY.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < before_s:
                if entry.is_file(follow_symlinks=False):
                    Path(entry.path).unlink(missing_ok=True)
                elif entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)


def written(path: Path, pieces: Iterable[Piece], num_messages: int) -> Generator[Progress]:
    """Write a file and yield the progress. If the generator is closed early, no file is left. Raises `OSError`."""
    done = 0
    with whole_file(path) as file:
        for piece in pieces:
            file.write(piece.text.encode())
            if piece.num_messages:
                done += piece.num_messages
                yield Progress(done, num_messages)
