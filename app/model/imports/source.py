"""Files that conversations are imported from, read as they stream: what is in them, one conversation at a time.

Which program a conversation comes from is told by its shape, so it does not matter what a file is called. JSON is
parsed in C, with no more in memory than one conversation; a file that breaks off gives what stands before the break.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import ijson
import msgspec

from app.model.grafts import Graft
from app.model.imports import (
    SUFFIXES,
    bough,
    chat_records,
    chatgpt,
    claude,
    librechat,
    llama_cpp,
    lm_studio,
    open_webui,
    transcript,
)
from app.model.imports.blocks import Attached, AttachedFile, nothing_attached, object_of, text_of
from app.model.imports.foreign import BrokenError, ForeignConversation, grafted
from app.model.imports.json_stream import CountedFile, Json, json_values_in
from worker.sentence import Sentence, verbatim

_log = logging.getLogger(__name__)

_READERS = (chatgpt, claude, open_webui, llama_cpp, librechat, lm_studio, chat_records)
_HEAD_BYTES = 4096
_ARCHIVE = b"PK\x03\x04"
_MAX_ATTACHED_BYTES = 32 << 20
_MAX_TRANSCRIPT_BYTES = 256 << 20
_BOUGH_HEAD = re.compile(rb'\s*\{\s*"format"\s*:\s*"bough"')
_VERSION = re.compile(rb'"version"\s*:\s*(\d+)')


class Found(NamedTuple):
    """A conversation of a file; `remarks`: what is not as it was."""

    graft: Graft
    program: str
    remarks: Counter[Sentence]


class Problem(NamedTuple):
    """What can't be imported, and why."""

    where: Sentence
    why: Sentence


def found_in(path: Path, now_ms: int, advance: Callable[[int], None]) -> Iterator[Found | Problem]:
    """Yield what is in a file, a folder or an archive; `advance` is told the bytes that are read. Never raises."""
    if path.is_dir():
        files = sorted(found for found in path.rglob("*") if found.suffix.lower() in SUFFIXES and found.is_file())
        if not files:
            yield Problem(verbatim(str(path)), Sentence("this folder contains no files with conversations"))
        for file in files:
            yield from found_in(file, now_ms, advance)
        return
    try:
        # Opened once: what comes through a pipe comes once, and who writes into it is gone with its reader.
        with path.open("rb") as file:
            if file.seekable() and zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as archive:
                    yield from _in_archive(archive, str(path), now_ms, advance)
                return
            if file.seekable():
                file.seek(0)
            counted = CountedFile(file, advance)
            if file.seekable() and counted.peek(_HEAD_BYTES).startswith(_ARCHIVE):
                yield Problem(verbatim(str(path)), Sentence("the archive is incomplete or damaged"))
                return
            yield from _in_file(counted, path.name, str(path), now_ms, nothing_attached)
    except Exception as error:  # noqa: BLE001 (whatever it is, the other files must come)
        # An archive may be damaged, encrypted, or packed in a way that Python does not know.
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        yield Problem(verbatim(str(path)), Sentence("it can't be read ({error})", error=why))


def _in_archive(
    archive: zipfile.ZipFile, where: str, now_ms: int, advance: Callable[[int], None]
) -> Iterator[Found | Problem]:
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    readable = [name for name in names if name.lower().endswith(SUFFIXES) and not name.lower().endswith(".zip")]
    # Exports of ChatGPT and Claude have lists of other things beside.
    telling = [name for name in readable if Path(name).name.lower().startswith("conversations")] or readable
    if not telling:
        yield Problem(verbatim(where), Sentence("this archive contains no files with conversations"))

    def attached(file_id: str) -> AttachedFile | None:
        for name in names:
            if Path(name).name.startswith(file_id) and archive.getinfo(name).file_size <= _MAX_ATTACHED_BYTES:
                try:
                    return AttachedFile(Path(name).name, archive.read(name))
                except Exception:  # noqa: BLE001 (a damaged picture is no reason to lose what was said about it)
                    _log.warning("%s: %s can't be read", where, name)
        return None

    for name in telling:
        with archive.open(name) as file:
            yield from _in_file(CountedFile(file, advance), name, f"{where}: {name}", now_ms, attached)


