"""What a person has set, kept as one small JSON file; it knows no window."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from app.model.message import Sampling

Theme: TypeAlias = Literal["system", "light", "dark"]

MAX_RECENT_MODELS = 8


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. A field that a file lacks has its default; one that it has too much is dropped."""

    model: str = "guide"
    recent_models: tuple[str, ...] = ()
    sampling: Sampling = Sampling()
    theme: Theme = "system"
    sidebar_visible: bool = True
    last_conversation: int | None = None


def load_settings(path: Path) -> Settings:
    """Read the settings; a missing or damaged file gives the defaults (a damaged one is kept beside, as `.damaged`)."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Settings)
    except FileNotFoundError:
        return Settings()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        with contextlib.suppress(OSError):
            path.replace(path.with_suffix(".damaged"))
        return Settings()


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings, whole or not at all. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(settings), indent=2))


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` where `path` is, or leave what is there. Raises `OSError`."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
