"""The folders in which Bough keeps things; it knows no window."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import platformdirs

STORE_NAME = "conversations.sqlite3"


@dataclass(frozen=True)
class Places:
    """Where things are kept."""

    data: Path
    """Conversations."""
    config: Path
    """Settings."""
    cache: Path
    """What can be computed again."""

    @classmethod
    def of_user(cls) -> Places:
        """The folders that the system has for them."""
        return cls(
            data=platformdirs.user_data_path("bough", appauthor=False),
            config=platformdirs.user_config_path("bough", appauthor=False),
            cache=platformdirs.user_cache_path("bough", appauthor=False),
        )

    @classmethod
    def under(cls, folder: Path) -> Places:
        """Everything in one folder."""
        return cls(data=folder, config=folder, cache=folder)

    @property
    def store(self) -> Path:
        """The file of all conversations."""
        return self.data / STORE_NAME
