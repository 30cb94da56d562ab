"""The disk cache's folder: written files are found, everything else in it is ignored, and the limit holds."""

from __future__ import annotations

import logging
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import mlx.core as mx
import pytest

from tests.long import in_long_runs
from worker.cache.disk_cache import DiskCache
from worker.cache.stored_file import StoredFile, Stretch

NO_LIMIT = 1 << 40


def new_disk(folder: Path, key: str = "a model", limit_bytes: int = NO_LIMIT) -> DiskCache:
    return DiskCache(folder, key, limit_bytes)


def write(disk: DiskCache, after: StoredFile | None, start: int, num_numbers: int = 100) -> StoredFile | None:
    """Store some numbers that identify their position."""
    stretch = Stretch(after.name if after else None, 10 if after else 0, start, range(start, start + 10), {"n": start})
    return disk.write(stretch, [mx.arange(num_numbers) + start])


def write_chain(disk: DiskCache, length: int, num_numbers: int = 100) -> list[StoredFile]:
    files: list[StoredFile] = []
    for number in range(length):
        file = write(disk, files[-1] if files else None, 10 * number, num_numbers)
        assert file is not None
        files.append(file)
    return files


def found(folder: Path, key: str = "a model") -> list[int]:
    """Return the start positions of the files that a new cache finds and can read."""
    disk = new_disk(folder, key)
    starts: list[int] = []
    for file, stretch in list(disk.find()):
        (value,) = disk.read([file])
        if value is not None:
            assert list(stretch.ids) == list(range(stretch.start, stretch.start + 10))
            assert stretch.about == {"n": stretch.start}
            assert mx.array_equal(value[0], mx.arange(value[0].size) + stretch.start)
            starts.append(stretch.start)
    return starts


def paths_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in paths_in(folder))


def test_written_files_are_found_each_after_the_one_it_continues(tmp_path: Path):
    disk = new_disk(tmp_path)
    write_chain(disk, 5)
    assert found(tmp_path) == [0, 10, 20, 30, 40]
    assert disk.num_bytes == size_of(tmp_path)


def test_files_of_another_key_are_not_found(tmp_path: Path):
    write_chain(new_disk(tmp_path), 2)
    write_chain(new_disk(tmp_path, "another"), 3)
    assert len(found(tmp_path)) == 2
    assert len(found(tmp_path, "another")) == 3


def test_writing_the_same_again_makes_the_same_file(tmp_path: Path):
    first = write_chain(new_disk(tmp_path), 3)
    again = write_chain(new_disk(tmp_path), 3)
    assert [file.name for file in first] == [file.name for file in again]
    assert len(paths_in(tmp_path)) == 3


def test_only_the_owner_can_read_the_folder(tmp_path: Path):
    write_chain(new_disk(tmp_path / "cache"), 1)
    (path,) = paths_in(tmp_path)
    assert path.parent.stat().st_mode & 0o077 == 0


# --- damage ----------------------------------------------------------------------------------------------------


def shorten(path: Path, rng: Random) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size or 1))


def empty(path: Path, rng: Random) -> None:
    os.truncate(path, 0)


def lengthen(path: Path, rng: Random) -> None:
    with path.open("ab") as file:
        file.write(rng.randbytes(rng.randrange(1, 50)))


