"""The first page with and without the starter, and the guide as help. A tiny model stands in for the starter."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import huggingface_hub.constants
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from tokenizers import Tokenizer
from typing_extensions import override

from app.application import Application, Places
from app.catalog.entry import Memory
from app.catalog.good_models import best_that_fits
from app.catalog.starter import ON_HUB, starter_path
from app.model.message import Sampling
from tests.app.sampling import set_sampling
from tests.app.ui.conftest import User
from tests.hub_server import HubServer, Repository
from tests.models import chain, write_random_llama, write_scripted_model
from tests.waiting import PATIENCE_MS

_SAYING = "Yes."

Start = Callable[[], User]


@contextmanager
def _bough(folder: Path, bot: QtBot, *, chosen_at_once: str = "") -> Generator[User]:
    """Start Bough with the files in a folder. `chosen_at_once`: a model that is chosen before the first picture."""
    application = Application(Places.under(folder))
    if chosen_at_once:
        application.program.load_model(chosen_at_once)
    application.window.show()
    user = User(application, bot)
    application.window.resize(1100, 760)
    application.window.activateWindow()
    set_sampling(user.controller.program, Sampling(temperature=0.0, max_tokens=20))
    bot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    try:
        yield user
    finally:
        application.window.close()
        application.close()
        application.window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    # A prompt of CHATML ends with a line break.
    ids = byte_level.encode("\n" + _SAYING).ids
    folder = tmp_path_factory.mktemp("models") / "starter"
    return write_scripted_model(folder, byte_level, chain(ids))


@pytest.fixture
def data(tmp_path: Path, starter: Path) -> Path:
    """Bough's folder with the starter in it."""
    place = starter_path(Places.under(tmp_path).models)
    place.parent.mkdir()
    place.symlink_to(starter)
    return tmp_path


def test_typed_text_goes_to_the_starter_and_the_example_questions_to_the_guide(
    qapp: QApplication, qtbot: QtBot, data: Path
) -> None:
    with _bough(data, qtbot) as user:
        welcome, sessions = user.window.welcome, user.application.sessions
        name = str(starter_path(Places.under(data).models))
        assert (user.controller.model.name, sessions.guide.state) == (name, "unloaded")
        assert welcome.model_button.text() == "Chat with SmolLM2 (small, real)"
        assert (welcome.model_button.isChecked(), welcome.guide_button.isChecked()) == (True, False)
        assert user.ask("Is the sky blue?").text == _SAYING
        first = user.controller.shown.conversation
        user.controller.shown.new_conversation()
        qtbot.mouseClick(welcome.questions[1], Qt.MouseButton.LeftButton)
        guided = user.answer()
        assert guided.record is not None
        assert guided.record.model == "guide"
        assert "Edit" in guided.text
        # The starter is still loaded, in its own process.
        assert (sessions.chosen.name, sessions.chosen.state) == (name, "ready")
        assert sessions.chosen.link.pid != sessions.guide.link.pid
        # The guide's process ends when it is idle, and the next question starts it again.
        sessions.idle_timer.timeout.emit()
        assert (sessions.guide.state, sessions.guide.link.pid) == ("unloaded", None)
        assert "Edit" in user.ask("How do I edit a message?").text
        assert first is not None
        user.controller.shown.open_conversation(first.id)
        assert user.window.header.model_button.text() == "SmolLM2-135M-Instruct ▾"
        assert user.ask("And now?").text == _SAYING
    # After a restart each conversation still has its model.
    with _bough(data, qtbot) as user:
        names = {one.name: one.id for one in user.controller.program.conversations.all}
        user.controller.shown.open_conversation(names["How do I edit a message?"])
        assert (user.controller.model.name, user.application.sessions.guide.state) == ("guide", "unloaded")
        assert user.window.header.model_button.text() == "Guide ▾"


