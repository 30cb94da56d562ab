"""Each conversation asks its own model, which is loaded when it is asked; the guide answers beside any other."""

from __future__ import annotations

from app.ui.parts.cost_text import cost_text
from tests.app.desk import Desk
from tests.app.trees import labels
from worker.protocol import Shutdown


def _conversation(desk: Desk) -> int:
    assert desk.controller.shown.conversation is not None
    return desk.controller.shown.conversation.id


def _with_model(desk: Desk, model: str, question: str) -> int:
    """Begin a conversation with a model; return its id."""
    desk.controller.shown.new_conversation()
    desk.controller.choose_model(model)
    desk.link.loaded()
    desk.ask(question, "answer")
    return _conversation(desk)


def test_opening_a_conversation_loads_nothing_and_asking_in_it_loads_its_model(desk: Desk) -> None:
    one = _with_model(desk, "/one", "u1")
    two = _with_model(desk, "/two", "u2")
    num_loads = len(desk.link.loads)
    desk.controller.shown.open_conversation(one)
    assert (desk.controller.model.name, desk.controller.model.state) == ("/one", "unloaded")
    assert len(desk.link.loads) == num_loads
    desk.controller.send("more")
    assert desk.link.loads[-1].model == "/one"
    assert len(desk.link.asked) == 2
    desk.link.loaded()
    answer = desk.answer("again")
    assert answer.record is not None
    assert (answer.record.model, answer.record.model_identity) == ("/one", "a hash")
    desk.controller.shown.open_conversation(two)
    assert desk.controller.model.name == "/two"


def test_a_fork_and_another_window_ask_the_same_model(desk: Desk) -> None:
    _with_model(desk, "/one", "u1")
    desk.program.load_model("/two")
    desk.link.loaded()
    desk.controller.fork(desk.controller.shown.path[-1].id)
    assert desk.controller.model.name == "/one"
    desk.controller.shown.new_conversation()
    assert desk.controller.model.name == "/two"


def test_a_conversation_of_an_older_version_asks_the_model_of_its_last_answer_if_it_is_known(desk: Desk) -> None:
    one = _with_model(desk, "/one", "u1")
    _with_model(desk, "/two", "u2")
    desk.store.conversations.set_model(one, "")
    desk.controller.shown.open_conversation(one)
    assert desk.controller.model.name == "/one"
    desk.preferences.change(recent_models=())
    desk.controller.shown.open_conversation(one)
    assert desk.controller.model.name == "/two"


def test_a_running_answer_ends_before_another_model_is_loaded(desk: Desk) -> None:
    one = _with_model(desk, "/one", "u1")
    two = _with_model(desk, "/two", "u2")
    desk.controller.send("long")
    running = desk.link.asked[-1]
    desk.link.chunk(running, "half")
    desk.controller.shown.open_conversation(one)
    desk.controller.send("waits")
    waiting = desk.controller.shown.path[-1].id
    assert desk.answers.waits_for(waiting) == two
    # A later question to the loaded model keeps its place behind it.
    desk.controller.shown.open_conversation(two)
    num_loads = len(desk.link.loads)
    desk.link.finished(running, "half and whole")
    assert [load.model for load in desk.link.loads[num_loads:]] == ["/one"]
    assert labels(desk.controller.shown.path) == "u2-answer-long-half and whole"
    desk.link.loaded()
    desk.link.finished(desk.link.asked[-1], "at last")
    desk.controller.shown.open_conversation(one)
    assert labels(desk.controller.shown.path) == "u1-answer-waits-at last"
    assert desk.link.cancelled == []


