"""Notices about models that are too large or have no template, and the measurements after a load."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.catalog.chat_templates import PLAIN
from app.catalog.entry import Memory
from app.notices import LoadAnyway, UsePlainTemplate
from tests.app.catalog.layouts import write_model
from tests.app.desk import Desk
from worker.protocol import Choice, Finished, Timing, Usage

pytestmark = pytest.mark.usefixtures("nothing_leaks")


def test_a_model_that_is_too_large_is_refused(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    little = Memory(total_bytes=50_000_000, available_bytes=40_000_000)
    monkeypatch.setattr("app.catalog.machine_memory.machine_memory", lambda: little)
    folder = str(write_model(tmp_path / "large"))
    before = len(desk.link.loads)
    desk.program.load_model(folder)
    assert len(desk.link.loads) == before
    (notice,) = [notice for notice in desk.notices if notice.cause == "model"]
    assert "It was not loaded." in notice.text
    assert notice.action == LoadAnyway(folder)
    desk.program.load_model(folder, anyway=True)
    assert desk.link.loads[-1].model == folder


def test_a_model_that_fits_is_loaded(desk: Desk, tmp_path: Path) -> None:
    folder = str(write_model(tmp_path / "small"))
    desk.program.load_model(folder)
    assert desk.link.loads[-1].model == folder


def test_speeds_and_memory_are_noted(desk: Desk) -> None:
    desk.program.load_model("/one")
    desk.link.loaded()
    usage = Usage(prompt_tokens=300, prefilled_tokens=300, generated_tokens=50, peak_memory_bytes=7)
    timing = Timing(prefill_ms=3000.0, decode_tokens_per_s=12.0)
    choice = Choice(text="", token_ids=[], num_recut=0, seed=0, reason="eos")
    for _ in range(2):
        desk.link.say(Finished(request_id="an answer", choices=[choice], usage=usage, timing=timing))
    found = desk.program.measurements.of("/one")
    assert (found.weights_bytes, found.peak_bytes, found.peak_tokens) == (1, 7, 350)
    assert (found.prompt_tokens_per_s, found.answer_tokens_per_s) == (100.0, 12.0)


def test_a_plain_template_is_offered_once(desk: Desk, tmp_path: Path) -> None:
    folder = str(write_model(tmp_path / "base"))
    for _ in range(2):
        desk.program.load_model(folder)
        assert desk.link.loads[-1].chat_template is None
        desk.link.loaded(has_template=False)
    (notice,) = [notice for notice in desk.notices if isinstance(notice.action, UsePlainTemplate)]
    assert notice.action == UsePlainTemplate(folder)
    desk.program.choose_template(folder, is_plain=True)
    assert desk.link.loads[-1].chat_template == PLAIN
    desk.link.loaded()
    desk.program.choose_template(folder, is_plain=False)
    assert desk.link.loads[-1].chat_template is None
    desk.link.loaded(has_template=False)
    # A model that is not loaded keeps the choice for later.
    num_loads = len(desk.link.loads)
    desk.program.choose_template("/other", is_plain=True)
    assert len(desk.link.loads) == num_loads
    desk.program.load_model("/other")
    assert desk.link.loads[-1].chat_template == PLAIN


def test_a_template_that_can_not_be_kept(desk: Desk) -> None:
    desk.program.templates.folder.write_text("")
    desk.program.choose_template("/one", is_plain=True)
    assert "could not be written" in desk.notices[-1].text
