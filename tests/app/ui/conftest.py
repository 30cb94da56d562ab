"""The real window with the real worker and the guide model, shared by most tests."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.answers.sessions import GUIDE
from app.application import Application, Places
from app.model.message import Message, Sampling
from app.model.settings import Settings
from app.model.unsent import Unsent
from app.ui.message.message_view import MessageView
from app.ui.theme import set_text_scale, theme
from app.ui.transcript.transcript import Transcript
from tests.app.desk import Desk
from tests.app.sampling import set_sampling
from tests.app.ui.waiting import has_chosen_look
from tests.waiting import PATIENCE_MS


class User:
    """A user who operates the window and sees what it shows."""

    def __init__(self, application: Application, bot: QtBot) -> None:
        self.application = application
        self.controller = application.controller
        self.window = application.window
        self.bot = bot

    def wait_for_look(self) -> None:
        """Wait until the window has the theme and the text size that the settings name."""
        settings = self.controller.program.settings
        self.bot.waitUntil(lambda: has_chosen_look(self.window, settings), timeout=PATIENCE_MS)

    def ask(self, text: str) -> Message:
        """Type a question, press Enter and wait until the answer has ended."""
        self.type(text)
        self.bot.keyClick(self.window.composer.text, Qt.Key.Key_Return)
        return self.answer()

    def type(self, text: str) -> None:
        self.window.composer.text.setFocus()
        self.bot.keyClicks(self.window.composer.text, text)

    def answer(self) -> Message:
        """Wait until the visible answer has ended and is shown on the page."""
        self.bot.waitUntil(lambda: self.controller.shown.streaming_message is None, timeout=PATIENCE_MS)
        answer = self.controller.shown.path[-1]
        self.bot.waitUntil(lambda: self.view(answer.id).text.content == answer.text, timeout=PATIENCE_MS)
        return answer

    def view(self, message_id: int) -> MessageView:
        view = self.window.transcript.view(message_id)
        assert view is not None
        return view

    def press(self, message_id: int, key: str) -> None:
        """Put the focus on a message and press a letter."""
        text = self.view(message_id).text
        text.setFocus(Qt.FocusReason.TabFocusReason)
        self.bot.keyClicks(text, key)

    def button(self, within: QWidget, label: str) -> QWidget:
        """Return the button with this text or accessible name."""
        from PySide6.QtWidgets import QAbstractButton

        found = [b for b in within.findChildren(QAbstractButton) if label in {b.text(), b.accessibleName()}]
        assert found, f"There is no button {label!r}"
        return found[0]

    @property
    def texts(self) -> list[str]:
        return [view.text.content for view in self.window.transcript.views]


@pytest.fixture(autouse=True)
def _no_text_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamed text is written at once. On a slow machine it would rest after a costly write."""
    monkeypatch.setattr("app.ui.text.markdown_document._SHORT_S", math.inf)


@pytest.fixture(autouse=True)
def _text_has_its_usual_size(qapp: QApplication) -> None:
    """An earlier test may have opened a window whose settings enlarge the text."""
    assert qapp
    set_text_scale(1.0)


@pytest.fixture
def transcript(desk: Desk) -> Iterator[Transcript]:
    """A page without a window, with a worker controlled by the test."""
    transcript = Transcript(desk.controller, theme("light"))
    transcript.resize(700, 500)
    transcript.show()
    yield transcript
    transcript.close()
    transcript.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@contextlib.contextmanager
def _opened(qapp: QApplication, folder: Path) -> Generator[Application]:
    """Open Bough, which loads the guide model."""
    qapp.setStyle("Fusion")
    application = Application(Places.under(folder))
    application.window.show()
    yield application
    application.window.close()
    application.close()
    application.window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture(scope="package")
def _shared_application(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    with _opened(qapp, tmp_path_factory.mktemp("data")) as application:
        yield application


@pytest.fixture(scope="module")
def application(
    request: pytest.FixtureRequest, qapp: QApplication, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Application]:
    """Bough with the guide model loaded. Files that are not marked `own_window` share one."""
    if request.node.get_closest_marker("own_window") is None:
        application = request.getfixturevalue("_shared_application")
        # The models of earlier files are gone.
        application.program.preferences.change(recent_models=(), draft_models={}, recent_drafts=())
        if application.session.name != GUIDE:
            application.program.load_model(GUIDE)
        yield application
    else:
        with _opened(qapp, tmp_path_factory.mktemp("data")) as application:
            yield application


def _look_as_usual(user: User) -> None:
    """Undo what an earlier test changed in the window and left: most files share it, and run in any order."""
    usual, preferences = Settings(), user.controller.program.preferences
    names = ("theme", "text_percent", "overflow", "all_figures", "presets", "keys")
    preferences.change(**{name: getattr(usual, name) for name in names})
    while (popup := QApplication.activePopupWidget()) is not None:
        popup.close()


@pytest.fixture
def user(application: Application, qtbot: QtBot) -> User:
    """A user in front of an empty page. Answers are greedy, so that they are predictable."""
    user = User(application, qtbot)
    qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    application.window.resize(1100, 760)
    # Only the active window receives focus events.
    application.window.activateWindow()
    qtbot.waitUntil(application.window.isActiveWindow, timeout=PATIENCE_MS)
    qtbot.waitUntil(application.window.sidebar.isVisible, timeout=PATIENCE_MS)
    set_sampling(user.controller.program, Sampling(temperature=0.0))
    _look_as_usual(user)
    user.controller.shown.new_conversation()
    user.controller.preparation.reset_generation()
    user.controller.preparation.replace_unsent(Unsent())
    user.window.composer.text.clear()
    user.window.composer.text.setFocus()
    user.window.banner.dismiss()
    return user
