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
from PySide6.QtWidgets import QApplication

from app.model.attachment import Attachment
from app.model.generation_settings import AnswerFormat, GenerationSettings, Preset
from app.model.message import Sampling
from app.model.preparations import Prepared
from app.model.settings import CacheSettings, Settings, WindowPlace, load_settings, save_settings
from app.model.store import Store
from app.model.unsent import NOTHING, Unsent
from tests.app.model.stores import sql
from tests.app.trees import plant
from tests.attacks.conftest import Starter
from tests.attacks.mutations import changed_bytes, changed_json
from tests.long import in_long_runs
from worker.sentence import Sentence

_GENERATION = GenerationSettings(
    sampling=Sampling(temperature=0.5, stop=("a", "b"), seed=7),
    format=AnswerFormat(kind="choice", text="yes\nno"),
    hooks=("no_repeats",),
    hook_options={"no_repeats": {"times": 3, "fewest": 20}},
    template_options={"a": [1, {"b": None}]},
    n=2,
    preset="mine",
)
_SETTINGS = Settings(
    recent_models=("one", "two"),
    draft_models={"one": "two"},
    recent_drafts=("two",),
    generation=_GENERATION,
    presets=(Preset(name="mine", generation=_GENERATION), Preset(name="other", generation=GenerationSettings())),
    cache_settings=CacheSettings(limit_bytes=1 << 30, kv_bits=8),
    theme="dark",
    language="de",
    text_percent=120,
    last_conversation=1,
    windows=(
        WindowPlace(x=1, y=2, width=900, height=600, conversation=1),
        WindowPlace(x=0, y=0, width=700, height=500),
    ),
    keys={"new": "Ctrl+T"},
    tree_visible=True,
)
_UNSENT = Unsent(
    text="half a question", attachments=(Attachment(name="a.txt", text="file"),), system_prompt="Be brief."
)

_BRIEF = Unsent(system_prompt="Be brief.")


def _json(**changes: Any) -> bytes:
    return json.dumps({**json.loads(msgspec.json.encode(_SETTINGS)), **changes}).encode()


def _place(**changes: Any) -> dict[str, Any]:
    return {"x": 1, "y": 2, "width": 900, "height": 600, **changes}


