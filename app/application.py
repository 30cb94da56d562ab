"""Constructs the parts of the program and connects them."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFileOpenEvent, QIcon
from PySide6.QtWidgets import QApplication
from typing_extensions import override

from app.answers.answers import Answers
from app.answers.model_session import ModelSession
from app.answers.sessions import Sessions
from app.answers.worker_link import Client, WorkerLink
from app.care.crash_reports import CrashReports
from app.conversation.controller import Controller
from app.model.cache_folder import CacheFolder
from app.model.database import LostError, StoreError
from app.model.own_files import RETRY_MS
from app.model.store import Store
from app.notices import Notice, NoticeAction, ShowBackups, ShowReport, StartEmpty
from app.places import Places
from app.preferences import Preferences
from app.program import Program
from app.qt_runtime import GarbageCollector, shorten_waits
from app.ui.languages import install_english_plurals
from app.ui.parts.qt_workarounds import install_accessible_scroll_areas, leave_plain_text_on_clipboard
from app.ui.theme import icon_file
from app.ui.window import MainWindow
from app.updating import update_store
from app.windows import Windows
from worker.sentence import Sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from app.model.upkeep import Upkeep

_INTERRUPTED = Sentence("Bough was closed while this answer was being written. The text so far is kept.")
_SAFE_MODE = Sentence(
    "This is the safe mode: your settings, hooks, drafts, window places, chosen templates, measurements, unfinished "
    "downloads and the cache on disk are not used. They stay as they are. Start Bough without --safe-mode to use them "
    "again."
)


_CRASHED = Sentence(
    "Bough stopped unexpectedly. Your texts are kept. There is a report on this computer; it was not sent to anyone."
)


class QtApplication(QApplication):
    """Qt's application. It keeps the files that the user opened with Bough until a window takes them."""

    files_waiting = Signal()

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        self._files: list[Path] = []

    def open_files(self, files: Iterable[Path]) -> None:
        """Let the window open files as soon as there is one."""
        self._files += files
        if self._files:
            self.files_waiting.emit()

    def take_files(self) -> list[Path]:
        """Return the files that no window has taken yet."""
        taken, self._files = self._files, []
        return taken

    @override
    def event(self, event: QEvent) -> bool:
        # macOS sends one event for each file that was opened in the Finder or dropped on the Dock.
        if isinstance(event, QFileOpenEvent) and event.file():
            self.open_files([Path(event.file())])
            return True
        return super().event(event)


def make_qt_application(arguments: list[str]) -> QtApplication:
    """Return the `QApplication` of this process."""
    # `setStyle` would be slower: it returns the style, and PySide6 then creates the many names of its class.
    application = QtApplication([*(arguments or ["bough"]), "-style", "fusion"])
    application.setApplicationName("Bough")
    application.setDesktopFileName("bough")
    application.setWindowIcon(QIcon(str(icon_file())))
    GarbageCollector(application)
    shorten_waits()
    install_accessible_scroll_areas()
    install_english_plurals(application)
    application.aboutToQuit.connect(leave_plain_text_on_clipboard)
    return application


def _start_worker(cache_folder: Path | None, hook_folder: Path | None) -> Client:
    from worker.process import WorkerClient

    return WorkerClient(cache_folder, hook_folder)


