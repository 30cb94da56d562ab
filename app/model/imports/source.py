"""Finds conversations in files, folders and archives, one at a time.

A conversation's program is recognised by the fields of its JSON, so the file's name does not matter. A file that is cut
off or damaged yields the conversations before the damage.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import mimetypes
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import ijson
import msgspec

from app.model.grafts import Graft
from app.model.imports import (
    SUFFIXES,
    ai_studio,
    bough,
    chat_records,
    chatbox,
    chatgpt,
    cherry_studio,
    claude,
    claude_code,
    codex,
    gemini,
    gemini_cli,
    grok,
    jan,
    librechat,
    llama_cpp,
    llm,
    lm_studio,
    open_webui,
    open_webui_database,
    silly_tavern,
    text_generation_webui,
    transcript,
)
from app.model.imports.blocks import list_of, object_of, text_of
from app.model.imports.bundle import Archive, Bundle, Folder, Nearby, Surroundings, alone
from app.model.imports.database_file import MAGIC, Chats, DatabaseFile, Logs, logs_in, logs_of, opened_database
from app.model.imports.encodings import plain
from app.model.imports.foreign import ForeignConversation, UnreadableError, grafted
from app.model.imports.input_file import opened
from app.model.imports.json_stream import CountedFile, Json, json_values_in
from app.model.imports.line_formats import gathered
from worker.sentence import Sentence, verbatim

_log = logging.getLogger(__name__)

_WITH_FILES = (chatgpt, grok, chatbox, cherry_studio, jan, text_generation_webui, gemini, ai_studio)
"""Readers of conversations that depend on the names of files, or refer to other files."""
_READERS = (
    *_WITH_FILES, claude, open_webui, llama_cpp, librechat, lm_studio, silly_tavern, claude_code, codex,
    gemini_cli, chat_records,
)  # fmt: skip
_DATABASES = (open_webui_database, llm)
REPLACED = Sentence("characters that can't be read or stored, replaced by “\ufffd”")
_FILES_AT_ONCE = 500
_HEAD_BYTES = 1 << 16
_ARCHIVE = b"PK\x03\x04"
_MAX_TRANSCRIPT_BYTES = 256 << 20
_BOUGH_HEAD = re.compile(rb'\s*\{\s*"format"\s*:\s*"bough"')
_GROK_HEAD = re.compile(rb'"conversations"\s*:\s*\[\s*\{\s*"(?:conversation|responses)"\s*:')
_PROMPT_HEAD = re.compile(rb'\s*\{\s*"(?:runSettings|systemInstruction|chunkedPrompt)"\s*:')
_NUM_HEAD_BYTES_OF_PROMPT = 200
_PAGE_HEAD = re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_CHERRY_STUDIO = "data.json"
_DATA_OF_CHERRY_STUDIO = "IndexedDB/file__0"
_COMPANIONS = {
    "prod-mc-auth-mgmt-api.json", "prod-mc-billing.json", "user.json", "users.json", "message_feedback.json",
    "model_comparisons.json", "shared_conversations.json", "export_manifest.json",
}  # fmt: skip
"""Files of exports without conversations."""
_GEMINI_PATH = re.compile(r"gemini|bard|^my ?activity\.html?$", re.IGNORECASE)
_MAX_NAMES_CHARS = 200
_VERSION = re.compile(rb'"version"\s*:\s*(\d+)')


class Found(NamedTuple):
    """A conversation that was found; `remarks` counts the changes made to it."""

    graft: Graft
    program: str
    remarks: Counter[Sentence]


class Problem(NamedTuple):
    """A file or a conversation that can't be imported, and why."""

    where: Sentence
    why: Sentence


class Aside(NamedTuple):
    """Counts the contents of a file that are not conversations and are left out."""

    remarks: Counter[Sentence]


_NOTHING = Aside(Counter())


