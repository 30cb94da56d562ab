"""Background work on a store: backups, checks, and erasing deleted messages everywhere."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.model.backups import NUM_KEPT, NUM_KEPT_OF_OLDER_VERSIONS, Backups, NotSoundError, StoppedError
from app.model.cache_folder import CacheFolder
from app.model.migrations import MIGRATIONS
from app.model.store import Store
from tests.app.model.stores import INTEGRITY_CHECK, OLD_RECORD, bytes_below, connection_of, sql, write_first_version
from tests.app.model.watched_upkeep import WatchedUpkeep
from tests.app.trees import drawn, plant

_PATIENCE_S = 200


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with contextlib.closing(Store(path)) as store:
        yield store


@contextlib.contextmanager
def _upkeep(path: Path, said: list[str] | None = None) -> Generator[WatchedUpkeep]:
    upkeep = WatchedUpkeep(path, CacheFolder(path.parent / "kept"), ([] if said is None else said).append)
    try:
        yield upkeep
    finally:
        upkeep.close()


def _look(path: Path, said: list[str] | None = None) -> None:
    with _upkeep(path, said) as upkeep:
        assert upkeep.wait_for_round(_PATIENCE_S)


# --- backups -------------------------------------------------------------------------------------------------


def test_there_is_one_backup_a_day_and_none_of_an_empty_store(store: Store, path: Path) -> None:
    backups = Backups(path)
    _look(path)
    assert backups.files() == []
    plant(store, "u1-a1")
    _look(path)
    (backup,) = backups.files()
    _look(path)
    assert backups.files() == [backup]
    assert backup.stat().st_mode & 0o077 == 0
    with contextlib.closing(Store(backup)) as copy:
        assert drawn(copy.messages.shown_by(1)) == "u1-a1"


def test_a_backup_of_another_day_is_followed_by_a_new_one(store: Store, path: Path) -> None:
    plant(store, "u1-a1")
    backups = Backups(path)
    backups.folder.mkdir()
    for name in ("store-20200101T000000000000.sqlite3", "store-20990101T000000000000.sqlite3"):
        shutil.copy(path, backups.folder / name)
    # A backup from the future, made with a wrong clock, does not count as newer than now.
    _look(path)
    _look(path)
    assert len(backups.files()) == 3


def test_a_few_backups_are_kept_and_those_of_older_versions_besides(store: Store, path: Path) -> None:
    plant(store, "u1-a1")
    backups = Backups(path)
    with sql(path) as database:
        made = [backups.make(database, before_version=9 if number % 3 == 0 else None) for number in range(30)]
    kept = backups.files()
    plain = [file for file in made if "-before-" not in file.name]
    older = [file for file in made if "-before-" in file.name]
    assert {plain[0], *plain[-2:], *older[-NUM_KEPT_OF_OLDER_VERSIONS:]} <= set(kept)
    assert len(kept) == NUM_KEPT + NUM_KEPT_OF_OLDER_VERSIONS
    assert kept == sorted(kept, reverse=True)


def test_the_fullest_backup_and_some_of_each_age_are_kept(store: Store, path: Path) -> None:
    plant(store, "u1-a1")
    backups = Backups(path)
    with sql(path) as database:
        small = backups.make(database)
        plant(store, "u1-a1-u2-a2")
        full = backups.make(database)
        now = datetime.now(UTC)
        for days in range(1, 61):
            name = f"store-{now - timedelta(days=days):%Y%m%dT%H%M%S%f}.sqlite3"
            shutil.copy(full if days == 20 else small, backups.folder / name)
        full.unlink()
        small.unlink()
        connection_of(store).execute("DELETE FROM message WHERE parent_id IS NOT NULL")
        backups.make(database)
    ages = [round((now.timestamp() - _time_of(file)) / 86400) for file in backups.files()]
    assert len(ages) == NUM_KEPT
    assert ages[:2] == [0, 1]
    assert ages[-1] == 60
    assert 20 in ages
    # No gap is wider than twice the age at its newer end, beyond the first days.
    assert all(older <= 4 * newer for newer, older in itertools.pairwise(ages[1:]))


def _time_of(backup: Path) -> float:
    return datetime.strptime(backup.stem.removeprefix("store-"), "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC).timestamp()


def test_a_backup_is_complete_while_others_write(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1")
    backups = Backups(path)
    num_looks = 0

    def write() -> bool:
        nonlocal num_looks
        num_looks += 1
        store.add(planted.conversation_id, planted.ids["a1"], "user", "long " * 20_000)
        return False

    for _ in range(300):
        store.add(planted.conversation_id, planted.ids["a1"], "user", "long " * 20_000)
    num_before = len(store.messages.shown_by(1))
    with sql(path) as database:
        file = backups.make(database, is_stopped=write)
    assert num_looks > 2
    with contextlib.closing(Store(file)) as copy:
        assert len(copy.messages.shown_by(1)) == num_before
    assert len(store.messages.shown_by(1)) == num_before + num_looks


def test_a_cancelled_backup_leaves_nothing(store: Store, path: Path) -> None:
    plant(store, "u1-a1")
    backups = Backups(path)
    with sql(path) as database, pytest.raises(StoppedError):
        backups.make(database, is_stopped=lambda: True)
    assert list(backups.folder.iterdir()) == []


def _damage(path: Path) -> None:
    """Damage a page of the messages, beyond those that are read when the file is opened."""
    with sql(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'message'").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096 + 8)
        file.write(b"\xa5" * 3000)


def test_unfinished_files_of_a_killed_program_are_removed_a_day_later(store: Store, path: Path) -> None:
    plant(store, "u1-a1")
    folder = path.parent / "backups"
    folder.mkdir()
    old, young, other = (folder / name for name in ("store-1.part", "store-1.part-journal", "other-1.part"))
    for file in (old, young, other):
        file.write_bytes(b"half")
    two_days_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (two_days_ago, two_days_ago))
    os.utime(other, (two_days_ago, two_days_ago))
    with sql(path) as connection:
        made = Backups(path).make(connection)
    assert {file.name for file in folder.iterdir()} == {young.name, other.name, made.name}


def test_a_damaged_store_displaces_no_sound_backup_and_is_reported(path: Path) -> None:
    backups = Backups(path)
    with contextlib.closing(Store(path)) as store:
        plant(store, "u1-a1")
    with sql(path) as database:
        sound = backups.make(database)
    sound = sound.rename(sound.with_name("store-20200101T000000000000.sqlite3"))
    _damage(path)
    said: list[str] = []
    _look(path, said)
    assert backups.files() == [sound]
    assert said
    assert said[0].startswith(f"The conversations in {path} are partly damaged (")
    assert said[0].endswith(f"Bough shows everything that can be read. The newest intact backup is {sound}.")
    with sql(path) as database, pytest.raises(NotSoundError):
        backups.make(database)


def test_a_search_index_that_does_not_match_the_messages_is_rebuilt(store: Store, path: Path) -> None:
    plant(store, "u1-a1")
    with sql(path) as database:
        database.execute("INSERT INTO message_text (message_text) VALUES ('delete-all')")
    assert store.search.find("a1") == []
    _look(path)
    assert [hit.message.text for hit in store.search.find("a1")] == ["a1"]
    assert len(Backups(path).files()) == 1


def test_the_rest_of_a_search_index_is_written_in_the_background_and_resumed_after_a_stop(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.model.search_renewal._SLICE", 2)
    monkeypatch.setattr("app.model.search_renewal._AT_ONCE", 1)
    monkeypatch.setattr("app.model.upkeep._PAUSE_S", 0.0)
    planted = plant(store, "u1-a1-u2-a2-u3-a3")
    store.search.begin_again()
    found = [label for label in ("u1", "a1", "u2", "a2", "u3", "a3") if store.search.find(label)]
    assert found == ["u3", "a3"]
    assert not store.search.is_complete
    # A message that is written meanwhile is found at once.
    store.set_text(planted.ids["a1"], "changed")
    store.add(planted.conversation_id, planted.ids["a3"], "user", "u4")
    assert store.search.find("changed") == []
    assert [hit.message.text for hit in store.search.find("u4")] == ["u4"]
    store.close()
    _look(path)
    with contextlib.closing(Store(path)) as again:
        assert again.search.is_complete
        assert all(again.search.find(label) for label in ("u1", "changed", "u2", "a2", "u3", "a3", "u4"))
        assert again.search.find("a1") == []


_RENEWER = """
import sqlite3, sys
from app.model.search_renewal import renew_slice
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
is_done = False
while not is_done:
    is_done = renew_slice(connection)
    print(flush=True)