def _in_file(file: CountedFile, name: str, where: str, now_ms: int, attached: Attached) -> Iterator[Found | Problem]:
    head = file.peek(_HEAD_BYTES)
    if head.startswith(b"\xef\xbb\xbf"):
        file.read(3)
        head = head[3:]
    begin = head.lstrip()[:1]
    suffix = Path(name).suffix.lower()
    if suffix in {".md", ".markdown"} or begin not in b"[{" or not begin:
        yield from _in_transcript(file, where, now_ms)
        return
    remarks: Counter[Sentence] = Counter()
    items: Iterator[Json | Problem]
    if _BOUGH_HEAD.match(head):
        version = _VERSION.search(head)
        try:
            bough.refuse({"format": "bough", "version": None if version is None else int(version[1])})
        except BrokenError as error:
            yield Problem(verbatim(where), error.sentence)
            return
        items = _items(file, where, num_levels=2)
    elif suffix in {".jsonl", ".ndjson"}:
        items = _lines(file, where)
    else:
        items = _items(file, where, num_levels=1 if begin == b"[" else 0)
    is_bough = _BOUGH_HEAD.match(head) is not None
    is_empty = True
    for number, item in enumerate(items, 1):
        is_empty = False
        if isinstance(item, Problem):
            yield item
            continue
        found = object_of(item)
        place = _place(where, number, found)
        try:
            if is_bough:
                remarks = Counter[Sentence]()
                yield Found(bough.conversation(found, remarks), bough.NAME, remarks)
            else:
                yield _of_another(found, now_ms, attached)
        except BrokenError as error:
            yield Problem(place, error.sentence)
        except Exception as error:  # noqa: BLE001 (whatever it is, the other conversations must come)
            _log.exception("A conversation could not be read")
            yield Problem(place, Sentence("it can't be read ({error})", error=type(error).__name__))
    if is_empty:
        yield Problem(verbatim(where), Sentence("it contains no conversations"))


def _of_another(item: dict[str, Json], now_ms: int, attached: Attached) -> Found:
    reader = next((reader for reader in _READERS if reader.is_one(item)), None)
    if reader is None:
        raise BrokenError(Sentence("Bough does not know this format"))
    theirs: ForeignConversation
    theirs = chatgpt.conversation(item, attached) if reader is chatgpt else reader.conversation(item)
    return Found(grafted(theirs, now_ms), reader.NAME, theirs.remarks)


def _in_transcript(file: CountedFile, where: str, now_ms: int) -> Iterator[Found | Problem]:
    data = file.read(_MAX_TRANSCRIPT_BYTES + 1)
    if len(data) > _MAX_TRANSCRIPT_BYTES:
        yield Problem(verbatim(where), Sentence("it is too long for a transcript"))
        return
    try:
        theirs = transcript.conversation(data.decode())
        yield Found(grafted(theirs, now_ms), transcript.NAME, theirs.remarks)
    except UnicodeDecodeError:
        yield Problem(verbatim(where), Sentence("it is neither JSON nor UTF-8 text"))
    except BrokenError as error:
        yield Problem(verbatim(where), error.sentence)


def _place(where: str, number: int, item: dict[str, Json]) -> Sentence:
    name = text_of(item.get("title")) or text_of(item.get("name"))
    if not name:
        return Sentence("{file}, conversation {number}", file=where, number=number)
    short = " ".join(name.split())[:60]
    return Sentence("{file}, conversation {number} (“{name}”)", file=where, number=number, name=short)


def _damage(position: int, error: str, num_before: int) -> Sentence:
    if not num_before:
        return Sentence(
            "its JSON is incomplete or damaged after {position} bytes ({error})", position=position, error=error
        )
    return Sentence(
        "its JSON is incomplete or damaged after {position} bytes ({error}); {num_before} before it could be read",
        position=position,
        error=error,
        num_before=num_before,
    )


def _items(file: CountedFile, where: str, *, num_levels: int) -> Iterator[Json | Problem]:
    number = 0
    try:
        for item in json_values_in(file, num_levels):
            number += 1
            yield item
    except ijson.JSONError as error:
        why = " ".join(str(error).split())[:120]
        yield Problem(verbatim(where), _damage(file.num_bytes, why, number))


def _lines(file: CountedFile, where: str) -> Iterator[Json | Problem]:
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            continue
        try:
            yield msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            try:
                # It takes half characters, too, which are mended later.
                yield json.loads(line.decode("utf-8", "replace"), parse_constant=_nothing)
            except (ValueError, RecursionError) as error:
                yield Problem(
                    Sentence("{file}, line {number}", file=where, number=number),
                    Sentence("it is not valid JSON ({error})", error=" ".join(str(error).split())[:120]),
                )


def _nothing(_literal: str) -> None:
    """What NaN and the infinities are, which are none of JSON's."""


def num_bytes(path: Path) -> int:
    """Return how much there is to read, for progress; 0 where that can't be told."""
    with contextlib.suppress(OSError, zipfile.BadZipFile):
        if path.is_dir():
            return sum(num_bytes(found) for found in path.rglob("*") if found.suffix.lower() in SUFFIXES)
        if not path.is_file():
            return 0
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return sum(info.file_size for info in archive.infolist() if info.filename.lower().endswith(SUFFIXES))
        return path.stat().st_size
    return 0
