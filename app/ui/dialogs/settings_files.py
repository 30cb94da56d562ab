"""Exports settings, presets and hooks to one file, and imports them from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from app.notices import Notice, ShowFile
from app.program import Program
from app.ui.dialogs import questions
from worker.sentence import Sentence, joined

if TYPE_CHECKING:
    from app.model.settings_file import ReadSettings

_NAME = "Bough settings.json"


class SettingsFiles(QObject):
    """Asks for a file, and exports the settings to it or imports them from it."""

    def __init__(self, program: Program, window: QWidget, folder: Path) -> None:
        """`folder` is the folder that the file dialogs show at first."""
        super().__init__(window)
        self._program = program
        self._window = window
        self._folder = folder

    @property
    def _hooks_folder(self) -> Path:
        return self._program.preferences.folder / "hooks"

    def export(self) -> None:
        """Ask for a file, and export the settings to it."""
        name, _ = QFileDialog.getSaveFileName(
            self._window, self.tr("Export settings"), str(self._folder / _NAME), self.tr("Settings (*.json)")
        )
        if name:
            self.write(Path(name))

    def write(self, path: Path) -> None:
        """Write the settings to a file, and post a notice."""
        from app.model.settings_file import SettingsFileError, write_settings_file

        try:
            write_settings_file(path, self._program.settings, self._hooks_folder)
        except SettingsFileError as error:
            self._post(Notice(error.sentence, "warning"))
            return
        text = Sentence("The settings, presets and hooks were exported to {file}.", file=path.name)
        self._post(Notice(text, action=ShowFile(path)))

    def ask(self) -> None:
        """Ask for a file, and import the settings from it."""
        name, _ = QFileDialog.getOpenFileName(
            self._window, self.tr("Import settings"), str(self._folder), self.tr("Settings (*.json)")
        )
        if name:
            self.read(Path(name))

    def read(self, path: Path) -> None:
        """Import the settings from a file, and post a notice. The present settings are first saved in another file."""
        from app.model.settings_file import SettingsFileError, read_settings_file

        try:
            found = read_settings_file(path)
        except SettingsFileError as error:
            self._post(Notice(error.sentence, "warning"))
        else:
            self.take(found)

    def take(self, found: ReadSettings) -> bool:
        """Import settings that were read, and post a notice. Return False if that failed, or the user cancelled."""
        from app.model.settings_file import SettingsFileError, add_hooks, keep_present, merged

        program = self._program
        try:
            hooks = found.hooks
            if hooks:
                with_hooks = questions.ask_about_hooks(self._window, list(hooks))
                if with_hooks is None:
                    return False
                hooks = hooks if with_hooks else {}
            kept = keep_present(program.settings, program.preferences.folder)
            left_out = add_hooks(hooks, self._hooks_folder) if hooks else []
        except SettingsFileError as error:
            self._post(Notice(error.sentence, "warning"))
            return False
        not_taken = [*left_out, *(name for name in found.hooks if name not in hooks)]
        changes, no_room_for = merged(program.settings, found, not_taken)
        program.preferences.change(**changes)
        sentences = [
            Sentence("The settings were imported. The previous settings are kept in {file}.", file=kept),
            *no_room_for,
        ]
        if left_out:
            names = ", ".join(left_out)
            sentences.append(
                Sentence(
                    "Hooks that were not imported, because different hooks have the same names: {names}.", names=names
                )
            )
        self._post(Notice(joined(sentences), action=ShowFile(kept)))
        return True

    def _post(self, notice: Notice) -> None:
        self._program.notices.post(notice)
