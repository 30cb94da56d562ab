"""Workers that are stopped by a signal, run a hook that never returns, or hold Python's lock: seen, said and ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tokenizers import Tokenizer

from app.application import Application
from app.model.message import Message
from app.notices import RestartWorker
from tests.end_to_end.conftest import OpenBough, endless_model, open_bough
from tests.long import in_long_runs
from tests.models import CHATML, write_scripted_model

__all__ = ["endless_model", "open_bough"]

PATIENCE_MS = 120_000

_HOLDS_THE_LOCK = """
import re

def hook(step):
    return None if len(step.text) < 5 else re.match("(a+)+$", "a" * 40 + "b")
"""


_LOOPS = (
    "{% if 'loop' in messages[-1]['content'] %}"
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}{% endif %}"
)


class _Desk:
    """A window whose worker gets stuck."""

    def __init__(self, application: Application, bot: QtBot) -> None:
        self.application, self.bot = application, bot
        self.controller = application.controller
        self.banner, self.composer = application.window.banner, application.window.composer
        self.wait(lambda: application.session.state == "ready")

    def wait(self, condition: Callable[[], bool]) -> None:
        self.bot.waitUntil(condition, timeout=PATIENCE_MS)

    @property
    def pid(self) -> int:
        pid = self.application.link.pid
        assert pid is not None
        return pid

    @property
    def answer(self) -> Message:
        return self.controller.shown.path[-1]

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def ask(self, text: str = "What is a branch?") -> None:
        self.controller.shown.new_conversation()
        self.controller.send(text)

    def ask_and_wait_for_text(self) -> None:
        self.ask()
        self.wait(lambda: bool(self.answer.text))

    def ask_and_wait_for_reading(self) -> None:
        self.controller.shown.new_conversation()
        with self.bot.waitSignal(self.controller.shown.reading, timeout=PATIENCE_MS):
            self.controller.send("How do I fork a message? " * 200)

    def wait_for_report(self) -> str:
        self.wait(lambda: isinstance(self.banner.action, RestartWorker))
        return self.banner.label.text()

    def press_stop(self) -> None:
        self.bot.mouseClick(self.composer.send_button, Qt.MouseButton.LeftButton)
        assert self.composer.send_button.accessibleName() == "Stopping…"
        assert not self.composer.send_button.isEnabled()

    def check_it_works(self) -> None:
        """The model answers again, and no report is left."""
        self.wait(lambda: self.application.session.state == "ready")
        self.wait(lambda: not isinstance(self.banner.action, RestartWorker))
        self.ask_and_wait_for_text()
        self.controller.stop()
        self.wait(lambda: self.controller.shown.streaming_message is None)
        assert self.answer.record is not None
        assert self.answer.record.error is None


@pytest.fixture
def desk(open_bough: OpenBough, qtbot: QtBot, endless_model: Path) -> _Desk:
    return _Desk(open_bough(model=str(endless_model)), qtbot)


@pytest.mark.long
def test_a_stopped_idle_worker_is_reported_until_it_continues(desk: _Desk) -> None:
    desk.signal(signal.SIGSTOP)
    assert "has not responded since" in desk.wait_for_report()
    desk.signal(signal.SIGCONT)
    desk.wait(desk.banner.isHidden)


def test_a_worker_stopped_in_an_answer_is_reported_and_the_answer_continues(desk: _Desk) -> None:
    pid = desk.pid
    desk.ask_and_wait_for_text()
    desk.signal(signal.SIGSTOP)
    assert "has not responded since" in desk.wait_for_report()
    num_chars = len(desk.answer.text)
    desk.signal(signal.SIGCONT)
    desk.wait(lambda: desk.banner.isHidden() and len(desk.answer.text) > num_chars + 100)
    assert desk.pid == pid
    assert set(desk.answer.text) == {"a", "b"}
    assert "aa" not in desk.answer.text


@pytest.mark.parametrize("state", ["writing", *in_long_runs(["reading"])])
def test_stop_ends_a_stopped_worker_and_the_next_question_is_answered(desk: _Desk, state: str) -> None:
    pid = desk.pid
    if state == "writing":
        desk.ask_and_wait_for_text()
    else:
        desk.ask_and_wait_for_reading()
    desk.signal(signal.SIGSTOP)
    desk.press_stop()
    # The words come shortly afterwards, and take more room than the icon.
    desk.wait(lambda: desk.composer.send_button.text() == "Stopping…")
    assert desk.composer.send_button.width() > desk.composer.send_button.height()
    desk.wait(lambda: desk.controller.shown.streaming_message is None)
    assert desk.answer.state == "stopped"
    assert desk.answer.record is not None
    assert "did not stop within 3 seconds" in str(desk.answer.record.error)
    assert "The text so far is kept." in str(desk.answer.record.error)
    desk.check_it_works()
    assert desk.pid != pid


@pytest.mark.long
@pytest.mark.parametrize("state", ["loading", "idle", "starting"])
def test_another_model_is_loaded_although_the_worker_is_stopped(desk: _Desk, state: str) -> None:
    program = desk.controller.program
    if state == "starting":
        program.restart_worker()
        desk.wait(lambda: desk.application.session.state == "loading" and desk.application.link.pid is not None)
    if state == "loading":
        program.load_model(program.settings.model)
    desk.signal(signal.SIGSTOP)
    pid = desk.pid
    program.load_model("guide")
    if state == "starting":
        # A process that starts is given more time, but the user need not wait for that.
        desk.wait_for_report()
        program.restart_worker()
    desk.wait(lambda: desk.application.session.state == "ready" and desk.application.session.name == "guide")
    assert desk.pid != pid
    desk.check_it_works()


@pytest.mark.long
def test_the_user_restarts_a_stopped_worker_with_the_keyboard(desk: _Desk) -> None:
    pid = desk.pid
    desk.signal(signal.SIGSTOP)
    desk.wait_for_report()
    button = desk.banner.button
    assert button.text() == "Restart"
    assert button.focusPolicy() & Qt.FocusPolicy.TabFocus
    desk.bot.keyClick(button, Qt.Key.Key_Space)
    desk.wait(lambda: "You restarted the model process." in desk.banner.label.text())
    desk.check_it_works()
    assert desk.pid != pid


@pytest.mark.long
def test_stop_ends_an_endless_template(
    open_bough: OpenBough, qtbot: QtBot, tmp_path: Path, byte_level: Tokenizer
) -> None:
    a, b, line_break = (byte_level.encode(text).ids[0] for text in ("a", "b", "\n"))
    folder = write_scripted_model(
        tmp_path / "looping",
        byte_level,
        {line_break: a, a: b, b: a},
        context_length=1_000_000,
        chat_template=_LOOPS + CHATML,
    )
    desk = _Desk(open_bough(model=str(folder)), qtbot)
    desk.ask("Please loop.")
    desk.wait(lambda: desk.controller.shown.streaming_message is not None)
    desk.controller.stop()
    desk.wait(lambda: desk.controller.shown.streaming_message is None)
    # The window would ask for the cost of this conversation.
    desk.controller.shown.new_conversation()
    desk.check_it_works()


@pytest.mark.long
@pytest.mark.parametrize("presses_stop", [True, False])
def test_a_hook_that_holds_pythons_lock_is_ended(
    open_bough: OpenBough, qtbot: QtBot, endless_model: Path, tmp_path: Path, presses_stop: bool
) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "holds_the_lock.py").write_text(_HOLDS_THE_LOCK)
    desk = _Desk(open_bough(model=str(endless_model)), qtbot)
    preparation = desk.controller.preparation
    before = preparation.generation
    preparation.set_generation(structs.replace(before, hooks=("holds the lock",)))
    desk.ask_and_wait_for_text()
    assert "has not responded since" in desk.wait_for_report()
    if presses_stop:
        desk.press_stop()
    desk.wait(lambda: desk.controller.shown.streaming_message is None)
    assert desk.answer.text.startswith("a")
    assert desk.answer.record is not None
    assert str(desk.answer.record.error)
    preparation.set_generation(before)
    desk.check_it_works()


@pytest.mark.long
@pytest.mark.parametrize("state", ["idle", "writing"])
def test_the_window_closes_at_once_when_the_worker_is_reported_as_stuck(desk: _Desk, state: str) -> None:
    if state == "writing":
        desk.ask_and_wait_for_text()
    desk.signal(signal.SIGSTOP)
    desk.wait_for_report()
    pid = desk.pid
    desk.application.window.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
