"""Files that workers keep on disk: counted and removed, and nothing else in the folder touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.model.cache_folder import CacheFolder, Emptied

_KEY = "0123456789abcdef" * 2
_NAME = f"00000512-{'a' * 24}-{'b' * 32}.safetensors"


def _write(path: Path, num_bytes: int = 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(num_bytes))
    return path


def test_every_models_files_are_counted_and_removed_and_their_folders_stay(tmp_path: Path) -> None:
    _write(tmp_path / _KEY / _NAME, 10)
    _write(tmp_path / _KEY[::-1] / _NAME, 32)
    kept = CacheFolder(tmp_path)
    assert kept.num_bytes == 42
    assert kept.empty() == Emptied(num_bytes=42, num_left=0)
    assert kept.num_bytes == 0
    # A worker that uses a folder continues to write there.
    assert sorted(folder.name for folder in tmp_path.iterdir()) == [_KEY, _KEY[::-1]]


def test_all_other_files_stay(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    others = [
        _write(folder / "conversations.sqlite3"),
        _write(folder / _NAME),
        _write(folder / "notes" / _NAME),
        _write(folder / f"{_KEY}0" / _NAME),
        _write(folder / _KEY / "thesis.safetensors"),
        _write(folder / _KEY / f"{_NAME}.bak"),
        _write(folder / _KEY / "deeper" / _NAME),
        _write(tmp_path / "elsewhere" / _NAME),
    ]
    (folder / _KEY[::-1]).symlink_to(tmp_path / "elsewhere")
    (folder / _KEY / _NAME).symlink_to(others[-1])
    kept = CacheFolder(folder)
    assert kept.num_bytes == 0
    assert kept.empty() == Emptied(num_bytes=0, num_left=0)
    assert all(file.exists() for file in others)
    assert (folder / _KEY / _NAME).is_symlink()


def test_a_file_that_a_worker_is_writing_stays_and_a_dead_workers_goes(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    alive = _write(tmp_path / _KEY / f".{os.getpid()}-1.part")
    left = _write(tmp_path / _KEY / f".{dead.pid}-7.part")
    assert CacheFolder(tmp_path).empty() == Emptied(num_bytes=10, num_left=0)
    assert alive.exists()
    assert not left.exists()


def test_a_missing_folder_counts_as_empty(tmp_path: Path) -> None:
    kept = CacheFolder(tmp_path / "none" / "yet")
    assert kept.num_bytes == 0
    assert kept.empty() == Emptied(num_bytes=0, num_left=0)
    assert (kept.disk_bytes or 0) > 0
    assert not kept.folder.exists()


def test_files_that_cannot_be_removed_are_reported_and_the_rest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn, other = _write(tmp_path / _KEY / _NAME), _write(tmp_path / _KEY / f"1{_NAME[1:]}", 5)
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path == stubborn:
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    assert CacheFolder(tmp_path).empty() == Emptied(num_bytes=5, num_left=1, why="Permission denied")
    assert stubborn.exists()
    assert not other.exists()