def conversations_in(path: Path, now_ms: int, advance: Callable[[int], None]) -> Iterator[Found | Problem | Aside]:
    """Yield the conversations and problems of a file, a folder or an archive. Never raises.

    While it searches a large folder it yields now and then an `Aside` with nothing, so that the caller can stop.
    `now_ms` is the time of conversations without one; `advance` is called with the number of bytes read.
    """
    if not path.is_dir():
        yield from _in_path(path, alone(path), now_ms, advance)
        return
    files: list[str] = []
    for number, found in enumerate(path.rglob("*"), 1):
        # Some files may not be looked at.
        with contextlib.suppress(OSError):
            if found.is_file():
                files.append(found.relative_to(path).as_posix())
        if number % _FILES_AT_ONCE == 0:
            yield _NOTHING
    folder = Folder(path, sorted(files))
    surroundings = Surroundings(folder)
    readable: list[str] = []
    all_files = set(folder.paths)
    for number, file in enumerate(folder.paths, 1):
        if _may_hold_conversations(folder, PurePosixPath(file), all_files):
            readable.append(file)
        if number % _FILES_AT_ONCE == 0:
            yield _NOTHING
    if not readable:
        yield Problem(verbatim(str(path)), Sentence("this folder contains no files with conversations"))
    for file in readable:
        yield from _in_path(path / file, surroundings.of(file), now_ms, advance)


def _in_path(
    path: Path, nearby: Nearby, now_ms: int, advance: Callable[[int], None]
) -> Iterator[Found | Problem | Aside]:
    try:
        # The file is opened only once, since it may be a pipe.
        with opened(path) as file:
            if file.seekable() and zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as archive:
                    yield from _in_archive(Archive(archive), str(path), now_ms, advance)
                return
            if file.seekable():
                file.seek(0)
            counted = CountedFile(file, advance)
            if file.seekable() and counted.peek(_HEAD_BYTES).startswith(_ARCHIVE):
                yield Problem(verbatim(str(path)), Sentence("the archive is incomplete or damaged"))
                return
            yield from _in_file(counted, str(path), now_ms, nearby, logs_of(path))
    except UnreadableError as error:
        yield Problem(verbatim(str(path)), error.sentence)
    except Exception as error:  # noqa: BLE001 (the other files must be read, whatever the error)
        # An archive may be damaged, encrypted, or compressed with an unknown method.
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        yield Problem(verbatim(str(path)), Sentence("it can't be read ({error})", error=why))


def _may_hold_conversations(bundle: Bundle, path: PurePosixPath, paths: set[str]) -> bool:
    suffix = path.suffix.lower()
    if path.name == jan.THREAD_FILE and str(path.with_name(jan.LINES)) in paths:
        # It is read together with its messages.
        return False
    if suffix in SUFFIXES:
        return path.name not in _COMPANIONS
    return (suffix in {".html", ".htm"} and _GEMINI_PATH.search(str(path)) is not None) or (
        (suffix == ".txt" and path.name.startswith("conversation_")) or _is_prompt(bundle, path)
    )


def _is_prompt(bundle: Bundle, path: PurePosixPath) -> bool:
    """Return whether a file is a prompt of Google AI Studio, which is called by its title, without a suffix."""
    if mimetypes.guess_type(path.name)[0] is not None:
        return False
    try:
        with bundle.open(str(path)) as file:
            return _PROMPT_HEAD.match(file.read(_NUM_HEAD_BYTES_OF_PROMPT)) is not None
    except Exception:  # noqa: BLE001 (it is one of many files, which may be of any kind)
        return False


def _in_archive(
    archive: Archive, where: str, now_ms: int, advance: Callable[[int], None]
) -> Iterator[Found | Problem | Aside]:
    paths = set(archive.paths)
    found = [path for path in archive.paths if _may_hold_conversations(archive, PurePosixPath(path), paths)]
    readable = [path for path in found if not path.lower().endswith(".zip")]
    # Exports of ChatGPT and Claude also contain JSON files without conversations.
    chosen = [path for path in readable if Path(path).name.lower().startswith("conversations")] or readable
    others = [path for path in found if path not in chosen]
    if sessions := chatbox.sessions_in(archive.paths):
        chosen, others = sessions, []
    if _CHERRY_STUDIO in archive.paths:
        # The other files of such a backup were uploaded.
        chosen, others = [_CHERRY_STUDIO], []
    elif any(path.startswith(_DATA_OF_CHERRY_STUDIO) for path in archive.paths):
        own = Sentence(
            "it is a copy of Cherry Studio's own files; Bough reads only backups of Cherry Studio, which "
            "contain a data.json"
        )
        yield Problem(verbatim(where), own)
        return
    if not chosen:
        yield Problem(verbatim(where), Sentence("this archive contains no files with conversations"))
    if others:
        names = ", ".join(others)
        names = names if len(names) <= _MAX_NAMES_CHARS else f"{names[:_MAX_NAMES_CHARS]}…"
        yield Aside(Counter({Sentence("other files in the archive, not read ({names})", names=names): len(others)}))
    surroundings = Surroundings(archive)
    for path in chosen:
        place, logs = f"{where}: {path}", logs_in(archive, path)
        try:
            with archive.open(path) as file:
                yield from _in_file(CountedFile(file, advance), place, now_ms, surroundings.of(path), logs)
        except UnreadableError as error:
            yield Problem(verbatim(place), error.sentence)


