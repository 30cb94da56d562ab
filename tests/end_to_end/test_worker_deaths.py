"""Workers that die: noticed at once, nothing lost, a fresh one in their place, every time."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from app.application import Application
from app.model.message import Message, Sampling
from app.model.store import Store
from app.notices import Notice, ShowReport
from tests.app.sampling import set_sampling
from tests.end_to_end.conftest import OpenBough
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS

_ENDLESS = Sampling(temperature=0.0)
_SHORT = Sampling(temperature=0.0, max_tokens=60)


class _Deaths:
    """Kills the workers of a program and watches what it does about it."""

    def __init__(self, application: Application, bot: QtBot) -> None:
        self.application = application
        self.controller = application.controller
        self.bot = bot
        self.draw = random.Random(1)
        self.num_noticed = self.num_notices = 0
        application.session.worker_died.connect(self._on_death)
        self.controller.program.notices.posted.connect(self._on_notice)

    def kill(self) -> None:
        pid = self.application.link.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    def _on_death(self, _what: object) -> None:
        self.num_noticed += 1

    def _on_notice(self, notice: Notice) -> None:
        assert "SIGKILL" in notice.text
        assert isinstance(notice.action, ShowReport)
        if notice.cause is None:
            assert "There is a report on this computer" in notice.text
            return
        assert "The model is being loaded again; your next message will be answered." in notice.text
        self.num_notices += 1

    def wait_for_notice(self) -> None:
        num = self.num_noticed + 1
        self.kill()
        self.bot.waitUntil(lambda: self.num_noticed == num, timeout=PATIENCE_MS)

    def wait_until_ready(self) -> None:
        self.bot.waitUntil(lambda: self.application.session.state == "ready", timeout=PATIENCE_MS)

    def answer(self) -> Message:
        self.bot.waitUntil(lambda: self.controller.shown.streaming_message is None, timeout=PATIENCE_MS)
        return self.controller.shown.path[-1]

    # --- moments ---------------------------------------------------------------------------------------------

    def while_idle(self) -> None:
        self.wait_for_notice()

    def while_loading(self) -> None:
        self.wait_for_notice()
        num = self.num_noticed + 1
        QTimer.singleShot(self.draw.randrange(900), self.kill)
        self.bot.waitUntil(lambda: self.num_noticed == num, timeout=PATIENCE_MS)

    def while_reading(self) -> None:
        num = self.num_noticed + 1
        set_sampling(self.controller.program, _ENDLESS)
        self.controller.send("How do I fork a message? " * self.draw.randrange(100, 200))
        with self.bot.waitSignal(self.controller.shown.reading, timeout=PATIENCE_MS):
            pass
        self.kill()
        self.bot.waitUntil(lambda: self.num_noticed == num, timeout=PATIENCE_MS)
        assert self.controller.shown.path[-1].state == "stopped"

    def while_streaming(self) -> None:
        num, num_pieces = self.num_noticed + 1, self.draw.randrange(1, 12)
        pieces: list[str] = []

        def take(_message_id: int, text: str) -> None:
            pieces.append(text)
            if len(pieces) == num_pieces:
                self.kill()

        # The answer has no end, so the worker is killed within it however late the window notices.
        set_sampling(self.controller.program, _ENDLESS)
        self.controller.shown.text_appended.connect(take)
        self.controller.send("What is a branch, and how do I fork a message?")
        self.bot.waitUntil(lambda: self.num_noticed == num, timeout=PATIENCE_MS)
        self.controller.shown.text_appended.disconnect(take)
        answer = self.controller.shown.path[-1]
        assert (answer.state, answer.text) == ("stopped", "".join(pieces))
        assert answer.record is not None
        assert "SIGKILL" in str(answer.record.error)
        view = self.application.window.transcript.view(answer.id)
        assert view is not None
        assert view.text.content == answer.text
        self.check_store(answer)
        if self.draw.random() < 0.5:
            set_sampling(self.controller.program, _SHORT)
            self.controller.continue_answer(answer.id)
            whole = self.answer()
            assert whole.id == answer.id
            assert whole.state == "cut"
            assert whole.text.startswith(answer.text)

    def check_store(self, message: Message) -> None:
        assert self.controller.shown.conversation is not None
        other = Store(self.application.store.path)
        assert message in other.messages.shown_by(self.controller.shown.conversation.id)
        other.close()


@pytest.mark.parametrize("num_rounds", [1, *in_long_runs([10])])
def test_workers_die_at_any_moment_and_the_next_message_works(
    open_bough: OpenBough, qtbot: QtBot, endless_model: Path, num_rounds: int
) -> None:
    application = open_bough(model=str(endless_model))
    deaths = _Deaths(application, qtbot)
    deaths.wait_until_ready()
    moments = [deaths.while_idle, deaths.while_loading, deaths.while_reading, deaths.while_streaming]
    num_files = 0
    for _ in range(num_rounds):
        for moment in deaths.draw.sample(moments, len(moments)):
            deaths.controller.shown.new_conversation()
            moment()
            set_sampling(deaths.controller.program, _SHORT)
            deaths.controller.shown.new_conversation()
            deaths.controller.send("What is a branch?")
            answer = deaths.answer()
            assert answer.state == "cut"
            assert answer.text
            num_files = num_files or psutil.Process().num_fds()
    assert deaths.num_noticed == 5 * num_rounds
    # An answer that was cut says so itself.
    assert deaths.num_notices == 3 * num_rounds
    assert psutil.Process().num_fds() <= num_files + 4
    assert [thread.name for thread in threading.enumerate()].count("worker link") == 1


def test_a_worker_that_dies_three_times_while_loading_is_not_restarted_until_a_model_is_chosen(
    open_bough: OpenBough, qtbot: QtBot
) -> None:
    application = open_bough()
    controller, link = application.controller, application.link
    notices: list[Notice] = []

    def on_posted(notice: Notice) -> None:
        # The offer of a report comes beside them.
        if notice.cause:
            notices.append(notice)

    controller.program.notices.posted.connect(on_posted)
    for number in range(3):
        # The window is painted before the first worker is started.
        qtbot.waitUntil(lambda: link.pid is not None, timeout=PATIENCE_MS)
        assert link.pid is not None
        os.kill(link.pid, signal.SIGKILL)
        qtbot.waitUntil(lambda number=number: len(notices) == number + 1, timeout=PATIENCE_MS)
    assert application.session.state == "failed"
    assert link.pid is None
    assert "stopped 3 times in a row with the model “guide”" in notices[-1].text
    assert "Choose another model" in notices[-1].text
    controller.send("What is a branch?")
    # The request waits until the question is on the disk.
    qtbot.waitUntil(lambda: controller.shown.path[-1].state == "failed", timeout=PATIENCE_MS)
    controller.program.load_model("guide")
    qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    controller.regenerate(controller.shown.path[-1].id)
    qtbot.waitUntil(lambda: controller.shown.path[-1].state == "complete", timeout=PATIENCE_MS)


@pytest.mark.parametrize("moment", ["loading", "idle", "streaming"])
def test_closing_the_window_ends_the_worker_and_keeps_the_streamed_text(
    open_bough: OpenBough, qtbot: QtBot, moment: str, endless_model: object
) -> None:
    application = open_bough(model=str(endless_model), max_tokens=900_000)
    controller = application.controller
    if moment != "loading":
        qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    if moment == "streaming":
        controller.send("Say a and b.")
        controller.send("And then?")
        qtbot.waitUntil(lambda: len(controller.shown.path[2].text) > 100, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: application.link.pid is not None, timeout=PATIENCE_MS)
    pid = application.link.pid
    assert pid is not None
    worker = psutil.Process(pid)
    seen = controller.shown.path
    application.window.close()
    assert not worker.is_running()
    if moment == "streaming":
        again = open_bough()
        answer, waiting = again.controller.shown.path[2], again.controller.shown.path[4]
        assert answer.text.startswith(seen[2].text)
        assert set(answer.text) == {"a", "b"}
        assert (answer.state, waiting.state) == ("stopped", "stopped")
        # The worker's last events were taken in, so the ids are exact.
        assert answer.record is not None
        assert len(answer.record.token_ids) == len(answer.text)


def test_closing_the_window_ends_a_worker_that_hangs(
    open_bough: OpenBough, qtbot: QtBot, endless_model: object
) -> None:
    application = open_bough(model=str(endless_model), max_tokens=900_000)
    controller = application.controller
    qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    controller.send("Say a and b.")
    qtbot.waitUntil(lambda: len(controller.shown.path[2].text) > 100, timeout=PATIENCE_MS)
    assert application.link.pid is not None
    worker = psutil.Process(application.link.pid)
    worker.suspend()
    seen = controller.shown.path[2]
    application.window.close()
    assert not worker.is_running()
    answer = open_bough().controller.shown.path[2]
    assert answer.text.startswith(seen.text)
    assert answer.state == "stopped"
    assert answer.record is not None
    assert str(answer.record.error).startswith("Bough was closed while this answer was being written.")