"""


def test_a_killed_renewal_loses_nothing_and_is_resumed(store: Store, path: Path) -> None:
    """Long messages wait for the index, and the process that writes it is killed in the middle, again and again."""
    planted = plant(store, "u1-a1")
    texts = [f"leaf{number} " + "so on " * 3000 for number in range(12)]
    added = [store.add(planted.conversation_id, planted.ids["a1"], "user", text) for text in texts]
    store.search.begin_again()
    for num_slices in (0, 1, 2, 3):
        with subprocess.Popen([sys.executable, "-c", _RENEWER, path], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(num_slices):
                process.stdout.readline()
            process.kill()
        with sql(path) as database:
            database.execute(INTEGRITY_CHECK)
            assert database.execute("PRAGMA quick_check").fetchone() == ("ok",)
    num_found = sum(bool(store.search.find(f"leaf{number} ")) for number in range(12))
    assert num_found >= 6
    _look(path)
    assert store.search.is_complete
    assert [store.search.find(f"leaf{number} ")[0].message for number in range(12)] == added
    with sql(path) as database:
        database.execute(INTEGRITY_CHECK)


# --- older versions ------------------------------------------------------------------------------------------


def test_a_store_of_the_first_version_is_migrated_after_a_backup(path: Path) -> None:
    write_first_version(path)
    with contextlib.closing(Store(path)) as store:
        messages = store.messages.shown_by(1)
        assert [message.text for message in messages[2:]] == ["Was ist ein Ast?", "枝は木の一部です。", "Ein Teil"]
        assert [message.state for message in messages[2:]] == ["complete", "complete", "streaming"]
        answer = messages[3]
        assert answer.record is not None
        assert (answer.record.model, answer.record.token_ids, answer.record.seed) == ("guide", (4, 5), 7)
        assert store.conversations.choices(1) == {3: 4}
        assert [hit.message.id for hit in store.search.find("木")] == [4]
        assert [hit.message.id for hit in store.search.find("ast")] == [3]
        store.update(messages[4])
        store.messages.star(4)
        store.messages.pin_branch(4)
        store.messages.name_branch(4, "枝")
        answer = store.messages.get(4)
        assert (answer.name, answer.starred_ms is not None, answer.pinned_ms is not None) == ("枝", True, True)
    (backup,) = Backups(path).files()
    assert f"-before-version-{len(MIGRATIONS)}" in backup.name
    with sql(backup) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,)
        assert database.execute("SELECT record FROM message WHERE id = 4").fetchone() == (OLD_RECORD,)
    with contextlib.closing(Store(path)):
        assert Backups(path).files() == [backup]


# --- erasing -------------------------------------------------------------------------------------------------

_SECRET = "zqxjkvwpf"


def test_deleted_text_is_in_no_file_any_more(store: Store, path: Path) -> None:
    kept = path.parent / "kept" / ("0" * 32) / f"{0:08d}-{'0' * 24}-{'0' * 32}.safetensors"
    kept.parent.mkdir(parents=True)
    kept.write_text(_SECRET)
    secret = plant(store, "u1-a1").conversation_id
    plant(store, "u2-a2")
    store.conversations.rename(secret, _SECRET)
    parent = store.messages.shown_by(secret)[-1]
    for number in range(30):
        parent = store.add(secret, parent.id, "user", f"{_SECRET}{number} " * 200)
    growing = store.add(secret, parent.id, "assistant", _SECRET, state="streaming")
    store.messages.append({growing.id: f" {_SECRET}"})
    backups = Backups(path)
    with sql(path) as database:
        # Migrated stores have backups of the first version, too.
        old = path.with_name("old.sqlite3")
        write_first_version(old)
        backups.make(database)
        with sql(old) as first:
            first.execute("INSERT INTO message VALUES (?, NULL, 'user', ?, 'complete', 1, NULL)", (growing.id, _SECRET))
            Backups(path).make(first, before_version=2)
    for file in path.parent.glob("old*"):
        file.unlink()
    for word in (_SECRET, _SECRET[2:]):
        assert word.encode() in bytes_below(path.parent)

    store.conversations.trash(secret)
    _look(path)
    assert _SECRET.encode() in path.read_bytes() + path.with_name("store.sqlite3-wal").read_bytes()
    assert store.empty_trash() == 35
    _look(path)
    left = bytes_below(path.parent)
    # The index stores only the rest of a word that begins like the one before.
    assert _SECRET[2:].encode() not in left
    assert not kept.exists()
    with sql(path) as database:
        assert database.execute("SELECT count(*) FROM erased").fetchone() == (0,)
        database.execute(INTEGRITY_CHECK)
    assert [hit.message.text for hit in store.search.find("a2")] == ["a2"]
    for file in backups.files():
        with sql(file) as database:
            assert database.execute("PRAGMA quick_check").fetchone() == ("ok",)
            database.execute(INTEGRITY_CHECK)
    with contextlib.closing(Store(backups.files()[-1])) as copy:
        assert [message.text for message in copy.messages.shown_by(2)][-2:] == ["u2", "a2"]


def test_messages_that_another_conversation_reaches_stay_everywhere(store: Store, path: Path) -> None:
    planted = plant(store, f"u{_SECRET}-a1 | u{_SECRET}-a2")
    store.fork_conversation("fork", planted.ids["a1"])
    with sql(path) as database:
        backup = Backups(path).make(database)
    store.conversations.trash(planted.conversation_id)
    assert store.empty_trash() == 1
    _look(path)
    assert [hit.message.text for hit in store.search.find(f"u{_SECRET}")] == [f"u{_SECRET}"]
    with contextlib.closing(Store(backup)) as copy:
        assert drawn(copy.messages.shown_by(2)) == f"u{_SECRET}-a1"


def test_interrupted_erasing_is_finished_the_next_time(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = plant(store, f"u1-a{_SECRET}").conversation_id
    _look(path)
    store.conversations.trash(secret)
    store.empty_trash()

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Backups, "erase", fail)
    _look(path)
    assert _SECRET[2:].encode() in bytes_below(path.parent)
    monkeypatch.undo()
    _look(path)
    assert _SECRET[2:].encode() not in bytes_below(path.parent)


def test_upkeep_stops_at_once_when_the_program_ends(store: Store, path: Path) -> None:
    plant(store, "u1-a1")
    for _ in range(20):
        with _upkeep(path):
            pass
    with _upkeep(path) as upkeep:
        assert upkeep.wait_for_round(_PATIENCE_S)
    assert len(Backups(path).files()) == 1
    assert list(path.parent.glob("backups/*.part")) == []
