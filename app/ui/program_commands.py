"""Actions that concern the whole program: settings, theme, text size, help."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.conversation.controller import Controller
from app.model.settings import MAX_TEXT_PERCENT, MIN_TEXT_PERCENT
from app.ui.dialogs import questions
from app.ui.menus import Menus

if TYPE_CHECKING:
    from app.ui.settings.settings_window import SettingsWindow

_TEXT_STEP = 10


class ProgramCommands(QObject):
    """Carries out actions that concern all windows."""

    def __init__(self, controller: Controller, menus: Menus, window: QWidget) -> None:
        super().__init__(window)
        program = self._program = controller.program
        self._controller = controller
        self._menus = menus
        self._window = window
        program.settings_changed.connect(self._check_theme)
        self._check_theme()

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {
            "settings": self.show_settings,
            "theme_system": partial(self._program.set_theme, "system"),
            "theme_light": partial(self._program.set_theme, "light"),
            "theme_dark": partial(self._program.set_theme, "dark"),
            "ask_guide": self._controller.ask_guide,
            "shortcuts": self._show_shortcuts,
            "larger_text": partial(self._change_text_size, +_TEXT_STEP),
            "smaller_text": partial(self._change_text_size, -_TEXT_STEP),
            "usual_text": partial(self._program.preferences.change, text_percent=100),
            "about": lambda: questions.show_about(self._window, self._program.session.how_it_runs()),
        }

    def show_settings(self) -> SettingsWindow:
        """Open Settings, or bring it to the front."""
        # Imported here because its pages take time, and few starts need them.
        from app.ui.settings.settings_window import SettingsWindow

        opened = self._window.findChild(SettingsWindow)
        settings = (
            opened if isinstance(opened, SettingsWindow) else SettingsWindow(self._program, self._menus, self._window)
        )
        settings.show()
        settings.raise_()
        settings.activateWindow()
        return settings

    def _show_shortcuts(self) -> None:
        from app.ui.dialogs.shortcuts_window import ShortcutsWindow

        opened = self._window.findChild(ShortcutsWindow)
        if isinstance(opened, ShortcutsWindow):
            opened.activateWindow()
        else:
            ShortcutsWindow(self._menus, self._show_keys_page, self._window)

    def _show_keys_page(self) -> None:
        settings = self.show_settings()
        settings.show_page(settings.keys)

    def show_report(self, path: Path) -> None:
        """Open the report of a crash."""
        from app.ui.dialogs.docs_window import ReportWindow

        self._program.notices.end("crash")
        ReportWindow(path, self._window)

    def show_memory_settings(self) -> None:
        """Open Settings at the page on memory."""
        settings = self.show_settings()
        settings.show_page(settings.memory_page)

    def _change_text_size(self, percent: int) -> None:
        changed = self._program.settings.text_percent + percent
        self._program.preferences.change(text_percent=min(max(changed, MIN_TEXT_PERCENT), MAX_TEXT_PERCENT))

    def _check_theme(self) -> None:
        self._menus[f"theme_{self._program.settings.theme}"].setChecked(True)
