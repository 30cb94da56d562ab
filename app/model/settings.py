"""The user's settings, in one small JSON file."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct, field, structs

from app.model.generation_settings import GenerationSettings, Preset
from app.model.message import Overflow

Size: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""Bytes."""
Theme: TypeAlias = Literal["system", "light", "dark"]

Motion: TypeAlias = Literal["system", "less"]

MAX_RECENT_MODELS = 8
MIN_TEXT_PERCENT = 80
"""In percent of the default size."""
MAX_TEXT_PERCENT = 150

_S = TypeVar("_S", bound=Struct)


class CacheSettings(Struct, frozen=True, kw_only=True):
    """Settings of the cache of what models have read. None means that the worker chooses."""

    limit_bytes: Size | None = None
    """The limit in memory."""
    disk_limit_bytes: Size | None = None
    """The limit on disk, for all models together. 0 means that nothing is kept on disk."""
    kv_bits: Literal[4, 8] | None = None
    """None means full precision."""


class WindowPlace(Struct, frozen=True, kw_only=True):
    """The position of a window on the screen, and the conversation that it showed."""

    x: int
    y: int
    width: Annotated[int, Meta(ge=1)]
    height: Annotated[int, Meta(ge=1)]
    is_maximized: bool = False
    conversation: int | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. Missing fields of a file have their defaults; unknown ones are dropped."""

    model: str = "guide"
    recent_models: tuple[str, ...] = ()
    draft_models: dict[str, str] = {}
    """The draft models, by the names of their main models."""
    recent_drafts: tuple[str, ...] = ()
    """Models that were draft models, the last one first."""
    generation: GenerationSettings = field(default=GenerationSettings(), name="asking")
    """The settings of conversations that have none of their own."""
    presets: tuple[Preset, ...] = ()
    """The user's own presets."""
    cache_settings: CacheSettings = field(default=CacheSettings(), name="keeping")
    overflow: Overflow = "fail"
    theme: Theme = "system"
    sidebar_visible: bool = True
    tree_visible: bool = False
    tokens_visible: bool = False
    """Whether the tokens of answers are tinted. If so, alternatives are requested with each answer."""
    language: str = ""
    """A language code; empty means the language of the system."""
    text_percent: Annotated[int, Meta(ge=MIN_TEXT_PERCENT, le=MAX_TEXT_PERCENT)] = 100
    motion: Motion = "system"
    has_conversations: bool = False
    """Whether the store had conversations when Bough was closed. If they are gone at the next start, that is said."""
    last_conversation: int | None = None
    windows: tuple[WindowPlace, ...] = ()
    """The windows that were open when Bough was closed, the first one first."""
    folded_sections: tuple[str, ...] = ("archive",)
    """The folded sections of the sidebar, by their keys."""
    names_conversations: bool = True
    """Whether conversations are named after their first exchange."""
    keys: dict[str, str] = {}
    """The keys that the user chose, by action; empty means no key."""

    def with_loaded(self, model: str, draft: str) -> Settings:
        """Return the settings after a model was loaded. `draft` is its draft model, empty if there is none."""
        recent = self.recent_models if model == "guide" else _first(model, self.recent_models)
        drafts = self.draft_models | {model: draft}
        return structs.replace(
            self,
            model=model,
            recent_models=recent,
            draft_models={name: drafts[name] for name in ("guide", *recent) if drafts.get(name)},
            recent_drafts=_first(draft, self.recent_drafts) if draft else self.recent_drafts,
        )

    def possible_drafts(self, model: str) -> tuple[str, ...]:
        """Return models to offer as draft models of a model: recent draft models, then the other recent models."""
        names = dict.fromkeys((*self.recent_drafts, *self.recent_models))
        return tuple(name for name in names if name != model)[:MAX_RECENT_MODELS]


def _first(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return (name, *(other for other in names if other != name))[:MAX_RECENT_MODELS]


def load_settings(path: Path) -> Settings:
    """Read the settings. Without a file, all settings have their defaults.

    From a damaged file all valid settings are read; the file is kept with the suffix `.damaged`.
    """
    data = b""
    try:
        data = path.read_bytes()
        return msgspec.json.decode(data, type=Settings)
    except FileNotFoundError:
        return Settings()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        settings = _recovered(data)
        with contextlib.suppress(OSError):
            path.replace(path.with_suffix(".damaged"))
            if settings != Settings():
                save_settings(path, settings)
        return settings


def _recovered(data: bytes) -> Settings:
    try:
        return _with_valid_fields(Settings, msgspec.json.decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Settings()


def _with_valid_fields(kind: type[_S], found: object) -> _S:
    """Return a `kind` with the valid fields of `found`; all others have their defaults."""
    valid: dict[str, object] = {}
    values = msgspec.convert(found, dict[str, object]) if isinstance(found, dict) else {}
    for info in structs.fields(kind):
        if info.encode_name not in values:
            continue
        value = values[info.encode_name]
        if isinstance(info.type, type) and issubclass(info.type, Struct):
            valid[info.name] = _with_valid_fields(info.type, value)
        else:
            with contextlib.suppress(msgspec.ValidationError):
                valid[info.name] = msgspec.convert(value, info.type)
    return kind(**valid)


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings atomically. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(settings), indent=2))


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the file at `path`, or leave it unchanged. Raises `OSError`."""
    # A new file beside it, so that it gets the usual permissions of the user's files.
    temporary = path.with_name(f".bough-{os.urandom(8).hex()}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
