"""Drafts and settings of each conversation: kept with it, used for its requests, and for no other's."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET, structs

from app.model.attachment import Attachment
from app.model.generation_settings import (
    BUILT_IN_PRESETS,
    AnswerFormat,
    GenerationSettings,
    Preset,
    current_preset,
    find_preset,
    with_preset,
    without_preset,
)
from app.model.message import Constraint, Sampling
from app.model.settings import load_settings
from app.model.store import Store
from app.model.unsent import Unsent
from tests.app.desk import Desk
from tests.app.sampling import set_sampling
from tests.driver import ROOT
from worker.protocol import Constraint as AskedConstraint
from worker.protocol import Sampling as AskedSampling

_SETTINGS = GenerationSettings(
    sampling=Sampling(temperature=0.5, top_k=40, min_p=0.1, repetition_penalty=1.2, stop=("\n\n",), seed=3),
    format=AnswerFormat(kind="choice", text="yes\nno\n"),
    hooks=("no_repeats",),
    hook_options={"no_repeats": {"times": 4}, "banned_phrases": {"phrases": ["x"]}},
    draft="off",
    top_logprobs=2,
)


def test_the_settings_of_a_conversation_go_with_the_request_and_into_the_record(desk: Desk) -> None:
    desk.controller.preparation.set_generation(_SETTINGS)
    answer = desk.ask("u1", "a1")
    asked = desk.link.asked[-1]
    assert (asked.sampling.top_k, asked.sampling.min_p, asked.sampling.repetition_penalty) == (40, 0.1, 1.2)
    assert asked.constraint == AskedConstraint(kind="choice", value=["yes", "no"])
    assert (asked.hooks, asked.hook_options) == (["no_repeats"], {"no_repeats": {"times": 4}})
    assert (asked.draft, asked.top_logprobs, asked.template_options) == ("off", 2, UNSET)
    assert answer.record is not None
    assert answer.record.constraint == Constraint(kind="choice", value=["yes", "no"])
    assert answer.record.hooks == ("no_repeats",)


def test_every_sampling_setting_of_the_worker_can_be_set_and_reaches_it(desk: Desk) -> None:
    values = {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.1,
        "repetition_penalty": 1.2,
        "presence_penalty": 0.3,
        "frequency_penalty": -0.4,
        "penalty_context": 64,
        "penalty_covers": "new",
        "logit_bias": {7: -1.5},
        "seed": 3,
    }
    assert values.keys() == set(AskedSampling.__struct_fields__)
    desk.controller.preparation.set_generation(GenerationSettings(sampling=msgspec.convert(values, Sampling)))
    desk.ask("u1", "a1")
    assert desk.link.asked[-1].sampling == msgspec.convert(values, AskedSampling)


def test_the_sampling_settings_have_the_same_types_as_in_the_worker() -> None:
    types = {field.name: field.type for field in msgspec.structs.fields(Sampling)}
    assert {field.name: types[field.name] for field in msgspec.structs.fields(AskedSampling)} == {
        field.name: field.type for field in msgspec.structs.fields(AskedSampling)
    }


def test_a_conversation_uses_its_own_settings_and_others_the_defaults(desk: Desk) -> None:
    desk.ask("u1", "a1")
    first = desk.controller.shown.conversation
    assert first is not None
    desk.controller.preparation.set_generation(_SETTINGS)
    desk.controller.shown.new_conversation()
    assert desk.controller.preparation.generation == GenerationSettings()
    desk.ask("u2", "a2")
    set_sampling(desk.program, Sampling(temperature=0.1))
    assert desk.controller.preparation.generation.sampling.temperature == 0.1
    desk.controller.shown.open_conversation(first.id)
    assert desk.controller.preparation.generation == _SETTINGS
    desk.controller.preparation.reset_generation()
    assert desk.controller.preparation.generation.sampling.temperature == 0.1


def test_settings_of_the_empty_page_go_with_the_conversation_that_begins_there(desk: Desk) -> None:
    desk.controller.preparation.set_generation(_SETTINGS)
    desk.ask("u1", "a1")
    assert desk.controller.preparation.generation == _SETTINGS
    desk.controller.shown.new_conversation()
    assert desk.controller.preparation.generation == GenerationSettings()


def test_a_continued_answer_keeps_its_format_but_uses_the_current_sampling(desk: Desk) -> None:
    desk.controller.preparation.set_generation(_SETTINGS)
    desk.controller.send("u1")
    request = desk.link.asked[-1]
    desk.link.chunk(request, "ye")
    desk.link.finished(request, "ye", "length")
    desk.controller.preparation.set_generation(GenerationSettings(sampling=Sampling(temperature=0.0)))
    desk.controller.continue_answer(desk.controller.shown.path[-1].id)
    asked = desk.link.asked[-1]
    assert asked.constraint == AskedConstraint(kind="choice", value=["yes", "no"])
    assert (asked.sampling.temperature, asked.hooks) == (0.0, [])


@pytest.mark.parametrize(
    ("thinking", "option", "asked"), [(True, True, True), (False, True, False), (None, True, None), (True, False, None)]
)
def test_a_model_with_a_thinking_option_gets_its_value(
    desk: Desk, thinking: bool | None, option: bool, asked: bool | None
) -> None:
    desk.program.load_model("/another")
    desk.link.loaded(thinking_option="enable_thinking" if option else None)
    desk.controller.preparation.set_generation(
        GenerationSettings(thinking=thinking, template_options={"date": "today"})
    )
    desk.controller.send("u1")
    expected = {"date": "today"} if asked is None else {"date": "today", "enable_thinking": asked}
    assert desk.link.asked[-1].template_options == expected
    # Also while the model is loaded again.
    desk.link.finished(desk.link.asked[-1], "a1")
    desk.program.set_draft_model("/small")
    desk.controller.send("u2")
    assert desk.link.asked[-1].template_options == expected
    desk.link.loaded()
    desk.program.load_model("/one that is not known yet")
    assert desk.controller.preparation.template_options() == {"date": "today"}


def test_a_fork_takes_over_the_settings_of_its_conversation(desk: Desk) -> None:
    answer = desk.ask("u1", "a1")
    desk.controller.preparation.set_generation(_SETTINGS)
    desk.controller.preparation.set_unsent(Unsent(text="thought"))
    desk.controller.fork(answer.id)
    assert desk.controller.preparation.generation == _SETTINGS
    assert desk.controller.preparation.unsent == Unsent()


def test_a_draft_is_there_again_with_its_conversation(desk: Desk) -> None:
    attachment = Attachment(name="a.txt", text="1\ud83d")
    desk.controller.preparation.set_unsent(Unsent(text="half a", system_prompt="Be brief."))
    desk.ask("u1", "a1")
    first = desk.controller.shown.conversation
    assert first is not None
    assert desk.controller.preparation.unsent == Unsent()
    assert desk.controller.shown.path[0].text == "Be brief."
    desk.controller.preparation.set_unsent(Unsent(text="thought", attachments=(attachment,)))
    desk.controller.shown.new_conversation()
    assert desk.controller.preparation.unsent == Unsent()
    desk.controller.shown.open_conversation(first.id)
    kept = Unsent(text="thought", attachments=(Attachment(name="a.txt", text="1\ufffd"),))
    assert desk.controller.preparation.unsent == kept
    desk.controller.preparation.save()
    with_another = Store(desk.path)
    assert with_another.preparations.get(first.id).unsent == kept
    with_another.close()


def test_a_draft_survives_a_kill(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.model.unsent import Unsent
from tests.app.desk import Desk
from tests.driver import ROOT
application = QCoreApplication([])
desk = Desk(Path(sys.argv[1]))
desk.controller.preparation.set_unsent(Unsent(text="half a thought", system_prompt="Be brief."))
desk.controller.preparation._timer.timeout.connect(lambda: os.kill(os.getpid(), signal.SIGKILL))
application.exec()
"""
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, timeout=500, check=False)
    assert killed.returncode == -signal.SIGKILL
    store = Store(tmp_path / "conversations.sqlite3")
    assert store.preparations.get(None).unsent == Unsent(text="half a thought", system_prompt="Be brief.")
    store.close()


