"""Scenes of the Models window."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.ui.models.models_window import ModelsWindow
from tests.models import byte_level_tokenizer, write_random_llama
from tests.scenes.planting import PAUSED
from tests.scenes.stage import Stage


def models(stage: Stage) -> QWidget:
    """Models on this machine, and the page of the loaded one."""
    plant_models(stage)
    stage.act("models")
    window = stage.shown(ModelsWindow)
    stage.wait(lambda: len(window.entries.all) > 2)
    return window


def remote_model(stage: Stage) -> QWidget:
    """The page of a model that can be downloaded. The hub is not asked."""
    window = models(stage)
    assert isinstance(window, ModelsWindow)
    key = next(row.key for row in window.list.rows if row.key.startswith("hub:"))
    window.list.choose(key)
    stage.wait(lambda: window.page.entry is not None and window.page.entry.failure is not None)
    return window


def paused_download(stage: Stage) -> QWidget:
    """The page of a model whose download the user has paused."""
    window = models(stage)
    assert isinstance(window, ModelsWindow)
    stage.wait(lambda: any(row.title == PAUSED.title for row in window.list.rows))
    window.list.choose(next(row.key for row in window.list.rows if row.title == PAUSED.title))
    return window


def deleting(stage: Stage) -> QWidget:
    """The question before a model is deleted."""
    window = models(stage)
    assert isinstance(window, ModelsWindow)
    window.list.choose(next(row.key for row in window.list.rows if row.word))
    stage.wait(lambda: any("Mistral" in entry.title for entry in window.entries.all))
    window.list.choose(next(entry.key for entry in window.entries.all if entry.title.startswith("Mistral-7B")))
    window.page.ask_to_delete()
    return window


def plant_models(stage: Stage) -> None:
    """Write some model folders into Bough's folder: small ones that load, and a broken one."""
    folder = stage.application.program.models_folder
    if folder.is_dir():
        return
    tokenizer = byte_level_tokenizer()
    for name in ("SmolLM2-135M-Instruct", "Qwen3-4B-Instruct-2507-4bit"):
        write_random_llama(folder / name, tokenizer)
    broken = folder / "Mistral-7B-Instruct-v0.3-with-a-rather-long-name-4bit"
    broken.mkdir()
    (broken / "config.json").write_text('{"model_type": "mistral"}')
    (broken / "model.safetensors").write_bytes(b"")
