"""The one place that constructs the program's parts and connects them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import platformdirs
from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from app.answers import Answers
from app.controller import Controller
from app.model.database import StoreError
from app.model.kept_files import KeptFiles
from app.model.store import Store
from app.model_session import ModelSession
from app.preferences import Preferences
from app.ui.theme import icon_file
from app.ui.window import MainWindow
from app.worker_link import WorkerLink
from worker.client import WorkerClient

_INTERRUPTED = "Bough ended while this was being written. What was written is kept."


@dataclass(frozen=True)
class Places:
    """Where things are kept."""

    data: Path
    """Conversations."""
    config: Path
    """Settings."""
    cache: Path
    """What can be computed again."""

    @classmethod
    def of_user(cls) -> Places:
        """The folders that the system has for them."""
        return cls(
            data=platformdirs.user_data_path("bough", appauthor=False),
            config=platformdirs.user_config_path("bough", appauthor=False),
            cache=platformdirs.user_cache_path("bough", appauthor=False),
        )

    @classmethod
    def under(cls, folder: Path) -> Places:
        """Everything in one folder."""
        return cls(data=folder, config=folder, cache=folder)


def make_qt_application(arguments: list[str]) -> QApplication:
    """Make the `QApplication`; one a process."""
    application = QApplication(arguments)
    application.setApplicationName("Bough")
    application.setDesktopFileName("bough")
    application.setStyle("Fusion")
    application.setWindowIcon(QIcon(str(icon_file())))
    return application


class Application(QObject):
    """Bough, put together: store, worker, controller and window. Must be closed."""

    def __init__(self, places: Places) -> None:
        """Open the store and start the worker with the last model. Raises `StoreError`."""
        super().__init__()
        self.preferences = preferences = Preferences(places.config / "settings.json")
        self.store = Store(places.data / "conversations.sqlite3")
        # What can't be cleaned up today (the disk is full, say) can be read all the same.
        with contextlib.suppress(StoreError):
            self.store.clean_up(_INTERRUPTED)
        kept_files = KeptFiles(places.cache / "prompt-cache")
        self.link = WorkerLink(partial(WorkerClient, kept_files.folder))
        self.session = ModelSession(self.link)
        self.answers = Answers(self.link, self.store)
        self.controller = Controller(self.store, self.answers, self.session, preferences, kept_files)
        self.window = MainWindow(self.controller, places.data)
        self.window.closed.connect(self.close)
        if preferences.settings.last_conversation is not None:
            self.controller.open_conversation(preferences.settings.last_conversation)
        self._is_closed = False
        self.session.load(preferences.settings.model, preferences.settings.keeping)

    def close(self) -> None:
        """End the worker, keep what has streamed and what was set, close the store."""
        if self._is_closed:
            return
        self._is_closed = True
        self.preferences.save()
        self.answers.stop_all()
        # One that is still loading has nothing to say.
        self.link.stop(patience_s=0.0 if self.session.state == "loading" else 2.0)
        # The last words of the worker are still on their way from the link's thread.
        QCoreApplication.sendPostedEvents(self.link)
        self.answers.interrupt_all(_INTERRUPTED)
        self.store.close()