def test_half_a_character_in_a_setting_is_stored_as_a_mark(desk: Desk) -> None:
    sampling = Sampling(stop=("a\ud83d",))
    options = {"h": {"phrases": ["b\ud83d", 3], "more": {"c": "\ud83d"}}}
    form = AnswerFormat(kind="regex", text="\ud83d")
    generation = GenerationSettings(sampling=sampling, hooks=("h",), hook_options=options, format=form)
    desk.controller.preparation.set_generation(generation)
    desk.controller.preparation.save()
    desk.program.set_presets(with_preset((), "Mine", generation))
    desk.preferences.save()
    kept = desk.store.preparations.get(None).generation
    assert kept is not None
    assert (kept.sampling.stop, kept.format) == (("a\ufffd",), AnswerFormat(kind="regex", text="\ufffd"))
    assert kept.hook_options == {"h": {"phrases": ["b\ufffd", 3], "more": {"c": "\ufffd"}}}
    assert load_settings(desk.folder / "settings.json").presets[0].generation == kept


def test_drafts_are_permanently_deleted_with_their_conversation(desk: Desk) -> None:
    desk.ask("u1", "a1")
    conversation = desk.controller.shown.conversation
    assert conversation is not None
    desk.controller.preparation.set_unsent(Unsent(text="thought"))
    desk.controller.preparation.save()
    desk.program.conversations.delete(conversation.id)
    assert desk.store.preparations.get(conversation.id).unsent.text == "thought"
    desk.program.conversations.empty_trash()
    assert desk.store.preparations.get(conversation.id).unsent == Unsent()


