"""Notices about models that are too large or have no template, and the measurements after a load."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.catalog.chat_templates import PLAIN
from app.catalog.entry import Memory
from app.notices import FreeMemory, LoadAnyway, UsePlainTemplate
from app.supply.load_check import is_small
from tests.app.catalog.layouts import write_model
from tests.app.desk import Desk
from worker.protocol import Choice, Finished, Timing, Usage

pytestmark = pytest.mark.usefixtures("nothing_leaks")


def test_a_model_that_is_too_large_is_refused(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def little(reusable_bytes: int = 0) -> Memory:
        return Memory(total_bytes=50_000_000, available_bytes=40_000_000 + reusable_bytes)

    monkeypatch.setattr("app.catalog.machine_memory.machine_memory", little)
    folder = str(write_model(tmp_path / "large"))
    before = len(desk.link.loads)
    desk.program.load_model(folder)
    assert len(desk.link.loads) == before
    (notice,) = [notice for notice in desk.notices if notice.cause == "model"]
    assert "It was not loaded." in notice.text
    assert notice.action == LoadAnyway(folder)
    # A question in a conversation with this model says the same.
    desk.controller.shown.choose_model(folder)
    desk.controller.send("Hello")
    answer = desk.controller.shown.path[-1]
    assert (answer.state, len(desk.link.loads)) == ("failed", before)
    assert answer.record is not None
    assert "It was not loaded." in (answer.record.error or "")
    desk.program.load_model(folder, anyway=True)
    assert desk.link.loads[-1].model == folder
    desk.link.loaded()
    desk.program.unload_model()
    desk.controller.regenerate(answer.id)
    assert len(desk.link.loads) == before + 2


def test_the_last_model_is_not_loaded_at_the_start_if_it_no_longer_fits(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(write_model(tmp_path / "large"))
    assert is_small(folder)
    assert not is_small(str(tmp_path / "gone"))
    desk.program.load_model(folder)
    desk.link.loaded()
    before = len(desk.link.loads)

    def little(reusable_bytes: int = 0) -> Memory:
        return Memory(total_bytes=50_000_000, available_bytes=40_000_000 + reusable_bytes)

    def nothing(folder: str) -> bool:
        return False

    monkeypatch.setattr("app.catalog.machine_memory.machine_memory", little)
    monkeypatch.setattr("app.supply.load_check.is_small", nothing)
    desk.program.unload_model()
    desk.program.load_last_model()
    assert len(desk.link.loads) == before
    (notice,) = [notice for notice in desk.notices if notice.cause == "model"]
    assert notice.action == LoadAnyway(folder)
    desk.program.load_model(folder, anyway=True)
    assert desk.link.loads[-1].model == folder


def test_the_guides_idle_process_is_ended_for_a_model_that_fits_without_it(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def memory(reusable_bytes: int = 0) -> Memory:
        free = 60_000_000 if desk.guide_link.is_started else 260_000_000
        return Memory(total_bytes=8_000_000_000, available_bytes=free + reusable_bytes)

    def guide(_: object) -> int | None:
        return 2 if desk.sessions.is_guide_idle else None

    def resident(pid: int | None) -> int:
        return 200_000_000 if pid == 2 else 0

    monkeypatch.setattr("app.catalog.machine_memory.machine_memory", memory)
    monkeypatch.setattr("app.supply.load_check.guide_pid", guide)
    monkeypatch.setattr("app.supply.load_check.resident_bytes", resident)
    desk.program.load_model("/one", anyway=True)
    desk.link.loaded()
    folder = str(write_model(tmp_path / "large"))
    desk.controller.ask_guide()
    desk.controller.send("How do I fork?")
    desk.guide_link.loaded()
    # While the guide answers, its process is not ended.
    desk.program.load_model(folder)
    assert desk.notices[-1].action == LoadAnyway(folder)
    desk.guide_link.finished(desk.guide_link.asked[-1], "Press F.")
    desk.program.load_model(folder)
    assert "It was not loaded." in desk.notices[-1].text
    assert desk.notices[-1].action == FreeMemory(folder)
    desk.program.supply.free_memory()
    assert not desk.guide_link.is_started
    desk.program.load_model(folder)
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
    found = desk.program.supply.measurements.of("/one")
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


def test_a_template_that_cannot_be_stored_is_reported(desk: Desk) -> None:
    desk.program.templates.folder.write_text("")
    desk.program.choose_template("/one", is_plain=True)
    assert "could not be written" in desk.notices[-1].text
