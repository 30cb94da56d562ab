"""The Models window with the real worker: its list, its pages, and the actions on a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid
from tokenizers import Tokenizer

from app.catalog.chat_templates import PLAIN
from app.catalog.entry import Memory
from app.model.message import Sampling
from app.model.model_settings import ModelSettings
from app.ui.models.models_window import ModelsWindow
from app.ui.settings.settings_window import SettingsWindow
from tests.app.sampling import set_sampling
from tests.app.ui.conftest import User
from tests.models import write_random_llama
from tests.waiting import PATIENCE_MS
from tests.worker.gguf.files import write_llama

pytestmark = pytest.mark.own_window


@pytest.fixture
def window(user: User, byte_level: Tokenizer) -> Iterator[ModelsWindow]:
    """The window over two models in Bough's folder, a broken one, and the guide."""
    folder = user.controller.program.models_folder
    # An earlier test may have deleted a model.
    for name in ("Alpha-1B-4bit", "Beta-3B-4bit"):
        if not (folder / name).exists():
            write_random_llama(folder / name, byte_level)
    if not (folder / "Broken").exists():
        (folder / "Broken").mkdir()
        (folder / "Broken" / "config.json").write_text('{"model_type": "llama"}')
        (folder / "Broken" / "model.safetensors").write_bytes(b"")
    user.window.action("models").trigger()
    opened = user.window.findChild(ModelsWindow)
    assert isinstance(opened, ModelsWindow)
    user.bot.waitUntil(
        lambda: {"Guide", "Alpha-1B-4bit", "Beta-3B-4bit", "Broken"} <= _titles(opened), timeout=PATIENCE_MS
    )
    user.bot.waitUntil(lambda: not user.controller.program.supply.local_models.is_looking, timeout=PATIENCE_MS)
    yield opened
    program = user.controller.program
    if program.session.name != "guide" or program.session.state != "ready":
        program.load_model("guide")
    _wait_until_ready(user)


def _titles(window: ModelsWindow) -> set[str]:
    return {entry.title for entry in window.entries.all}


def _wait_until_ready(user: User) -> None:
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)


def _key(user: User, name: str) -> str:
    return f"local:{user.controller.program.models_folder / name}"


def test_typing_narrows_the_list_and_enter_chats_with_the_model(user: User, window: ModelsWindow) -> None:
    assert window.list.chosen_key == "local:guide"
    user.bot.keyClicks(window.field, "beta")
    assert _titles(window) == {"Beta-3B-4bit"}
    assert window.page.title.text() == "Beta-3B-4bit"
    user.bot.keyClick(window.field, Qt.Key.Key_Return)
    assert user.window.composer.text.hasFocus() or not user.window.isActiveWindow()
    _wait_until_ready(user)
    assert user.application.session.name == str(user.controller.program.models_folder / "Beta-3B-4bit")
    assert user.window.findChild(ModelsWindow) is None


def test_a_broken_model_says_why_and_offers_nothing(user: User, window: ModelsWindow) -> None:
    window.list.choose(_key(user, "Broken"))
    assert "Download" in window.page.problem.text()
    assert window.page.main_button.isHidden()
    assert next(row for row in window.list.rows if row.title == "Broken").word == "can't be used"


def test_a_model_is_unloaded_and_the_next_question_loads_it(user: User, window: ModelsWindow) -> None:
    session = user.application.session
    window.list.choose("local:guide")
    window.page.requested.emit("unload")
    assert session.state == "unloaded"
    assert user.ask("What is a branch?").state == "complete"
    assert session.state == "ready"


def test_a_load_can_be_cancelled_and_the_previous_model_answers(user: User, window: ModelsWindow) -> None:
    session = user.application.session
    window.list.choose(_key(user, "Alpha-1B-4bit"))
    # The worker finds both commands at once, so the small model is not there before *Cancel* is.
    worker = psutil.Process(user.application.link.pid)
    worker.suspend()
    window.page.main_button.click()
    user.bot.waitUntil(user.window.header.cancel_button.isVisible, timeout=PATIENCE_MS)
    user.window.header.cancel_button.click()
    assert not user.window.header.cancel_button.isEnabled()
    worker.resume()
    user.bot.waitUntil(lambda: session.state != "loading", timeout=PATIENCE_MS)
    assert session.name == "guide"
    assert user.ask("What is a branch?").state == "complete"


