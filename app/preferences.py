"""The current settings, saved soon after they change."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.model.own_files import RETRY_MS
from app.model.settings import Settings, load_settings, save_settings
from worker.sentence import Sentence

_SAVE_AFTER_MS = 300
"""Changes often come with a question or a held key, which should not wait for the disk."""


class Preferences(QObject):
    """The user's settings. The owner must call `save` at the end."""

    changed = Signal()
    not_saved = Signal(object)
    """A `Sentence` that says why the file can't be written. It is tried again until it succeeds or the program ends."""
    saved_again = Signal()

    def __init__(self, path: Path, *, is_safe: bool = False, retry_ms: int = RETRY_MS) -> None:
        """`is_safe`: all settings have their defaults, and the file is neither read nor written.

        `retry_ms` is the interval of saving while the file can't be written.
        """
        super().__init__()
        self._retry_ms = retry_ms
        self._path = path
        self.is_safe = is_safe
        self.problem: Sentence | None = None
        """A sentence on the part of the file that could not be read; None if everything was read."""
        self.settings: Settings = Settings() if is_safe else load_settings(path, self._note)
        self._saved = self.settings
        self._can_save = True
        self._timer = QTimer(self, singleShot=True, interval=_SAVE_AFTER_MS)
        self._timer.timeout.connect(self.save)

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
        """Write the settings if they changed since the last save."""
        self._timer.stop()
        if self.is_safe or self.settings == self._saved:
            return
        try:
            save_settings(self._path, self.settings)
        except OSError as error:
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
            return
        self._saved = self.settings
        if not self._can_save:
            self._can_save = True
            self.saved_again.emit()
