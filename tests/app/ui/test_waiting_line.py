"""The line below an answer without text, with the real worker paused: its state, and whether it is being stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QProgressBar

from app.model.message import Message
from app.ui.message.message_footer import PrefillProgress
from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.app.ui.ways import Way, mostly, press
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS


@pytest.fixture
def asked(user: User) -> Iterator[Message]:
    """An answer whose worker is paused before it reads the question."""
    user.ask("What is a branch?")
    pid = user.application.link.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        user.type("How do I fork?")
        user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
        waiting = user.controller.shown.streaming_message
        assert waiting is not None
        yield waiting
    finally:
        os.kill(pid, signal.SIGCONT)
        user.answer()


def _line(user: User, answer: Message) -> PrefillProgress | None:
    shown = [line for line in user.view(answer.id).findChildren(PrefillProgress) if line.isVisible()]
    return shown[0] if shown else None


def _texts(user: User, answer: Message) -> set[str]:
    return set(screen_reader.found(user.view(answer.id), QAccessible.Role.StaticText))


def test_a_line_and_a_moving_bar_show_what_an_answer_waits_for(user: User, asked: Message) -> None:
    user.bot.waitUntil(lambda: "preparing the prompt" in _texts(user, asked), timeout=PATIENCE_MS)
    line = _line(user, asked)
    assert line is not None
    bar = line.findChild(QProgressBar)
    assert bar is not None
    assert bar.isVisible()
    assert bar.maximum() == 0
    pid = user.application.link.pid
    assert pid is not None
    os.kill(pid, signal.SIGCONT)
    user.answer()
    assert _line(user, asked) is None


@pytest.mark.parametrize("way", ["reader", *in_long_runs(["mouse", "keys"])])
def test_stop_says_so_at_once(user: User, asked: Message, way: str) -> None:
    # Before that the model has not been asked, and the answer ends at once.
    user.bot.waitUntil(lambda: "preparing the prompt" in _texts(user, asked), timeout=PATIENCE_MS)
    match way:
        case "mouse":
            user.bot.mouseClick(user.window.composer.send_button, Qt.MouseButton.LeftButton)
        case "keys":
            user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Escape)
        case _:
            screen_reader.press(user.bot, user.window.composer, "Stop")
    assert "stopping…" in _texts(user, asked)
    assert user.window.composer.send_button.accessibleName() == "Stopping…"


@mostly("keys")
def test_a_follow_up_that_waits_says_so_and_stop_ends_both(user: User, asked: Message, way: Way) -> None:
    user.type("And what is a leaf?")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    below = user.controller.shown.path[-1]
    assert below.id != asked.id
    user.bot.waitUntil(lambda: "waiting for the answer above" in _texts(user, below), timeout=PATIENCE_MS)
    assert user.view(asked.id).text._has_caret  # pyright: ignore[reportPrivateUsage]
    assert not user.view(below.id).text._has_caret  # pyright: ignore[reportPrivateUsage]
    if way == "keys":
        user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Escape)
    else:
        press(user, way, user.window.composer, "Stop")
    assert user.controller.shown.message(below.id).state == "stopped"
    assert user.application.answers.is_stopping(asked.id)
