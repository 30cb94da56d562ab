"""Imports files into a store, or plans an import; all changes are undone when an import is cancelled or fails."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import msgspec
from msgspec import Struct, field

from app.model.database import StoreError
from app.model.grafts import Graft
from app.model.imports.source import Aside, Found, Problem, conversations_in, sizes
from app.model.message import Message, is_part
from app.model.own_files import open_own
from app.model.sources import OURS, Head, Known, Source, digest_of, head_of, keys_of, news_of
from app.model.store import Store
from worker.sentence import Sentence

_BATCH_MESSAGES = 4_000
"""Messages per transaction: some tenths of a second in which no other program can write."""
_RESERVED_BYTES = 2 << 20
_MAX_PROBLEMS = 1_000
_POLL_S = 0.05
_FILES_AT_ONCE = 500


class Progress(NamedTuple):
    """The bytes read, and the conversations and messages found in them."""

    done_bytes: int
    total_bytes: int
    num_conversations: int
    num_messages: int


class Twin(NamedTuple):
    """A conversation that is already in the store: its name in the file, and its name in the store."""

    name: str
    there: str


class Update(NamedTuple):
    """A conversation that gains messages: its name in the store, the number of new messages, and its id.

    `id` is None if the conversation itself is new and a later file has more of it.
    """

    name: str
    num_messages: int
    id: int | None = None


class Summary(Struct, kw_only=True):
    """The result of an import or a planned import."""

    programs: Counter[str] = field(default_factory=Counter[str])
    """The number of conversations from each program."""
    num_conversations: int = 0
    num_messages: int = 0
    num_branches: int = 0
    twins: list[Twin] = field(default_factory=list[Twin])
    """Conversations that are already in the store with all their messages, and were left out."""
    updates: list[Update] = field(default_factory=list[Update])
    """Conversations that were already in the store, and gained messages from the files."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """Files and conversations that can't be imported."""
    num_more_problems: int = 0
    remarks: Counter[Sentence] = field(default_factory=Counter[Sentence])
    """The kinds of changes to the messages, and how often each was made."""
    conversation_ids: list[int] = field(default_factory=list[int])


def plan_import(store: Store, paths: Sequence[Path], *, with_twins: bool = False) -> Generator[Progress, None, Summary]:
    """Read files without changing the store; return what an import would do. Raises `StoreError`."""
    return _run(store, paths, is_written=False, with_twins=with_twins)


def import_files(
    store: Store, paths: Sequence[Path], *, with_twins: bool = False
) -> Generator[Progress, None, Summary]:
    """Import files and return what was imported. While another import writes the store, wait for its end.

    `with_twins`: whether conversations that are already in the store are imported again, as copies. Closing the
    generator early, or an error of the store, undoes the import. Raises `StoreError`.
    """
    with contextlib.closing(_ImportLock(store.path)) as lock:
        while not lock.try_lock():
            yield Progress(0, 0, 0, 0)
        return (yield from _run(store, paths, is_written=True, with_twins=with_twins))


def _run(
    store: Store, paths: Sequence[Path], *, is_written: bool, with_twins: bool
) -> Generator[Progress, None, Summary]:
    summary = Summary()
    total = done = 0
    for number, num_bytes in enumerate(itertools.chain.from_iterable(map(sizes, paths)), 1):
        total += num_bytes
        if number % _FILES_AT_ONCE == 0:
            yield Progress(0, 0, 0, 0)

    def advance(by: int) -> None:
        nonlocal done
        done += by

    now_ms = time.time_ns() // 1_000_000
    writer = _Writer(store, summary, is_written=is_written, with_twins=with_twins)
    reserve = _reserve_space(store.path.parent) if is_written else None
    try:
        for path in paths:
            writer.begin_file()
            for found in conversations_in(path, now_ms, advance):
                if isinstance(found, Problem):
                    _add_problem(summary, found)
                elif isinstance(found, Aside):
                    summary.remarks += found.remarks
                else:
                    writer.take(found)
                yield Progress(done, total, summary.num_conversations, summary.num_messages)
            writer.flush()
        writer.update()
    except BaseException:
        # The import was cancelled, or the store can't be written.
        if reserve is not None:
            reserve.close()
        writer.undo()
        raise
    if reserve is not None:
        reserve.close()
    return summary


def _reserve_space(folder: Path) -> IO[bytes] | None:
    """Return an open, unnamed file that reserves disk space: undoing an import needs some."""
    with contextlib.suppress(OSError):
        reserve = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (the caller closes it)
        with contextlib.suppress(OSError):
            reserve.write(bytes(_RESERVED_BYTES))
        return reserve
    return None


def _is_counted(message: Message) -> bool:
    """Return whether a message is visible and not a part of the one above it."""
    return message.role != "root" and (message.role != "system" or bool(message.text)) and not is_part(message)


