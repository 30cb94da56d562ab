"""Several models answer one question, one after another, as siblings."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs
from pytestqt.qtbot import QtBot

from app.catalog.entry import LocalModel, Memory
from app.catalog.fit import need, shape_of_model
from app.catalog.on_disk import model_named
from app.model.message import Message
from app.model.store import Store
from tests.app.catalog.layouts import write_model
from tests.app.desk import Desk
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim


def _choose(desk: Desk, *models: str) -> None:
    preparation = desk.controller.preparation
    preparation.set_generation(structs.replace(preparation.generation, models=models))


def _siblings(desk: Desk) -> list[Message]:
    shown = desk.controller.shown
    return [shown.message(found) for found in shown.siblings(shown.path[-1].id)]


def _models(desk: Desk) -> list[str]:
    return [record.model for message in _siblings(desk) if (record := message.record) is not None]


def test_each_model_is_loaded_in_its_turn_and_the_loaded_one_answers_first(desk: Desk) -> None:
    desk.program.load_model("/two")
    desk.link.loaded()
    _choose(desk, "/one", "/two", "/three")
    several: list[list[int]] = []
    desk.controller.several_asked.connect(several.append)
    desk.controller.send("u1")
    assert _models(desk) == ["/one", "/two", "/three"]
    assert several == [[message.id for message in _siblings(desk)]]
    num_loads = len(desk.link.loads)
    desk.answer("by two")
    assert [load.model for load in desk.link.loads[num_loads:]] == ["/one"]
    desk.link.loaded()
    desk.answer("by one")
    desk.link.loaded()
    desk.answer("by three")
    assert [message.text for message in _siblings(desk)] == ["by one", "by two", "by three"]
    assert [message.state for message in _siblings(desk)] == ["complete"] * 3
    # The conversation keeps its model, and the next question begins with the one that is loaded.
    assert desk.controller.model.name == "/two"
    desk.controller.send("u2")
    assert len(desk.link.asked) == 4
    assert [load.model for load in desk.link.loads[num_loads:]] == ["/one", "/three"]


def test_a_model_that_does_not_load_is_reported_and_the_others_answer(desk: Desk) -> None:
    _choose(desk, "guide", "/gone", "/two")
    desk.controller.send("u1")
    desk.answer("by the guide")
    desk.link.load_failed("There is no folder /gone. Choose another model.", still_loaded=True)
    desk.link.loaded()
    desk.answer("by two")
    assert [message.text for message in _siblings(desk)] == ["by the guide", "", "by two"]
    failed = _siblings(desk)[1]
    assert failed.record is not None
    assert (failed.state, failed.record.error) == ("failed", "There is no folder /gone. Choose another model.")


def test_stop_ends_all_of_them_and_loads_nothing(desk: Desk) -> None:
    _choose(desk, "guide", "/one", "/two")
    desk.controller.send("u1")
    request, num_loads = desk.link.asked[-1], len(desk.link.loads)
    desk.link.chunk(request, "half")
    desk.controller.stop()
    desk.link.finished(request, "half", "cancelled")
    assert [message.state for message in _siblings(desk)] == ["stopped"] * 3
    assert len(desk.link.loads) == num_loads


def test_several_answers_of_each_model_are_one_request_each(desk: Desk) -> None:
    preparation = desk.controller.preparation
    preparation.set_generation(structs.replace(preparation.generation, models=("guide", "/one"), n=2))
    desk.controller.send("u1")
    assert _models(desk) == ["guide", "guide", "/one", "/one"]
    desk.link.finished_all(desk.link.asked[-1], ["a", "b"], "eos")
    desk.link.loaded()
    assert [request.n for request in desk.link.asked] == [2, 2]


def test_answers_that_were_still_to_come_when_bough_ended_are_marked_and_can_be_asked_again(desk: Desk) -> None:
    _choose(desk, "guide", "/one")
    desk.controller.send("u1")
    desk.link.chunk(desk.link.asked[-1], "half")
    conversation = desk.controller.shown.require_open().conversation.id
    desk.close()
    store = Store(desk.path)
    store.clean_up(verbatim("Bough ended."))
    answers = [message for message in store.messages.shown_by(conversation) if message.role == "assistant"]
    store.close()
    assert [(message.state, message.text) for message in answers] == [("stopped", "half"), ("stopped", "")]
    assert [record.model for message in answers if (record := message.record) is not None] == ["guide", "/one"]


# --- loading ahead -------------------------------------------------------------------------------------------

_GB = 1_000_000_000


@pytest.fixture
def free_gb(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The free memory, which a test may change."""
    free = [8.0]

    def memory(reusable_bytes: int = 0) -> Memory:
        return Memory(total_bytes=8 * _GB, available_bytes=int(free[0] * _GB) + reusable_bytes)

    def resident(_pid: int | None) -> int:
        return 0

    monkeypatch.setattr("app.catalog.machine_memory.machine_memory", memory)
    for module in ("load_check", "beside"):
        monkeypatch.setattr(f"app.supply.{module}.resident_bytes", resident)
    return free


def _three(tmp_path: Path) -> list[str]:
    return [str(write_model(tmp_path / name)) for name in ("one", "two", "three")]


def _ask_three(desk: Desk, models: list[str]) -> None:
    """Ask three models, of which the first is loaded, and let it begin."""
    desk.program.load_model(models[0])
    desk.link.loaded()
    _choose(desk, *models)
    desk.controller.send("u1")
    desk.link.chunk(desk.link.asked[-1], "by ")