def _in_file(
    file: CountedFile, where: str, now_ms: int, nearby: Nearby, logs: Logs
) -> Iterator[Found | Problem | Aside]:
    file = plain(file)
    head = file.peek(_HEAD_BYTES)
    if head.startswith(MAGIC):
        try:
            with opened_database(file, logs) as database:
                yield from _in_database(database, where, now_ms)
        except UnreadableError as error:
            yield Problem(verbatim(where), error.sentence)
        return
    begin = head.lstrip()[:1]
    suffix = Path(nearby.path).suffix.lower()
    is_json = bool(begin) and begin in b"[{" and suffix not in {".md", ".markdown"}
    if not head.strip():
        yield Problem(verbatim(where), Sentence("it is empty"))
        return
    if not is_json and _PAGE_HEAD.match(head) is None:
        yield from _in_transcript(file, where, now_ms)
        return
    is_bough = _BOUGH_HEAD.match(head) is not None
    if is_bough:
        version = _VERSION.search(head)
        try:
            bough.check_head({"format": "bough", "version": None if version is None else int(version[1])})
        except UnreadableError as error:
            yield Problem(verbatim(where), error.sentence)
            return
    aside: Counter[Sentence] = Counter()
    is_empty = True
    for number, item in enumerate(_values(file, head, where, aside), 1):
        is_empty = False
        file.end_item()
        if isinstance(item, Problem):
            yield item
            continue
        num_replaced, file.num_replaced = file.num_replaced, 0
        found = object_of(item)
        place = _place(where, number, found)
        try:
            if is_bough:
                remarks = Counter[Sentence]()
                result = Found(bough.conversation(found, remarks), bough.NAME, remarks)
            else:
                result = _foreign(found, now_ms, nearby)
            if num_replaced:
                result.remarks[REPLACED] += num_replaced
            yield result
        except UnreadableError as error:
            yield Problem(place, error.sentence)
        except Exception as error:  # noqa: BLE001 (the other conversations must be read, whatever the error)
            _log.exception("A conversation could not be read")
            yield Problem(place, Sentence("it can't be read ({error})", error=type(error).__name__))
    if aside:
        yield Aside(aside)
    if is_empty:
        yield Problem(verbatim(where), Sentence("it contains no conversations"))


def _values(file: CountedFile, head: bytes, where: str, aside: Counter[Sentence]) -> Iterator[Json | Problem]:
    """Yield the conversations of a file as JSON; count in `aside` what is left out."""
    arrays: Counter[str] = Counter()
    if _PAGE_HEAD.match(head) is not None:
        yield from gemini.sessions(gemini.records_of_page(file), Problem, aside)
    elif _BOUGH_HEAD.match(head) is not None:
        yield from _items(file, where, num_levels=2)
    elif _GROK_HEAD.search(head) is not None:
        yield from _items(file, where, num_levels=2, others=arrays)
    elif head.lstrip().startswith(b"["):
        yield from gemini.sessions(_items(file, where, num_levels=1), Problem, aside)
    else:
        items = _lines(file, where) if _has_lines(head) else _items(file, where, num_levels=0)
        yield from _unwrapped(gathered(items, Problem), arrays)
    if arrays.total():
        aside[grok.LEFT_OUT] += arrays.total()


def _unwrapped(items: Iterator[Json | Problem], arrays: Counter[str]) -> Iterator[Json | Problem]:
    """Yield one by one the conversations of an export that came as one value."""
    for item in items:
        found = {} if isinstance(item, Problem) else object_of(item)
        several = chatbox.conversations_of(found)
        several = cherry_studio.conversations_of(found) if several is None else several
        if several is not None:
            yield from several
            continue
        first = next(iter(list_of(found.get("conversations"))), None)
        if not grok.is_one(object_of(first)):
            yield item
            continue
        arrays.update({key: len(list_of(value)) for key, value in found.items() if key != "conversations"})
        yield from list_of(found["conversations"])