def _add_problem(summary: Summary, problem: Problem) -> None:
    if len(summary.problems) < _MAX_PROBLEMS:
        summary.problems.append(problem)
    else:
        summary.num_more_problems += 1


class _Seen(NamedTuple):
    """A conversation that this import has found, if it has a source.

    It takes few bytes, because there may be millions of messages.
    """

    name: str
    is_whole: bool
    head: Head | None
    messages: array[int]
    """Keys, each followed by the digest of the message's text."""


class _Writer:
    """Adds conversations to the store in batches.

    At the end it adds new messages to conversations that were in the store.
    """

    def __init__(self, store: Store, summary: Summary, *, is_written: bool, with_twins: bool) -> None:
        self._store = store
        self._summary = summary
        self._is_written = is_written
        self._with_twins = with_twins
        self._waiting: list[Graft] = []
        self._updates: list[Graft] = []
        self._seen: dict[Source, _Seen] = {}
        self._num_messages = 0
        self._offset = 0

    def begin_file(self) -> None:
        self._offset = self._store.grafts.offset()

    def take(self, found: Found) -> None:
        """Add a conversation or its new messages, and count it in the summary."""
        graft = found.graft
        summary = self._summary
        known = self._known(graft)
        if known is not None:
            news = news_of(graft, known)
            self._note(graft, known)
            if news:
                summary.updates.append(Update(known.name, sum(map(_is_counted, news.messages)), known.conversation_id))
                summary.remarks += found.remarks
                if self._is_written:
                    self._updates.append(graft)
                return
            if not self._with_twins:
                summary.twins.append(Twin(graft.name, known.name))
                return
            graft = msgspec.structs.replace(graft, source=None)
        else:
            self._note(graft, None)
        summary.programs[found.program] += 1
        summary.num_conversations += 1
        summary.num_messages += sum(map(_is_counted, graft.messages))
        parents = Counter(message.parent_id for message in graft.messages)
        summary.num_branches += sum(number - 1 for number in parents.values() if number > 1) + 1
        summary.remarks += found.remarks
        if self._is_written:
            self._waiting.append(graft)
            self._num_messages += len(graft.messages)
            if self._num_messages >= _BATCH_MESSAGES:
                self.flush()

    def flush(self) -> None:
        if self._waiting:
            self._summary.conversation_ids += self._store.grafts.add(self._waiting, self._offset)
            self._waiting, self._num_messages = [], 0

    def update(self) -> None:
        """Write the new messages of conversations that were in the store.

        This comes last, because it can't be undone.
        """
        if self._updates:
            self._summary.remarks += self._store.grafts.update(self._updates)

    def _known(self, graft: Graft) -> Known | None:
        seen = None if graft.source is None else self._seen.get(graft.source)
        if seen is None:
            return self._store.grafts.sources.known(graft)
        digests = dict(zip(seen.messages[::2], seen.messages[1::2], strict=True))
        return Known(conversation_id=None, name=seen.name, is_whole=seen.is_whole, head=seen.head, digests=digests)

    def _note(self, graft: Graft, known: Known | None) -> None:
        """Remember what the store will have of a conversation after this import."""
        source = graft.source
        if source is None:
            return
        keys = keys_of(graft)
        digests = {} if known is None else dict(known.digests)
        if not source.is_content:
            digests |= {keys[message.id]: digest_of(message) for message in graft.messages}
        flat = array("q", itertools.chain.from_iterable(digests.items()))
        head = known.head if known is not None and graft.is_part else head_of(graft, keys)
        self._seen[source] = _Seen(
            graft.name if known is None else known.name,
            source.is_content,
            None if source.program == OURS else head,
            flat,
        )

    def undo(self) -> None:
        ids = self._summary.conversation_ids
        if not ids:
            return
        # Deleting needs disk space; moving to the trash needs little.
        self._store.grafts.move_to_trash(ids)
        try:
            for start in range(0, len(ids), 500):
                self._store.grafts.take_out(ids[start : start + 500])
        except StoreError as error:
            raise StoreError(
                Sentence("{error} The conversations imported so far are in the trash.", error=error)
            ) from error
        ids.clear()


class _ImportLock:
    """A file lock for imports into one store: they run one after another, so that each sees what the others added.

    `close` or the end of the process releases it.
    """

    def __init__(self, store: Path) -> None:
        """`store`: the store's file. Raises `OSError`."""
        path = store.with_suffix(".import.lock")
        self._file = os.fdopen(open_own(str(path), os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab")

    def try_lock(self) -> bool:
        """Lock the file; return False after a short pause if another import has it."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_POLL_S)
            return False
        except OSError:
            # The file system has no locks, so another import is unlikely.
            return True
        return True

    def close(self) -> None:
        self._file.close()