def test_f1_asks_the_guide_and_a_click_goes_back_to_the_model(
    qapp: QApplication, qtbot: QtBot, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Memory(total_bytes=8 << 30, available_bytes=6 << 30, kind="unified", on_cpu=False)
    monkeypatch.setattr("app.catalog.machine_memory.machine_memory", lambda reusable_bytes=0: memory)
    with _bough(data, qtbot) as user:
        welcome, field = user.window.welcome, user.window.composer.text
        # Beside the starter stands the best model that fits into the memory.
        qtbot.waitUntil(lambda: welcome.has_offer, timeout=PATIENCE_MS)
        best = best_that_fits(memory)
        assert best is not None
        assert best.title in welcome.offer.button.text()
        user.ask("Is the sky blue?")
        qtbot.keyClick(user.window, Qt.Key.Key_F1)
        assert user.controller.shown.path == []
        assert (welcome.model_button.isChecked(), welcome.guide_button.isChecked()) == (False, True)
        assert field.placeholderText() == "Ask the guide about Bough"
        qtbot.mouseClick(welcome.model_button, Qt.MouseButton.LeftButton)
        assert field.placeholderText() == "Ask anything"
        assert welcome.model_button.isChecked()
        qtbot.mouseClick(welcome.guide_button, Qt.MouseButton.LeftButton)
        answer = user.ask("How do I fork a message?")
        assert answer.record is not None
        assert answer.record.model == "guide"
        # The menu names the model of the conversation.
        menu = user.window.menus.menu("Models")
        menu.aboutToShow.emit()
        assert [action.text() for action in menu.actions() if action.isChecked()] == ["Guide"]


def test_the_answer_of_a_missing_model_says_so(qapp: QApplication, qtbot: QtBot, data: Path, starter: Path) -> None:
    other = data / "other"
    other.symlink_to(starter)
    with _bough(data, qtbot) as user:
        user.controller.choose_model(str(other))
        user.ask("Is the sky blue?")
        conversation = user.controller.shown.conversation
        assert conversation is not None
        user.controller.shown.new_conversation()
        user.controller.choose_model(user.controller.program.supply.starter)
        assert user.ask("And the sea?").text == _SAYING
        other.unlink()
        user.controller.shown.open_conversation(conversation.id)
        assert user.controller.model.state == "unloaded"
        failed = user.ask("Still?")
        assert failed.record is not None
        assert (failed.state, str(other) in str(failed.record.error)) == ("failed", True)
        user.controller.choose_model(user.controller.program.supply.starter)
        user.controller.regenerate(failed.id)
        assert user.answer().text == _SAYING


# --- without the starter ---------------------------------------------------------------------------------------------


@pytest.fixture
def hub(tmp_path: Path, byte_level: Tokenizer) -> Iterator[HubServer]:
    folder = write_random_llama(tmp_path / "uploaded", byte_level)
    files: dict[str, bytes | Path] = {file.name: file for file in folder.iterdir()}
    with HubServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.delenv("HF_HUB_OFFLINE")
        patch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        patch.setenv("HF_HOME", str(tmp_path / "huggingface"))
        patch.setenv("HF_ENDPOINT", server.url)
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        server.add(Repository(ON_HUB.repo, files, ("text-generation",)))
        yield server


def test_without_the_starter_a_button_downloads_it(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path, hub: HubServer
) -> None:
    with _bough(tmp_path / "data", qtbot) as user:
        welcome, session = user.window.welcome, user.application.session
        assert session.name == "guide"
        assert not welcome.model_button.isVisible()
        qtbot.waitUntil(lambda: welcome.has_offer, timeout=PATIENCE_MS)
        assert welcome.offer.button.text().startswith("Download SmolLM2")
        qtbot.mouseClick(welcome.offer.button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: session.name == ON_HUB.repo and session.state == "ready", timeout=PATIENCE_MS)
        assert welcome.model_button.text() == "Chat with SmolLM2 (small, real)"
        assert welcome.model_button.isChecked()
        answer = user.ask("Hello")
        assert answer.record is not None
        assert answer.record.model == ON_HUB.repo


def test_without_the_starter_the_first_page_keeps_its_places(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    application = Application(Places.under(tmp_path / "data"))
    window = application.window
    film = _Film(window.welcome)
    window.show()
    qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: len(film.pictures) > 1, timeout=PATIENCE_MS)
    assert window.welcome.offer.isVisible()
    assert len(set(film.pictures)) == 1
    window.close()
    application.close()


class _Film(QObject):
    """Notes where the texts and buttons of the first page are whenever the page is painted."""

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._page = page
        self.pictures: list[tuple[tuple[str, int, int], ...]] = []
        page.window().installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.Paint, QEvent.Type.UpdateRequest}:
            parts = [part for part in self._page.findChildren(QWidget) if isinstance(part, QLabel | QPushButton)]
            shown = [part for part in parts if part.isVisible()]
            self.pictures.append(tuple((part.text(), *part.mapTo(self._page, QPoint()).toTuple()) for part in shown))
        return False


def test_a_download_that_fails_says_why_and_can_be_tried_again(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The network is off, as in all tests.
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    with _bough(tmp_path / "data", qtbot) as user:
        offer = user.window.welcome.offer
        offer.button.click()
        qtbot.waitUntil(
            lambda: offer.button.isVisible() and offer.has_state and not offer.cancel_button.isVisible(),
            timeout=PATIENCE_MS,
        )
        assert user.application.session.state == "ready"


@pytest.mark.long
def test_a_model_chosen_before_the_last_one_was_loaded_stays_chosen(
    tmp_path: Path, starter: Path, qtbot: QtBot
) -> None:
    with _bough(tmp_path, qtbot, chosen_at_once=str(starter)) as user:
        assert user.application.session.name == str(starter)
        assert user.ask("Yes?").text == _SAYING
