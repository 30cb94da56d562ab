"""Scenes of the Models window."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.ui.models.models_window import ModelsWindow
from tests.models import byte_level_tokenizer, write_random_llama
from tests.scenes.stage import Stage


def models(stage: Stage) -> QWidget:
    """Models on this machine, and the page of the loaded one."""
    plant_models(stage)
    stage.act("models")
    window = stage.shown(ModelsWindow)
    stage.wait(lambda: len(window.entries.all) > 2)
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
