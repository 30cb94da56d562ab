"""What a person has set, kept as one small JSON file; it knows no window."""

from __future__ import annotations

import contextlib
import os
import secrets
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
    draft: str = ""
    """What was written in the composer and not sent."""


def load_settings(path: Path) -> Settings:
    """Read the settings; a missing or damaged file gives the defaults (a damaged one is kept beside, as `.damaged`)."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Settings)
    except FileNotFoundError:
        return Settings()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        with contextlib.suppress(OSError):
            path.replace(path.with_suffix(".damaged"))
        return Settings()


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings, whole or not at all. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(settings), indent=2))


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` where `path` is, or leave what is there. Raises `OSError`."""
    # Beside it, and made as any new file is, so that it gets the rights that the person's files have.
    temporary = path.with_name(f".bough-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
