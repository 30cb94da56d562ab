"""The settings window with the real worker: each setting reaches it and takes effect, now and after a restart."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from tokenizers import Tokenizer

from app.application import Application
from app.model.cache_folder import GIB
from app.model.generation_settings import GenerationSettings
from app.model.message import Figures, Message, Sampling
from app.model.settings import CacheSettings, Settings, save_settings
from app.ui.settings.settings_window import SettingsWindow
from tests.architectures import small_llama, small_mamba, write_random_model
from tests.end_to_end.conftest import OpenBough
from tests.long import in_long_runs
from tests.models import chain, write_scripted_model
from tests.waiting import PATIENCE_MS
from worker.cache.disk_cache import DEFAULT_LIMIT_BYTES
from worker.sentence import size_text

_SAYING = "The quick brown fox jumps over the lazy dog."


@pytest.fixture(scope="module")
def fox_model(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    """A model that always answers the same sentence, with a context of 256 tokens."""
    folder = tmp_path_factory.mktemp("models") / "fox"
    successor = chain(byte_level.encode(f"\n{_SAYING}").ids)
    return write_scripted_model(folder, byte_level, successor, context_length=256)


class _User:
    """A user who opens the settings by their key and works with the keyboard."""

    def __init__(self, application: Application, bot: QtBot) -> None:
        self.application = application
        self.controller = application.controller
        self.session = application.session
        self.window = application.window
        self.bot = bot
        self.ready()

    def wait(self, until: Callable[[], bool]) -> None:
        self.bot.waitUntil(until, timeout=PATIENCE_MS)

    def ready(self) -> None:
        self.wait(lambda: self.session.state == "ready")

    def open_settings(self) -> SettingsWindow:
        """Open the settings by their key, on the page for memory and disk."""
        self.window.activateWindow()
        self.wait(self.window.isActiveWindow)
        self.bot.keyClick(self.window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
        settings = self.window.findChild(SettingsWindow)
        assert isinstance(settings, SettingsWindow)
        self.wait(settings.isActiveWindow)
        settings.show_page(settings.memory_page)
        self.wait(lambda: self.session.kept is not None)
        return settings

    def apply(self, settings: SettingsWindow) -> None:
        """Press Apply, close the window and wait until the choice is in effect."""
        self.bot.mouseClick(settings.memory_page.apply_button, Qt.MouseButton.LeftButton)
        self.bot.keyClick(settings, Qt.Key.Key_Escape)
        assert not settings.isVisible()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        self.ready()

    def ask(self, text: str) -> Message:
        self.controller.send(text)
        self.wait(lambda: self.controller.shown.streaming_message is None)
        return self.controller.shown.path[-1]

    def kept(self) -> tuple[int, int]:
        """Return the tokens in memory and on disk, as the worker reports them."""
        self.session.kept = None
        self.session.query_cache_stats()
        self.wait(lambda: self.session.kept is not None)
        assert self.session.kept is not None
        return self.session.kept.tokens, self.session.kept.disk_tokens

    def wait_for_disk(self) -> None:
        """Wait until everything is on disk. This happens when the worker is idle, so don't ask all the time."""
        files = self.controller.program.cache_folder
        known = [0]
        while True:
            self.wait(lambda: files.num_bytes != known[-1])
            known.append(files.num_bytes)
            tokens, disk_tokens = self.kept()
            if tokens == disk_tokens:
                return


def _texts(widget: QWidget) -> str:
    shown = "\n".join(label.text() for label in widget.findChildren(QLabel) if label.isVisible())
    return shown.replace("\N{NO-BREAK SPACE}", " ")


def _figures(answer: Message) -> Figures:
    assert answer.record is not None
    return answer.record.figures


def _read_tokens(answer: Message) -> int:
    return _figures(answer).read_tokens


def test_a_size_typed_on_the_keyboard_becomes_the_workers_limit(open_bough: OpenBough, qtbot: QtBot) -> None:
    user = _User(open_bough(), qtbot)
    settings = user.open_settings()
    assert user.session.kept is not None
    automatic = user.session.kept.limit_bytes
    assert f"Up to {size_text(automatic)} for the loaded model." in _texts(settings)
    settings.memory_page.memory.focus()
    qtbot.keyClick(settings.focusWidget(), Qt.Key.Key_Down)
    assert settings.memory_page.memory.buttons[1].isChecked()
    qtbot.keyClick(settings.focusWidget(), Qt.Key.Key_Tab)
    assert settings.focusWidget() is settings.memory_page.memory.field
    settings.memory_page.memory.field.selectAll()
    qtbot.keyClicks(settings.memory_page.memory.field, "1.5")
    assert "its cache is loaded from disk" in _texts(settings)
    settings.memory_page.precision.choose(1)
    assert "it reads the conversations again when needed" in _texts(settings)
    settings.memory_page.precision.choose(0)
    user.apply(settings)
    user.kept()
    assert user.session.kept.limit_bytes == 1.5 * GIB != automatic


