"""A draft model in the real window with the real worker: chosen, refused, remembered, loaded again and removed."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu
from tokenizers import Tokenizer

from app.model.message import Figures, Message, Sampling
from app.ui.composer.sampling_panel import SamplingPanel
from app.ui.settings.settings_window import SettingsWindow
from tests.app.sampling import set_sampling
from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.app.ui.ways import Way, choose, keys, mostly
from tests.models import write_random_llama
from tests.waiting import PATIENCE_MS


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer, sentencepiece: Tokenizer) -> Path:
    """Return a folder with a model, a smaller one with the same answers, and one with another vocabulary."""
    folder = tmp_path_factory.mktemp("models")
    write_random_llama(folder / "large", byte_level)
    shutil.copytree(folder / "large", folder / "small")
    write_random_llama(folder / "unfit", sentencepiece)
    return folder


@pytest.fixture
def large(user: User, models: Path) -> Iterator[str]:
    """Load the large model without a draft model and return its folder."""
    name = str(models / "large")
    set_sampling(user.controller.program, Sampling(temperature=0.0, max_tokens=30))
    user.controller.program.load_model(name)
    _wait_until_loaded(user)
    yield name
    user.controller.program.set_draft_model("")
    _wait_until_loaded(user)


def _wait_until_loaded(user: User) -> None:
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)


def _choose_folder(user: User, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trigger the action and choose a folder."""

    def chosen(*_: object) -> str:
        return str(folder)

    monkeypatch.setattr(QFileDialog, "getExistingDirectory", chosen)
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    user.bot.keyClick(user.window, Qt.Key.Key_O, modifiers)
    _wait_until_loaded(user)


def _entries(user: User) -> dict[str, bool]:
    """Return the texts of the menu's entries, and whether each is checked."""
    user.window.menus.menu("Models").aboutToShow.emit()
    menu = user.window.menus.menu("Draft model")
    return {action.text(): action.isChecked() for action in menu.actions() if not action.isSeparator()}


def _press(menu: QMenu, text: str) -> None:
    next(action for action in menu.actions() if action.text() == text).trigger()


def _figures(answer: Message) -> Figures:
    assert answer.record is not None
    return answer.record.figures


