"""Another answer that differs by something: their number, how they are drawn, the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from app.model.message import Sampling
from app.ui.message.message_commands import RegenerateMenu
from tests.app.asking import set_sampling
from tests.app.ui.conftest import PATIENCE_MS, Person
from tests.models import byte_level_tokenizer, chain, write_scripted_model


@pytest.fixture
def tiny(person: Person, tmp_path: Path) -> Iterator[Path]:
    """A model that says nothing but its first token; the guide is loaded again behind it."""
    tokenizer = byte_level_tokenizer()
    yield write_scripted_model(tmp_path / "tiny", tokenizer, chain(tokenizer.encode("Yes.").ids))
    person.controller.program.load_model("guide")
    person.bot.waitUntil(lambda: person.application.session.state == "ready", timeout=PATIENCE_MS)


def _choose(person: Person, message_id: int, text: str) -> None:
    """Press W on a message, and choose by keys alone."""
    person.press(message_id, "w")
    person.bot.waitUntil(lambda: _menu(person) is not None, timeout=PATIENCE_MS)
    menu = _menu(person)
    assert menu is not None
    texts = [action.text() for action in menu.actions() if action.isEnabled()]
    place = next(place for place, shown in enumerate(texts) if shown.startswith(text))
    for _ in range(place + 1):
        person.bot.keyClick(menu, Qt.Key.Key_Down)
    assert menu.activeAction().text() == texts[place]
    person.bot.keyClick(menu, Qt.Key.Key_Return)


def _menu(person: Person) -> QMenu | None:
    return next((menu for menu in person.window.findChildren(RegenerateMenu) if menu.isVisible()), None)


def test_three_more_answers_come_side_by_side(person: Person) -> None:
    answer = person.ask("What is a branch?")
    _choose(person, answer.id, "3 ")
    page = person.window.side_by_side
    person.bot.waitUntil(page.isVisible, timeout=PATIENCE_MS)
    assert len(page.message_ids) == 3
    assert list(person.controller.shown.siblings(answer.id)) == [answer.id, *page.message_ids]
    page.close_page()
    person.answer()


def test_one_is_drawn_otherwise_and_the_next_as_before(person: Person) -> None:
    set_sampling(person.controller.program, Sampling(temperature=0.0, seed=7))
    first = person.ask("What is a branch?")
    _choose(person, first.id, "Wild")
    second = person.answer()
    assert second.id != first.id
    assert second.record is not None
    assert (second.record.sampling.temperature, second.record.sampling.seed) == (1.5, 7)
    person.press(second.id, "r")
    third = person.answer()
    assert third.record is not None
    assert third.record.sampling.temperature == 0.0


def test_another_model_writes_one_beside_it(person: Person, tiny: Path) -> None:
    answer = person.ask("What is a branch?")
    program = person.controller.program
    program.preferences.change(recent_models=(str(tiny),))
    _choose(person, answer.id, "tiny")
    person.bot.waitUntil(lambda: len(person.controller.shown.siblings(answer.id)) == 2, timeout=PATIENCE_MS)
    other = person.answer()
    assert other.id != answer.id
    assert other.record is not None
    assert other.record.model == program.session.name == str(tiny)


def test_a_model_that_does_not_load_is_asked_nothing(person: Person, tmp_path: Path) -> None:
    answer = person.ask("What is a branch?")
    person.controller.regenerate_by(answer.id, str(tmp_path))
    person.bot.waitUntil(person.window.banner.isVisible, timeout=PATIENCE_MS)
    person.bot.waitUntil(lambda: person.application.session.state == "ready", timeout=PATIENCE_MS)
    assert list(person.controller.shown.siblings(answer.id)) == [answer.id]
    assert person.application.session.name == "guide"


def test_who_goes_elsewhere_while_it_loads_finds_nothing_asked_there(person: Person, tiny: Path) -> None:
    answer = person.ask("What is a branch?")
    person.controller.regenerate_by(answer.id, str(tiny))
    conversation = person.controller.shown.conversation
    assert conversation is not None
    person.controller.shown.new_conversation()
    person.bot.waitUntil(lambda: person.application.session.state == "ready", timeout=PATIENCE_MS)
    assert person.controller.shown.path == []
    person.controller.shown.open_conversation(conversation.id)
    assert list(person.controller.shown.siblings(answer.id)) == [answer.id]