def test_a_model_that_is_chosen_while_an_answer_runs_is_loaded_after_it(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.link.chunk(desk.link.asked[0], "half")
    num_loads = len(desk.link.loads)
    desk.controller.choose_model("/another")
    assert desk.controller.model.name == "/another"
    assert len(desk.link.loads) == num_loads
    desk.link.finished(desk.link.asked[0], "half and whole")
    assert desk.link.loads[-1].model == "/another"
    desk.link.loaded()
    answer = desk.ask("u2", "a2")
    assert answer.record is not None
    assert answer.record.model == "/another"


def test_the_answer_of_a_missing_model_says_so_and_other_answers_continue(desk: Desk) -> None:
    one = _with_model(desk, "/one", "u1")
    _with_model(desk, "/two", "u2")
    desk.controller.shown.open_conversation(one)
    desk.controller.send("more")
    desk.link.load_failed("There is no folder /one. Choose another model.", still_loaded=True)
    answer = desk.controller.shown.path[-1]
    assert answer.state == "failed"
    assert answer.record is not None
    assert answer.record.error == "There is no folder /one. Choose another model."
    assert desk.session.name == "/two"
    # The user chooses a model that is there.
    desk.controller.choose_model("/two")
    desk.controller.regenerate(answer.id)
    desk.answer("two")
    assert desk.controller.shown.path[-1].text == "two"


def test_stopping_an_answer_that_waits_for_its_model_cancels_the_load(desk: Desk) -> None:
    one = _with_model(desk, "/one", "u1")
    _with_model(desk, "/two", "u2")
    desk.controller.shown.open_conversation(one)
    desk.controller.send("more")
    desk.controller.stop()
    assert desk.controller.shown.path[-1].state == "stopped"
    assert desk.link.cancelled[-1].target == desk.link.loads[-1].request_id


def test_thinking_is_asked_for_once_the_model_is_known(desk: Desk) -> None:
    from msgspec.structs import replace

    one = _with_model(desk, "/one", "u1")
    _with_model(desk, "/two", "u2")
    desk.controller.shown.open_conversation(one)
    desk.controller.preparation.set_generation(replace(desk.controller.preparation.generation, thinking=False))
    desk.controller.send("more")
    desk.link.loaded(thinking_option="enable_thinking")
    assert desk.link.asked[-1].template_options == {"enable_thinking": False}


# --- the guide -------------------------------------------------------------------------------------------------------


def test_the_guide_answers_beside_a_loaded_model_in_its_own_process(desk: Desk) -> None:
    _with_model(desk, "/one", "u1")
    desk.controller.send("long")
    desk.controller.ask_guide()
    assert (desk.controller.model.name, desk.guide_link.num_started) == ("guide", 0)
    desk.controller.send("How do I fork?")
    assert desk.guide_link.num_started == 1
    desk.guide_link.loaded()
    (request,) = desk.guide_link.asked
    desk.guide_link.finished(request, "Press F.")
    assert labels(desk.controller.shown.path) == "How do I fork?-Press F."
    assert desk.session.name == "/one"
    # The other answer is still being written.
    desk.link.finished(desk.link.asked[-1], "whole")


def test_the_guide_answers_in_the_first_process_while_that_has_it(desk: Desk) -> None:
    desk.controller.ask_guide()
    desk.ask("How do I fork?", "Press F.")
    assert desk.guide_link.num_started == 0


def test_the_guides_process_ends_when_idle_and_starts_again_when_asked(desk: Desk) -> None:
    _with_model(desk, "/one", "u1")
    desk.controller.ask_guide()
    for _ in range(2):
        desk.controller.send("How do I fork?")
        assert not desk.sessions.idle_timer.isActive()
        desk.guide_link.loaded()
        desk.guide_link.finished(desk.guide_link.asked[-1], "Press F.")
        assert desk.sessions.idle_timer.isActive()
        desk.sessions.idle_timer.timeout.emit()
        assert (desk.sessions.guide.state, desk.guide_link.is_started) == ("unloaded", False)
    assert desk.guide_link.num_started == 2
    assert desk.notices == []


def test_a_death_of_the_guides_process_interrupts_only_the_guide(desk: Desk) -> None:
    one = _with_model(desk, "/one", "u1")
    desk.controller.send("long")
    desk.controller.ask_guide()
    desk.controller.send("How do I fork?")
    desk.guide_link.loaded()
    desk.guide_link.die()
    assert desk.controller.shown.path[-1].state == "stopped"
    desk.controller.shown.open_conversation(one)
    assert desk.controller.shown.path[-1].state == "streaming"
    assert not any(isinstance(command, Shutdown) for command in desk.link.commands)


def test_unloading_the_model_stops_its_answers_and_no_others(desk: Desk) -> None:
    one = _with_model(desk, "/one", "u1")
    desk.controller.send("long")
    desk.controller.ask_guide()
    desk.controller.send("How do I fork?")
    desk.guide_link.loaded()
    desk.program.unload_model()
    assert [cancel.target for cancel in desk.link.cancelled] == [desk.link.asked[-1].request_id]
    assert desk.guide_link.cancelled == []
    desk.guide_link.finished(desk.guide_link.asked[-1], "Press F.")
    assert labels(desk.controller.shown.path) == "How do I fork?-Press F."
    desk.link.finished(desk.link.asked[-1], "half", "cancelled")
    desk.controller.shown.open_conversation(one)
    assert (desk.controller.shown.path[-1].state, desk.session.state) == ("stopped", "unloaded")


def test_nothing_is_kept_by_a_model_that_is_not_loaded(desk: Desk) -> None:
    one = _with_model(desk, "/one", "u1")
    _with_model(desk, "/two", "u2")
    desk.controller.shown.open_conversation(one)
    num_sent = len(desk.link.commands)
    opened = desk.controller.shown.require_open()
    desk.controller.costs.show(opened.lineage)
    desk.controller.costs.want([opened.leaf.id])
    cost = desk.controller.costs.get(opened.leaf.id)
    assert cost is not None
    assert (cost.is_unloaded, cost.tier, cost_text(cost)[:23]) == (True, "cold", "The model is not loaded")
    assert len(desk.link.commands) == num_sent