def test_a_narrow_window_shows_the_list_then_the_page(user: User, window: ModelsWindow) -> None:
    window.resize(380, 600)
    user.bot.waitUntil(lambda: window.page.isHidden(), timeout=PATIENCE_MS)
    window.list.choose(_key(user, "Alpha-1B-4bit"))
    user.bot.keyClick(window.list, Qt.Key.Key_Return)
    assert window.page.isVisible()
    assert not window.list.isVisible()
    user.bot.keyClick(window, Qt.Key.Key_Escape)
    assert window.list.isVisible()
    assert window.list.hasFocus() or not window.isActiveWindow()


def test_a_model_without_answers_for_some_minutes_is_unloaded(user: User, tmp_path: Path) -> None:
    program, session = user.controller.program, user.application.session
    program.set_unload_after(5)
    assert program.idle_unloading.timer.isActive()
    program.idle_unloading.timer.timeout.emit()
    assert session.state == "unloaded"
    assert user.ask("What is a branch?").state == "complete"
    program.set_unload_after(0)
    assert not program.idle_unloading.timer.isActive()


def test_a_model_is_deleted_after_a_question_in_its_place(user: User, window: ModelsWindow) -> None:
    folder = user.controller.program.models_folder / "Broken"
    window.list.choose(_key(user, "Broken"))
    window.page.ask_to_delete()
    assert "can't be undone" in window.page.confirmation.text.text()
    user.bot.mouseClick(window.page.confirmation.no_button, Qt.MouseButton.LeftButton)
    assert folder.exists()
    window.page.ask_to_delete()
    user.bot.mouseClick(window.page.confirmation.yes_button, Qt.MouseButton.LeftButton)
    user.bot.waitUntil(lambda: "Broken" not in _titles(window), timeout=PATIENCE_MS)
    assert not folder.exists()
    assert "was deleted" in window.status.text()


def test_a_model_is_forgotten_also_if_its_window_is_closed_while_it_is_deleted(
    user: User, window: ModelsWindow
) -> None:
    program = user.controller.program
    name = str(program.models_folder / "Alpha-1B-4bit")
    program.preferences.change(recent_models=(name,))
    window.list.choose(_key(user, "Alpha-1B-4bit"))
    window.page.ask_to_delete()
    user.bot.mouseClick(window.page.confirmation.yes_button, Qt.MouseButton.LeftButton)
    window.close()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert not isValid(window)
    user.bot.waitUntil(lambda: name not in program.settings.recent_models, timeout=PATIENCE_MS)


def test_a_loaded_model_is_deleted_and_another_one_answers(user: User, window: ModelsWindow) -> None:
    program, session = user.controller.program, user.application.session
    folder = program.models_folder / "Beta-3B-4bit"
    program.load_model(str(folder))
    _wait_until_ready(user)
    assert program.settings.recent_models[0] == str(folder)
    window.list.choose(_key(user, "Beta-3B-4bit"))
    window.page.ask_to_delete()
    user.bot.mouseClick(window.page.confirmation.yes_button, Qt.MouseButton.LeftButton)
    user.bot.waitUntil(lambda: "Beta-3B-4bit" not in _titles(window), timeout=PATIENCE_MS)
    assert not folder.exists()
    assert str(folder) not in program.offered_models
    assert (session.name, session.state) == (program.settings.model, "unloaded") == ("guide", "unloaded")
    user.controller.shown.new_conversation()
    assert user.ask("What is a branch?").state == "complete"


def test_a_gguf_file_is_converted_and_then_chatted_with(user: User, window: ModelsWindow, tmp_path: Path) -> None:
    file = write_llama(tmp_path / "Gamma-tiny.gguf")
    window.open_path(file)
    converted = user.controller.program.models_folder / "Gamma-tiny"
    user.bot.waitUntil(lambda: window.list.chosen_key == f"local:{converted}", timeout=PATIENCE_MS)
    assert file.exists()
    window.page.main_button.click()
    _wait_until_ready(user)
    assert user.application.session.name == str(converted)


