"""The user's settings, in one small JSON file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field, structs

from app.model.endpoints import MAX_ENDPOINTS, Endpoint
from app.model.generation_settings import GenerationSettings, Preset
from app.model.message import Overflow
from app.model.model_settings import ModelSettings
from app.model.own_files import make_folder, real_file, restrict, set_aside
from app.model.valid_parts import parsed, with_valid_fields
from worker.regular_file import read_regular
from worker.sentence import Sentence

_MAX_BYTES = 16 << 20
"""The largest settings file that is read. It usually has a few thousand bytes."""

Name: TypeAlias = Annotated[str, Meta(max_length=4096)]
"""The name or path of a model, or another short text."""
ConversationId: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Pixel: TypeAlias = Annotated[int, Meta(ge=-100_000, le=100_000)]
_Extent: TypeAlias = Annotated[int, Meta(ge=1, le=100_000)]
Size: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A size in bytes."""
Theme: TypeAlias = Literal["system", "light", "dark"]

Motion: TypeAlias = Literal["system", "less"]

MAX_RECENT_MODELS = 8
MAX_MODELS = 1000
"""The settings and draft models of at most this many models are kept."""
MAX_PRESETS = 1000
MAX_UNLOAD_MINUTES = 24 * 60
MIN_TEXT_PERCENT = 80
"""The smallest text size, in percent of the default size."""
MAX_TEXT_PERCENT = 200


class CacheSettings(Struct, frozen=True, kw_only=True):
    """Settings of the prompt cache. None means that the worker chooses."""

    limit_bytes: Size | None = None
    """The limit in memory."""
    disk_limit_bytes: Size | None = None
    """The limit on disk, for all models together. 0 means that nothing is stored on disk."""
    kv_bits: Literal[4, 8] | None = None
    """The precision of keys and values in bits; None means full precision."""


class LocalApiSettings(Struct, frozen=True, kw_only=True):
    """Whether and how other programs may use the window's model. The key is not among the settings."""

    is_on: bool = False
    port: Annotated[int, Meta(ge=1, le=65535)] = 2684
    allows_load: bool = False
    """Whether requests may load other models."""
    keeps_requests: bool = False
    """Whether requests are kept as conversations."""
    allows_network: bool = False
    """Whether programs on other computers may send requests."""
    aliases: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    """Patterns of names that mean the loaded model."""
    drop_rules: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    """Regular expressions for text that is removed from requests."""


class WindowPlace(Struct, frozen=True, kw_only=True):
    """The position of a window on the screen, and the conversation that it showed."""

    x: _Pixel
    y: _Pixel
    width: _Extent
    height: _Extent
    is_maximized: bool = False
    conversation: ConversationId | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. Missing fields of a file have their defaults; unknown ones are dropped."""

    model: Name = "guide"
    recent_models: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    draft_models: Annotated[dict[str, Name], Meta(max_length=MAX_MODELS)] = {}
    """The draft models, by the names of their main models."""
    recent_drafts: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    """Models that were draft models, the last one first."""
    of_models: Annotated[dict[str, ModelSettings], Meta(max_length=MAX_MODELS)] = {}
    """The settings of each model, by its name. Models without any have no entry."""
    model_folders: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    """Folders that the user added, in which models are searched."""
    unload_after_minutes: Annotated[int, Meta(ge=0, le=MAX_UNLOAD_MINUTES)] = 0
    """The model is unloaded after this many minutes without an answer. 0 means never."""
    generation: GenerationSettings = field(default=GenerationSettings(), name="asking")
    """The settings of conversations that have none of their own."""
    presets: Annotated[tuple[Preset, ...], Meta(max_length=MAX_PRESETS)] = ()
    """The user's own presets."""
    cache_settings: CacheSettings = field(default=CacheSettings(), name="keeping")
    local_api: LocalApiSettings = LocalApiSettings()
    endpoints: Annotated[tuple[Endpoint, ...], Meta(max_length=MAX_ENDPOINTS)] = ()
    """The servers that the user added. Without any, nothing leaves this machine."""
    overflow: Overflow = "fail"
    theme: Theme = "system"
    sidebar_visible: bool = True
    tree_visible: bool = False
    tokens_visible: bool = False
    """Whether the tokens of answers are tinted. If so, alternatives are requested with each answer."""
    all_figures: bool = False
    """Whether all figures of an answer's cost are shown below it, not only one."""
    language: Name = ""
    """A language code; empty means the language of the system."""
    text_percent: Annotated[int, Meta(ge=MIN_TEXT_PERCENT, le=MAX_TEXT_PERCENT)] = 100
    motion: Motion = "system"
    has_conversations: bool = False
    """Whether the store had conversations when Bough was closed. At its start, Bough reports missing ones."""
    last_conversation: ConversationId | None = None
    windows: Annotated[tuple[WindowPlace, ...], Meta(max_length=16)] = ()
    """The windows that were open when Bough was closed, the first one first."""
    folded_sections: Annotated[tuple[Name, ...], Meta(max_length=10_000)] = ("archive",)
    """The folded sections of the sidebar, by their keys."""
    names_conversations: bool = True
    """Whether conversations are named after their first exchange."""
    asks_for_releases: bool = False
    """Whether Bough asks the release feed of its build for newer versions. It never does so before the user agrees."""
    releases_asked_ms: Annotated[int, Meta(ge=0)] = 0
    """When the feed was asked last."""
    keys: Annotated[dict[str, Name], Meta(max_length=1000)] = {}
    """The keys that the user chose, by action; empty means no key."""

    def with_loaded(self, model: str, draft: str) -> Settings:
        """Return the settings after a model was loaded. `draft` is its draft model, empty if there is none."""
        recent = self.recent_models if model == "guide" else _first(model, self.recent_models)
        drafts = self.draft_models | {model: draft}
        return structs.replace(
            self,
            model=model,
            recent_models=recent,
            draft_models=_latest({name: draft for name, draft in drafts.items() if draft}),
            recent_drafts=_first(draft, self.recent_drafts) if draft else self.recent_drafts,
        )

    def without_model(self, model: str) -> Settings:
        """Return the settings after a model was deleted: it is neither offered nor loaded at the next start."""
        return structs.replace(
            self,
            model="guide" if self.model == model else self.model,
            recent_models=tuple(name for name in self.recent_models if name != model),
            draft_models={name: draft for name, draft in self.draft_models.items() if model not in {name, draft}},
            recent_drafts=tuple(name for name in self.recent_drafts if name != model),
        )

    def with_draft(self, model: str, draft: str) -> Settings:
        """Return the settings with another draft model for a model; an empty name means no draft model."""
        drafts = {name: other for name, other in self.draft_models.items() if name != model}
        return structs.replace(self, draft_models=_latest(drafts | {model: draft}) if draft else drafts)

    def with_model_settings(self, model: str, settings: ModelSettings) -> Settings:
        """Return the settings with new settings for a model. Beyond `MAX_MODELS` models, the oldest are dropped."""
        others = {name: one for name, one in self.of_models.items() if name != model}
        entries = [*others.items(), *([(model, settings)] if settings != ModelSettings() else [])]
        return structs.replace(self, of_models=dict(entries[-MAX_MODELS:]))

    def forgotten_in(self, after: Settings, changed: str) -> list[str]:
        """Return the models whose settings or draft models are missing in `after`, except the model that changed."""
        before = self.of_models.keys() - after.of_models.keys() | self.draft_models.keys() - after.draft_models.keys()
        return sorted(before - {changed})

    def possible_drafts(self, model: str) -> tuple[str, ...]:
        """Return models to offer as draft models of a model: recent draft models, then the other recent models."""
        names = dict.fromkeys((*self.recent_drafts, *self.recent_models))
        return tuple(name for name in names if name != model)[:MAX_RECENT_MODELS]


