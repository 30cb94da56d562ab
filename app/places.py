"""The folders for Bough's files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import platformdirs

STORE_NAME = "conversations.sqlite3"


@dataclass(frozen=True)
class Places:
    """One folder for each kind of file."""

    data: Path
    """The folder for conversations and models."""
    config: Path
    """The folder for settings."""
    cache: Path
    """The folder for files that can be computed again."""
    logs: Path
    """The folder for logs and reports of crashes."""

    @classmethod
    def of_user(cls) -> Places:
        """Return the usual folders of the operating system."""
        return cls(
            data=platformdirs.user_data_path("bough", appauthor=False),
            config=platformdirs.user_config_path("bough", appauthor=False),
            cache=platformdirs.user_cache_path("bough", appauthor=False),
            logs=platformdirs.user_log_path("bough", appauthor=False),
        )

    @classmethod
    def under(cls, folder: Path) -> Places:
        """Return places that are all below `folder`."""
        return cls(data=folder, config=folder, cache=folder, logs=folder / "logs")

    @property
    def store(self) -> Path:
        """The path of the store, the file with all conversations."""
        return self.data / STORE_NAME

    @property
    def reports(self) -> Path:
        """The folder for reports of crashes."""
        return self.logs / "reports"

    @property
    def models(self) -> Path:
        """The folder for downloaded and converted models."""
        return self.data / "models"