def test_tab_visits_every_control_and_returns_to_the_first(open_bough: OpenBough, qtbot: QtBot) -> None:
    user = _User(open_bough(), qtbot)
    user.ask("What is a branch?")
    user.wait_for_disk()
    settings = user.open_settings()
    user.wait(settings.memory_page.empty_button.isEnabled)
    walked: list[QWidget] = []
    while (focus := settings.focusWidget()) not in walked:
        walked.append(focus)
        qtbot.keyClick(focus, Qt.Key.Key_Tab)
    names = [focus.text() if hasattr(focus, "text") else focus.accessibleName() for focus in walked]  # pyright: ignore[reportAttributeAccessIssue]
    # There is nothing to apply yet.
    assert names == ["Pages", "Automatic", "Automatic", "Show folder", "Empty", "Full precision"]
    qtbot.keyClick(settings, Qt.Key.Key_Escape)
    assert not settings.isVisible()


def test_nothing_takes_effect_before_apply(open_bough: OpenBough, qtbot: QtBot) -> None:
    user = _User(open_bough(), qtbot)
    before = user.controller.program.settings
    info = user.session.info
    settings = user.open_settings()
    settings.memory_page.memory.choose(1)
    settings.memory_page.disk.choose(2)
    settings.memory_page.precision.choose(2)
    qtbot.keyClick(settings, Qt.Key.Key_Escape)
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert user.controller.program.settings == before
    assert user.session.info is info
    settings = user.open_settings()
    user.apply(settings)
    assert user.session.info is info