def test_a_draft_model_is_chosen_survives_a_worker_crash_and_is_removed(
    user: User, large: str, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, settings = user.application.session, user.controller.program.preferences
    assert _entries(user) == {"No draft model": True, "Choose draft model…": False}
    before = user.ask("Hello there")
    heard: set[str] = set()
    session.changed.connect(lambda: heard.add(user.window.header.model_button.text()))
    _choose_folder(user, models / "small", monkeypatch)
    assert any("draft model: reading the weights" in text for text in heard)
    assert "draft model small" in user.window.header.model_button.toolTip()
    assert _entries(user) == {"No draft model": False, "small": True, "Choose draft model…": False}
    assert settings.settings.draft_models == {large: str(models / "small")}
    # The kept tokens are still there, and the answer is the same.
    user.press(before.id, "r")
    answer = user.answer()
    assert answer.text == before.text
    figures = _figures(answer)
    assert figures.read_tokens == 1
    assert figures.draft_tokens == figures.accepted_tokens > 20
    figure = user.view(answer.id).footer.figure
    assert figure is not None
    accepted = f"{figures.accepted_tokens} of {figures.draft_tokens} drafted tokens accepted"
    assert accepted in figure.accessibleDescription()
    user.window.action("sampling").trigger()
    panel = QApplication.activePopupWidget()
    assert isinstance(panel, SamplingPanel)
    assert panel.draft.currentText() == "Draft model"
    assert "The predicted tokens come from small" in panel.draft.toolTip()
    panel.close()
    # A new worker loads the draft model too.
    worker = session.info
    pid = user.application.link.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    user.bot.waitUntil(lambda: session.info is not None and session.info is not worker, timeout=PATIENCE_MS)
    user.press(answer.id, "r")
    answer = user.answer()
    assert _figures(answer).accepted_tokens > 20
    _press(user.window.menus.menu("Draft model"), "No draft model")
    _wait_until_loaded(user)
    user.press(answer.id, "r")
    assert _figures(user.answer()).draft_tokens == 0
    assert settings.settings.draft_models == {}
    assert _entries(user) == {"No draft model": True, "small": False, "Choose draft model…": False}


def test_a_draft_model_with_another_vocabulary_is_refused_and_the_old_one_stays(
    user: User, large: str, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = user.ask("Hello there")
    _choose_folder(user, models / "small", monkeypatch)
    info = user.application.session.info
    _choose_folder(user, models / "unfit", monkeypatch)
    assert user.window.banner.label.text() == (
        f"The draft model “{models / 'unfit'}” has a different vocabulary from “{large}”. Choose a smaller model of "
        "the same family, or none. The previous model is still loaded."
    )
    assert user.application.session.info is info
    assert _entries(user) == {"No draft model": False, "small": True, "Choose draft model…": False}
    user.press(answer.id, "r")
    figures = _figures(user.answer())
    assert figures.read_tokens == 1
    assert figures.accepted_tokens > 20


def test_unsuitable_and_missing_draft_models_are_disabled_in_the_menu(user: User, large: str, models: Path) -> None:
    shutil.copytree(models / "large", models / "moved away")
    names = tuple(str(models / name) for name in ("small", "unfit", "moved away"))
    program = user.controller.program
    program.preferences.change(recent_drafts=names, recent_models=(large,))
    shutil.rmtree(models / "moved away")
    user.window.menus.menu("Models").aboutToShow.emit()
    menu = user.window.menus.menu("Draft model")
    expected = {"small": True, "unfit (different vocabulary from large)": False, "moved away (missing)": False}

    def offered() -> dict[str, bool]:
        return {action.text(): action.isEnabled() for action in menu.actions() if action.toolTip() in names}

    user.bot.waitUntil(lambda: offered() == expected, timeout=PATIENCE_MS)
    # The menu shows the same when it is opened again, and so do the settings.
    assert not _entries(user)["unfit (different vocabulary from large)"]
    user.window.action("settings").trigger()
    settings = user.window.findChild(SettingsWindow)
    assert isinstance(settings, SettingsWindow)
    settings.show_page(settings.models)
    buttons = settings.models.drafts.choices.buttons
    assert [button.isEnabled() for button in buttons] == [True, True, False, False]
    assert buttons[2].accessibleDescription() == f"Different vocabulary from large · {names[1]}"
    # With another model loaded, other drafts are suitable. A folder that reappears is offered again.
    shutil.copytree(models / "large", models / "moved away")
    program.load_model(names[1])
    _wait_until_loaded(user)
    settings.models.refresh()
    small, large_one = "small (different vocabulary from unfit)", "large (different vocabulary from unfit)"
    user.bot.waitUntil(lambda: {small, large_one} < _entries(user).keys(), timeout=PATIENCE_MS)
    settings.close()
    program.load_model(large)
    _wait_until_loaded(user)
    user.window.menus.menu("Models").aboutToShow.emit()
    user.bot.waitUntil(lambda: offered().get("moved away") is True, timeout=PATIENCE_MS)
    program.preferences.change(recent_drafts=(), recent_models=(large,))


def test_the_settings_offer_recent_draft_models_and_show_the_current_one(user: User, large: str, models: Path) -> None:
    assert large
    program = user.controller.program
    program.set_draft_model(str(models / "small"))
    _wait_until_loaded(user)
    user.window.action("settings").trigger()
    settings = user.window.findChild(SettingsWindow)
    assert isinstance(settings, SettingsWindow)
    choices = settings.models.drafts.choices
    assert [button.text() for button in choices.buttons] == ["None", "small"]
    assert choices.chosen == 1
    user.bot.mouseClick(choices.buttons[0], Qt.MouseButton.LeftButton)
    _wait_until_loaded(user)
    assert program.session.draft == ""
    user.bot.mouseClick(choices.buttons[1], Qt.MouseButton.LeftButton)
    _wait_until_loaded(user)
    assert program.session.info is not None
    assert program.session.info.draft_model == str(models / "small")
    # A refused draft model is not shown as chosen.
    program.set_draft_model(str(models / "unfit"))
    assert settings.models.drafts.choices.chosen == 2
    _wait_until_loaded(user)
    assert [button.text() for button in settings.models.drafts.choices.buttons] == ["None", "small"]
    assert settings.models.drafts.choices.chosen == 1
    settings.close()


@mostly("keys")
def test_a_draft_model_is_chosen_and_marked_in_the_menu(user: User, large: str, models: Path, way: Way) -> None:
    program = user.controller.program
    program.preferences.change(recent_drafts=(str(models / "small"),), recent_models=(large,))
    for name in ("small", "No draft model"):
        _open_models_menu(user, way)
        choose(user, way, "Draft model", name)
        _wait_until_loaded(user)
        assert program.session.draft == (str(models / "small") if name == "small" else "")
        menu = user.window.menus.menu("Draft model")
        user.window.menus.menu("Models").aboutToShow.emit()
        menu.popup(QPoint())
        entries = screen_reader.found(menu, QAccessible.Role.MenuItem)
        assert [text.partition("\t")[0] for text, entry in entries.items() if entry.state().checked] == [name]
        menu.close()
        user.window.activateWindow()
    program.preferences.change(recent_drafts=(), recent_models=())


def _open_models_menu(user: User, way: Way) -> None:
    user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
    bar, menu = user.window.menuBar(), user.window.menus.menu("Models")
    match way:
        case "mouse":
            user.bot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.actionGeometry(menu.menuAction()).center())
        case "keys":
            keys(user, "Alt+O")
        case "reader":
            screen_reader.choose(bar, "Models")
