"""Flushing in the background: nothing waits for a busy disk, and nothing counts as being on the disk before it is."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.model.cache_folder import CacheFolder
from app.model.flushing import Flusher
from app.model.store import Store
from app.model.upkeep import _begin_log  # pyright: ignore[reportPrivateUsage]
from tests.app.model.stores import connection_of
from tests.app.model.watched_upkeep import WatchedUpkeep
from tests.app.slow_disk import SlowDisk


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SlowDisk:
    return SlowDisk(monkeypatch, tmp_path)


@pytest.fixture
def store(tmp_path: Path, disk: SlowDisk) -> Iterator[Store]:
    with contextlib.closing(Store(tmp_path / "store.sqlite3")) as store:
        store.flush_in_background()
        yield store
        disk.finish(100)


def _flusher(store: Store) -> Flusher:
    assert store.flusher is not None
    return store.flusher


class Ends:
    """Waits for the ends of flushes."""

    def __init__(self, flusher: Flusher) -> None:
        self._ended = threading.Semaphore(0)
        flusher.on_ended = self._ended.release

    def next(self) -> None:
        assert self._ended.acquire(timeout=60)


def test_messages_wait_for_the_disk_in_order_and_the_caller_does_not(store: Store, disk: SlowDisk) -> None:
    flusher = _flusher(store)
    ends = Ends(flusher)
    said: list[str] = []
    connection_of(store).set_trace_callback(said.append)
    conversation, first = store.create_conversation("name", "", "u1")
    disk.wait_for_flush()
    second = store.add(conversation.id, first.id, "assistant", "a1")
    third = store.add(conversation.id, second.id, "user", "u2")
    # The writes are over, and a reader finds them, before the disk has finished any.
    assert not any("FULL" in each for each in said)
    with contextlib.closing(sqlite3.connect(store.path)) as reader:
        assert reader.execute("SELECT count(*) FROM message").fetchone() == (5,)
    assert flusher.waiting() >= {first.id, second.id, third.id}
    numbers = [flusher.number_of([each.id]) for each in (first, second, third)]
    assert numbers == [1, 2, 3]
    assert flusher.number_of([first.id, third.id]) == 3
    assert flusher.waiting(up_to=2) >= {first.id, second.id}
    assert third.id not in flusher.waiting(up_to=2)
    disk.finish()
    ends.next()
    assert flusher.num_done == 1
    assert flusher.waiting() == {second.id, third.id}
    disk.finish()
    ends.next()
    # One flush served both.
    assert flusher.num_done == 3
    assert not flusher.waiting()
    assert len(disk.threads) == 2
    assert threading.main_thread() not in disk.threads


def test_the_background_work_begins_the_log(path: Path) -> None:
    with contextlib.closing(Store(path)) as store:
        store.create_conversation("name", "", "u1")
    log = path.with_name(f"{path.name}-wal")
    assert not log.exists()
    with contextlib.closing(Store(path)) as store:
        upkeep = WatchedUpkeep(path, CacheFolder(path.parent / "cache"))
        assert upkeep.wait_for_round(60)
        upkeep.close()
        # SQLite waits for the disk when it writes the head of the log, and now it is there.
        assert log.stat().st_size > 0
        assert store.has_conversations
    # A file that was emptied is left as it is.
    path.write_bytes(b"")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        _begin_log(connection)
    assert path.read_bytes() == b""


def test_closing_waits_for_the_disk(tmp_path: Path, disk: SlowDisk) -> None:
    store = Store(tmp_path / "store.sqlite3")
    store.flush_in_background()
    store.create_conversation("name", "", "u1")
    disk.finish()
    store.close()
    assert _flusher(store).num_done == 1


def test_text_that_the_disk_refused_waits_until_it_is_written_again(store: Store, disk: SlowDisk) -> None:
    flusher = _flusher(store)
    ends = Ends(flusher)
    disk.errors.append(errno.EIO)
    disk.finish(100)
    _, question = store.create_conversation("name", "", "u1")
    ends.next()
    assert "Input/output error" in str(flusher.problem)
    assert flusher.num_done == 0
    assert question.id in flusher.waiting()
    # A reader keeps a part of the log in use.
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as reader:
        reader.execute("BEGIN").execute("SELECT * FROM message").fetchall()
        store.set_text(question.id, "other")
        ends.next()
        assert flusher.problem is not None
        assert question.id in flusher.waiting()
    flusher.flush()
    ends.next()
    assert flusher.problem is None
    assert not flusher.waiting()
    # It is in the file itself, without the log.
    whole = sqlite3.connect(f"{store.path.as_uri()}?immutable=1", uri=True)
    with contextlib.closing(whole):
        assert ("other",) in whole.execute("SELECT text FROM message").fetchall()
