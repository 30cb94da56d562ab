"""Several models answer one question, one after another, as siblings."""

from __future__ import annotations

from msgspec import structs

from app.model.message import Message
from app.model.store import Store
from tests.app.desk import Desk
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


def test_a_model_that_does_not_load_says_so_and_the_others_go_on(desk: Desk) -> None:
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