def flip_a_bit(path: Path, rng: Random) -> None:
    data = bytearray(path.read_bytes() or b"\0")
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def flip_a_bit_at_the_beginning(path: Path, rng: Random) -> None:
    data = bytearray(path.read_bytes() or bytes(8))
    data[rng.randrange(min(8, len(data)))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def fill_with_garbage(path: Path, rng: Random) -> None:
    path.write_bytes(rng.randbytes(path.stat().st_size))


def fill_with_zeros(path: Path, rng: Random) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def rename(path: Path, rng: Random) -> None:
    path.rename(path.with_name(path.name.replace(path.name[9:12], "abc")))


def give_the_name_of_another(path: Path, rng: Random) -> None:
    others = [each for each in path.parent.iterdir() if each != path and each.is_file()]
    path.write_bytes(rng.choice(others).read_bytes() if others else b"")


def delete(path: Path, rng: Random) -> None:
    path.unlink()


def replace_by_a_folder(path: Path, rng: Random) -> None:
    path.unlink()
    path.mkdir()
    (path / "something").write_text("of somebody's")


def replace_by_a_link(path: Path, rng: Random) -> None:
    path.unlink()
    path.symlink_to(next(each for each in path.parent.iterdir() if each != path))


DAMAGES = (
    shorten,
    empty,
    lengthen,
    flip_a_bit,
    flip_a_bit_at_the_beginning,
    fill_with_garbage,
    fill_with_zeros,
    rename,
    give_the_name_of_another,
    delete,
    replace_by_a_folder,
    replace_by_a_link,
)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("seed", [0, 1, *in_long_runs(range(2, 8))])
def test_a_damaged_file_is_never_used_and_is_removed(tmp_path: Path, damage: Callable[[Path, Random], None], seed: int):
    rng = Random(seed)
    disk = new_disk(tmp_path)
    files = write_chain(disk, 4)
    number = rng.randrange(4)
    paths = {file.name: path for file in files for path in paths_in(tmp_path) if path.name == file.name}
    damage(paths[files[number].name], rng)
    # The cache that wrote the file notices when it reads it, and the other files are unchanged.
    values = list(disk.read(files))
    assert [value is None for value in values] == [each == number for each in range(4)]
    assert files[number].is_gone
    assert disk.num_bytes == sum(file.num_bytes for file in files if not file.is_gone)
    assert not paths[files[number].name].is_file() or paths[files[number].name].is_symlink()


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("seed", [0, 1, *in_long_runs(range(2, 8))])
def test_a_new_cache_finds_the_files_before_a_damaged_one(
    tmp_path: Path, damage: Callable[[Path, Random], None], seed: int
):
    rng = Random(seed)
    files = write_chain(new_disk(tmp_path), 4)
    number = rng.randrange(4)
    (path,) = (path for path in paths_in(tmp_path) if path.name == files[number].name)
    damage(path, rng)
    starts = found(tmp_path)
    assert starts[:number] == [10 * each for each in range(number)]
    assert 10 * number not in starts
    # The files after it are removed by the next search at the latest.
    assert found(tmp_path) == [10 * each for each in range(number)]
    assert len([path for path in paths_in(tmp_path) if path.suffix == ".safetensors" and not path.is_symlink()]) == (
        number
    )


def test_a_file_of_another_model_is_not_used(tmp_path: Path):
    write_chain(new_disk(tmp_path), 2)
    ours = paths_in(tmp_path)[0].parent
    write_chain(new_disk(tmp_path, "another"), 3)
    for path in paths_in(tmp_path):
        if path.parent != ours:
            (ours / path.name).write_bytes(path.read_bytes())
    assert found(tmp_path) == [0, 10]
    assert len(list(ours.iterdir())) == 2


def test_foreign_files_in_the_folder_are_removed(tmp_path: Path):
    write_chain(new_disk(tmp_path), 2)
    ours = paths_in(tmp_path)[0].parent
    (ours / "notes.txt").write_text("hello")
    (ours / "00000000-0123456789ab0123456789ab-0123456789abcdef0123456789abcdef.safetensors").write_bytes(b"\0" * 99)
    (ours / "a folder").mkdir()
    assert found(tmp_path) == [0, 10]
    assert sorted(path.name for path in ours.iterdir() if path.suffix != ".safetensors") == ["a folder"]


def test_half_written_files_of_dead_processes_are_removed_and_those_of_live_ones_stay(tmp_path: Path):
    write_chain(new_disk(tmp_path), 1)
    ours = paths_in(tmp_path)[0].parent
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as living:
        (ours / f".{dead.pid}-1.part").write_bytes(b"half")
        (tmp_path / "another model").mkdir()
        (tmp_path / "another model" / f".{dead.pid}-1.part").write_bytes(b"half")
        (ours / f".{living.pid}-1.part").write_bytes(b"half")
        (ours / f".{living.pid}-2.part").write_bytes(b"half")
        os.utime(ours / f".{living.pid}-2.part", (0, 0))
        assert found(tmp_path) == [0]
        left = {path.name for path in paths_in(tmp_path) if path.suffix == ".part"}
        assert left == {f".{living.pid}-1.part"}
        living.communicate(b"\n")


# --- when nothing can be written -----------------------------------------------------------------------------


def test_a_folder_that_cannot_be_made_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "file").write_text("no folder")
    disk = new_disk(tmp_path / "file" / "cache")
    assert list(disk.find()) == []
    assert [write(disk, None, 0) for _ in range(3)] == [None] * 3
    assert not disk.can_write
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_full_disk_is_logged_once_and_existing_files_can_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    disk = new_disk(tmp_path)
    files = write_chain(disk, 2)
    # With this limit on a file's length, a write ends early and then fails, as on a full disk.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
    try:
        assert write(disk, files[-1], 20, num_numbers=10_000) is None
        assert write(disk, files[-1], 20) is None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(caplog.records) == 1
    assert len(paths_in(tmp_path)) == 2
    assert all(value is not None for value in disk.read(files))
    assert found(tmp_path) == [0, 10]


