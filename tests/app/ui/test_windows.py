"""Several windows of one program: each shows its own conversation, and all show the changes to it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from app.application import Application, Places
from app.catalog.entry import RemoteModel
from app.ui.window import MainWindow
from tests.waiting import PATIENCE_MS

_CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def folder(tmp_path: Path, qapp: QApplication) -> Iterator[Path]:
    yield tmp_path
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def _start(folder: Path, bot: QtBot) -> Application:
    application = Application(Places.under(folder))
    application.windows.show()
    bot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    application.window.activateWindow()
    bot.waitUntil(application.window.isActiveWindow, timeout=PATIENCE_MS)
    return application


def _end(application: Application) -> None:
    application.windows.close_all()
    application.close()
    application.window.deleteLater()


def _texts(window: MainWindow) -> list[str]:
    return [view.text.content for view in window.transcript.views]


def test_two_windows_of_one_conversation_stay_in_sync_and_are_restored(folder: Path, qtbot: QtBot) -> None:
    application = _start(folder, qtbot)
    first = application.window
    application.controller.send("What is a branch?")
    qtbot.waitUntil(lambda: application.controller.shown.streaming_message is None, timeout=PATIENCE_MS)
    qtbot.keyClick(first, Qt.Key.Key_N, _CTRL_SHIFT)
    assert len(application.windows.all) == 2
    assert application.windows.all[1].isVisible()
    assert application.controller.shown.conversation is not None
    second = application.windows.open(application.controller.shown.conversation.id)
    qtbot.waitUntil(lambda: "What is a branch?" in _texts(second), timeout=PATIENCE_MS)
    # A question asked in one window appears in the other while the answer streams and after it has ended.
    second.composer.text.setFocus()
    qtbot.keyClicks(second.composer.text, "How do I fork?")
    qtbot.keyClick(second.composer.text, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "How do I fork?" in _texts(first), timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: application.controller.shown.streaming_message is None, timeout=PATIENCE_MS)
    answer = application.controller.shown.path[-1].text
    assert answer
    qtbot.waitUntil(lambda: _texts(first)[-1] == _texts(second)[-1] == answer, timeout=PATIENCE_MS)
    # Closing one window does not affect the others. The windows open at the end are restored.
    application.windows.all[1].close()
    second.setGeometry(40, 40, 700, 500)
    _end(application)
    again = _start(folder, qtbot)
    assert len(again.windows.all) == 2
    assert again.windows.all[1].size().toTuple() == (700, 500)
    for window in again.windows.all:
        qtbot.waitUntil(lambda window=window: "How do I fork?" in _texts(window), timeout=PATIENCE_MS)
    # The program ends when its last window is closed, whichever that is.
    again.windows.all[0].close()
    assert again.session.state == "ready"
    again.window.close()
    assert not again.link.is_started
    again.window.deleteLater()


def test_another_language_is_applied_at_once(folder: Path, qtbot: QtBot) -> None:
    application = _start(folder, qtbot)
    try:
        assert application.window.action("quit").text() == "Quit"
        application.controller.send("What is a branch?")
        application.window.action("settings").trigger()
        application.preferences.change(language="de")
        assert application.window.action("quit").text() == "Beenden"
        assert "What is a branch?" in [message.text for message in application.controller.shown.path]
        application.preferences.change(language="en")
        assert application.window.action("quit").text() == "Quit"
    finally:
        application.preferences.change(language="en")
        _end(application)


def test_closing_asks_while_a_model_is_downloaded(folder: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as never_answers:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{never_answers.getsockname()[1]}")
        application = Application(Places.under(folder))
        application.windows.show()
        key = application.program.supply.transfers.download(
            RemoteModel(repo="a/model", format="mlx", revision="0" * 40)
        )
        asked: list[str] = []

        def keep_open() -> None:
            (box,) = (found for found in QApplication.topLevelWidgets() if isinstance(found, QMessageBox))
            asked.append(f"{box.text()} {box.informativeText()}")
            box.reject()

        QTimer.singleShot(0, keep_open)
        application.window.close()
        assert application.window.isVisible()
        (question,) = asked
        assert "Close Bough?" in question
        assert "model" in question
        # A download that is paused is kept as it is.
        application.program.supply.transfers.pause(key)
        application.window.close()
        assert not application.window.isVisible()
        _end(application)
