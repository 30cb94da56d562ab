"""The settings as they are now, written to their file whenever they change; it knows no window."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.model.settings import Settings, load_settings, save_settings


class Preferences(QObject):
    """What a person has set."""

    changed = Signal()
    not_saved = Signal(str)
    """The file can't be written, and why; what was set holds until the program ends."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.settings: Settings = load_settings(path)

    def change(self, **changes: object) -> None:
        """Set fields of `Settings`, by their names."""
        settings = msgspec.structs.replace(self.settings, **changes)
        if settings == self.settings:
            return
        self.settings = settings
        try:
            save_settings(self._path, settings)
        except OSError as error:
            self.not_saved.emit(f"The settings could not be saved ({error.strerror}). They hold until Bough is closed.")
        self.changed.emit()
