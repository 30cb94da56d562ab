"""Settings: written whole or not at all, and read from files with any content."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from app.model.exports.files import whole_file
from app.model.generation_settings import GenerationSettings
from app.model.message import Sampling
from app.model.settings import CacheSettings, Settings, load_settings, save_settings, write_atomically


def test_settings_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "made" / "settings.json"
    settings = Settings(
        model="/models/ä b",
        recent_models=("x",),
        generation=GenerationSettings(sampling=Sampling(stop=("\n", "😀"))),
        theme="dark",
    )
    save_settings(path, settings)
    assert load_settings(path) == settings


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "settings.json") == Settings()
    assert list(tmp_path.iterdir()) == []


def test_unknown_fields_are_dropped_and_missing_ones_have_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(
        '{"theme": "dark", "of_a_newer_version": {"deep": [1]}, "asking": {"sampling": {"temperature": 0}, "new": 1}}'
    )
    settings = load_settings(path)
    assert settings == Settings(theme="dark", generation=GenerationSettings(sampling=Sampling(temperature=0)))
    save_settings(path, settings)
    assert "newer" not in path.read_text()


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"{",
        b"\x00" * 100,
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"theme": "blue"}',
        b'{"model": 3}',
        b'{"x": ' + b"[" * 9999,
    ],
)
def test_a_damaged_file_is_kept_aside_and_the_defaults_apply(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(damaged)
    assert load_settings(path) == Settings()
    assert (tmp_path / "settings.damaged").read_bytes() == damaged
    save_settings(path, Settings(theme="light"))
    assert load_settings(path) == Settings(theme="light")
    assert (tmp_path / "settings.damaged").read_bytes() == damaged


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.json"
    save_settings(path, Settings(theme="dark"))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_settings(path, Settings(theme="light"))
    monkeypatch.undo()
    assert load_settings(path) == Settings(theme="dark")
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_is_replaced_only_once_the_new_one_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen: list[bytes] = []

    def look(_: int) -> None:
        seen.append(path.read_bytes())

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(path, b"new")
    assert seen == [b"old"]
    assert path.read_bytes() == b"new"


def test_a_written_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "ordinary").touch()
    write_atomically(tmp_path / "written", b"")
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ordinary", "written")]
    assert rights[0] == rights[1]


@pytest.mark.parametrize(
    ("keeping", "good"),
    [
        ('{"limit_bytes": -1, "disk_limit_bytes": 5, "kv_bits": 8}', CacheSettings(disk_limit_bytes=5, kv_bits=8)),
        ('{"limit_bytes": 7, "disk_limit_bytes": 99999999999999999999}', CacheSettings(limit_bytes=7)),
        ('{"limit_bytes": "much", "kv_bits": 3}', CacheSettings()),
        ('{"kv_bits": true, "disk_limit_bytes": 1.5}', CacheSettings()),
        ("[4]", CacheSettings()),
        ("null", CacheSettings()),
    ],
)
def test_good_values_are_kept_beside_a_bad_one(tmp_path: Path, keeping: str, good: CacheSettings) -> None:
    path = tmp_path / "settings.json"
    text = f'{{"theme": "dark", "model": "/m", "overflow": "panic", "last_conversation": 4, "keeping": {keeping}}}'
    path.write_text(text)
    settings = Settings(theme="dark", model="/m", last_conversation=4, cache_settings=good)
    assert load_settings(path) == settings
    assert (tmp_path / "settings.damaged").read_text() == text
    assert load_settings(path) == settings


def test_a_link_to_the_file_stays_and_one_to_a_device_is_replaced(tmp_path: Path) -> None:
    path, real = tmp_path / "settings.json", tmp_path / "elsewhere" / "own.json"
    real.parent.mkdir()
    real.write_text("{}")
    path.symlink_to(real)
    save_settings(path, Settings(theme="dark"))
    assert path.is_symlink()
    assert load_settings(real).theme == "dark"
    assert list(real.parent.iterdir()) == [real]
    path.unlink()
    path.symlink_to("/dev/null")
    save_settings(path, Settings(theme="dark"))
    assert not path.is_symlink()
    with whole_file(tmp_path / "link") as file:
        file.write(b"1")
    (tmp_path / "second").symlink_to(tmp_path / "link")
    with whole_file(tmp_path / "second") as file:
        file.write(b"2")
    assert ((tmp_path / "link").read_bytes(), (tmp_path / "second").is_symlink()) == (b"2", True)
