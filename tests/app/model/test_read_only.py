"""Stores that can't be written: they are read as far as possible, nothing is overwritten, and the reason is given."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from app.model.backups import Backups
from app.model.database import StoreError
from app.model.migrations import MIGRATIONS
from app.model.store import Store
from tests.app.model.stores import sql, write_first_version
from tests.app.trees import drawn, plant
from tests.driver import ROOT
from worker.sentence import verbatim


@pytest.fixture
def path() -> Iterator[Path]:
    """A store with one conversation, in a folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    with contextlib.closing(Store(folder / "store.sqlite3")) as store:
        plant(store, "u1-a1")
    yield folder / "store.sqlite3"
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextlib.contextmanager
def _nobody() -> Generator[None]:
    """Become a user without write permission, even if root runs the test."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def _as_the_program_starts(path: Path) -> Store:
    try:
        return Store(path, patience_ms=50)
    except StoreError as error:
        return Store(path, patience_ms=50, read_only_because=error.sentence)


def _reason(store: Store) -> str:
    assert store.why_read_only is not None
    return store.why_read_only


def _refuses_all_changes(store: Store) -> None:
    (conversation,) = store.conversations.all() or [None]
    number = 1 if conversation is None else conversation.id
    for change in (
        lambda: store.create_conversation("name", "", "u1"),
        lambda: store.add(number, 1, "user", "u2"),
        lambda: store.messages.append({1: "more"}),
        lambda: store.conversations.rename(number, "name"),
        lambda: store.conversations.trash(number),
        store.search.begin_again,
    ):
        with pytest.raises(StoreError, match="Nothing can be changed now"):
            change()


def test_a_read_only_folder_is_read(path: Path) -> None:
    for file in path.parent.iterdir():
        file.chmod(0o444)
    path.parent.chmod(0o555)
    before = path.read_bytes()
    with _nobody(), contextlib.closing(_as_the_program_starts(path)) as store:
        assert "Check that you may write to" in _reason(store)
        assert _reason(store).endswith("You can still read your conversations.")
        (conversation,) = store.conversations.all()
        assert drawn(store.messages.shown_by(conversation.id)) == "u1-a1"
        assert [hit.message.text for hit in store.search.find("a1")] == ["a1"]
        _refuses_all_changes(store)
        assert not store.clean_up(verbatim("It ended."))
    assert path.read_bytes() == before


def test_a_read_only_folder_after_a_kill_is_read_including_the_log(path: Path) -> None:
    store = Store(path)
    plant(store, "u2-a2")
    copy = path.parent / "copy"
    copy.mkdir(mode=0o755)
    # The files as a killed program leaves them.
    for file in path.parent.glob("store*"):
        shutil.copy(file, copy / file.name)
        (copy / file.name).chmod(0o444)
    store.close()
    copy.chmod(0o555)
    with _nobody(), contextlib.closing(_as_the_program_starts(copy / path.name)) as store:
        assert _reason(store)
        assert len(store.conversations.all()) == 2
    copy.chmod(0o755)


def test_an_older_store_that_cannot_be_written_is_read_as_if_it_was_up_to_date(path: Path) -> None:
    old = path.with_name("old.sqlite3")
    write_first_version(old)
    with sql(old) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    old.chmod(0o444)
    path.parent.chmod(0o555)
    before = old.read_bytes()
    with _nobody(), contextlib.closing(_as_the_program_starts(old)) as store:
        assert _reason(store)
        assert [message.text for message in store.messages.shown_by(1)][2:] == [
            "Was ist ein Ast?",
            "枝は木の一部です。",
            "Ein Teil",
        ]
        assert [hit.message.id for hit in store.search.find("木")] == [4]
        _refuses_all_changes(store)
    assert old.read_bytes() == before


def test_a_store_of_a_newer_version_is_read_and_left_unchanged(path: Path) -> None:
    with sql(path) as database:
        database.execute("ALTER TABLE message ADD COLUMN colour TEXT")
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        database.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    with contextlib.closing(_as_the_program_starts(path)) as store:
        assert "come from a newer version of Bough" in _reason(store)
        assert drawn(store.messages.shown_by(1)) == "u1-a1"
        _refuses_all_changes(store)
    assert path.read_bytes() == before


def test_a_newer_store_that_cannot_be_read_is_named_as_newer(path: Path) -> None:
    with sql(path) as database:
        database.execute("ALTER TABLE message RENAME TO node")
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with contextlib.closing(_as_the_program_starts(path)) as store:
        assert _reason(store).endswith("Open them with that version.")
        assert store.conversations.all() == []
        _refuses_all_changes(store)


def _cut_short(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _zeros(data: bytes) -> bytes:
    return bytes(len(data))


def _no_database(_: bytes) -> bytes:
    return b"once upon a time " * 500


@pytest.mark.parametrize("damage", [_cut_short, _zeros, _no_database])
def test_instead_of_a_damaged_file_its_newest_sound_backup_is_read(
    path: Path, damage: Callable[[bytes], bytes]
) -> None:
    backups = Backups(path)
    with sql(path) as database:
        sound = backups.make(database)
    with contextlib.closing(Store(path)) as store:
        plant(store, "u2-a2")
    with sql(path) as database:
        unsound = backups.make(database)
    unsound.write_bytes(damage(unsound.read_bytes()))
    path.write_bytes(damage(path.read_bytes()))
    before = path.read_bytes()
    with contextlib.closing(_as_the_program_starts(path)) as store:
        assert f"The conversations in {path} are damaged" in _reason(store)
        assert _reason(store).endswith(f"Bough shows the backup {sound}, which can't be changed.")
        assert drawn(store.messages.shown_by(1)) == "u1-a1"
        _refuses_all_changes(store)
    assert path.read_bytes() == before


def test_without_anything_to_read_the_program_starts_empty_and_says_why(path: Path) -> None:
    path.write_bytes(b"once upon a time " * 500)
    with contextlib.closing(_as_the_program_starts(path)) as store:
        assert "Replace the file with a backup" in _reason(store)
        assert store.conversations.all() == []
        _refuses_all_changes(store)


def test_a_store_locked_by_another_program_is_opened_read_only_and_named_as_in_use(path: Path) -> None:
    with sql(path) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with contextlib.closing(_as_the_program_starts(path)) as store:
            assert "Another program is writing to" in _reason(store)
            _refuses_all_changes(store)
        other.execute("ROLLBACK")


_NO_ROOM = """
import resource, signal, sys
from pathlib import Path
from app.model.database import StoreError
from app.model.store import Store
path = Path(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
# No file may grow beyond this: as on a disk that is full.
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    store = Store(path)
except StoreError as error:
    print("refused:", error)
    store = Store(path, read_only_because=error.sentence)
print(len(store.conversations.all()), len(store.messages.shown_by(1)))
try:
    store.create_conversation("name", "", "long " * 100_000)
except StoreError as error:
    print("not written:", error)
print(len(store.conversations.all()))
store.close()
"""


def _without_room(path: Path, num_bytes: int) -> list[str]:
    command = [sys.executable, "-c", _NO_ROOM, str(path), str(num_bytes)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_full_disk_is_reported_and_the_stored_text_is_read(path: Path) -> None:
    before = path.read_bytes()
    said = _without_room(path, len(before))
    assert said[0] == "1 4"
    assert said[1].startswith("not written: ")
    assert said[2] == "1"
    with contextlib.closing(Store(path)) as store:
        assert drawn(store.messages.shown_by(1)) == "u1-a1"
        assert len(store.conversations.all()) == 1


def test_a_disk_without_any_room_is_reported_and_the_stored_text_is_read(path: Path) -> None:
    before = path.read_bytes()
    said = _without_room(path, 0)
    assert said[0].startswith("refused: ")
    assert said[1:] == ["1 4", next(line for line in said if line.startswith("not written: ")), "1"]
    assert path.read_bytes() == before


def test_an_older_store_without_room_for_its_backup_stays_unchanged_and_is_read(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    write_first_version(path)
    with sql(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    said = _without_room(path, len(before) // 2)
    assert said[0].startswith("refused: ")
    assert said[1] == "1 5"
    assert path.read_bytes() == before
    with sql(path) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,)


def test_a_read_only_program_does_not_block_others_from_writing(path: Path) -> None:
    reader = Store(path, read_only_because=verbatim("It is a test."))
    with contextlib.closing(Store(path, patience_ms=0)) as writer:
        plant(writer, "u2-a2")
        assert len(reader.conversations.all()) == 2
    reader.close()
    with contextlib.suppress(sqlite3.Error), sql(path) as database:
        assert database.execute("PRAGMA quick_check").fetchone() == ("ok",)