def test_settings_that_cannot_be_stored_last_while_the_program_runs(desk: Desk) -> None:
    desk.ask("u1", "a1")
    conversation = desk.controller.shown.conversation
    assert conversation is not None
    other = Store(desk.path, patience_ms=0)
    writer = sqlite3.connect(desk.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    with contextlib.closing(writer):
        desk.controller.preparation.set_unsent(Unsent(text="thought"))
        desk.controller.shown.new_conversation()
        desk.controller.shown.open_conversation(conversation.id)
        assert desk.controller.preparation.unsent.text == "thought"
        assert other.preparations.get(conversation.id).unsent == Unsent()
    desk.controller.preparation.save()
    assert other.preparations.get(conversation.id).unsent.text == "thought"
    other.close()


def test_damaged_settings_in_the_store_count_as_missing(desk: Desk) -> None:
    with contextlib.closing(sqlite3.connect(desk.path)) as database, database:
        database.execute("INSERT INTO preparation VALUES (0, ?, ?)", ('{"text": 5}', "{"))
    assert desk.store.preparations.get(None).unsent == Unsent()
    assert desk.store.preparations.get(None).generation is None


@pytest.mark.parametrize("text", ["", "{", "5", '{"type": "object"}', "[" * 5000, "\ud83d"])
def test_a_schema_is_json_or_else_the_text_as_written(text: str) -> None:
    value = AnswerFormat(kind="json_schema", text=text).constraint.value
    try:
        expected = json.loads(text)
    except (ValueError, RecursionError):
        expected = text
    assert value == expected


# --- presets -------------------------------------------------------------------------------------------------


def test_built_in_presets_change_the_sampling_and_nothing_else() -> None:
    wild = find_preset(BUILT_IN_PRESETS, "Wild")
    assert wild is not None
    generation = wild.apply_to(_SETTINGS)
    assert generation.sampling.temperature == 1.5
    assert (generation.sampling.stop, generation.sampling.seed, generation.sampling.max_tokens) == (("\n\n",), 3, 1024)
    assert (generation.format, generation.hooks) == (_SETTINGS.format, _SETTINGS.hooks)
    assert current_preset(BUILT_IN_PRESETS, generation) == ("Wild", False)
    warmer = structs.replace(generation, sampling=structs.replace(generation.sampling, temperature=1.6))
    assert current_preset(BUILT_IN_PRESETS, warmer) == ("Wild", True)


def test_settings_equal_to_a_built_in_preset_have_its_name() -> None:
    assert current_preset(BUILT_IN_PRESETS, GenerationSettings()) == ("Balanced", False)
    assert current_preset(BUILT_IN_PRESETS, GenerationSettings(sampling=Sampling(temperature=0.31))) == ("", False)


def test_a_saved_preset_restores_everything(tmp_path: Path) -> None:
    presets = with_preset((), "Mine", _SETTINGS)
    assert presets == (Preset(name="Mine", generation=_SETTINGS),)
    chosen = presets[0].apply_to(GenerationSettings())
    assert chosen == structs.replace(_SETTINGS, preset="Mine")
    assert current_preset(presets, chosen) == ("Mine", False)
    presets = with_preset(with_preset(presets, "Other", GenerationSettings()), "Mine", structs.replace(chosen, n=3))
    assert [(preset.name, preset.generation.n) for preset in presets] == [("Mine", 3), ("Other", 1)]
    assert [preset.name for preset in without_preset(presets, "Mine")] == ["Other"]
    assert msgspec.json.decode(msgspec.json.encode(presets), type=tuple[Preset, ...]) == presets
