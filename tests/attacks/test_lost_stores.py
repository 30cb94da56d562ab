"""Stores that are gone or empty although they were in use: the newest sound backup is shown, and nothing is written."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from app.model.backups import Backups
from app.model.cache_folder import CacheFolder
from app.model.database import DamagedError, LostError, StoreError
from app.model.flushing import Flusher
from app.model.restoring import restore
from app.model.store import Store
from tests.app.model.stores import sql, trashed_ids
from tests.app.model.watched_upkeep import WatchedUpkeep
from tests.app.trees import drawn, plant
from tests.attacks.mutations import changed_bytes
from tests.long import in_long_runs
from worker.sentence import Sentence

_PATIENCE_S = 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a backup."""
    path = tmp_path / "data" / "conversations.sqlite3"
    with contextlib.closing(Store(path)) as store:
        plant(store, "u1-a1")
        with sql(path) as database:
            Backups(path).make(database)
    with sql(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA journal_mode = DELETE")
    return path


def _missing(path: Path) -> None:
    path.unlink()


def _no_bytes(path: Path) -> None:
    path.write_bytes(b"")


def _no_tables(path: Path) -> None:
    path.unlink()
    with sql(path) as database:
        database.execute("CREATE TABLE a (b)")
        database.execute("DROP TABLE a")


def _no_rows(path: Path) -> None:
    with sql(path) as database:
        for table in ("conversation", "message", "choice"):
            database.execute(f"DELETE FROM {table}")


def _new(path: Path) -> None:
    backups = Backups(path)
    backups.folder.rename(path.parent / "elsewhere")
    path.unlink()
    Store(path).close()
    (path.parent / "elsewhere").rename(backups.folder)


@pytest.mark.parametrize("harm", [_missing, _no_bytes, _no_tables, _no_rows, _new])
def test_a_store_that_lost_its_conversations_is_not_opened_as_new(path: Path, harm: Callable[[Path], None]) -> None:
    harm(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(LostError) as raised:
        Store(path)
    assert raised.value.has_backup
    with contextlib.closing(Store(path, read_only_because=raised.value.sentence)) as store:
        assert drawn(store.messages.shown_by(1)) == "u1-a1"
        assert "Bough shows the backup" in (store.why_read_only or "")
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_damaged_or_small_backup_is_not_shown_in_place_of_a_sound_one(path: Path) -> None:
    backups = Backups(path)
    (sound,) = backups.files()
    _no_rows(path)
    with sql(path) as database:
        database.execute("UPDATE sqlite_sequence SET seq = 50")
        database.execute("INSERT INTO message (role, text, state, created_ms) VALUES ('root', '', 'complete', 1)")
        database.execute("INSERT INTO conversation (name, root_id, created_ms, updated_ms) VALUES ('x', 51, 1, 1)")
        small = backups.make(database)
    damaged = small.with_name(small.name.replace("conversations-2", "conversations-3"))
    damaged.write_bytes(sound.read_bytes()[:9000])
    path.unlink()
    with pytest.raises(LostError) as raised:
        Store(path)
    with contextlib.closing(Store(path, read_only_because=raised.value.sentence)) as store:
        assert str(sound) in (store.why_read_only or "")


def test_without_backups_a_store_that_was_used_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "unmounted" / "conversations.sqlite3"
    with pytest.raises(LostError) as raised:
        Store(path, was_used=True)
    assert not raised.value.has_backup
    assert not path.parent.exists()
    Store(path).close()
    with pytest.raises(LostError):
        Store(path, was_used=True)


@pytest.mark.parametrize("is_erased_from_backups", [False, True])
def test_after_the_user_deleted_everything_the_store_is_opened(path: Path, is_erased_from_backups: bool) -> None:
    with contextlib.closing(Store(path)) as store:
        store.conversations.trash(1)
        assert trashed_ids(store) == [1]
        store.empty_trash()
        if is_erased_from_backups:
            said: list[str] = []
            upkeep = WatchedUpkeep(path, CacheFolder(path.parent / "cache"), said.append)
            assert upkeep.wait_for_round(_PATIENCE_S)
            upkeep.close()
            assert said == []
    for _ in range(2):
        with contextlib.closing(Store(path, was_used=True)) as store:
            assert not store.has_conversations
            assert not store.why_read_only


@pytest.mark.parametrize("name", ["conversations.sqlite3", "conversations.lock"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
def test_a_path_that_is_not_a_file_is_refused_and_nothing_waits_for_it(tmp_path: Path, name: str, kind: str) -> None:
    place = tmp_path / name
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "folder":
            place.mkdir()
        case "loop":
            place.symlink_to(place)
        case _:
            place.symlink_to("/dev/zero")
    path = tmp_path / "conversations.sqlite3"
    try:
        Store(path).close()
    except StoreError as error:
        with contextlib.closing(Store(path, read_only_because=error.sentence)) as store:
            assert store.conversations.all() == []
    else:
        assert name == "conversations.lock"
        assert kind in {"pipe", "device"}


def test_a_pipe_among_the_backups_is_left_alone(path: Path) -> None:
    (sound,) = Backups(path).files()
    os.mkfifo(sound.with_name(sound.name.replace("conversations-2", "conversations-3")))
    path.unlink()
    with pytest.raises(LostError):
        Store(path)
    assert Backups(path).files() == [sound]


def test_a_file_that_disappears_while_it_is_open_is_reported_once(path: Path) -> None:
    said: list[str] = []
    with contextlib.closing(Store(path)):
        upkeep = WatchedUpkeep(path, CacheFolder(path.parent / "cache"), said.append)
        assert upkeep.wait_for_round(_PATIENCE_S)
        path.unlink()
        upkeep.start_now()
        upkeep.wait_for_round(1)
        upkeep.start_now()
        upkeep.wait_for_round(1)
        upkeep.close()
    assert [text.split(" while ")[0] for text in said] == [f"The file {path} is gone"]


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_log_without_its_file_is_kept_and_reported(path: Path, is_empty: bool) -> None:
    with contextlib.closing(Store(path)) as store:
        store.create_conversation("in the log", "", "question")
        log = _log_of(path).read_bytes()
    for file in Backups(path).files():
        file.unlink()
    path.unlink()
    if is_empty:
        path.touch()
    _log_of(path).write_bytes(log)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"its log .* exists and may contain") as raised:
            Store(path)
        Store(path, read_only_because=raised.value.sentence).close()
    assert _log_of(path).read_bytes() == log
    # A backup that takes its place does not take the log away, either.
    with contextlib.closing(Store(path.with_name("other.sqlite3"))) as store:
        plant(store, "u1")
        with sql(path.with_name("other.sqlite3")) as database:
            backup = Backups(path).make(database)
    kept = restore(path, backup)
    assert kept.with_name(f"{kept.name}-wal").read_bytes() == log


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def test_a_store_that_is_a_link_is_flushed_kept_and_restored_like_any_other(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "disk" / "real.sqlite3"
    real.parent.mkdir()
    path.rename(real)
    path.symlink_to(real)
    with contextlib.closing(Store(path)) as store:
        store.flush_in_background()
        flusher = Flusher(path)
        # A log that can't be opened shows that this is the one that is flushed.
        _log_of(real).rename(tmp_path / "log")
        _log_of(real).symlink_to(_log_of(real))
        flusher.flush()
        flusher.close()
        assert flusher.problem is not None
        _log_of(real).unlink()
        (tmp_path / "log").rename(_log_of(real))
        store.create_conversation("in the log", "", "question")
        log = _log_of(real).read_bytes()
    # The log of an empty file is kept here, too.
    whole = real.read_bytes()
    real.write_bytes(b"")
    _log_of(real).write_bytes(log)
    with pytest.raises(LostError):
        Store(path)
    assert _log_of(real).read_bytes() == log
    _log_of(real).unlink()
    real.write_bytes(whole)
    kept = restore(path, Backups(path).files()[0])
    assert path.is_symlink()
    assert kept.read_bytes() == whole
    with contextlib.closing(Store(path)) as store:
        assert [one.name for one in store.conversations.all()] == ["planted"]


# --- programs in a store -------------------------------------------------------------------------------------

_ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
_ON_INSERT = "CREATE TRIGGER evil AFTER INSERT ON message BEGIN"
# By name: the statements, a part of the error's text, and whether the file itself can still be read.
_PROGRAMS: dict[str, tuple[list[str], str, bool]] = {
    "a trigger that deletes": (
        [f"{_ON_INSERT} DELETE FROM conversation WHERE id < 9; END"],
        "unexpected trigger",
        True,
    ),
    "a trigger that rewrites": ([f"{_ON_INSERT} UPDATE message SET text = 'evil'; END"], "unexpected trigger", True),
    "a trigger of ours that does more": (
        [
            "DROP TRIGGER message_gone",
            "CREATE TRIGGER message_gone AFTER DELETE ON message BEGIN DELETE FROM choice; END",
        ],
        "changed trigger message_gone",
        True,
    ),
    "no trigger": (["DROP TRIGGER message_added"], "missing trigger message_added", True),
    "no table": (["DROP TABLE preparation"], "missing table preparation", True),
    "an endless table": (
        ["ALTER TABLE message RENAME TO m", f"CREATE VIEW message AS {_ENDLESS} m.* FROM n, m"],
        "missing table message",
        False,
    ),
    "no end of pieces": (
        ["DROP TABLE piece", f"CREATE VIEW piece AS {_ENDLESS} i AS id, 1 AS message_id, 'x' AS text FROM n"],
        "missing table piece",
        False,
    ),
    "an endless search": (
        ["DROP VIEW searchable", f"CREATE VIEW searchable AS {_ENDLESS} i AS id, 'x' AS text FROM n"],
        "changed view searchable",
        False,
    ),
    "no column": (
        ["DROP INDEX message_pinned_branch", "ALTER TABLE message DROP COLUMN pinned_ms"],
        "missing column message.pinned_ms",
        False,
    ),
    "no column of unsent texts": (
        ["ALTER TABLE preparation DROP COLUMN unsent"],
        "missing column preparation.unsent",
        True,
    ),
    "another key": (
        ["CREATE TABLE c AS SELECT * FROM choice", "DROP TABLE choice", "ALTER TABLE c RENAME TO choice"],
        "changed key of table choice",
        True,
    ),
    "a column that nobody fills": (
        [
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_master SET sql = replace(sql, 'tokens BLOB', 'tokens BLOB, more TEXT NOT NULL')",
        ],
        "unexpected column piece.more",
        True,
    ),
    "an older version": (["PRAGMA user_version = 3"], "unexpected trigger conversation_gone", False),
    "version -1": (["PRAGMA user_version = -1"], "unexpected trigger", False),
}


@pytest.mark.parametrize("name", _PROGRAMS)
def test_a_store_with_foreign_triggers_or_views_is_not_written_and_none_of_them_runs(path: Path, name: str) -> None:
    statements, said, is_readable = _PROGRAMS[name]
    with sql(path) as database:
        for statement in statements:
            database.execute(statement)
    before = path.read_bytes()
    with pytest.raises(DamagedError, match=said) as raised:
        Store(path)
    with contextlib.closing(Store(path, read_only_because=raised.value.sentence)) as store:
        assert drawn(store.messages.shown_by(1)) == "u1-a1"
        assert ("Bough shows the backup" not in (store.why_read_only or "")) == is_readable
        assert store.search.find("answer") is not None
    assert path.read_bytes() == before


def test_a_column_that_may_stay_empty_does_no_harm(path: Path) -> None:
    with sql(path) as database:
        database.execute("ALTER TABLE message ADD COLUMN mine TEXT")
    with contextlib.closing(Store(path)) as store:
        store.create_conversation("new", "", "question")


def test_a_backup_with_an_endless_view_is_skipped(path: Path) -> None:
    (sound,) = Backups(path).files()
    endless = sound.with_name(sound.name.replace("conversations-2", "conversations-3"))
    endless.write_bytes(sound.read_bytes())
    with sql(endless) as database:
        database.execute("ALTER TABLE message RENAME TO m")
        database.execute(f"CREATE VIEW message AS {_ENDLESS} m.* FROM n, m")
    path.unlink()
    with pytest.raises(LostError) as raised:
        Store(path)
    with contextlib.closing(Store(path, read_only_because=raised.value.sentence)) as store:
        assert str(sound) in (store.why_read_only or "")


# --- who may read ----------------------------------------------------------------------------------------------


def _modes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in folder.rglob("*")}


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_only_the_owner_can_read_the_store_its_log_and_backups(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        path = tmp_path / "data" / "conversations.sqlite3"
        with contextlib.closing(Store(path)) as store:
            plant(store, "u1-a1")
            with sql(path) as database:
                Backups(path).make(database)
            modes = _modes(tmp_path)
            assert {"conversations.sqlite3-wal", "conversations.sqlite3-shm"} <= modes.keys()
        assert {name for name, mode in modes.items() if mode & 0o077} == set()
        # A store that others could read, as an earlier version left it.
        for file in tmp_path.rglob("*"):
            file.chmod(0o755 if file.is_dir() else 0o644)
        with contextlib.closing(Store(path)) as store:
            store.conversations.rename(1, "renamed")
            upkeep = WatchedUpkeep(path, CacheFolder(path.parent / "cache"), print)
            assert upkeep.wait_for_round(_PATIENCE_S)
            upkeep.close()
            modes = _modes(path.parent)
        assert {name for name, mode in modes.items() if mode & 0o077} == set()
    finally:
        os.umask(before)


def test_a_file_system_without_modes_can_be_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    path.chmod(0o644)
    monkeypatch.setattr(os, "chmod", refuse)
    monkeypatch.setattr(Path, "chmod", refuse)
    with contextlib.closing(Store(path)) as store:
        store.conversations.rename(1, "renamed")
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name FROM conversation").fetchone() == ("renamed",)


# --- fuzz ------------------------------------------------------------------------------------------------------


def _open_and_read(path: Path) -> None:
    """Open a store as the program does, and read and change it. Only `StoreError` is allowed."""
    try:
        store = Store(path)
    except StoreError as error:
        store = Store(path, read_only_because=error.sentence)
    with contextlib.closing(store):
        for act in (
            lambda: store.clean_up(Sentence("Interrupted.")),
            lambda: [store.messages.shown_by(one.id) for one in store.conversations.all()],
            lambda: store.preparations.get(1),
            lambda: store.search.find("answer"),
            lambda: store.create_conversation("new", "", "question"),
        ):
            with contextlib.suppress(StoreError, KeyError):
                act()


@pytest.mark.timeout(24 * 3600)
@pytest.mark.parametrize(("num_stores", "seed"), [(25, 0), *in_long_runs([(2000, 1)])])
def test_any_bytes_in_place_of_a_store_are_opened_or_refused(path: Path, num_stores: int, seed: int) -> None:
    draw = random.Random(seed)
    (backup,) = Backups(path).files()
    whole, copy = path.read_bytes(), backup.read_bytes()
    for number in range(num_stores):
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        data = whole
        for _ in range(draw.choice((1, 2, 5))):
            # Half of the changes hit the first pages, which hold the schema.
            head = draw.choice((len(data), 8192))
            changed, _ = changed_bytes(draw, data[:head])
            data = changed + data[head:]
        path.write_bytes(data)
        backup.write_bytes(changed_bytes(draw, copy)[0] if number % 2 else copy)
        _open_and_read(path)
