"""The one place that constructs the program's parts and connects them."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

import app.plain_import  # noqa: F401 # pyright: ignore[reportUnusedImport] (first: it makes those below cheap)
from app.answers.answers import Answers
from app.answers.model_session import ModelSession
from app.answers.worker_link import Client, WorkerLink
from app.collecting import Collecting
from app.conversation.controller import Controller
from app.model.database import StoreError
from app.model.kept_files import KeptFiles
from app.model.store import Store
from app.notices import Notice
from app.places import Places
from app.preferences import Preferences
from app.program import Program
from app.ui.languages import install_english_plurals
from app.ui.parts.qt_workarounds import install_accessible_scroll_areas, leave_plain_text_on_clipboard
from app.ui.theme import icon_file
from app.ui.window import MainWindow
from app.windows import Windows
from worker.sentence import Sentence

if TYPE_CHECKING:
    from app.model.upkeep import Upkeep

_INTERRUPTED = Sentence("Bough was closed while this answer was being written. The text so far is kept.")


def make_qt_application(arguments: list[str]) -> QApplication:
    """Make the `QApplication`; one a process."""
    # Asked for by name: `setStyle` returns the style, and PySide6 makes the hundreds of names that are known to one.
    application = QApplication([*(arguments or ["bough"]), "-style", "fusion"])
    application.setApplicationName("Bough")
    application.setDesktopFileName("bough")
    application.setWindowIcon(QIcon(str(icon_file())))
    Collecting(application)
    install_accessible_scroll_areas()
    install_english_plurals(application)
    application.aboutToQuit.connect(leave_plain_text_on_clipboard)
    return application


def _start_worker(cache_folder: Path, hook_folder: Path) -> Client:
    from worker.process import WorkerClient

    return WorkerClient(cache_folder, hook_folder)


class Application(QObject):
    """Bough, put together: store, worker, controller and window. Must be closed."""

    backup_to_put_back: Path | None = None
    """Whoever closed this is to put it in the store's place, and to begin anew."""
    _store_troubled = Signal(object)
    """A `Sentence`, from the thread that looks after the store."""

    def __init__(self, places: Places) -> None:
        """Open the store, if only to read what can be read of it, and start the worker with the last model."""
        super().__init__()
        self.preferences = preferences = Preferences(places.config / "settings.json")
        path = places.data / "conversations.sqlite3"
        try:
            self.store = Store(path)
        except StoreError as error:
            self.store = Store(path, read_only_because=error.sentence)
        # What can't be cleaned up today (the disk is full, say) can be read all the same.
        with contextlib.suppress(StoreError):
            self.store.clean_up(_INTERRUPTED)
        kept_files = KeptFiles(places.cache / "prompt-cache")
        self._upkeep: Upkeep | None = None
        self.link = WorkerLink(partial(_start_worker, kept_files.folder, places.config / "hooks"))
        self.session = ModelSession(self.link)
        self.answers = Answers(self.link, self.store)
        self.program = Program(self.store, self.answers, self.session, preferences, kept_files)
        self.program.expect_last_model()
        self.windows = Windows(self.program, places.data)
        self.windows.last_closed.connect(self.close)
        self._store_troubled.connect(self._on_store_troubled)
        self.program.restore_asked.connect(self._on_restore_asked)
        if self.store.why_read_only:
            self._on_store_troubled(self.store.why_read_only)
        self._is_closed = False
        # Starting a process takes as long as painting the window.
        self.window.first_paint.over.connect(self._load_model)
        self.window.first_paint.over.connect(self._begin_upkeep)

    @property
    def window(self) -> MainWindow:
        """The first window."""
        return self.windows.first[0]

    @property
    def controller(self) -> Controller:
        """The first window's."""
        return self.windows.first[1]

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
        self.program.close()
        if self._upkeep is not None:
            self._upkeep.close()
        self.store.close()

    def _load_model(self) -> None:
        if not self._is_closed:
            self.program.load_last_model()

    def _begin_upkeep(self) -> None:
        if not self._is_closed and not self.store.why_read_only:
            from app.model.upkeep import Upkeep

            self._upkeep = Upkeep(self.store.path, self.program.kept_files, self._store_troubled.emit)
            self.program.conversations.erasing_asked.connect(self._upkeep.look_now)

    def _on_restore_asked(self, backup: Path) -> None:
        self.backup_to_put_back = backup
        QApplication.closeAllWindows()

    def _on_store_troubled(self, why: Sentence) -> None:
        # Also for whoever started it in a terminal.
        print(f"bough: {why}", file=sys.stderr)  # noqa: T201
        self.program.notices.post(Notice(why, "danger"))
