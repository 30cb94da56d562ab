"""The windows of the program, each with its own controller. Their positions are remembered."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QRect, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog

from app.conversation.controller import Controller
from app.model.settings import WindowPlace
from app.program import Program
from app.ui.dialogs.questions import ask_close_downloading, ask_close_unsaved
from app.ui.languages import Language, language_in_use
from app.ui.window import MainWindow

_BESIDE_PX = 32
"""The offset in pixels of a new window from the last window."""


class Windows(QObject):
    """Opens and closes windows. The first window always exists."""

    last_closed = Signal()

    def __init__(self, program: Program, data_folder: Path) -> None:
        super().__init__()
        self._program = program
        self._data_folder = data_folder
        self._language = Language()
        self._language.switch_to(language_in_use(program.settings.language))
        self._open: list[tuple[MainWindow, Controller]] = []
        self._is_quitting = False
        program.window_requested.connect(self.open)
        program.quit_requested.connect(self.close_all)
        program.settings_changed.connect(self._on_settings)
        places = program.settings.windows
        self._make(places[0] if places else None)
        if program.settings.last_conversation is not None:
            self._open[0][1].shown.open_conversation(program.settings.last_conversation)

    @property
    def all(self) -> list[MainWindow]:
        return [window for window, _ in self._open]

    @property
    def first(self) -> tuple[MainWindow, Controller]:
        return self._open[0]

    @property
    def in_front(self) -> MainWindow:
        """The window that the user works in, or the first one. It comes to the front."""
        active = QApplication.activeWindow()
        # A dialog belongs to its window.
        while active is not None and active not in self.all:
            active = active.parentWidget()
        window = next((window for window in self.all if window is active), self._open[0][0])
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.raise_()
        window.activateWindow()
        return window

    def show(self) -> None:
        """Show the first window, and the others that were open when Bough was closed."""
        self._open[0][0].show()
        for place in self._program.settings.windows[1:]:
            window, controller = self._make(place)
            if place.conversation is not None:
                controller.shown.open_conversation(place.conversation)
            window.show()

    def open(self, conversation_id: int | None) -> MainWindow:
        """Open another window with a conversation, or with an empty page for None."""
        window, controller = self._make(None)
        last = self._open[-2][0].geometry()
        window.setGeometry(last.translated(_BESIDE_PX, _BESIDE_PX))
        if conversation_id is not None:
            controller.shown.open_conversation(conversation_id)
        window.show()
        window.activateWindow()
        return window

    def close_all(self) -> None:
        """Close all windows. The next start opens them again."""
        if not self._may_quit(self._open[0][0]):
            return
        self._remember()
        self._is_quitting = True
        for window in self.all:
            window.close()

    def _make(self, place: WindowPlace | None) -> tuple[MainWindow, Controller]:
        controller = Controller(self._program)
        window = MainWindow(controller, self._data_folder)
        controller.setParent(window)
        window.closed.connect(lambda: self._on_closed(window))
        window.may_close = lambda: self._may_close(window)
        if place is not None:
            _put(window, place)
        self._open.append((window, controller))
        return window, controller

    def _may_close(self, window: MainWindow) -> bool:
        is_last = window in self.all and len(self._open) == 1
        return not is_last or self._is_quitting or self._may_quit(window)

    def _may_quit(self, window: MainWindow) -> bool:
        """Return whether Bough may close: all text is saved and no model is being downloaded, or the user agrees."""
        answers = self._program.answers
        if answers.saving.has_unsaved:
            answers.saving.save()
        if answers.saving.has_unsaved and not ask_close_unsaved(window):
            return False
        transfers = self._program.supply.running_transfers
        return not transfers or ask_close_downloading(window, transfers)

    def _on_closed(self, window: MainWindow) -> None:
        if window not in self.all:
            return
        if len(self._open) > 1:
            self._open = [pair for pair in self._open if pair[0] is not window]
            window.deleteLater()
            return
        # The last window is not deleted; the program still reads it while it ends.
        if not self._is_quitting:
            self._remember()
        self.last_closed.emit()

    def _remember(self) -> None:
        places = tuple(_place(window, controller) for window, controller in self._open)
        self._program.preferences.change(windows=places, last_conversation=places[0].conversation)

    def _on_settings(self) -> None:
        if self._language.switch_to(language_in_use(self._program.settings.language)):
            self._recreate()

    def _recreate(self) -> None:
        """Replace all windows, because their texts are in the old language."""
        before, self._open = self._open, []
        for old, old_controller in before:
            window, controller = self._make(_place(old, old_controller))
            if old_controller.shown.conversation is not None:
                controller.shown.open_conversation(old_controller.shown.conversation.id)
            window.show()
            if old.findChild(QDialog, "settings") is not None:
                window.action("settings").trigger()
            old.close()
            old.deleteLater()


def _place(window: MainWindow, controller: Controller) -> WindowPlace:
    conversation = controller.shown.conversation
    shape = window.normalGeometry() if window.isMaximized() else window.geometry()
    return WindowPlace(
        x=shape.x(),
        y=shape.y(),
        width=shape.width(),
        height=shape.height(),
        is_maximized=window.isMaximized(),
        conversation=None if conversation is None else conversation.id,
    )


def _put(window: MainWindow, place: WindowPlace) -> None:
    """Move a window to a remembered place, within the present screens."""
    shape = QRect(place.x, place.y, place.width, place.height)
    screen = QGuiApplication.screenAt(shape.center()) or QGuiApplication.primaryScreen()
    room = screen.availableGeometry()
    shape.setSize(shape.size().boundedTo(room.size()))
    shape.moveLeft(min(max(shape.left(), room.left()), room.right() - shape.width() + 1))
    shape.moveTop(min(max(shape.top(), room.top()), room.bottom() - shape.height() + 1))
    window.setGeometry(shape)
    if place.is_maximized:
        window.showMaximized()