def test_a_damaged_gguf_file_says_why(user: User, window: ModelsWindow, tmp_path: Path) -> None:
    file = tmp_path / "damaged.gguf"
    file.write_bytes(b"GGUF" + b"\xff" * 100)
    window.open_path(file)
    user.bot.waitUntil(lambda: "damaged.gguf" in window.status.text(), timeout=PATIENCE_MS)


def test_a_folder_is_added_to_the_list_and_removed_in_the_settings(
    user: User, window: ModelsWindow, tmp_path: Path, byte_level: Tokenizer
) -> None:
    write_random_llama(tmp_path / "elsewhere" / "Delta", byte_level)
    user.controller.program.add_model_folder(tmp_path / "elsewhere")
    user.bot.waitUntil(lambda: "Delta" in _titles(window), timeout=PATIENCE_MS)
    user.window.action("settings").trigger()
    settings = user.window.findChild(SettingsWindow)
    assert isinstance(settings, SettingsWindow)
    settings.show_page(settings.models)
    settings.models.remove_buttons[0].click()
    user.bot.waitUntil(lambda: "Delta" not in _titles(window), timeout=PATIENCE_MS)
    settings.close()


def test_a_model_suggests_its_sampling_until_the_user_chooses_another(user: User, window: ModelsWindow) -> None:
    program = user.controller.program
    folder = program.models_folder / "Alpha-1B-4bit"
    (folder / "generation_config.json").write_text('{"temperature": 0.6, "top_k": 20}')
    set_sampling(program, Sampling())
    window.list.choose(_key(user, folder.name))
    window.page.main_button.click()
    _wait_until_ready(user)
    assert user.controller.preparation.generation.sampling == Sampling(temperature=0.6, top_k=20)
    set_sampling(program, Sampling(temperature=1.0))
    assert user.controller.preparation.generation.sampling == Sampling(temperature=1.0)


def test_the_chat_template_is_shown_when_it_is_unfolded(user: User, window: ModelsWindow) -> None:
    window.list.choose("local:guide")
    fold = window.page.template
    assert not fold.text.isVisible()
    user.bot.mouseClick(fold.button, Qt.MouseButton.LeftButton)
    assert "message" in fold.text.toPlainText()
    window.list.choose(_key(user, "Alpha-1B-4bit"))
    assert not fold.text.isVisible()


def test_the_settings_of_a_model_are_typed_and_kept_with_the_keyboard_alone(user: User, window: ModelsWindow) -> None:
    program, form = user.controller.program, window.page.settings
    window.list.choose("local:guide")
    assert form.isHidden()
    window.list.choose(_key(user, "Alpha-1B-4bit"))
    name = str(program.models_folder / "Alpha-1B-4bit")
    form.button.setFocus()
    user.bot.keyClick(form.button, Qt.Key.Key_Return)
    user.bot.keyClicks(form.system_prompt, "Be brief.")
    user.bot.keyClicks(form.stop.field, "END")
    user.bot.keyClick(form.stop.field, Qt.Key.Key_Return)
    user.bot.keyClicks(form.first_mark, "<hm>")
    user.bot.keyClicks(form.last_mark, "</hm>")
    user.bot.keyClick(form.kv_bits, Qt.Key.Key_End)
    user.bot.keyClicks(form.notes, "Quick.")
    # The text that was typed last is kept when another model is chosen.
    user.bot.keyClicks(form.stop.field, "STOP")
    window.list.choose(_key(user, "Beta-3B-4bit"))
    assert program.of_models.of(name) == ModelSettings(
        system_prompt="Be brief.", stop=("END", "STOP"), kv_bits=4, thought_marks=("<hm>", "</hm>"), notes="Quick."
    )
    assert (form.system_prompt.content, form.stop.texts, form.first_mark.text(), form.notes.content) == ("", (), "", "")
    window.list.choose(_key(user, "Alpha-1B-4bit"))
    assert (form.system_prompt.content, form.kv_bits.currentText()) == ("Be brief.", "4 bits")
    assert window.page.facts.shown["Notes"] == "Quick."
    user.bot.keyClick(form.button, Qt.Key.Key_Space)
    assert form.summary.accessibleName().split(" · ")[2:] == ["reasoning", "4 bits"]
    program.of_models.replace(name, ModelSettings())