_DEEP = b'{"a": ' + 900 * b"[" + 900 * b"]" + b"}"
_HOSTILE: dict[str, tuple[bytes, str]] = {
    "a window far away": (_json(windows=[_place(x=3_000_000_000), _place()]), "windows"),
    "a window of no size": (_json(windows=[_place(width=10**30)]), "windows"),
    "no conversation": (_json(last_conversation=2**80), "last_conversation"),
    "many models": (_json(recent_models=[f"model {number}" for number in range(100_000)]), "recent_models"),
    "many windows": (_json(windows=[_place()] * 10_000), "windows"),
    "a long name": (_json(model="m" * 1_000_000), "model"),
    "not a number": (_json(text_percent=float("nan")), "text_percent"),
    "too much": (_json(text_percent=float("inf")), "text_percent"),
    "a number beyond 64 bits": (_json(asking={"sampling": {"top_k": 10**300}}), "asking.sampling.top_k"),
    "a wrong type": (_json(presets={"a": 1}, theme=["dark"]), "presets, theme"),
    "one bad preset": (_json(presets=[{"name": ""}, json.loads(msgspec.json.encode(_SETTINGS.presets[0]))]), "presets"),
    "deep options": (_json(asking=0).replace(b'"asking": 0', b'"asking": {"template_options": %s}' % _DEEP), "asking"),
    "a lone surrogate": (_json(model="\ud800"), ""),
    "too deep": (b"[" * 1_000_000, "*"),
    "bytes": (bytes(range(256)), "*"),
    "cut": (_json()[:-40], "*"),
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
        assert settings.tokens_visible == _SETTINGS.tokens_visible
        assert settings.keys == _SETTINGS.keys
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
def test_a_path_that_is_no_file_is_set_aside(tmp_path: Path, kind: str) -> None:
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
    save_settings(path, _SETTINGS)
    assert load_settings(path, said.append) == _SETTINGS
    assert path.stat().st_mode & 0o077 == 0


# --- the window ------------------------------------------------------------------------------------------------


def _write(folder: Path, settings: bytes, prepared: tuple[str, str | None] | None = None) -> None:
    with contextlib.closing(Store(folder / "conversations.sqlite3")) as store:
        if not store.has_conversations:
            plant(store, "u1-a1")
        store.preparations.put(None, Prepared(unsent=_UNSENT, generation=_GENERATION))
        store.preparations.put(1, Prepared(unsent=_UNSENT, generation=_GENERATION))
    (folder / "settings.json").write_bytes(settings)
    if prepared is not None:
        with sql(folder / "conversations.sqlite3") as database:
            database.execute("UPDATE preparation SET unsent = ?, asking = ?", prepared)


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
    _write(tmp_path, b"{}", (unsent, asking))
    said: list[Sentence] = []
    with contextlib.closing(Store(tmp_path / "conversations.sqlite3")) as store:
        for _ in range(2):
            assert store.preparations.get(1, said.append).unsent == valid
    (sentence,) = said
    (kept,) = tmp_path.glob("unsent-1-*.damaged")
    assert sentence.fields == {"names": left_out, "file": str(kept)}
    assert kept.stat().st_mode & 0o077 == 0
    assert json.loads(kept.read_bytes()) == [unsent, asking]


def test_a_draft_that_can_not_be_set_aside_is_said_and_stays(tmp_path: Path) -> None:
    _write(tmp_path, b"{}", ("{", None))
    path = tmp_path / "conversations.sqlite3"
    said: list[Sentence] = []
    with contextlib.closing(Store(path, read_only_because=Sentence("Elsewhere."))) as store:
        assert store.preparations.get(1, said.append) == Prepared()
    assert "are invalid and not used: unsent" in said[0]
    with sql(path) as database:
        assert database.execute("SELECT unsent FROM preparation WHERE conversation_id = 1").fetchone() == ("{",)


def test_the_window_says_which_drafts_were_set_aside(bough: Starter, tmp_path: Path) -> None:
    _write(tmp_path, _HOSTILE["a window far away"][0], ("{", None))
    application = bough.start()
    said = "\n".join(notice.text for notice in application.program.notices.lasting)
    assert str(tmp_path / "settings.damaged") in said
    assert "unsent-0-" in said


@pytest.mark.parametrize("name", ["a window far away", *in_long_runs(["many models", "many windows", "cut"])])
def test_the_window_opens_and_says_what_was_set_aside(bough: Starter, tmp_path: Path, name: str) -> None:
    _write(tmp_path, _HOSTILE[name][0])
    application = bough.start()
    assert application.window.isVisible()
    assert str(tmp_path / "settings.damaged") in application.window.banner.label.text()


def test_safe_mode_uses_and_changes_none_of_the_files(bough: Starter, tmp_path: Path) -> None:
    _write(tmp_path, _json())
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
    assert (tmp_path / "settings.json").read_bytes() == _json()
    with contextlib.closing(Store(tmp_path / "conversations.sqlite3")) as store:
        assert [store.preparations.get(None), store.preparations.get(1)] == before


# --- fuzz ------------------------------------------------------------------------------------------------------


def _changed(draw: random.Random, data: bytes) -> bytes:
    """Return the bytes of a JSON file with one to three changes."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        if draw.random() < 0.3:
            data, _ = changed_bytes(draw, data)
            continue
        with contextlib.suppress(ValueError, RecursionError):
            value, _ = changed_json(draw, json.loads(data))
            data = json.dumps(value).encode("utf-8", "surrogatepass")
    return data


@pytest.mark.parametrize(("num_files", "seed"), [(100, 0), *in_long_runs([(20_000, 1)])])
def test_any_settings_file_is_read(tmp_path: Path, num_files: int, seed: int) -> None:
    draw = random.Random(seed)
    for number in range(num_files):
        path = tmp_path / str(number) / "settings.json"
        path.parent.mkdir()
        path.write_bytes(_changed(draw, _json()))
        settings = load_settings(path)
        save_settings(path, settings)
        said: list[str] = []
        assert load_settings(path, said.append) == settings
        assert said == []


@pytest.mark.timeout(24 * 3600)
@pytest.mark.parametrize(("num_starts", "seed"), [(2, 0), *in_long_runs([(2000, 1)])])
def test_bough_starts_with_any_settings_and_drafts(bough: Starter, tmp_path: Path, num_starts: int, seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(num_starts):
        texts = [
            _changed(draw, msgspec.json.encode(part)).decode("utf-8", "replace") for part in (_UNSENT, _GENERATION)
        ]
        _write(tmp_path, _changed(draw, _json()), (texts[0], texts[1]))
        application = bough.start()
        window = application.window
        assert window.isVisible()
        application.controller.shown.open_conversation(1)
        window.action("settings").trigger()
        window.action("sampling").trigger()
        QApplication.processEvents()
        bough.end()