def test_settings_survive_a_restart_and_kept_state_comes_back_from_disk(open_bough: OpenBough, qtbot: QtBot) -> None:
    user = _User(open_bough(), qtbot)
    settings = user.open_settings()
    settings.memory_page.memory.choose(1)
    settings.memory_page.memory.field.setValue(0.75)
    settings.memory_page.disk.choose(1)
    settings.memory_page.disk.field.setValue(2)
    settings.memory_page.precision.choose(1)
    settings.answers.overflow.choose(1)
    user.apply(settings)
    chosen = CacheSettings(limit_bytes=3 * GIB // 4, disk_limit_bytes=2 * GIB, kv_bits=8)
    assert user.controller.program.settings.cache_settings == chosen
    assert not user.session.is_precision_refused
    assert _read_tokens(user.ask("What is a branch?")) > 5
    user.window.close()
    again = _User(open_bough(), qtbot)
    assert (again.controller.program.settings.cache_settings, again.controller.program.settings.overflow) == (
        chosen,
        "drop_oldest",
    )
    again.controller.regenerate(again.controller.shown.path[-1].id)
    again.wait(lambda: again.controller.shown.streaming_message is None)
    assert _read_tokens(again.controller.shown.path[-1]) == 1
    settings = again.open_settings()
    assert settings.memory_page.cache_settings == chosen
    assert (settings.memory_page.memory.chosen, settings.memory_page.disk.chosen) == (1, 1)
    assert (settings.memory_page.precision.chosen, settings.answers.overflow.chosen) == (1, 1)
    assert again.session.kept is not None
    assert again.session.kept.limit_bytes == chosen.limit_bytes


@pytest.mark.long
def test_with_the_disk_switched_off_nothing_is_kept_on_it(open_bough: OpenBough, qtbot: QtBot, fox_model: Path) -> None:
    user = _User(open_bough(model=str(fox_model)), qtbot)
    user.ask("u1")
    user.wait_for_disk()
    settings = user.open_settings()
    settings.memory_page.disk.choose(2)
    user.apply(settings)
    before = user.controller.program.cache_folder.num_bytes
    assert before > 0
    user.ask("something else altogether")
    user.window.close()
    assert user.controller.program.cache_folder.num_bytes == before
    settings = _User(open_bough(), qtbot).open_settings()
    assert settings.memory_page.disk.chosen == 2
    assert settings.memory_page.empty_button.isEnabled()


@pytest.mark.long
def test_a_small_disk_limit_is_obeyed(open_bough: OpenBough, qtbot: QtBot, tmp_path: Path) -> None:
    limit_bytes = 1_500_000
    settings = Settings(
        cache_settings=CacheSettings(disk_limit_bytes=limit_bytes),
        generation=GenerationSettings(sampling=Sampling(max_tokens=16)),
    )
    save_settings(tmp_path / "settings.json", settings)
    user = _User(open_bough(), qtbot)
    for number in range(5):
        user.controller.shown.new_conversation()
        user.ask(f"{number} is a number. " * 12)
    assert user.session.info is not None
    assert user.kept()[0] * user.session.info.kv_bytes_per_token > limit_bytes
    user.window.close()
    assert 0 < user.controller.program.cache_folder.num_bytes <= limit_bytes


@pytest.mark.parametrize(("option", "shrinks_by"), [(2, 5.5), *in_long_runs([(1, 3.2)])])
def test_fewer_bits_take_less_memory(
    open_bough: OpenBough, qtbot: QtBot, tmp_path: Path, byte_level: Tokenizer, option: int, shrinks_by: float
) -> None:
    size = byte_level.get_vocab_size(with_added_tokens=True)
    config = small_llama(0) | {"head_dim": 64, "hidden_size": 256, "vocab_size": size}
    model = write_random_model(tmp_path / "wide", byte_level, config)
    user = _User(open_bough(model=str(model), max_tokens=8), qtbot)
    assert user.session.info is not None
    whole = user.session.info.kv_bytes_per_token
    settings = user.open_settings()
    settings.memory_page.precision.choose(option)
    user.apply(settings)
    assert user.session.info.kv_bytes_per_token * shrinks_by < whole
    assert not user.window.banner.isVisible()
    assert user.ask("u1").state != "failed"


def test_a_model_without_a_quantized_cache_is_loaded_anyway_and_a_banner_says_so(
    open_bough: OpenBough, qtbot: QtBot, tmp_path: Path, byte_level: Tokenizer
) -> None:
    size = byte_level.get_vocab_size(with_added_tokens=True)
    model = write_random_model(tmp_path / "mamba", byte_level, small_mamba() | {"vocab_size": size})
    user = _User(open_bough(model=str(model), max_tokens=8), qtbot)
    settings = user.open_settings()
    settings.memory_page.precision.choose(2)
    user.apply(settings)
    assert user.session.is_precision_refused
    assert user.ask("u1").state != "failed"
    banner = user.window.banner
    assert banner.isVisible()
    assert "4-bit" in banner.label.text()
    # After a restart, too. The banner's button leads to the setting.
    user.window.close()
    user = _User(open_bough(), qtbot)
    banner = user.window.banner
    assert user.session.is_precision_refused
    assert "4-bit" in banner.label.text()
    qtbot.mouseClick(banner.button, Qt.MouseButton.LeftButton)
    settings = user.window.findChild(SettingsWindow)
    assert isinstance(settings, SettingsWindow)
    assert settings.memory_page.precision.chosen == 2
    assert "does not support this" in _texts(settings)
    settings.memory_page.precision.choose(0)
    user.apply(settings)
    assert not user.session.is_precision_refused


def test_a_conversation_that_is_too_long_stops_or_drops_its_oldest_messages(
    open_bough: OpenBough, qtbot: QtBot, fox_model: Path
) -> None:
    user = _User(open_bough(model=str(fox_model), max_tokens=64), qtbot)
    answer = user.ask("u1")
    while answer.state == "complete":
        answer = user.ask(f"question {len(user.controller.shown.path)}")
    assert answer.state == "failed"
    assert answer.record is not None
    assert "context" in str(answer.record.error)
    settings = user.open_settings()
    settings.answers.overflow.choose(1)
    assert "will be loaded again" not in _texts(settings)
    user.apply(settings)
    answer = user.ask("one more question")
    assert (answer.state, answer.text) == ("complete", _SAYING)
    figures = _figures(answer)
    assert 0 < figures.prompt_tokens < 256
    assert figures.kept_tokens + figures.read_tokens == figures.prompt_tokens
    num_before = len(user.controller.shown.path) - 1
    assert 0 < figures.left_out_messages < num_before
    view = user.window.transcript.view(answer.id)
    assert view is not None
    shown = _texts(view)
    assert f"did not see the {figures.left_out_messages} oldest messages" in shown
    assert view.footer.figure is not None
    all_figures = view.footer.figure.accessibleDescription()
    assert f"{figures.prompt_tokens:,} tokens, {figures.kept_tokens:,} kept" in all_figures
    # Answers that continue from the same message read nothing again.
    answers = [figures, *(_figures(user.ask(f"and another {number}")) for number in range(3))]
    same = [pair for pair in itertools.pairwise(answers) if pair[0].left_out_messages == pair[1].left_out_messages]
    assert same
    assert all(later.kept_tokens >= earlier.prompt_tokens for earlier, later in same)
    user.window.close()
    again = _User(open_bough(), qtbot)
    assert answer in again.controller.shown.path
    view = again.window.transcript.view(answer.id)
    assert view is not None
    user.wait(lambda: f"did not see the {figures.left_out_messages} oldest messages" in _texts(view))


def test_emptying_removes_everything_that_was_read_and_the_model_stays_usable(
    open_bough: OpenBough, qtbot: QtBot, fox_model: Path, tmp_path: Path
) -> None:
    user = _User(open_bough(model=str(fox_model)), qtbot)
    answer = user.ask("u1")
    user.wait_for_disk()
    user.session.kept = None
    foreign = tmp_path / "prompt-cache" / "notes.txt"
    foreign.write_text("mine")
    settings = user.open_settings()
    cache_folder = user.controller.program.cache_folder
    assert str(cache_folder.folder) in "".join(label.accessibleName() for label in settings.findChildren(QLabel))
    assert re.search(r"Now: .* KiB, all of it from this model \(\d+ tokens\)", _texts(settings))
    qtbot.mouseClick(settings.memory_page.empty_button, Qt.MouseButton.LeftButton)
    user.wait(lambda: "Now: nothing." in _texts(settings) and user.session.state == "ready")
    assert cache_folder.num_bytes == 0
    assert user.kept() == (0, 0)
    assert foreign.read_text() == "mine"
    assert not settings.memory_page.empty_button.isEnabled()
    assert "removed from the disk" in user.window.banner.label.text()
    # Text that is read from now on is kept again, and comes back.
    following = user.ask("u2")
    assert following.text == _SAYING
    assert user.controller.shown.path[2] == answer
    user.wait_for_disk()
    user.window.close()
    again = _User(open_bough(), qtbot)
    again.controller.regenerate(following.id)
    again.wait(lambda: again.controller.shown.streaming_message is None)
    assert _read_tokens(again.controller.shown.path[-1]) == 1


@pytest.mark.long
def test_running_and_waiting_answers_survive_emptying(open_bough: OpenBough, qtbot: QtBot, endless_model: Path) -> None:
    user = _User(open_bough(model=str(endless_model), max_tokens=400), qtbot)
    user.controller.send("u1")
    first = user.controller.shown.path[-1]
    user.wait(lambda: len(user.controller.shown.path[-1].text) > 20)
    user.controller.program.empty_cache_folder()
    user.controller.shown.new_conversation()
    second = user.ask("u2")
    assert (second.state, len(second.text)) == ("cut", 400)
    user.ready()
    messages = {
        message.id: message
        for conversation in user.controller.program.conversations.all
        for message in user.application.store.messages.shown_by(conversation.id)
    }
    assert (messages[first.id].state, len(messages[first.id].text)) == ("cut", 400)


def test_a_bad_value_in_the_file_loses_only_that_value(open_bough: OpenBough, qtbot: QtBot, tmp_path: Path) -> None:
    good = Settings(theme="dark", cache_settings=CacheSettings(disk_limit_bytes=GIB))
    data = msgspec.json.decode(msgspec.json.encode(good))
    data["keeping"] |= {"kv_bits": 16, "limit_bytes": -5}
    data["overflow"] = "guess"
    (tmp_path / "settings.json").write_bytes(msgspec.json.encode(data))
    user = _User(open_bough(), qtbot)
    assert user.controller.program.settings.theme == "dark"
    settings = user.open_settings()
    assert settings.memory_page.cache_settings == good.cache_settings
    assert settings.answers.overflow.chosen == 0


def test_only_one_settings_window_opens_and_it_closes_with_the_program(open_bough: OpenBough, qtbot: QtBot) -> None:
    user = _User(open_bough(), qtbot)
    first = user.open_settings()
    assert user.open_settings() is first
    user.window.close()
    assert not first.isVisible()


@pytest.mark.long
def test_the_automatic_disk_size_is_the_workers(open_bough: OpenBough, qtbot: QtBot) -> None:
    settings = _User(open_bough(), qtbot).open_settings()
    assert f"{size_text(DEFAULT_LIMIT_BYTES)} for all models together" in _texts(settings)
    buttons = {button.text() for button in settings.memory_page.findChildren(QPushButton)}
    assert buttons == {"Show folder", "Empty", "Apply"}