def _has_lines(head: bytes) -> bool:
    """Return whether a file whose beginning is given has one JSON value per line. Otherwise a value has many lines."""
    first, newline, rest = head.partition(b"\n")
    second = rest.partition(b"\n")[0].strip()
    return not newline or _is_json(first) or (b"\n" in rest and _is_json(second) and second.startswith(b"{"))


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        # Lone surrogates and NaN are mended later.
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return False
    return True


def _foreign(item: dict[str, Json], now_ms: int, nearby: Nearby) -> Found:
    reader = next((reader for reader in _READERS if reader.is_one(item)), None)
    if reader is None:
        names = ", ".join(sorted(map(str, item)))[:100]
        if not names:
            raise UnreadableError(Sentence("Bough does not support this format"))
        raise UnreadableError(Sentence("Bough does not support this format; its fields are {names}", names=names))
    with_files = next((found for found in _WITH_FILES if found is reader), None)
    theirs: ForeignConversation
    theirs = reader.conversation(item) if with_files is None else with_files.conversation(item, nearby)
    return Found(grafted(theirs, now_ms, str(reader.NAME)), reader.NAME, theirs.remarks)


def _in_database(database: DatabaseFile, where: str, now_ms: int) -> Iterator[Found | Problem]:
    reader = next((reader for reader in _DATABASES if reader.is_one(database)), None)
    if reader is None:
        names = ", ".join(database.tables)[:100]
        raise UnreadableError(Sentence("Bough does not support this database; its tables are {names}", names=names))
    chats: Chats = reader.Chats(database)
    keys = chats.keys()
    if not keys:
        raise UnreadableError(Sentence("it contains no conversations"))
    for number, key in enumerate(keys, 1):
        database.begin_conversation()
        try:
            theirs = chats.conversation(key)
            result = Found(grafted(theirs, now_ms, reader.NAME), reader.NAME, theirs.remarks)
            if database.num_replaced:
                result.remarks[REPLACED] += database.num_replaced
            yield result
        except UnreadableError as error:
            yield Problem(_place(where, number, {}), error.sentence)
        except Exception as error:  # noqa: BLE001 (the other conversations must be read, whatever the error)
            _log.exception("A conversation could not be read")
            yield Problem(_place(where, number, {}), Sentence("it can't be read ({error})", error=type(error).__name__))


def _in_transcript(file: CountedFile, where: str, now_ms: int) -> Iterator[Found | Problem]:
    data = file.read(_MAX_TRANSCRIPT_BYTES + 1)
    if len(data) > _MAX_TRANSCRIPT_BYTES:
        yield Problem(verbatim(where), Sentence("it is too long to be imported as a chat transcript"))
        return
    try:
        theirs = transcript.conversation(data.decode())
        yield Found(grafted(theirs, now_ms, transcript.NAME), transcript.NAME, theirs.remarks)
    except UnicodeDecodeError:
        yield Problem(verbatim(where), Sentence("it is neither JSON nor UTF-8 text"))
    except UnreadableError as error:
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


def _items(
    file: CountedFile, where: str, *, num_levels: int, others: Counter[str] | None = None
) -> Iterator[Json | Problem]:
    number = 0
    try:
        for item in json_values_in(file, num_levels, others):
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
            inner = CountedFile(io.BytesIO(line), lambda _: None)
            try:
                values = list(json_values_in(inner, 0))
                file.num_replaced += inner.num_replaced
                yield from values
            except ijson.JSONError as error:
                why = " ".join(str(error).split())[:120]
                if number == 1 and file.has_ended:
                    yield Problem(verbatim(where), _damage(inner.num_bytes, why, 0))
                else:
                    yield Problem(
                        Sentence("{file}, line {number}", file=where, number=number),
                        Sentence("it is not valid JSON ({error})", error=why),
                    )


def sizes(path: Path) -> Iterator[int]:
    """Yield numbers of bytes to read, for progress, one for each file of a folder; 0 where it is not known."""
    if not path.is_dir():
        yield _num_bytes(path)
        return
    for found in path.rglob("*"):
        yield _num_bytes(found) if found.suffix.lower() in SUFFIXES else 0


def _num_bytes(path: Path) -> int:
    # A damaged archive raises errors of many types.
    with contextlib.suppress(Exception):
        if not path.is_file():
            return 0
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return sum(info.file_size for info in archive.infolist() if info.filename.lower().endswith(SUFFIXES))
        return path.stat().st_size
    return 0
