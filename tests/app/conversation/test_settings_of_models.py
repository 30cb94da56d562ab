"""The settings of a model: new conversations with it begin with them, and those that have begun stay as they are."""

from __future__ import annotations

from msgspec import UnsetType
from msgspec.structs import replace

from app.model.message import Record
from app.model.model_settings import ModelSettings
from app.model.settings import MAX_MODELS, Settings
from app.model.thoughts import thought_of
from tests.app.desk import Desk

GRUFF = "Be brief."


def _change(desk: Desk, name: str, **changes: object) -> None:
    of_models = desk.program.of_models
    of_models.replace(name, replace(of_models.of(name), **changes))


def _begin(desk: Desk, model: str = "/one") -> int:
    """Begin a conversation with a model; return its id."""
    desk.controller.shown.new_conversation()
    desk.controller.choose_model(model)
    if desk.session.state == "loading":
        desk.link.loaded()
    desk.ask("u", "a")
    assert desk.controller.shown.conversation is not None
    return desk.controller.shown.conversation.id


def _stop_of_last(desk: Desk) -> list[str]:
    return list(desk.link.asked[-1].stop)


def _texts_of_last(desk: Desk) -> list[str]:
    messages = desk.link.asked[-1].messages
    return [] if isinstance(messages, UnsetType) else [message.content for message in messages]


def test_only_new_conversations_begin_with_the_models_prompt_and_stop_strings(desk: Desk) -> None:
    old = _begin(desk)
    _change(desk, "/one", system_prompt=GRUFF, stop=("END",))
    new = _begin(desk)
    assert _texts_of_last(desk) == [GRUFF, "u"]
    assert _stop_of_last(desk) == ["END"]
    desk.controller.shown.open_conversation(old)
    desk.ask("more", "a")
    assert (_texts_of_last(desk)[0], _stop_of_last(desk)) == ("u", [])
    # A later change does not reach the conversation either.
    _change(desk, "/one", system_prompt="", stop=())
    desk.controller.shown.open_conversation(new)
    desk.ask("more", "a")
    assert (_texts_of_last(desk)[0], _stop_of_last(desk)) == (GRUFF, ["END"])
    _begin(desk)
    assert (len(_texts_of_last(desk)), _stop_of_last(desk)) == (1, [])


def test_the_prompt_and_stop_strings_follow_the_model_until_the_user_changes_them(desk: Desk) -> None:
    preparation = desk.controller.preparation
    _change(desk, "/one", system_prompt=GRUFF, stop=("END",))
    desk.controller.shown.new_conversation("/one")
    assert (preparation.system_prompt, preparation.generation.sampling.stop) == (GRUFF, ("END",))
    desk.controller.choose_model("/two")
    assert (preparation.system_prompt, preparation.generation.sampling.stop) == ("", ())
    desk.controller.choose_model("/one")
    preparation.set_system_prompt("")
    assert preparation.system_prompt == ""
    preparation.set_system_prompt(GRUFF)
    assert preparation.unsent.system_prompt is None
    sampling = replace(preparation.generation.sampling, stop=())
    preparation.set_generation(replace(preparation.generation, sampling=sampling))
    assert preparation.generation.sampling.stop == ()
    preparation.reset_generation()
    assert preparation.generation.sampling.stop == ("END",)


def test_resetting_a_conversation_gives_it_the_settings_of_a_new_one(desk: Desk) -> None:
    _begin(desk)
    _change(desk, "/one", stop=("END",))
    desk.controller.preparation.reset_generation()
    assert desk.controller.preparation.generation.sampling.stop == ("END",)


def test_the_precision_of_a_models_cache(desk: Desk) -> None:
    desk.program.set_cache_settings(replace(desk.session.cache_settings, kv_bits=8))
    _change(desk, "/one", kv_bits=4)
    _change(desk, "/two", kv_bits=16)
    bits: list[int | None] = []
    for name in ("/one", "/two", "/three"):
        desk.program.load_model(name)
        bits.append(desk.link.loads[-1].cache.kv_bits)
        desk.link.loaded()
    assert bits == [4, None, 8]
    # The loaded model is loaded again.
    _change(desk, "/three", kv_bits=4)
    assert desk.link.loads[-1].cache.kv_bits == 4


def test_the_draft_model_of_a_model_that_is_not_loaded(desk: Desk) -> None:
    desk.program.of_models.set_draft("/large", "/small")
    desk.program.load_model("/other")
    desk.link.loaded()
    assert desk.program.of_models.draft_of("/large") == "/small"
    desk.program.load_model("/large")
    assert desk.link.loads[-1].draft_model == "/small"
    desk.program.of_models.set_draft("/large", "")
    assert desk.program.of_models.draft_of("/large") == ""


def test_marks_of_reasoning_fold_it_in_new_answers(desk: Desk) -> None:
    _change(desk, "/one", thought_marks=("<hm>", "</hm>"))
    _begin(desk)
    desk.ask("why", "<hm>Well.</hm>Because.")
    answer = desk.controller.shown.path[-1]
    thought = thought_of(answer)
    assert thought is not None
    assert (thought.text, answer.text[thought.answer_start :]) == ("Well.", "Because.")
    assert desk.stored(answer).record == answer.record
    # Without a mark at its beginning, all that comes before the end is reasoning.
    unopened = replace(answer, text="Well.;;Because.", record=Record(thought_marks=("", ";;")))
    assert (thought_of(unopened) or thought).answer_start == 7
    assert thought_of(replace(unopened, text="Because.")) is None


def test_the_oldest_settings_are_dropped_with_a_notice_and_empty_ones_are_not_kept(desk: Desk) -> None:
    one = ModelSettings(notes="n")
    full = {str(number): one for number in range(MAX_MODELS)}
    desk.preferences.change(of_models=full, draft_models=dict.fromkeys(full, "small"))
    _change(desk, "another", notes="n")
    assert list(desk.preferences.settings.of_models)[:1] == ["1"]
    _change(desk, "7", notes="")
    assert "7" not in desk.preferences.settings.of_models
    desk.program.of_models.set_draft("another", "small")
    desk.program.of_models.set_draft("another", "")
    assert [str(notice.text) for notice in desk.notices] == [
        "Bough keeps the settings of at most 1,000 models. The oldest, those of “0”, were removed."
    ] * 2
    assert Settings().with_draft("a", "b").with_draft("a", "").draft_models == {}
