"""Requests on a busy disk: the window does not wait for it, and the model is asked once the prompt is on it."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.desk import Desk
from tests.app.slow_disk import SlowDisk
from tests.waiting import PATIENCE_MS

pytestmark = pytest.mark.usefixtures("nothing_leaks")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SlowDisk:
    return SlowDisk(monkeypatch, tmp_path)


@pytest.fixture
def desk(qapp: QApplication, tmp_path: Path, disk: SlowDisk) -> Iterator[Desk]:
    assert qapp is not None
    desk = Desk(tmp_path, flushes_in_background=True)
    yield desk
    disk.finish(100)
    desk.close()


def _let_time_pass(desk: Desk) -> None:
    """Let the time pass after which messages that wait for the disk are marked."""
    timer = desk.answers.saving._late_timer  # pyright: ignore[reportPrivateUsage]
    assert timer.isActive()
    timer.timeout.emit()


def test_the_model_is_asked_once_the_question_is_on_the_disk(desk: Desk, disk: SlowDisk, qtbot: QtBot) -> None:
    changed: list[int] = []
    desk.answers.saving.changed.connect(changed.append)
    desk.controller.send("u1")
    disk.wait_for_flush()
    question, answer = desk.controller.shown.path[-2:]
    # It is shown as any request, and a kill loses none of it.
    assert desk.stored(question).text == "u1"
    assert not desk.controller.shown.is_queued(answer.id)
    assert desk.answers.waits_for_disk(answer.id)
    assert desk.answers.is_without_new_text(answer.id)
    QApplication.processEvents()
    assert desk.link.asked == []
    assert desk.controller.shown.is_saved(question.id)
    _let_time_pass(desk)
    assert not desk.controller.shown.is_saved(question.id)
    assert question.id in changed
    disk.finish(100)
    qtbot.waitUntil(lambda: len(desk.link.asked) == 1, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: desk.controller.shown.is_saved(question.id), timeout=PATIENCE_MS)
    assert changed.count(question.id) == 2
    # The end of the answer waits for nothing.
    desk.answer("a1")
    assert desk.controller.shown.path[-1].text == "a1"
    assert not desk.notices


def test_requests_keep_their_order_while_the_disk_is_busy(desk: Desk, disk: SlowDisk, qtbot: QtBot) -> None:
    desk.controller.send("u1")
    disk.wait_for_flush()
    desk.answers.load("/models/other")
    desk.controller.shown.new_conversation("guide")
    desk.controller.send("u2")
    stopped = desk.controller.shown.path[-1].id
    desk.controller.stop()
    desk.controller.send("u3")
    assert desk.link.asked == []
    assert [load.model for load in desk.link.loads] == ["guide"]
    assert not desk.answers.is_pending(stopped)
    disk.finish(100)
    qtbot.waitUntil(lambda: len(desk.link.asked) == 1, timeout=PATIENCE_MS)
    assert [turn.content for turn in desk.link.asked[0].messages or ()][-1] == "u1"
    desk.answer("a1")
    assert [load.model for load in desk.link.loads] == ["guide", "/models/other"]


def test_text_that_the_disk_refused_is_marked_and_written_again(desk: Desk, disk: SlowDisk, qtbot: QtBot) -> None:
    disk.errors.append(errno.EIO)
    disk.finish(100)
    with contextlib.closing(sqlite3.connect(desk.path, isolation_level=None)) as reader:
        # It keeps the log in use, so that what it holds can't be written again.
        reader.execute("BEGIN").execute("SELECT * FROM message").fetchall()
        desk.controller.send("u1")
        question = desk.controller.shown.path[-2]
        qtbot.waitUntil(lambda: desk.answers.saving.has_unsaved, timeout=PATIENCE_MS)
        assert not desk.controller.shown.is_saved(question.id)
        assert "Input/output error" in str(desk.notices[-1].text)
    assert desk.link.asked == []
    # The flush is tried again from time to time without a request.
    timer = desk.answers.saving._timer  # pyright: ignore[reportPrivateUsage]
    assert timer.isActive()
    timer.timeout.emit()
    qtbot.waitUntil(lambda: len(desk.link.asked) == 1, timeout=PATIENCE_MS)
    assert desk.controller.shown.is_saved(question.id)
    assert not desk.answers.saving.has_unsaved
    assert str(desk.notices[-1].text) == "Everything is saved again."
