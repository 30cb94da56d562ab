"""Imports files into a store, or plans an import; all changes are undone when an import is cancelled or fails."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from msgspec import Struct, field

from app.model.database import StoreError
from app.model.grafts import MAX_CANDIDATES, Graft, opening, prints
from app.model.imports.source import Found, Problem, conversations_in, num_bytes
from app.model.message import Message
from app.model.store import Store
from worker.sentence import Sentence

_BATCH_MESSAGES = 4_000
"""Messages per transaction: some tenths of a second in which no other program can write."""
_PRINT_BYTES = 8
"""How many bytes of a message's fingerprint are kept; there may be millions of messages."""
_RESERVED_BYTES = 2 << 20
_MAX_PROBLEMS = 1_000


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


class Summary(Struct, kw_only=True):
    """The result of an import or a planned import."""

    programs: Counter[str] = field(default_factory=Counter[str])
    """The number of conversations from each program."""
    num_conversations: int = 0
    num_messages: int = 0
    num_branches: int = 0
    twins: list[Twin] = field(default_factory=list[Twin])
    """Conversations that are already in the store, and were left out."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """Files and conversations that can't be imported."""
    num_more_problems: int = 0
    remarks: Counter[Sentence] = field(default_factory=Counter[Sentence])
    """Changes made to the messages, and how often each was made."""
    conversation_ids: list[int] = field(default_factory=list[int])


def plan_import(store: Store, paths: Sequence[Path]) -> Generator[Progress, None, Summary]:
    """Read files without changing the store; return what an import would do. Raises `StoreError`."""
    return _run(store, paths, is_written=False)


def import_files(store: Store, paths: Sequence[Path]) -> Generator[Progress, None, Summary]:
    """Import files and return what was imported.

    Closing the generator early, or an error of the store, undoes the import. Raises `StoreError`.
    """
    return _run(store, paths, is_written=True)


def _run(store: Store, paths: Sequence[Path], *, is_written: bool) -> Generator[Progress, None, Summary]:
    summary = Summary()
    total = sum(num_bytes(path) for path in paths)
    done = 0

    def advance(by: int) -> None:
        nonlocal done
        done += by

    now_ms = time.time_ns() // 1_000_000
    writer = _Writer(store, summary)
    reserve = _reserve_space(store.path.parent) if is_written else None
    try:
        for path in paths:
            writer.begin_file()
            for found in conversations_in(path, now_ms, advance):
                if isinstance(found, Problem):
                    _add_problem(summary, found)
                else:
                    _take(store, writer, summary, found, is_written=is_written)
                yield Progress(done, total, summary.num_conversations, summary.num_messages)
            writer.flush()
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


def _take(store: Store, writer: _Writer, summary: Summary, found: Found, *, is_written: bool) -> None:
    graft = found.graft
    if writer.is_waiting(graft):
        writer.flush()
    twin = store.grafts.twin(graft)
    if twin is not None:
        summary.twins.append(Twin(graft.name, twin.name))
        return
    if not is_written and (there := writer.planned_twin(graft)) is not None:
        summary.twins.append(Twin(graft.name, there))
        return
    summary.programs[found.program] += 1
    summary.num_conversations += 1
    summary.num_messages += sum(_is_shown(message) for message in graft.messages)
    parents = Counter(message.parent_id for message in graft.messages)
    summary.num_branches += sum(number - 1 for number in parents.values() if number > 1) + 1
    summary.remarks += found.remarks
    if is_written:
        writer.add(graft)


def _is_shown(message: Message) -> bool:
    return message.role != "root" and (message.role != "system" or bool(message.text))


def _add_problem(summary: Summary, problem: Problem) -> None:
    if len(summary.problems) < _MAX_PROBLEMS:
        summary.problems.append(problem)
    else:
        summary.num_more_problems += 1


class _Writer:
    """Adds conversations to the store in batches."""

    def __init__(self, store: Store, summary: Summary) -> None:
        self._store = store
        self._summary = summary
        self._waiting: list[Graft] = []
        self._openings: set[bytes] = set()
        self._planned: dict[bytes, list[tuple[str, bytes]]] = {}
        """Names and shortened message fingerprints of planned conversations, by their openings."""
        self._num_messages = 0
        self._offset = 0

    def begin_file(self) -> None:
        self._offset = self._store.grafts.offset()

    def is_waiting(self, graft: Graft) -> bool:
        """Return whether a conversation with the same opening waits to be written."""
        return opening(graft) in self._openings

    def planned_twin(self, graft: Graft) -> str | None:
        """Return the name of a planned conversation with all messages of `graft`; None if there is none.

        In that case `graft` is planned.
        """
        key = opening(graft)
        self._openings.add(key)
        ours = {found[:_PRINT_BYTES] for found in prints(graft.messages)}
        candidates = self._planned.setdefault(key, [])
        for name, theirs in candidates[-MAX_CANDIDATES:]:
            if ours <= {theirs[start : start + _PRINT_BYTES] for start in range(0, len(theirs), _PRINT_BYTES)}:
                return name
        candidates.append((graft.name, b"".join(ours)))
        return None

    def add(self, graft: Graft) -> None:
        self._waiting.append(graft)
        self._openings.add(opening(graft))
        self._num_messages += len(graft.messages)
        if self._num_messages >= _BATCH_MESSAGES:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self._summary.conversation_ids += self._store.grafts.add(self._waiting, self._offset)
            self._waiting, self._openings, self._num_messages = [], set(), 0

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