def test_a_folder_that_is_removed_meanwhile_raises_no_error(tmp_path: Path):
    disk = new_disk(tmp_path)
    files = write_chain(disk, 2)
    for path in paths_in(tmp_path):
        path.unlink()
    paths = list(tmp_path.iterdir())
    paths[0].rmdir()
    disk.touch(files)
    assert list(disk.read(files)) == [None, None]
    # One write fails because of it; then the folder exists again.
    assert write(disk, None, 0) is None
    assert write(disk, None, 0) is not None
    assert disk.num_bytes == size_of(tmp_path)
    assert found(tmp_path) == [0]


# --- the limit -------------------------------------------------------------------------------------------------


def test_the_limit_holds_for_all_keys_together_and_the_oldest_chain_goes_first_from_its_end(tmp_path: Path):
    old, new = new_disk(tmp_path, "old"), new_disk(tmp_path, "new")
    one = write_chain(old, 4)
    size = size_of(tmp_path)
    for path in paths_in(tmp_path):
        os.utime(path, (1_000, 1_000))
    new.limit_bytes = size + size // 2
    list(new.find())
    two = write_chain(new, 4)
    assert size_of(tmp_path) <= new.limit_bytes
    assert len(found(tmp_path, "new")) == 4
    assert 0 < len(found(tmp_path, "old")) < 4
    assert found(tmp_path, "old") == [0, 10, 20, 30][: len(found(tmp_path, "old"))]
    assert not any(file.is_gone for file in two)
    # The cache that wrote it notices when it reads it, at the latest.
    assert list(old.read([one[-1]])) == [None]


def test_files_in_use_are_not_removed_to_make_room_for_their_continuation(tmp_path: Path):
    disk = new_disk(tmp_path)
    files = write_chain(disk, 3)
    disk.limit_bytes = disk.num_bytes + 10
    assert write(disk, files[-1], 30) is None
    assert disk.can_write
    assert found(tmp_path) == [0, 10, 20]


def test_with_a_limit_of_zero_nothing_is_written(tmp_path: Path):
    disk = new_disk(tmp_path, limit_bytes=0)
    assert write(disk, None, 0) is None
    assert paths_in(tmp_path) == []


def test_a_lower_limit_applies_from_the_first_search_on(tmp_path: Path):
    write_chain(new_disk(tmp_path), 10)
    disk = new_disk(tmp_path, limit_bytes=size_of(tmp_path) // 2)
    list(disk.find())
    assert 0 < size_of(tmp_path) <= disk.limit_bytes
    assert disk.num_bytes == size_of(tmp_path)
    assert found(tmp_path) == [10 * number for number in range(len(paths_in(tmp_path)))]


def test_later_caches_see_when_a_file_was_used(tmp_path: Path):
    disk = new_disk(tmp_path)
    first, second = write(disk, None, 0), write(disk, None, 0, num_numbers=101)
    assert first is not None
    assert second is not None
    for path in paths_in(tmp_path):
        os.utime(path, (1_000, 1_000))
    later = new_disk(tmp_path)
    files = {file.name: file for file, _ in later.find()}
    later.touch([files[first.name]])
    last = new_disk(tmp_path, limit_bytes=disk.num_bytes - 1)
    list(last.find())
    assert [path.name for path in paths_in(tmp_path)] == [first.name]


def test_files_that_two_caches_write_are_found_by_a_third(tmp_path: Path):
    one, other = new_disk(tmp_path), new_disk(tmp_path)
    write_chain(one, 3)
    write_chain(other, 2, num_numbers=50)
    assert found(tmp_path) == [0, 0, 10, 10, 20]
