"""Several models on one question in the real window: chosen by keys, answered side by side, each with its name."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible

from app.catalog.entry import Memory
from app.ui.composer.sampling_panel import SamplingPanel
from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.app.ui.ways import Way, keys, mostly, press, tab_to
from tests.models import byte_level_tokenizer, chain, write_scripted_model
from tests.waiting import PATIENCE_MS


@pytest.fixture
def two(user: User, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Two models with one fixed answer each. The guide model is loaded again at the end."""
    tokenizer = byte_level_tokenizer()
    oak, elm = (
        write_scripted_model(
            tmp_path / name, tokenizer, chain([*tokenizer.encode("\n").ids, *tokenizer.encode(text).ids])
        )
        for name, text in (("oak", "Yes."), ("elm", "No."))
    )
    user.controller.program.preferences.change(recent_models=(str(oak), str(elm)))
    user.controller.choose_model(str(oak))
    user.bot.waitUntil(lambda: user.controller.model.state == "ready", timeout=PATIENCE_MS)
    yield oak, elm
    user.controller.preparation.reset_generation()
    user.controller.program.load_model("guide")
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)


def _panel(user: User) -> SamplingPanel | None:
    return next((panel for panel in user.window.findChildren(SamplingPanel) if panel.isVisible()), None)


@mostly("keys")
def test_two_models_answer_side_by_side_with_their_names_and_costs(
    user: User, two: tuple[Path, Path], way: Way
) -> None:
    oak, elm = two
    user.window.action("sampling").trigger()
    user.bot.waitUntil(lambda: _panel(user) is not None, timeout=PATIENCE_MS)
    panel = _panel(user)
    assert panel is not None
    menu = panel.models.choices
    if way == "keys":
        tab_to(user, "Answered by")
        keys(user, "Space")
    else:
        press(user, way, panel, "Answered by")
    user.bot.waitUntil(menu.isVisible, timeout=PATIENCE_MS)
    entry = next(action for action in menu.actions() if action.text() == "elm")
    match way:
        case "mouse":
            user.bot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(entry).center())
        case "keys":
            while menu.activeAction() is not entry:
                keys(user, "Down")
            keys(user, "Space")
        case "reader":
            screen_reader.choose(menu, "elm")
    # The menu stays open for more.
    assert menu.isVisible()
    assert entry.isChecked()
    user.bot.keyClick(menu, Qt.Key.Key_Escape)
    assert panel.models.text() == "2 models"
    assert "Answered by" in screen_reader.found(panel, QAccessible.Role.ButtonMenu)
    panel.close()
    assert "2 models" in user.window.composer.sampling_button.toolTip()
    user.type("Is an oak a tree?")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    page = user.window.side_by_side
    user.bot.waitUntil(page.isVisible, timeout=PATIENCE_MS)
    answers = page.message_ids

    def are_over() -> bool:
        return not any(user.controller.shown.is_streaming(found) for found in answers)

    user.bot.waitUntil(are_over, timeout=PATIENCE_MS)
    messages = [user.controller.shown.message(found) for found in answers]
    assert [message.text for message in messages] == ["Yes.", "No."]
    records = [record for message in messages if (record := message.record) is not None]
    assert [record.model for record in records] == [str(oak), str(elm)]
    assert all(record.figures.prompt_tokens for record in records)
    buttons = screen_reader.found(page, QAccessible.Role.Button)
    assert {"Go on with Version 1 of 2 · oak", "Go on with Version 2 of 2 · elm"} <= buttons.keys()
    words = screen_reader.found(page, QAccessible.Role.StaticText)
    assert {"Version 1 of 2 · oak", "Version 2 of 2 · elm"} <= words.keys()
    page.close_page()


def test_the_second_model_loads_while_the_first_answers_and_stays_loaded(
    user: User, two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other programs may take most of it.
    def much(reusable_bytes: int = 0) -> Memory:
        return Memory(total_bytes=8 << 30, available_bytes=(8 << 30) - reusable_bytes)

    monkeypatch.setattr("app.catalog.machine_memory.machine_memory", much)
    oak, elm = map(str, two)
    sessions, preparation = user.application.sessions, user.controller.preparation
    preparation.set_generation(structs.replace(preparation.generation, models=(oak, elm)))
    pid = user.application.link.pid
    assert pid is not None
    user.window.composer.text.setPlainText("Is an oak a tree?")
    # The first answer takes its time.
    os.kill(pid, signal.SIGSTOP)
    try:
        user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
        page = user.window.side_by_side
        user.bot.waitUntil(lambda: sessions.ahead.state == "ready", timeout=PATIENCE_MS)
        waiting = page.message_ids[1]
        assert (sessions.chosen.name, sessions.ahead.name) == (oak, elm)
        # They answer one after another.
        assert user.controller.shown.is_queued(waiting)

        def is_said() -> bool:
            return "waiting for oak to answer" in screen_reader.found(page, QAccessible.Role.StaticText)

        user.bot.waitUntil(is_said, timeout=PATIENCE_MS)
    finally:
        os.kill(pid, signal.SIGCONT)
    user.bot.waitUntil(lambda: not user.controller.program.answers.has_pending, timeout=PATIENCE_MS)
    assert [user.controller.shown.message(one).text for one in page.message_ids] == ["Yes.", "No."]
    assert (user.application.link.pid, sessions.chosen.name, sessions.ahead.state) == (pid, oak, "ready")
    page.close_page()
    # The memory of both is freed for a model that the user chooses.
    user.controller.program.load_model(elm)
    assert sessions.ahead.link.pid is None