def _wait_for_load(desk: Desk, qtbot: QtBot, model: str) -> None:
    links = (desk.link, desk.ahead_link)
    qtbot.waitUntil(lambda: any(load.model == model for link in links for load in link.loads), timeout=PATIENCE_MS)


@pytest.mark.usefixtures("free_gb")
def test_the_next_model_loads_while_one_answers_and_answers_after_it(desk: Desk, tmp_path: Path, qtbot: QtBot) -> None:
    one, two, three = models = _three(tmp_path)
    _ask_three(desk, models)
    _wait_for_load(desk, qtbot, two)
    assert [load.model for load in desk.ahead_link.loads] == [two]
    desk.ahead_link.loaded()
    # They answer one after another.
    assert desk.ahead_link.asked == []
    desk.link.finished(desk.link.asked[-1], "by one")
    assert len(desk.ahead_link.asked) == 1
    # The third model takes the place of the first, which is done.
    _wait_for_load(desk, qtbot, three)
    assert desk.link.loads[-1].model == three
    desk.link.loaded()
    num_asked = len(desk.link.asked)
    desk.ahead_link.finished(desk.ahead_link.asked[-1], "by two")
    assert len(desk.link.asked) == num_asked + 1
    desk.link.finished(desk.link.asked[-1], "by three")
    assert [message.text for message in _siblings(desk)] == ["by one", "by two", "by three"]
    # A loaded model answers at once.
    num_loads = len(desk.link.loads)
    _choose(desk, two, three)
    desk.controller.send("u2")
    desk.link.finished(desk.link.asked[-1], "by three")
    desk.ahead_link.finished(desk.ahead_link.asked[-1], "by two")
    assert (len(desk.link.loads), len(desk.ahead_link.loads)) == (num_loads, 1)
    assert one not in {desk.session.name, desk.sessions.ahead.name}


@pytest.mark.parametrize("fits", [True, False])
def test_the_next_model_waits_unless_both_fit(
    desk: Desk, tmp_path: Path, qtbot: QtBot, free_gb: list[float], *, fits: bool
) -> None:
    one, two, _ = models = _three(tmp_path)
    shape, memory = shape_of_model(_model(one)), Memory(total_bytes=8 * _GB, available_bytes=8 * _GB)
    assert shape is not None
    # Both have the same size, and nothing is known to be in memory.
    both = 2 * need(shape, memory, context_length=4096).total_bytes
    free_gb[0] = (both if fits else both - 1) / _GB
    with qtbot.waitSignal(desk.program.supply.next_checked, timeout=PATIENCE_MS) as checked:
        _ask_three(desk, models)
    assert checked.args == [two, fits]
    assert desk.ahead_link.is_started is fits
    desk.link.finished(desk.link.asked[-1], "by one")
    assert (desk.link.loads[-1].model == two) is not fits


def _model(name: str) -> LocalModel:
    model = model_named(name)
    assert model is not None
    return model


@pytest.mark.usefixtures("free_gb")
def test_a_model_that_can_not_be_loaded_ahead_is_loaded_in_its_turn(desk: Desk, tmp_path: Path, qtbot: QtBot) -> None:
    _, two, _ = models = _three(tmp_path)
    _ask_three(desk, models)
    _wait_for_load(desk, qtbot, two)
    # The system ends its process, because memory is short.
    desk.ahead_link.die()
    assert desk.ahead_link.num_started == 1
    desk.link.finished(desk.link.asked[-1], "by one")
    assert desk.link.loads[-1].model == two
    desk.link.loaded()
    desk.answer("by two")
    assert _siblings(desk)[1].text == "by two"
    assert not [notice for notice in desk.notices if notice.kind != "information"]


@pytest.mark.usefixtures("free_gb")
def test_stop_ends_what_was_being_loaded_ahead(desk: Desk, tmp_path: Path, qtbot: QtBot) -> None:
    _, two, _ = models = _three(tmp_path)
    _ask_three(desk, models)
    _wait_for_load(desk, qtbot, two)
    desk.controller.stop()
    assert not desk.ahead_link.is_started


@pytest.mark.usefixtures("free_gb")
def test_a_model_that_the_user_chooses_replaces_both(desk: Desk, tmp_path: Path, qtbot: QtBot) -> None:
    _, two, three = models = _three(tmp_path)
    _ask_three(desk, models[:2])
    _wait_for_load(desk, qtbot, two)
    desk.ahead_link.loaded()
    desk.program.load_model(three)
    assert desk.ahead_link.is_started
    desk.link.finished(desk.link.asked[-1], "by one")
    desk.ahead_link.finished(desk.ahead_link.asked[-1], "by two")
    assert not desk.ahead_link.is_started
    assert desk.link.loads[-1].model == three


@pytest.mark.usefixtures("free_gb")
def test_a_model_that_was_loaded_ahead_is_unloaded_after_a_while(desk: Desk, tmp_path: Path, qtbot: QtBot) -> None:
    _, two, _ = models = _three(tmp_path)
    _ask_three(desk, models[:2])
    _wait_for_load(desk, qtbot, two)
    desk.ahead_link.loaded()
    assert not desk.sessions.ahead_idle_timer.isActive()
    desk.link.finished(desk.link.asked[-1], "by one")
    desk.ahead_link.finished(desk.ahead_link.asked[-1], "by two")
    desk.sessions.ahead_idle_timer.timeout.emit()
    assert (desk.ahead_link.is_started, desk.sessions.ahead.state) == (False, "unloaded")