def test_a_much_smaller_model_with_the_same_tokens_is_suggested_as_the_draft_model(
    user: User, window: ModelsWindow, byte_level: Tokenizer
) -> None:
    program, form = user.controller.program, window.page.settings
    folder = program.models_folder
    for name, layers in (("Small", 1), ("Large", 12)):
        write_random_llama(folder / name, byte_level, hidden_size=64, layers=layers)
    other = write_random_llama(folder / "Other", byte_level, hidden_size=16, layers=1)
    tokenizer = json.loads((other / "tokenizer.json").read_text())
    vocab = tokenizer["model"]["vocab"]
    first, second = [piece for piece in vocab if piece.isalnum()][:2]
    vocab[first], vocab[second] = vocab[second], vocab[first]
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    program.supply.local_models.look()
    user.bot.waitUntil(lambda: {"Small", "Large", "Other"} <= _titles(window), timeout=PATIENCE_MS)
    window.list.choose(_key(user, "Large"))
    if not form.button.isChecked():
        form.button.click()
    user.bot.waitUntil(lambda: form.draft.count() > 1, timeout=PATIENCE_MS)
    offered = [form.draft.itemText(number) for number in range(form.draft.count())]
    assert "Other" not in " ".join(offered)
    suggested = next(number for number, text in enumerate(offered) if text.endswith("(recommended)"))
    form.draft.setCurrentIndex(suggested)
    form.draft.activated.emit(suggested)
    assert program.of_models.draft_of(str(folder / "Large")).startswith(str(folder))
    # The smallest one has nothing to choose.
    window.list.choose(_key(user, "Other"))
    assert form.draft.isHidden()


def test_a_model_without_a_chat_template_gets_a_plain_one_on_its_page(
    user: User, window: ModelsWindow, byte_level: Tokenizer
) -> None:
    program, fold = user.controller.program, window.page.template
    folder = write_random_llama(program.models_folder / "Base", byte_level)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": None}))
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    program.supply.local_models.look()
    user.bot.waitUntil(lambda: "Base" in _titles(window), timeout=PATIENCE_MS)
    window.list.choose(_key(user, "Base"))
    fold.button.click()
    assert (fold.text.isVisible(), fold.note.isVisible()) == (False, True)
    fold.plain_button.click()
    assert (fold.text.toPlainText(), program.templates.of(str(folder))) == (PLAIN, PLAIN)
    assert not fold.note.isVisible()
    fold.plain_button.click()
    assert (fold.note.isVisible(), program.templates.of(str(folder))) == (True, None)


def test_the_guides_idle_process_is_ended_where_that_makes_room(
    user: User, window: ModelsWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, page = user.controller.program, window.page
    program.load_model(str(program.models_folder / "Alpha-1B-4bit"))
    _wait_until_ready(user)
    user.controller.ask_guide()
    user.ask("What is a branch?")
    guide = program.sessions.guide
    model = next(entry.model for entry in window.entries.all if entry.title == "Beta-3B-4bit")
    assert model is not None
    fit = program.supply.fits.of(model)
    assert fit is not None

    def memory(reusable_bytes: int = 0) -> Memory:
        lacking = 10_000_000 if guide.state == "ready" else 0
        return Memory(total_bytes=fit.memory.total_bytes, available_bytes=fit.need.total_bytes - lacking)

    monkeypatch.setattr("app.catalog.machine_memory.machine_memory", memory)
    program.supply.fits.measure()
    window.list.choose(_key(user, "Beta-3B-4bit"))
    user.bot.waitUntil(lambda: page.main_button.text() == "Free memory first", timeout=PATIENCE_MS)
    user.bot.keyClick(page.main_button, Qt.Key.Key_Space)
    user.bot.waitUntil(lambda: page.main_button.text() == "Start a chat", timeout=PATIENCE_MS)
    assert guide.state == "unloaded"
    user.controller.shown.new_conversation()