class Application(QObject):
    """The whole program: store, worker and windows. The caller must close it."""

    backup_to_restore: Path | None = None
    """The path of a backup. After closing, the caller must replace the store by this backup and start again."""
    starts_again = False
    """Whether the caller must start the program again after it has closed."""
    _store_problem_found = Signal(object)
    """A `Sentence` from `Upkeep`, emitted in its thread."""

    def __init__(
        self,
        places: Places,
        *,
        is_safe: bool = False,
        retry_ms: int = RETRY_MS,
        begin_log: Callable[[], None] | None = None,
    ) -> None:
        """Open the store, read-only if it can't be written. The worker starts after the first paint.

        `is_safe` means that the user's settings, hooks, drafts and cache on disk are neither used nor changed.
        `retry_ms` is the interval of saving again after saving has failed. `begin_log` opens the log; None means that
        there is none.
        """
        super().__init__()
        self.preferences = preferences = Preferences(
            places.config / "settings.json", is_safe=is_safe, retry_ms=retry_ms
        )
        self._reports = CrashReports(places.reports)
        path = places.data / "conversations.sqlite3"
        lost: LostError | None = None
        was_used = preferences.settings.has_conversations
        update_store(path, preferences.settings.language, was_used=was_used)
        try:
            self.store = Store(path, was_used=was_used)
        except StoreError as error:
            lost = error if isinstance(error, LostError) else None
            self.store = Store(path, read_only_because=error.sentence)
        # A store that can't be cleaned up, on a full disk for example, can still be read.
        with contextlib.suppress(StoreError):
            self.store.clean_up(_INTERRUPTED)
        self.store.flush_in_background()
        cache_folder = CacheFolder(places.cache / "prompt-cache")
        self._upkeep: Upkeep | None = None
        folders = (None, None) if is_safe else (cache_folder.folder, places.config / "hooks")
        start = partial(_start_worker, *folders)
        self.sessions = Sessions(
            chosen=ModelSession(WorkerLink(start)),
            guide=ModelSession(WorkerLink(start)),
            # A model that does not survive beside another one is loaded in its place.
            ahead=ModelSession(WorkerLink(start), max_deaths=1),
            remote=ModelSession(WorkerLink(start)),
        )
        self.session = self.sessions.chosen
        self.link = self.session.link
        self.answers = Answers(self.sessions, self.store, retry_ms=retry_ms)
        self.program = Program(
            store=self.store,
            answers=self.answers,
            sessions=self.sessions,
            preferences=preferences,
            cache_folder=cache_folder,
            models_folder=places.models,
            reports=self._reports,
            retry_ms=retry_ms,
        )
        self.program.expect_last_model()
        self.windows = Windows(self.program, places.data)
        self.windows.last_closed.connect(self.close)
        self._store_problem_found.connect(self._on_store_problem)
        self.program.restore_requested.connect(self._on_restore_requested)
        self.program.empty_start_requested.connect(self._on_start_empty)
        if self.store.why_read_only:
            action = None if lost is None else ShowBackups() if lost.has_backup else StartEmpty()
            self._on_store_problem(self.store.why_read_only, action)
        if preferences.problem is not None:
            self.program.notices.post(Notice(preferences.problem, "warning", cause="files"))
        if is_safe:
            self.program.notices.post(Notice(_SAFE_MODE, cause="files"))
        self._is_closed = False
        # These take time, so they come after the window is painted. The log first, so that it has the others.
        if begin_log is not None:
            self.window.first_paint.over.connect(begin_log)
        self.window.first_paint.over.connect(self._load_model)
        self.window.first_paint.over.connect(self._begin_upkeep)
        self._qt_application = QApplication.instance()
        self.window.first_paint.over.connect(self._begin_to_open_files)
        self.window.first_paint.over.connect(self._offer_report)
        self.window.first_paint.over.connect(self.program.begin_release_news)

    @property
    def window(self) -> MainWindow:
        """The first window."""
        return self.windows.first[0]

    @property
    def controller(self) -> Controller:
        """The controller of the first window."""
        return self.windows.first[1]

    def close(self) -> None:
        """Stop the worker, save streamed text and settings, and close the store."""
        if self._is_closed:
            return
        self._is_closed = True
        self._remember_whether_used()
        self.preferences.save()
        self.answers.stop_all()
        self.program.stop_local_api()
        for watch in self.program.worker_watches:
            # A worker that is still loading has no answers to finish, and a stuck one would not finish them.
            is_useless = watch.session.state == "loading" or watch.is_stuck
            watch.session.link.stop(patience_s=0.0 if is_useless else 2.0)
            # Deliver the last events of the worker, which the thread of the link has queued.
            QCoreApplication.sendPostedEvents(watch.session.link)
        self.answers.interrupt_all(_INTERRUPTED)
        self.program.close()
        if self._upkeep is not None:
            self._upkeep.close()
        self.store.close()

    def _remember_whether_used(self) -> None:
        if not self.store.why_read_only:
            with contextlib.suppress(StoreError):
                self.preferences.change(has_conversations=self.store.has_conversations)

    def _load_model(self) -> None:
        if not self._is_closed:
            # The user may have chosen a model or a draft model in the meantime.
            if not self.session.link.is_started:
                self.program.load_last_model()
            self.program.supply.report_interrupted_transfers()
            self.program.start_local_api()

    def _begin_to_open_files(self) -> None:
        if isinstance(self._qt_application, QtApplication):
            # Queued, so that all files of one choice come together.
            self._qt_application.files_waiting.connect(self._open_files, Qt.ConnectionType.QueuedConnection)
            self._open_files()

    def _open_files(self) -> None:
        if not self._is_closed and isinstance(self._qt_application, QtApplication):
            files = self._qt_application.take_files()
            if files:
                self.windows.in_front.open_files(files)

    def _begin_upkeep(self) -> None:
        if not self._is_closed and not self.store.why_read_only:
            from app.model.upkeep import Upkeep

            self._upkeep = Upkeep(self.store.path, self.program.cache_folder, self._store_problem_found.emit)
            self.program.conversations.erasing_requested.connect(self._upkeep.start_now)
            self.store.messages.on_waiting = self._upkeep.start_now

    def _offer_report(self) -> None:
        """Offer the report if Bough crashed the last time."""
        if not self._is_closed and (report := self._reports.collect()) is not None:
            self.program.notices.post(Notice(_CRASHED, "warning", action=ShowReport(report), cause="crash"))

    def _on_restore_requested(self, backup: Path) -> None:
        self.backup_to_restore = backup
        QApplication.closeAllWindows()

    def _on_start_empty(self) -> None:
        self.preferences.change(has_conversations=False)
        self.starts_again = True
        QApplication.closeAllWindows()

    def _on_store_problem(self, why: Sentence, action: NoticeAction | None = None) -> None:
        # For users who started Bough in a terminal.
        print(f"bough: {why}", file=sys.stderr)  # noqa: T201
        self.program.notices.post(Notice(why, "danger", action=action, cause="store"))
