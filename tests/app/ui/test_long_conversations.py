"""Conversations of hundreds of messages: the end is there at once, what is above follows, and nothing jumps."""

from __future__ import annotations

from app.model.message import Conversation
from tests.app.ui.conftest import PATIENCE_MS, Person

_NUM_TURNS = 90


def _plant(person: Person) -> Conversation:
    store = person.application.store
    conversation, question = store.create_conversation("Long", "", "Question 0")
    for number in range(1, _NUM_TURNS):
        answer = store.add(conversation.id, question.id, "assistant", f"Answer {number}\n\n- with\n- a list")
        question = store.add(conversation.id, answer.id, "user", f"Question {number}")
    return conversation


def _wait_for_all(person: Person) -> None:
    whole = len(person.controller.path)
    person.bot.waitUntil(lambda: len(person.window.transcript.views) == whole, timeout=PATIENCE_MS)


def test_the_end_of_a_long_conversation_is_there_at_once_and_the_rest_follows(person: Person) -> None:
    person.controller.open_conversation(_plant(person).id)
    transcript = person.window.transcript
    assert len(transcript.views) < _NUM_TURNS
    assert transcript.views[-1].message.text == f"Question {_NUM_TURNS - 1}"
    _wait_for_all(person)
    bar = transcript.verticalScrollBar()
    person.bot.waitUntil(lambda: bar.value() == bar.maximum() > 0, timeout=PATIENCE_MS)
    person.bot.waitUntil(lambda: transcript.views[0].height() > 0, timeout=PATIENCE_MS)
    tops = [view.y() for view in transcript.views]
    assert tops == sorted(tops)
    assert [view.message.id for view in transcript.views] == [message.id for message in person.controller.path]


def test_what_is_read_stays_in_its_place_while_earlier_messages_come_in(person: Person) -> None:
    person.controller.open_conversation(_plant(person).id)
    transcript = person.window.transcript
    bar = transcript.verticalScrollBar()
    page = transcript.widget()
    assert page is not None

    def is_laid_out() -> bool:
        return bar.value() == bar.maximum() > 1000 and page.height() == page.sizeHint().height()

    person.bot.waitUntil(is_laid_out, timeout=PATIENCE_MS)
    bar.setValue(bar.maximum() - 700)
    num_before = len(transcript.views)
    assert num_before < len(person.controller.path)
    seen = next(view for view in transcript.views if view.geometry().bottom() >= bar.value())
    before = seen.y() - bar.value()
    _wait_for_all(person)
    person.bot.waitUntil(lambda: seen.y() > 5000 and abs(seen.y() - bar.value() - before) <= 1, timeout=10_000)


def test_a_question_asked_before_all_is_there_finds_its_place_at_the_end(person: Person) -> None:
    person.controller.open_conversation(_plant(person).id)
    person.controller.send("One more")
    person.bot.waitUntil(lambda: person.controller.streaming_message is None, timeout=PATIENCE_MS)
    _wait_for_all(person)
    assert [view.message.id for view in person.window.transcript.views] == [
        message.id for message in person.controller.path
    ]
    column = sorted(person.window.transcript.views, key=lambda view: view.y())
    assert column[-2].message.text == "One more"
    person.controller.new_conversation()
    assert person.window.transcript.views == []


def test_a_place_kept_in_one_conversation_does_not_hold_the_next_one(person: Person) -> None:
    first = person.ask("What is a branch?")
    person.press(first.id, "r")
    second = person.answer()
    person.window.transcript.step_sibling(second.id, -1)
    person.controller.open_conversation(_plant(person).id)
    _wait_for_all(person)
    bar = person.window.transcript.verticalScrollBar()
    person.bot.waitUntil(lambda: bar.value() == bar.maximum() > 5000, timeout=10_000)
