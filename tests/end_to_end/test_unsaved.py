"""A store that can't be written for a while: unsaved text is marked, the notice stays, and all is saved at last."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox
from pytestqt.qtbot import QtBot

from app.application import Application
from app.model.store import Store
from app.notices import Notice
from tests.end_to_end.conftest import OpenBough
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim

_CLOSE = "Some text is not saved. Close Bough and lose it?"
_WHY = "New text stays on the screen and is saved as soon as possible."


def _refuse_writes(application: Application, *, are_refused: bool) -> None:
    connection = application.store._database._connection  # pyright: ignore[reportPrivateUsage]
    connection.execute(f"PRAGMA query_only = {int(are_refused)}")


def _is_marked(application: Application, message_id: int) -> bool:
    view = application.window.transcript.view(message_id)
    assert view is not None
    return any("Not saved yet" in label.text() for label in view.findChildren(QLabel) if label.isVisible())


def _writing(open_bough: OpenBough, qtbot: QtBot, model: Path) -> tuple[Application, int]:
    """Open Bough with an answer that grows and can't be saved; return it and the answer's id."""
    application = open_bough(model=str(model), retry_ms=50)
    controller = application.controller
    qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    controller.send("Go on.")
    qtbot.waitUntil(lambda: len(controller.shown.path[-1].text) > 5, timeout=PATIENCE_MS)
    answer = controller.shown.path[-1].id
    _refuse_writes(application, are_refused=True)
    qtbot.waitUntil(lambda: application.answers.saving.has_unsaved, timeout=PATIENCE_MS)
    return application, answer


def _put_a_folder_at(path: Path) -> None:
    """Replace a file, which a thread may be writing, by a folder."""
    while True:
        path.unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):
            path.mkdir()
            return


def _close(application: Application, *, is_lost: bool) -> list[str]:
    """Close the window and answer its question; return the questions."""
    asked: list[str] = []

    def choose() -> None:
        (box,) = (found for found in QApplication.topLevelWidgets() if isinstance(found, QMessageBox))
        asked.append(box.text())
        if is_lost:
            next(button for button in box.buttons() if "lose" in button.text()).click()
        else:
            box.reject()

    QTimer.singleShot(0, choose)
    application.window.close()
    return asked


def test_an_unsaved_answer_is_marked_and_saved_when_there_is_room(
    open_bough: OpenBough, qtbot: QtBot, tmp_path: Path, endless_model: Path
) -> None:
    application, answer = _writing(open_bough, qtbot, endless_model)
    controller, banner = application.controller, application.window.banner
    assert _WHY in banner.label.text()
    assert _is_marked(application, answer)
    # Neither the settings, which can't be saved either, nor anything that the user does takes the notice's place.
    _put_a_folder_at(tmp_path / "settings.json")
    (tmp_path / "settings.json" / "taken").touch()
    application.preferences.change(tokens_visible=True)
    application.preferences.save()
    application.program.notices.post(Notice(verbatim("Something was done.")))
    assert _WHY in banner.label.text()
    controller.stop()
    qtbot.waitUntil(lambda: controller.shown.streaming_message is None, timeout=PATIENCE_MS)
    whole = controller.shown.path[-1].text
    assert _is_marked(application, answer)
    # A question that can't be saved is not asked, and is back in its field.
    application.window.composer.text.setPlainText("And now?")
    application.window.composer.send()
    assert application.window.composer.text.content == "And now?"
    assert [message.role for message in controller.shown.path][-2:] == ["user", "assistant"]
    assert _close(application, is_lost=False) == [_CLOSE]
    assert application.window.isVisible()
    (tmp_path / "settings.json" / "taken").unlink()
    (tmp_path / "settings.json").rmdir()
    _refuse_writes(application, are_refused=False)
    qtbot.waitUntil(lambda: not application.answers.saving.has_unsaved, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: not _is_marked(application, answer), timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: (tmp_path / "settings.json").is_file(), timeout=PATIENCE_MS)
    draft = application.store.preparations.get
    qtbot.waitUntil(lambda: draft(1).unsent.text == "And now?", timeout=PATIENCE_MS)
    assert not application.program.notices.lasting
    with contextlib.closing(Store(tmp_path / "conversations.sqlite3")) as store:
        assert store.messages.get(answer).text == whole


@pytest.mark.long
def test_unsaved_text_is_lost_if_the_user_says_so(open_bough: OpenBough, qtbot: QtBot, endless_model: Path) -> None:
    application, _ = _writing(open_bough, qtbot, endless_model)
    assert _close(application, is_lost=True) == [_CLOSE]
    assert not application.window.isVisible()
