"""Settings, drafts and other files of ours with hostile contents: Bough starts, and says what it set aside."""

from __future__ import annotations

import contextlib
import json
import os
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtWidgets import QLabel

from app.model.attachment import Attachment
from app.model.preparations import Prepared
from app.model.settings import Settings, load_settings, save_settings
from app.model.store import Store
from app.model.unsent import NOTHING, Unsent
from app.ui.composer.chips import Chips
from tests.app.model.stores import sql
from tests.attacks.conftest import Starter
from tests.attacks.start_fuzz import (
    SETTINGS,
    fuzz_settings,
    fuzz_starts,
    settings_json,
    start_and_look,
    write_changed_files,
    write_own_files,
)
from tests.long import in_long_runs
from worker.sentence import Sentence

_BRIEF = Unsent(system_prompt="Be brief.")


def _place(**changes: Any) -> dict[str, Any]:
    return {"x": 1, "y": 2, "width": 900, "height": 600, **changes}


_DEEP = b'{"a": ' + 900 * b"[" + 900 * b"]" + b"}"
_HOSTILE: dict[str, tuple[bytes, str]] = {
    "a window far away": (settings_json(windows=[_place(x=3_000_000_000), _place()]), "windows"),
    "a window of no size": (settings_json(windows=[_place(width=10**30)]), "windows"),
    "no conversation": (settings_json(last_conversation=2**80), "last_conversation"),
    "many models": (settings_json(recent_models=[f"model {number}" for number in range(100_000)]), "recent_models"),
    "many windows": (settings_json(windows=[_place()] * 10_000), "windows"),
    "a long name": (settings_json(model="m" * 1_000_000), "model"),
    "not a number": (settings_json(text_percent=float("nan")), "text_percent"),
    "too much": (settings_json(text_percent=float("inf")), "text_percent"),
    "a number beyond 64 bits": (settings_json(asking={"sampling": {"top_k": 10**300}}), "asking.sampling.top_k"),
    "a wrong type": (settings_json(presets={"a": 1}, theme=["dark"]), "presets, theme"),
    "one bad preset": (
        settings_json(presets=[{"name": ""}, json.loads(msgspec.json.encode(SETTINGS.presets[0]))]),
        "presets",
    ),
    "deep options": (
        settings_json(asking=0).replace(b'"asking": 0', b'"asking": {"template_options": %s}' % _DEEP),
        "asking",
    ),
    "a lone surrogate": (settings_json(model="\ud800"), ""),
    "too deep": (b"[" * 1_000_000, "*"),
    "bytes": (bytes(range(256)), "*"),
    "cut": (settings_json()[:-40], "*"),
    "a list": (b"[]", "*"),
    "nothing": (b"", "*"),
    "long": (b" " * (17 << 20), "*"),
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_values_out_of_bounds_are_set_aside_and_the_rest_is_kept(tmp_path: Path, name: str) -> None:
    data, left_out = _HOSTILE[name]
    path = tmp_path / "settings.json"
    path.write_bytes(data)
    said: list[str] = []
    settings = load_settings(path, said.append)
    if left_out != "*":
        assert settings.tokens_visible == SETTINGS.tokens_visible
        assert settings.keys == SETTINGS.keys
    if not left_out:
        assert said == []
        return
    assert len(said) == 1
    assert (f"set aside: {left_out}" if left_out != "*" else "all have their defaults") in said[0]
    assert path.with_suffix(".damaged").read_bytes() == data
    # The next start has nothing to report, and changes nothing.
    assert load_settings(path, said.append) == settings
    assert len(said) == 1


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop", "device", "too large"])
def test_a_path_that_is_not_a_file_is_set_aside(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "settings.json"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            path.touch()
            os.truncate(path, 1 << 30)
    said: list[str] = []
    assert load_settings(path, said.append) == Settings()
    assert len(said) == 1
    save_settings(path, SETTINGS)
    assert load_settings(path, said.append) == SETTINGS
    assert path.stat().st_mode & 0o077 == 0


# --- the window ------------------------------------------------------------------------------------------------


_DRAFTS: dict[str, tuple[str, str | None, str, Unsent]] = {
    "cut": ('{"text": "half a que', None, "unsent", NOTHING),
    "a number for the text": ('{"text": 5, "system_prompt": "Be brief."}', None, "unsent.text", _BRIEF),
    "one bad file": (
        '{"attachments": [{"text": "a"}, {"name": "b", "text": "c"}]}',
        None,
        "unsent.attachments",
        Unsent(attachments=(Attachment(name="b", text="c"),)),
    ),
    "deep": ("[" * 100_000, None, "unsent", NOTHING),
    "no text": ("7", '{"n": "many"}', "unsent, settings.n", NOTHING),
    "settings alone": (msgspec.json.encode(_BRIEF).decode(), "[]", "settings", _BRIEF),
}


@pytest.mark.parametrize("name", _DRAFTS)
def test_invalid_drafts_are_set_aside_and_the_rest_is_kept(tmp_path: Path, name: str) -> None:
    unsent, asking, left_out, valid = _DRAFTS[name]
    write_own_files(tmp_path, b"{}", (unsent, asking))
    said: list[Sentence] = []
    with contextlib.closing(Store(tmp_path / "conversations.sqlite3")) as store:
        for _ in range(2):
            assert store.preparations.get(1, said.append).unsent == valid
    (sentence,) = said
    (kept,) = tmp_path.glob("unsent-1-*.damaged")
    assert sentence.fields == {"names": left_out, "file": str(kept)}
    assert kept.stat().st_mode & 0o077 == 0
    assert json.loads(kept.read_bytes()) == [unsent, asking]


def test_a_draft_that_cannot_be_set_aside_is_reported_and_stays(tmp_path: Path) -> None:
    write_own_files(tmp_path, b"{}", ("{", None))
    path = tmp_path / "conversations.sqlite3"
    said: list[Sentence] = []
    with contextlib.closing(Store(path, read_only_because=Sentence("Elsewhere."))) as store:
        assert store.preparations.get(1, said.append) == Prepared()
    assert "are invalid and not used: unsent" in said[0]
    with sql(path) as database:
        assert database.execute("SELECT unsent FROM preparation WHERE conversation_id = 1").fetchone() == ("{",)


def test_the_window_says_which_drafts_were_set_aside(bough: Starter, tmp_path: Path) -> None:
    write_own_files(tmp_path, _HOSTILE["a window far away"][0], ("{", None))
    application = bough.start()
    said = "\n".join(notice.text for notice in application.program.notices.lasting)
    assert str(tmp_path / "settings.damaged") in said
    assert "unsent-0-" in said


@pytest.mark.parametrize("name", ["a window far away", *in_long_runs(["many models", "many windows", "cut"])])
def test_the_window_opens_and_says_what_was_set_aside(bough: Starter, tmp_path: Path, name: str) -> None:
    write_own_files(tmp_path, _HOSTILE[name][0])
    application = bough.start()
    assert application.window.isVisible()
    assert str(tmp_path / "settings.damaged") in application.window.banner.label.text()


def test_numbers_larger_than_a_field_open_the_sampling_panel(
    bough: Starter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    huge = {"sampling": {"top_k": 2**31, "max_tokens": 2**63 - 1}}
    draft = msgspec.json.encode(_BRIEF).decode(), json.dumps(huge)
    write_own_files(tmp_path, settings_json(asking=huge), draft)
    start_and_look(bough)
    assert "OverflowError" not in capsys.readouterr().err


def test_very_many_files_and_stop_strings_are_counted_and_the_first_are_shown(bough: Starter, tmp_path: Path) -> None:
    """A chip for each of 20,000 files took the window two minutes."""
    files = tuple(Attachment(name=f"{number}.txt", text="a") for number in range(2_000))
    stops = {"sampling": {"stop": [f"{number}" for number in range(2_000)]}}
    draft = msgspec.json.encode(Unsent(attachments=files)).decode(), json.dumps(stops)
    write_own_files(tmp_path, b"{}", draft)
    window = bough.start().window
    bough.present.controller.shown.open_conversation(1)
    window.action("sampling").trigger()
    shown = [chips for chips in window.findChildren(Chips) if chips.buttons]
    assert {len(chips.buttons) for chips in shown} == {50}
    assert window.composer.attachments in shown
    assert "and 1,950 more" in [label.text() for label in window.composer.attachments.findChildren(QLabel)]


def test_safe_mode_uses_and_changes_none_of_the_files(bough: Starter, tmp_path: Path) -> None:
    write_own_files(tmp_path, settings_json())
    with contextlib.closing(Store(tmp_path / "conversations.sqlite3")) as store:
        before = [store.preparations.get(None), store.preparations.get(1)]
    application = bough.start(is_safe=True)
    assert "safe mode" in application.window.banner.label.text()
    assert application.preferences.settings == Settings()
    assert application.controller.shown.conversation is None
    assert application.window.composer.text.content == ""
    application.window.composer.text.setPlainText("written in safe mode")
    application.preferences.change(theme="light")
    application.controller.shown.open_conversation(1)
    assert application.window.composer.text.content == ""
    bough.end()
    assert (tmp_path / "settings.json").read_bytes() == settings_json()
    with contextlib.closing(Store(tmp_path / "conversations.sqlite3")) as store:
        assert [store.preparations.get(None), store.preparations.get(1)] == before


# --- fuzz ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("num_files", "seed"), [(100, 0), *in_long_runs([(20_000, 1)])])
def test_any_settings_file_is_read(num_files: int, seed: int) -> None:
    figures = fuzz_settings(num_files, seed)
    print(figures)
    assert figures.faults == []


def test_bough_starts_with_changed_files(bough: Starter, tmp_path: Path) -> None:
    for number in range(2):
        write_changed_files(tmp_path, random.Random(number))
        start_and_look(bough)


@pytest.mark.long
@pytest.mark.timeout(24 * 3600)
def test_bough_starts_with_any_files_of_its_own() -> None:
    figures = fuzz_starts(200, seed=1)
    print(figures)
    assert figures.faults == []
