"""The current settings, saved soon after they change."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.model.own_files import RETRY_MS, LatestWriter
from app.model.settings import Settings, load_settings, save_settings
from worker.sentence import Sentence

_SAVE_AFTER_MS = 300
"""The delay before changes are saved. Changes often come with a question or a held key, which should not wait."""


class Preferences(QObject):
    """The user's settings. The owner must call `save` at the end."""

    changed = Signal()
    not_saved = Signal(object)
    """A `Sentence` that says why the file can't be written. Saving is tried again until it succeeds."""
    saved_again = Signal()
    _tried = Signal(object)
    """The `OSError` of an attempt to write the file; None if it succeeded. Emitted in the thread that writes."""

    def __init__(self, path: Path, *, is_safe: bool = False, retry_ms: int = RETRY_MS) -> None:
        """`is_safe` means that all settings have their defaults, and the file is neither read nor written.

        `retry_ms` is the interval of saving while the file can't be written.
        """
        super().__init__()
        self._retry_ms = retry_ms
        self._path = path
        self.is_safe = is_safe
        self.problem: Sentence | None = None
        """A sentence about the part of the file that could not be read; None if everything was read."""
        self.settings: Settings = Settings() if is_safe else load_settings(path, self._note)
        self._saved = self.settings
        self._can_save = True
        self._timer = QTimer(self, singleShot=True, interval=_SAVE_AFTER_MS)
        self._timer.timeout.connect(self._save_soon)
        self._tried.connect(self._on_tried)
        self._writer = LatestWriter(self._write)

    @property
    def folder(self) -> Path:
        """The folder of the settings file."""
        return self._path.parent

    def _note(self, problem: Sentence) -> None:
        self.problem = problem

    def change(self, **changes: object) -> None:
        """Change fields of `Settings` by name."""
        settings = msgspec.structs.replace(self.settings, **changes)
        if settings == self.settings:
            return
        self.settings = settings
        if not self._timer.isActive():
            self._timer.start(_SAVE_AFTER_MS)
        self.changed.emit()

    def save(self) -> None:
        """Write the settings if they changed since the last save, and wait until they are on the disk."""
        self._timer.stop()
        self._writer.finish()
        if self._has_changes:
            self._write(self.settings)

    @property
    def _has_changes(self) -> bool:
        return not self.is_safe and self.settings != self._saved

    def _save_soon(self) -> None:
        if self._has_changes:
            self._writer.put(self.settings)

    def _write(self, settings: Settings) -> None:
        """Write the settings. May be called in any thread."""
        try:
            save_settings(self._path, settings)
        except OSError as error:
            self._tried.emit(error)
        else:
            self._saved = settings
            self._tried.emit(None)

    def _on_tried(self, error: OSError | None) -> None:
        if error is not None:
            self._timer.start(self._retry_ms)
            if self._can_save:
                self._can_save = False
                self.not_saved.emit(
                    Sentence(
                        "The settings could not be saved ({error}). Bough tries again. If you close it "
                        "before it succeeds, your changes are lost.",
                        error=error.strerror,
                    )
                )
        elif not self._can_save:
            self._can_save = True
            self.saved_again.emit()
