"""Regenerating with a difference: several answers, another preset, another model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from app.model.message import Sampling
from app.ui.message.message_commands import RegenerateMenu
from tests.app.sampling import set_sampling
from tests.app.ui.conftest import User
from tests.models import byte_level_tokenizer, chain, write_scripted_model
from tests.waiting import PATIENCE_MS


@pytest.fixture
def tiny(user: User, tmp_path: Path) -> Iterator[Path]:
    """A model with one fixed answer. The guide model is loaded again at the end."""
    tokenizer = byte_level_tokenizer()
    yield write_scripted_model(tmp_path / "tiny", tokenizer, chain(tokenizer.encode("Yes.").ids))
    user.controller.program.load_model("guide")
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)


def _choose(user: User, message_id: int, text: str) -> None:
    """Press W on a message and choose an entry of the menu by keys."""
    user.press(message_id, "w")
    user.bot.waitUntil(lambda: _menu(user) is not None, timeout=PATIENCE_MS)
    menu = _menu(user)
    assert menu is not None
    texts = [action.text() for action in menu.actions() if action.isEnabled()]
    place = next(place for place, shown in enumerate(texts) if shown.startswith(text))
    for _ in range(place + 1):
        user.bot.keyClick(menu, Qt.Key.Key_Down)
    assert menu.activeAction().text() == texts[place]
    user.bot.keyClick(menu, Qt.Key.Key_Return)


def _menu(user: User) -> QMenu | None:
    return next((menu for menu in user.window.findChildren(RegenerateMenu) if menu.isVisible()), None)


def test_three_more_answers_open_side_by_side(user: User) -> None:
    answer = user.ask("What is a branch?")
    _choose(user, answer.id, "3 ")
    page = user.window.side_by_side
    user.bot.waitUntil(page.isVisible, timeout=PATIENCE_MS)
    assert len(page.message_ids) == 3
    assert list(user.controller.shown.siblings(answer.id)) == [answer.id, *page.message_ids]
    page.close_page()
    user.answer()


def test_one_answer_uses_another_preset_and_the_next_one_the_usual_settings(user: User) -> None:
    set_sampling(user.controller.program, Sampling(temperature=0.0, seed=7))
    first = user.ask("What is a branch?")
    _choose(user, first.id, "Wild")
    second = user.answer()
    assert second.id != first.id
    assert second.record is not None
    assert (second.record.sampling.temperature, second.record.sampling.seed) == (1.5, 7)
    user.press(second.id, "r")
    third = user.answer()
    assert third.record is not None
    assert third.record.sampling.temperature == 0.0


def test_another_model_writes_a_sibling(user: User, tiny: Path) -> None:
    answer = user.ask("What is a branch?")
    program = user.controller.program
    program.preferences.change(recent_models=(str(tiny),))
    _choose(user, answer.id, "tiny")
    user.bot.waitUntil(lambda: len(user.controller.shown.siblings(answer.id)) == 2, timeout=PATIENCE_MS)
    other = user.answer()
    assert other.id != answer.id
    assert other.record is not None
    assert other.record.model == program.session.name == str(tiny)


def test_a_model_that_fails_to_load_says_so_at_its_answer(user: User, tmp_path: Path) -> None:
    answer = user.ask("What is a branch?")
    user.controller.regenerate_by(answer.id, str(tmp_path))
    failed = user.answer()
    assert failed.record is not None
    assert "config.json" in str(failed.record.error)
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)
    assert user.application.session.name == "guide"


def test_an_answer_is_written_though_its_conversation_was_left_while_the_model_was_loaded(
    user: User, tiny: Path
) -> None:
    answer = user.ask("What is a branch?")
    user.controller.regenerate_by(answer.id, str(tiny))
    conversation = user.controller.shown.conversation
    assert conversation is not None
    user.controller.shown.new_conversation()
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)
    assert user.controller.shown.path == []
    user.controller.shown.open_conversation(conversation.id)
    other = user.answer()
    assert other.record is not None
    assert (other.state, other.record.model) == ("complete", str(tiny))
