"""Before a long prompt, and before several answers: the window says what would not fit, and refuses what can't."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from tokenizers import Tokenizer

from app.catalog.entry import Memory
from app.model.message import Sampling
from app.notices import AllowLargeAnswers, Notice
from tests.app.sampling import set_sampling
from tests.app.ui.conftest import User
from tests.models import write_random_llama
from tests.waiting import PATIENCE_MS

_MIB = 1 << 20


@pytest.fixture
def set_memory(
    user: User, byte_level: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[int, int], None]]:
    """Describe the machine's memory in MiB, total and free, while a real model is loaded."""
    program = user.controller.program
    set_sampling(program, Sampling(temperature=0.0, max_tokens=8))
    folder = write_random_llama(tmp_path / "model", byte_level)
    program.load_model(str(folder))
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)
    user.controller.shown.new_conversation()
    check = program.supply.memory_check

    def is_measured() -> bool:
        return check._task is None  # pyright: ignore[reportPrivateUsage]

    def set_(total: int, free: int) -> None:
        def memory(reusable_bytes: int = 0) -> Memory:
            return Memory(total_bytes=total * _MIB, available_bytes=free * _MIB + reusable_bytes)

        monkeypatch.setattr("app.catalog.machine_memory.machine_memory", memory)
        user.bot.waitUntil(is_measured, timeout=PATIENCE_MS)
        check.measure()
        user.bot.waitUntil(is_measured, timeout=PATIENCE_MS)

    yield set_
    user.controller.preparation.reset_generation()
    user.window.composer.text.clear()
    monkeypatch.undo()
    program.load_model("guide")
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)


def test_a_line_warns_of_an_answer_that_may_not_fit_and_disappears_when_it_fits(
    user: User, set_memory: Callable[[int, int], None]
) -> None:
    composer, line = user.window.composer, user.window.composer.shortage
    set_memory(8000, 4000)
    user.bot.keyClicks(composer.text, "Hello")
    user.bot.waitUntil(composer.gauge.isVisible, timeout=PATIENCE_MS)
    assert not line.isVisible()
    set_memory(8000, 0)
    assert line.isVisible()
    assert "but only 0 bytes are free" in line.text()
    assert not composer.allow_button.isVisible()
    # It may still be sent: other programs may give memory back.
    user.bot.keyClick(composer.text, Qt.Key.Key_Return)
    user.bot.waitUntil(lambda: not user.application.answers.has_pending, timeout=PATIENCE_MS)
    assert user.controller.shown.path[-1].role == "assistant"
    set_memory(8000, 4000)
    assert not line.isVisible()


def test_a_prompt_that_cannot_fit_is_not_sent_unless_the_user_insists(
    user: User, set_memory: Callable[[int, int], None]
) -> None:
    composer = user.window.composer
    user.bot.keyClicks(composer.text, "Hello")
    user.bot.waitUntil(composer.gauge.isVisible, timeout=PATIENCE_MS)
    set_memory(100, 0)
    user.bot.keyClick(composer.text, Qt.Key.Key_Return)
    assert (composer.text.content, user.controller.shown.path) == ("Hello", [])
    assert "Choose a smaller model" in composer.shortage.text()
    assert composer.allow_button.hasFocus() or not user.window.isActiveWindow()
    user.bot.keyClick(composer.allow_button, Qt.Key.Key_Space)
    user.bot.waitUntil(lambda: not user.application.answers.has_pending, timeout=PATIENCE_MS)
    assert (composer.text.content, len(user.controller.shown.path)) == ("", 3)


def test_several_answers_that_cannot_fit_are_refused_in_a_notice(
    user: User, set_memory: Callable[[int, int], None]
) -> None:
    posted: list[Notice] = []
    program = user.controller.program
    set_memory(8000, 4000)
    answer = user.ask("Hello")
    program.notices.posted.connect(posted.append)
    generation = user.controller.preparation.generation
    many = replace(generation, n=64, sampling=replace(generation.sampling, max_tokens=500))
    set_memory(150, 20)
    user.controller.regenerate(answer.id, generation=many, num_answers=64)
    assert len(user.controller.shown.siblings(answer.id)) == 1
    (notice,) = posted
    assert "64 answers at once" in notice.text
    assert notice.action == AllowLargeAnswers(program.session.name)
    user.controller.regenerate(answer.id)
    user.bot.waitUntil(lambda: not user.application.answers.has_pending, timeout=PATIENCE_MS)
    assert len(user.controller.shown.siblings(answer.id)) == 2


def test_a_continuation_that_cannot_fit_is_refused_too(user: User, set_memory: Callable[[int, int], None]) -> None:
    posted: list[Notice] = []
    set_memory(8000, 4000)
    answer = user.ask("Hello")
    user.controller.program.notices.posted.connect(posted.append)
    set_memory(100, 0)
    user.controller.continue_answer(answer.id)
    user.controller.edit_and_continue(answer.id, "Another beginning")
    assert user.controller.shown.siblings(answer.id) == [answer.id]
    assert user.controller.shown.message(answer.id) == answer
    assert len(posted) == 2
    assert all("Nothing was sent to the model" in notice.text for notice in posted)
