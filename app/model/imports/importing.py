"""Importing files into a store: what would be imported, then what was; taken back where it is cancelled or fails."""

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
from app.model.imports.source import Found, Problem, found_in, num_bytes
from app.model.message import Message
from app.model.store import Store

_BATCH_MESSAGES = 4_000
"""What is written in one go: some tenths of a second, in which nobody else can write."""
_PRINT_BYTES = 8
_ROOM_BYTES = 2 << 20
_MAX_PROBLEMS = 1_000


class Progress(NamedTuple):
    """How much is read, and what was found in it."""

    done_bytes: int
    total_bytes: int
    num_conversations: int
    num_messages: int


class Twin(NamedTuple):
    """A conversation that was there already, and what it is called there."""

    name: str
    there: str


class Summary(Struct, kw_only=True):
    """What is in files: before an import what would be imported, after it what was."""

    programs: Counter[str] = field(default_factory=Counter[str])
    """Conversations by the program that they come from."""
    num_conversations: int = 0
    num_messages: int = 0
    num_branches: int = 0
    twins: list[Twin] = field(default_factory=list[Twin])
    """Conversations that are there already; they are left out."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """What can't be imported."""
    num_more_problems: int = 0
    remarks: Counter[str] = field(default_factory=Counter[str])
    """What is not as it was where it comes from, and how often."""
    conversation_ids: list[int] = field(default_factory=list[int])


def planned(store: Store, paths: Sequence[Path]) -> Generator[Progress, None, Summary]:
    """Look at files and change nothing; return what an import would bring. Raises `StoreError`."""
    return _run(store, paths, is_written=False)


def imported(store: Store, paths: Sequence[Path]) -> Generator[Progress, None, Summary]:
    """Import files; return what was imported.

    Who closes the generator early cancels: what was written is taken out again, as it is where the store fails.
    Raises `StoreError`.
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
    room = _room(store.path.parent) if is_written else None
    try:
        for path in paths:
            writer.begin_file()
            for found in found_in(path, now_ms, advance):
                if isinstance(found, Problem):
                    _add_problem(summary, found)
                else:
                    _take(store, writer, summary, found, is_written=is_written)
                yield Progress(done, total, summary.num_conversations, summary.num_messages)
            writer.flush()
    except BaseException:
        # Cancelled, or the store can't be written: nothing of it stays.
        if room is not None:
            room.close()
        writer.take_back()
        raise
    if room is not None:
        room.close()
    return summary


def _room(folder: Path) -> IO[bytes] | None:
    """Keep some room on the disk until this is closed: taking back takes room, too. The file has no name."""
    with contextlib.suppress(OSError):
        room = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (whoever has it closes it)
        with contextlib.suppress(OSError):
            room.write(bytes(_ROOM_BYTES))
        return room
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
    """Puts conversations into the store, some at a time."""

    def __init__(self, store: Store, summary: Summary) -> None:
        self._store = store
        self._summary = summary
        self._waiting: list[Graft] = []
        self._openings: set[bytes] = set()
        self._planned: dict[bytes, list[tuple[str, bytes]]] = {}
        """By how they begin, names and what tells each message: a few bytes, for there may be millions."""
        self._num_messages = 0
        self._offset = 0

    def begin_file(self) -> None:
        self._offset = self._store.grafts.offset()

    def is_waiting(self, graft: Graft) -> bool:
        """Whether one that is not written yet begins alike."""
        return opening(graft) in self._openings

    def planned_twin(self, graft: Graft) -> str | None:
        """Return the name of one that would be written and says all that this one says; else remember this one."""
        begun = opening(graft)
        self._openings.add(begun)
        said = {found[:_PRINT_BYTES] for found in prints(graft.messages)}
        there = self._planned.setdefault(begun, [])
        for name, theirs in there[-MAX_CANDIDATES:]:
            if said <= {theirs[start : start + _PRINT_BYTES] for start in range(0, len(theirs), _PRINT_BYTES)}:
                return name
        there.append((graft.name, b"".join(said)))
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

    def take_back(self) -> None:
        ids = self._summary.conversation_ids
        if not ids:
            return
        # Deleting takes room; to be out of sight takes little.
        self._store.grafts.throw_away(ids)
        try:
            for start in range(0, len(ids), 500):
                self._store.grafts.take_out(ids[start : start + 500])
        except StoreError as error:
            raise StoreError(f"{error} What was imported until then lies in the trash.") from error
        ids.clear()