def _latest(drafts: dict[str, str]) -> dict[str, str]:
    return dict(list(drafts.items())[-MAX_MODELS:])


def _first(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return (name, *(other for other in names if other != name))[:MAX_RECENT_MODELS]


def load_settings(path: Path, report: Callable[[Sentence], None] = lambda _: None) -> Settings:
    """Read the settings. Without a file, all settings have their defaults.

    Invalid values are replaced by their defaults, and all others are used. The file is then kept under another name,
    and `report` is called with a sentence about it.
    """
    restrict(path)
    settings, left_out, why = read_settings(path)
    if left_out:
        kept = set_aside(path)
        if settings != Settings():
            with contextlib.suppress(OSError):
                save_settings(path, settings)
        names = ", ".join(name for name in left_out if name)
        report(_report_of(names, why, path if kept is None else kept))
    return settings


def read_settings(path: Path) -> tuple[Settings, list[str], str]:
    """Read the settings without changing anything.

    Return them, the names of what is invalid in the file (an empty name for the whole file), and why it can't be read.
    """
    left_out: list[str] = []
    try:
        found = parsed(read_regular(path, _MAX_BYTES))
    except FileNotFoundError:
        return Settings(), [], ""
    except (OSError, ValueError, RecursionError) as error:
        return Settings(), [""], str(error)
    return with_valid_fields(Settings, found, "", left_out), left_out, ""


def _report_of(names: str, why: str, kept: Path) -> Sentence:
    if names:
        return Sentence(
            "Some settings are invalid and were set aside: {names}. The others are used. The file is kept as {file}.",
            names=names,
            file=kept,
        )
    return Sentence(
        "The settings can't be read ({error}), so all have their defaults. The file is kept as {file}.",
        error=why or "they are not a JSON object",
        file=kept,
    )


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings atomically. Raises `OSError`."""
    make_folder(path.parent)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(settings), indent=2), is_own=True)


def write_atomically(path: Path, data: bytes, *, is_own: bool = False, waits: bool = True) -> None:
    """Replace the file at `path`, or leave it unchanged. A link to a file stays one. Raises `OSError`.

    `is_own`: only the user may read the file; otherwise it gets the usual permissions of the user's files. `waits`:
    wait until the file is on the disk, so that it survives a power failure.
    """
    path = real_file(path)
    temporary = path.with_name(f".bough-{os.urandom(8).hex()}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if is_own else 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if waits:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
