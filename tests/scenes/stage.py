"""One window with planted conversations, on which scenes are played and cleared away again."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from app.answers.sessions import GUIDE
from app.application import Application, Places
from app.catalog.starter import starter_path
from app.model.message import Message
from app.model.settings import Settings, save_settings
from app.model.settings import Theme as ThemeName
from app.model.unsent import Unsent
from app.ui.message.message_view import MessageView
from app.ui.parts.overlay import Overlay
from tests.scenes.planting import plant, plant_paused_download
from tests.waiting import PATIENCE_MS

_W = TypeVar("_W", bound=QWidget)


class Stage:
    """The real window with the real worker."""

    def __init__(
        self,
        folder: Path,
        *,
        theme: ThemeName = "light",
        language: str = "en",
        text_percent: int = 100,
        tree_sizes: tuple[int, ...] | None = None,
        settled_ms: int = 120,
    ) -> None:
        """`tree_sizes` are the sizes of the planted trees; None means that nothing is planted.

        `settled_ms` is the time until a scene has its final look.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._settled_ms = settled_ms
        settings = Settings(theme=theme, language=language, text_percent=text_percent, motion="less")
        save_settings(folder / "settings.json", settings)
        self.planted = {} if tree_sizes is None else plant(folder / "conversations.sqlite3", tree_sizes)
        if tree_sizes is not None:
            plant_paused_download(Places.under(folder))
        self._others = multiprocessing.active_children()
        """Processes that are not this window's."""
        self.application = Application(Places.under(folder))
        self.window = self.application.window
        self.controller = self.application.controller
        self._resting: list[int] = []
        self.window.show()
        self.wait(lambda: self.application.session.state == "ready")

    def close(self) -> None:
        self.window.close()
        self.application.close()

    # --- actions of scenes -----------------------------------------------------------------------------------

    def open(self, name: str) -> None:
        """Open a planted conversation."""
        self.controller.shown.open_conversation(self.planted[name])
        self.settle()

    def act(self, action: str) -> None:
        """Trigger a menu action."""
        self.window.action(action).trigger()

    def view(self, message: Message) -> MessageView:
        """Scroll to a message."""
        found = self.window.transcript.reveal(message.id)
        assert found is not None
        return found

    def press(self, message: Message, key: str | Qt.Key) -> None:
        """Focus a message and press a key."""
        text = self.view(message).text
        text.setFocus(Qt.FocusReason.TabFocusReason)
        if isinstance(key, str):
            QTest.keyClicks(text, key)
        else:
            QTest.keyClick(text, key)

    def shown(self, kind: type[_W]) -> _W:
        """Wait for a window or a panel of this type."""

        def seen() -> list[_W]:
            return [widget for widget in self.window.findChildren(kind) if widget.isVisible()]

        self.wait(lambda: bool(seen()))
        return seen()[-1]

    def wait(self, holds: Callable[[], bool]) -> None:
        """Run the program until a condition holds."""
        loop, timer = QEventLoop(), QTimer(interval=5)
        timer.timeout.connect(lambda: loop.quit() if holds() else None)
        timer.start()
        QTimer.singleShot(PATIENCE_MS, loop, loop.quit)
        loop.exec()
        assert holds()

    def settle(self) -> None:
        """Let pending layout and painting happen."""
        loop = QEventLoop()
        QTimer.singleShot(self._settled_ms, loop.quit)
        loop.exec()

    @property
    def workers(self) -> list[BaseProcess]:
        """The processes of this window."""
        return [process for process in multiprocessing.active_children() if process not in self._others]

    def let_worker_rest(self) -> None:
        """Pause the worker until the stage is cleared."""
        self._resting = [worker.pid for worker in self.workers if worker.pid is not None]
        for worker in self._resting:
            os.kill(worker, signal.SIGSTOP)
        self.settle()

    def wake_worker(self) -> None:
        """Let the worker continue."""
        for worker in self._resting:
            os.kill(worker, signal.SIGCONT)
        self._resting = []

    def refuse_writes(self, *, are_refused: bool) -> None:
        """Let the store refuse all writes until the stage is cleared."""
        connection = self.application.store._database._connection  # pyright: ignore[reportPrivateUsage]
        connection.execute(f"PRAGMA query_only = {int(are_refused)}")

    # --- between scenes --------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Close everything that a scene has opened."""
        self.refuse_writes(are_refused=False)
        self.wake_worker()
        answers = self.application.answers
        self.wait(lambda: not answers.has_pending and not answers.saving.has_unsaved)
        while (popup := QApplication.activePopupWidget()) is not None:
            popup.close()
        window = self.window
        for dialog in window.findChildren(QDialog):
            dialog.close()
        for overlay in window.findChildren(Overlay):
            if overlay.isVisible():
                overlay.dismiss()
        if window.find_bar.isVisible():
            window.find_bar.closed.emit()
        if window.side_by_side.message_ids:
            window.side_by_side.close_page()
        if self.application.program.settings.tokens_visible:
            self.act("tokens")
        if window.action("tree").isChecked():
            self.act("tree")
        if window.banner.isVisible():
            window.banner.close_button.click()
        # Without a window manager, nothing else reports this.
        window.activateWindow()
        # Undo what a scene did to a planted conversation, and remove its drafts.
        if self.controller.shown.conversation is not None:
            while self.controller.to_undo:
                self.controller.undo()
            self.controller.preparation.replace_unsent(Unsent())
        self._return_to_guide()
        self.application.program.preferences.change(recent_drafts=())
        self.controller.shown.new_conversation()
        self.controller.preparation.reset_generation()
        self.settle()

    def _return_to_guide(self) -> None:
        """Load the guide again, and remove the model that a scene has loaded."""
        program = self.application.program
        if program.session.name != GUIDE:
            program.load_model(GUIDE)
            self.wait(lambda: program.session.state == "ready")
            shutil.rmtree(starter_path(program.models_folder))
