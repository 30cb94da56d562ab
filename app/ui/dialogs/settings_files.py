"""Exports settings, presets and hooks to one file, or everything for another computer, and imports them from it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QWidget
from typing_extensions import override

from app.notices import Notice, ShowFile
from app.program import Program
from app.ui.dialogs import questions
from app.ui.parts.labels import quiet_label
from app.ui.parts.sheet import Sheet
from worker.sentence import Sentence, joined

if TYPE_CHECKING:
    from app.archive.archive import Task
    from app.care.moving import Moved, Step
    from app.model.imports.importing import Progress, Summary
    from app.model.settings_file import ReadSettings

_NAME = "Bough settings.json"
_MOVE_PX = (520, 220)


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
        sentences = [Sentence("The settings were imported. Those before are kept in {file}.", file=kept), *no_room_for]
        if left_out:
            names = ", ".join(left_out)
            sentences.append(Sentence("Other hooks with these names are there, and stay: {names}.", names=names))
        self._post(Notice(joined(sentences), action=ShowFile(kept)))
        return True

    def _post(self, notice: Notice) -> None:
        self._program.notices.post(notice)


class MoveWindow(Sheet):
    """Writes everything into one file for another computer, or reads such a file."""

    imported = Signal(object)
    """The `Summary` of conversations that were imported."""

    def __init__(self, program: Program, settings_files: SettingsFiles, folder: Path, parent: QWidget) -> None:
        """`folder` is the folder that the file dialogs show at first."""
        super().__init__(self.tr("Move to another computer"), parent)
        self._program = program
        self._settings_files = settings_files
        self._folder = folder
        for text in (
            self.tr(
                "One file takes everything to another computer: conversations with their trash and projects, settings, "
                "presets and hooks. Models and keys are not in it."
            ),
            self.tr(
                "Reading such a file overwrites nothing: conversations that are here gain what is new in it, and the "
                "present settings are kept in a file."
            ),
        ):
            self.body.addWidget(quiet_label(text))
        self.body.addStretch(1)
        self.add_button(self.tr("Cancel"), self.reject, key=self.tr("Esc"))
        self.read_button = self.add_button(self.tr("Read a file…"), self._ask_to_read)
        self.write_button = self.add_button(self.tr("Write the file…"), self._ask_to_write, is_primary=True)
        self.open_at(*_MOVE_PX)
        self.write_button.setFocus()

    @override
    def follow(self, task: Task, text: str) -> None:
        for button in (self.read_button, self.write_button):
            button.setEnabled(False)
            task.ended.connect(partial(button.setEnabled, True))
        super().follow(task, text)

    # --- out ---------------------------------------------------------------------------------------------

    def _ask_to_write(self) -> None:
        from app.care.moving import FILE_NAME, SUFFIX

        kinds = self.tr("Everything of Bough ({})").format(f"*{SUFFIX}")
        name, _ = QFileDialog.getSaveFileName(self, self.windowTitle(), str(self._folder / FILE_NAME), kinds)
        if name:
            path = Path(name)
            self.write(path if path.suffix else path.with_suffix(SUFFIX))

    def write(self, path: Path) -> None:
        """Write the file."""
        from app.care.moving import move_out

        program = self._program
        hooks = program.preferences.folder / "hooks"
        task = program.archive.run(partial(move_out, path, program.store.path, program.settings, hooks))
        text = self.tr("Writing the file…")
        task.progressed.connect(partial(self._on_bytes, text))
        task.done.connect(lambda: self._on_written(path))
        task.failed.connect(self.fail)
        self.follow(task, text)

    def _on_bytes(self, text: str, step: Step) -> None:
        self.show_progress(text, step.done, step.total)

    def _on_written(self, path: Path) -> None:
        text = Sentence("Everything is in {file}. Take it to the other computer and read it there.", file=path.name)
        self._program.notices.post(Notice(text, action=ShowFile(path)))
        self.accept()

    # --- in ----------------------------------------------------------------------------------------------

    def _ask_to_read(self) -> None:
        from app.care.moving import SUFFIX

        kinds = self.tr("Everything of Bough ({})").format(f"*{SUFFIX}")
        name, _ = QFileDialog.getOpenFileName(self, self.windowTitle(), str(self._folder), kinds)
        if name:
            self.read(Path(name))

    def read(self, path: Path) -> None:
        """Read the file: its settings, then its conversations."""
        from app.care.moving import unpacked

        program = self._program
        task = program.archive.run(partial(unpacked, path, program.store.path.parent))
        text = self.tr("Reading the file…")
        task.progressed.connect(partial(self._on_bytes, text))
        task.done.connect(self._on_unpacked)
        task.failed.connect(self.fail)
        self.follow(task, text)

    def _on_unpacked(self, moved: Moved) -> None:
        from app.care.moving import forget

        program = self._program
        if not self._settings_files.take(moved.settings):
            if moved.store is not None:
                forget(moved.store)
            self.show_message(self.tr("Nothing was read."))
            return
        if moved.store is None:
            self.accept()
        elif not program.store.has_conversations and not program.store.why_read_only:
            # All windows close and open again.
            program.restore_requested.emit(moved.store)
        else:
            # The present task ends after this signal.
            QTimer.singleShot(0, self, partial(self._merge, moved.store))

    def _merge(self, moved: Path) -> None:
        from app.care.moving import forget, merge

        task = self._program.archive.write(lambda store: merge(store, moved))
        text = self.tr("Importing the conversations…")
        task.progressed.connect(partial(self._on_conversations, text))
        task.done.connect(self._on_merged)
        task.failed.connect(self.fail)
        task.ended.connect(partial(forget, moved))
        self.follow(task, text)

    def _on_conversations(self, text: str, progress: Progress) -> None:
        self.show_progress(text, progress.done_bytes, progress.total_bytes)

    def _on_merged(self, summary: Summary) -> None:
        self.imported.emit(summary)
        self.accept()
