"""Settings, presets and hooks in one file: all of it comes back, and a wrong or hostile file changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec import structs

from app.model.generation_settings import GenerationSettings, Preset
from app.model.model_settings import ModelSettings
from app.model.settings import LocalApiSettings, Settings, load_settings, save_settings
from app.model.settings_file import SettingsFileError, add_hooks, merged, read_settings_file, write_settings_file
from worker.sentence import Sentence

_HOOK = "def hook(step):\n    return None\n"


def _written(folder: Path, settings: Settings) -> Path:
    (folder / "hooks").mkdir(exist_ok=True)
    (folder / "hooks" / "no shouting.py").write_text(_HOOK, encoding="utf-8")
    file = folder / "settings.json"
    assert write_settings_file(file, settings, folder / "hooks") == 1
    return file


def test_settings_presets_and_hooks_are_restored_except_settings_of_the_computer(tmp_path: Path) -> None:
    preset = Preset(name="Mine", generation=GenerationSettings(hooks=("no shouting",)))
    settings = Settings(
        text_percent=130,
        theme="dark",
        model="/models/a",
        local_api=LocalApiSettings(is_on=True, allows_network=True),
        presets=(preset,),
        generation=GenerationSettings(hooks=("no shouting",)),
    )
    read = read_settings_file(_written(tmp_path, settings))
    other = Settings(presets=(Preset(name="Theirs", generation=GenerationSettings()),))
    changes, no_room_for = merged(other, read)
    assert no_room_for == []
    assert (changes["text_percent"], changes["theme"]) == (130, "dark")
    assert [one.name for one in changes["presets"]] == ["Theirs", "Mine"]
    assert changes["presets"][1] == preset
    # No hook runs because of an import, and nobody else gets in.
    assert changes["generation"].hooks == ()
    assert not {"model", "local_api", "windows"} & set(changes)
    assert merged(other, read, ["no shouting.py"])[0]["presets"][1].generation.hooks == ()
    there = tmp_path / "there"
    assert add_hooks(read.hooks, there) == []
    assert (there / "no shouting.py").read_text(encoding="utf-8") == _HOOK
    (there / "no shouting.py").write_text("other", encoding="utf-8")
    assert add_hooks(read.hooks, there) == ["no shouting.py"]
    assert (there / "no shouting.py").read_text(encoding="utf-8") == "other"


def test_beyond_the_limits_all_existing_entries_are_kept_and_the_others_are_counted(tmp_path: Path) -> None:
    def settings(*names: str) -> Settings:
        return Settings(
            presets=tuple(Preset(name=name, generation=GenerationSettings()) for name in names),
            of_models={name: ModelSettings(kv_bits=8) for name in names},
        )

    now = settings(*(f"mine {number}" for number in range(998)))
    read = read_settings_file(_written(tmp_path, settings("mine 7", *(f"theirs {number}" for number in range(5)))))
    changes, no_room_for = merged(now, read)
    wanted = [*(one.name for one in now.presets), "theirs 0", "theirs 1"]
    assert [one.name for one in changes["presets"]] == list(changes["of_models"]) == wanted
    assert [str(sentence) for sentence in no_room_for] == [
        "Presets that were not imported, because Bough keeps at most 1,000: 3.",
        "Models whose settings were not imported, because Bough keeps those of at most 1,000: 3.",
    ]
    # The next start can read them all.
    file = tmp_path / "merged.json"
    save_settings(file, structs.replace(now, **changes))
    problems: list[Sentence] = []
    assert load_settings(file, problems.append).of_models.keys() == set(wanted)
    assert problems == []


_HEAD = b'{"format":"bough-settings","version":1,"settings":'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff" * 50,
        b"[" * 100_000,
        _HEAD + b"{}}" + b"x",
        _HEAD + b'{"text_percent":"large"}}',
        _HEAD + b'{"text_percent":5000}}',
        _HEAD + b'{},"hooks":{"../a.py":""}}',
        _HEAD + b'{},"hooks":{"a/b.py":""}}',
        _HEAD + b'{},"hooks":{".py":""}}',
        _HEAD + b'{},"hooks":{"a.py":1}}',
        b'{"format":"bough-settings","version":2,"settings":{}}',
        b'{"format":"other","version":1,"settings":{}}',
    ],
)
def test_a_wrong_file_gets_a_sentence(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(data)
    with pytest.raises(SettingsFileError, match="Nothing was changed"):
        read_settings_file(file)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "missing", tmp_path):
        with pytest.raises(SettingsFileError, match="Nothing was changed"):
            read_settings_file(path)
