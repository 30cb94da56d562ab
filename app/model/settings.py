"""What a person has set, kept as one small JSON file; it knows no window."""

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
SMALLEST_TEXT = 80
"""Percent of the size that it has as Bough comes."""
LARGEST_TEXT = 150

_S = TypeVar("_S", bound=Struct)


class Keeping(Struct, frozen=True, kw_only=True):
    """How much of what models have read is kept, and how; None: as the worker chooses."""

    limit_bytes: Size | None = None
    """In memory."""
    disk_limit_bytes: Size | None = None
    """Of all models together; 0: nothing is kept on disk."""
    kv_bits: Literal[4, 8] | None = None
    """None: as the model computes."""


class WindowPlace(Struct, frozen=True, kw_only=True):
    """Where a window stood on the screen, and what it showed."""

    x: int
    y: int
    width: Annotated[int, Meta(ge=1)]
    height: Annotated[int, Meta(ge=1)]
    is_maximized: bool = False
    conversation: int | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. A field that a file lacks has its default; one that it has too much is dropped."""

    model: str = "guide"
    recent_models: tuple[str, ...] = ()
    draft_models: dict[str, str] = {}
    """By the names of models, those that guess for them."""
    recent_drafts: tuple[str, ...] = ()
    """Models that have guessed for others, the last one first."""
    generation: GenerationSettings = field(default=GenerationSettings(), name="asking")
    """Of conversations without settings of their own."""
    presets: tuple[Preset, ...] = ()
    """Those that the person saved."""
    keeping: Keeping = Keeping()
    overflow: Overflow = "fail"
    theme: Theme = "system"
    sidebar_visible: bool = True
    tree_visible: bool = False
    tokens_visible: bool = False
    """Whether the tokens of answers are tinted; then answers are asked for with alternatives."""
    language: str = ""
    """A code; empty: the system's."""
    text_percent: Annotated[int, Meta(ge=SMALLEST_TEXT, le=LARGEST_TEXT)] = 100
    motion: Motion = "system"
    last_conversation: int | None = None
    windows: tuple[WindowPlace, ...] = ()
    """Those that were open when Bough ended, the first one first."""
    folded_sections: tuple[str, ...] = ("archive",)
    """Of the sidebar, by their keys."""
    names_conversations: bool = True
    """Whether a conversation gets its name from its first exchange."""
    keys: dict[str, str] = {}
    """Those that a person chose, by the names of the actions; empty: none."""

    def with_loaded(self, model: str, draft: str) -> Settings:
        """Return what is remembered once a model has loaded with a draft model; empty: with none."""
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
        """Return what may be offered as a draft model of a model: what has guessed before, and the other models."""
        names = dict.fromkeys((*self.recent_drafts, *self.recent_models))
        return tuple(name for name in names if name != model)[:MAX_RECENT_MODELS]


def _first(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return (name, *(other for other in names if other != name))[:MAX_RECENT_MODELS]


def load_settings(path: Path) -> Settings:
    """Read the settings; where the file is damaged or holds what can't be, as many of them as are good.

    The others have their defaults, as all have where there is no file. A bad file is kept beside, as `.damaged`.
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
        return _of_good_fields(Settings, msgspec.json.decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Settings()


def _of_good_fields(kind: type[_S], found: object) -> _S:
    """Return a `kind` with what is good of what was found; each other field has its default."""
    good: dict[str, object] = {}
    values = msgspec.convert(found, dict[str, object]) if isinstance(found, dict) else {}
    for info in structs.fields(kind):
        if info.encode_name not in values:
            continue
        value = values[info.encode_name]
        if isinstance(info.type, type) and issubclass(info.type, Struct):
            good[info.name] = _of_good_fields(info.type, value)
        else:
            with contextlib.suppress(msgspec.ValidationError):
                good[info.name] = msgspec.convert(value, info.type)
    return kind(**good)


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings, whole or not at all. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(settings), indent=2))


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` where `path` is, or leave what is there. Raises `OSError`."""
    # Beside it, and made as any new file is, so that it gets the rights that the person's files have.
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
