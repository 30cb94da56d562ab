"""The settings as they are now, written to their file soon after they change; it knows no window."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.model.settings import Settings, load_settings, save_settings
from worker.sentence import Sentence

_SAVE_AFTER_MS = 300
"""A moment in which nothing waits for the disk: most changes come with a question or with a key that is held."""


class Preferences(QObject):
    """What a person has set. `save` must be called in the end."""

    changed = Signal()
    not_saved = Signal(object)
    """A `Sentence`. The file can't be written, and why; what was set holds until the program ends."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.settings: Settings = load_settings(path)
        self._saved = self.settings
        self._timer = QTimer(self, singleShot=True, interval=_SAVE_AFTER_MS)
        self._timer.timeout.connect(self.save)

    def change(self, **changes: object) -> None:
        """Set fields of `Settings`, by their names."""
        settings = msgspec.structs.replace(self.settings, **changes)
        if settings == self.settings:
            return
        self.settings = settings
        if not self._timer.isActive():
            self._timer.start()
        self.changed.emit()

    def save(self) -> None:
        """Write what has changed since the last time."""
        self._timer.stop()
        if self.settings == self._saved:
            return
        try:
            save_settings(self._path, self.settings)
            self._saved = self.settings
        except OSError as error:
            self.not_saved.emit(
                Sentence(
                    "The settings could not be saved ({error}). They last until you close Bough.", error=error.strerror
                )
            )
