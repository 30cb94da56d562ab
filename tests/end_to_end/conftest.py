"""The whole program, window and worker, opened and closed by tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from tokenizers import Tokenizer

from app.application import Application, Places
from app.model.generation_settings import GenerationSettings
from app.model.message import Sampling
from app.model.own_files import RETRY_MS
from app.model.settings import Settings, save_settings
from tests.leaks import Leaks
from tests.models import write_scripted_model

OpenBough = Callable[..., Application]


@pytest.fixture
def open_bough(qapp: QApplication, tmp_path: Path) -> Iterator[OpenBough]:
    """Opens Bough on the test's own folder. At the end it is closed, and nothing may be left over."""
    leaks = Leaks()
    opened: list[Application] = []

    def open_it(
        *, model: str = "guide", folder: Path = tmp_path, retry_ms: int = RETRY_MS, **sampling: object
    ) -> Application:
        if not (folder / "settings.json").exists():
            drawn = Sampling(**{"temperature": 0.0, **sampling})  # pyright: ignore[reportArgumentType]
            settings = Settings(model=model, generation=GenerationSettings(sampling=drawn))
            save_settings(folder / "settings.json", settings)
        application = Application(Places.under(folder), retry_ms=retry_ms)
        opened.append(application)
        application.window.show()
        return application

    yield open_it
    for application in opened:
        application.window.close()
        application.window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    leaks.check()


@pytest.fixture(scope="session")
def endless_model(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    """A model that writes `ababab…` until it is stopped."""
    a, b, line_break = (byte_level.encode(text).ids[0] for text in ("a", "b", "\n"))
    folder = tmp_path_factory.mktemp("models") / "endless"
    return write_scripted_model(folder, byte_level, {line_break: a, a: b, b: a}, context_length=1_000_000)
