"""Files that can't be used as a store: each is refused with a sentence, and left unchanged."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.model.database import StoreError
from app.model.migrations import MIGRATIONS
from app.model.store import Store
from tests.app.model.stores import INTEGRITY_CHECK, connection_of, shown, sql
from tests.app.trees import drawn, labels, plant


def _refusal(path: Path) -> str:
    with pytest.raises(StoreError) as refused:
        Store(path, patience_ms=50)
    return str(refused.value)


def test_a_store_of_a_newer_version_is_refused_and_left_unchanged(store: Store, path: Path) -> None:
    plant(store, "u1-a1")
    store.close()
    with sql(path) as database:
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        database.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    assert _refusal(path) == (
        f"The conversations in {path} come from a newer version of Bough. Nothing was changed. "
        "Open them with that version."
    )
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_refused_and_left_unchanged(path: Path) -> None:
    with sql(path) as database:
        database.execute("CREATE TABLE message (id INTEGER)")
    before = path.read_bytes()
    assert "belongs to another program" in _refusal(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["no database", "zeros", "cut short", "a broken page"])
def test_a_damaged_file_is_refused_and_left_unchanged(store: Store, path: Path, kind: str) -> None:
    plant(store, "u1-a1")
    store.close()
    data = path.read_bytes()
    damaged = {
        "no database": b"once upon a time " * 500,
        "zeros": bytes(len(data)),
        "cut short": data[: len(data) // 2],
        "a broken page": data[:100] + b"\xa5" * 4000 + data[4100:],
    }[kind]
    path.write_bytes(damaged)
    said = _refusal(path)
    assert said.startswith(f"The conversations in {path} are damaged (")
    assert said.endswith("Replace the file with a backup, or move it away to start with an empty one.")
    assert path.read_bytes() == damaged


def test_an_empty_file_is_a_new_store(path: Path) -> None:
    path.touch()
    store = Store(path)
    assert store.conversations.all() == []
    store.close()


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder that can be read but not written, even if root runs the test."""
    folder = Path(tempfile.mkdtemp())
    with contextlib.closing(Store(folder / "store.sqlite3")) as store:
        plant(store, "u1-a1")
    folder.chmod(0o555)
    (folder / "store.sqlite3").chmod(0o444)
    (folder / "store.lock").chmod(0o444)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    yield folder
    if is_root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_folder_is_refused_and_left_unchanged(read_only_folder: Path) -> None:
    path = read_only_folder / "store.sqlite3"
    before = path.read_bytes()
    for refused in (path, read_only_folder / "new.sqlite3", read_only_folder / "new" / "store.sqlite3"):
        said = _refusal(refused)
        assert str(read_only_folder) in said
        assert "Nothing was changed. Check that you may write to" in said
    assert path.read_bytes() == before


def test_a_file_where_the_folder_should_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    assert "can't be opened or saved" in _refusal(tmp_path / "data" / "store.sqlite3")


def test_a_store_that_another_program_is_writing_to_says_so_and_works_afterwards(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1")
    with sql(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"Another program is writing to .* Close it, or try again in a moment"):
            store.add(planted.conversation_id, planted.ids["a1"], "user", "u2")
        assert labels(shown(store, planted.conversation_id)) == "u1-a1"
        other.execute("ROLLBACK")
    store.add(planted.conversation_id, planted.ids["a1"], "user", "u2")
    assert labels(shown(store, planted.conversation_id)) == "u1-a1-u2"


def test_a_database_that_is_locked_while_it_is_opened_says_so(path: Path) -> None:
    with sql(path) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "Another program is writing to" in _refusal(path)
        other.execute("ROLLBACK")


def test_a_full_disk_is_reported_and_leaves_no_half_change(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1")
    connection = connection_of(store)
    (num_pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {num_pages}")
    with pytest.raises(StoreError, match=r"The disk is full, so .* Free some disk space, then try again"):
        store.add(planted.conversation_id, planted.ids["a1"], "user", "long " * 10_000)
    assert labels(shown(store, planted.conversation_id)) == "u1-a1"
    with pytest.raises(StoreError, match="The disk is full"):
        store.messages.append({planted.ids["a1"]: "long " * 10_000, planted.ids["u1"]: " and short"})
    assert labels(shown(store, planted.conversation_id)) == "u1-a1"
    connection.execute(f"PRAGMA max_page_count = {num_pages + 1000}")
    store.add(planted.conversation_id, planted.ids["a1"], "user", "long " * 10_000)
    with sql(path) as database:
        database.execute(INTEGRITY_CHECK)


def test_a_failed_migration_leaves_the_store_unchanged(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(store, "u1-a1")
    store.close()
    steps = (*MIGRATIONS, "CREATE TABLE half (id);\nCREATE TABLE message (id);\n")
    monkeypatch.setattr("app.model.migrations.MIGRATIONS", steps)
    monkeypatch.setattr("app.model.database.MIGRATIONS", steps)
    assert "can't be used" in _refusal(path)
    monkeypatch.undo()
    with contextlib.closing(Store(path)) as again, sql(path) as database:
        assert len(again.conversations.all()) == 1
        assert database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)


def test_a_store_of_an_older_version_is_migrated_with_all_its_contents(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = plant(store, "u1-a1")
    store.close()
    steps = (*MIGRATIONS, "ALTER TABLE message ADD COLUMN colour TEXT;\n")
    monkeypatch.setattr("app.model.migrations.MIGRATIONS", steps)
    monkeypatch.setattr("app.model.database.MIGRATIONS", steps)
    with contextlib.closing(Store(path)) as newer, sql(path) as database:
        assert drawn(newer.messages.shown_by(planted.conversation_id)) == "u1-a1"
        assert database.execute("PRAGMA user_version").fetchone() == (len(steps),)
        assert database.execute("SELECT colour FROM message").fetchone() == (None,)


def test_programs_that_create_the_same_store_at_once_all_open_it(path: Path) -> None:
    num = 6
    together = threading.Barrier(num)
    opened: list[list[object]] = []

    def open_it() -> None:
        together.wait()
        with contextlib.closing(Store(path, patience_ms=20_000)) as store:
            opened.append([*store.conversations.all()])

    threads = [threading.Thread(target=open_it) for _ in range(num)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened == [[]] * num
