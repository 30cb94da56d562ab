"""The worker, the model folder and the windows that attacks share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication

from app.application import Application, Places
from tests.attacks.victim import Victim


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    """A worker for all attacks of a module."""
    with Victim() as victim:
        yield victim


@pytest.fixture
def folder(random_llama: Path, tmp_path: Path) -> Path:
    """A copy of a good model folder, to damage."""
    return Path(shutil.copytree(random_llama, tmp_path / "model"))


class Starter:
    """Opens Bough without its worker, which would take most of the time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: list[Application] = []

    def start(self, *, is_safe: bool = False) -> Application:
        application = Application(Places.under(self._folder), is_safe=is_safe)
        application.window.first_paint.over.disconnect()
        self._open.append(application)
        application.windows.show()
        QApplication.processEvents()
        return application

    @property
    def present(self) -> Application:
        """The one that was started last."""
        return self._open[-1]

    def end(self) -> None:
        for application in self._open:
            windows = application.windows.all
            application.windows.close_all()
            application.close()
            # The translators of a closed program would translate the next one.
            application.windows._language.switch_to("en")  # pyright: ignore[reportPrivateUsage]
            for window in windows:
                window.deleteLater()
        self._open.clear()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture
def bough(qapp: QApplication, tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    starter.end()
