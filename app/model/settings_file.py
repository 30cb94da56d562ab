"""Exports settings, presets and hooks to one file, for use on another computer. Reading the file changes nothing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, structs

from app.model.generation_settings import GenerationSettings
from app.model.settings import MAX_MODELS, MAX_PRESETS, Settings, write_atomically
from worker.regular_file import read_regular
from worker.sentence import Sentence, SentenceError

_Kept = TypeVar("_Kept")
_VERSION = 1
_MAX_BYTES = 16 << 20
_MAX_HOOK_CHARS = 1 << 20
_MAX_HOOKS = 200
_HOOK_NAME = re.compile(r"\w[\w -]{0,99}\.py")
_KEPT_FIELDS = frozenset(
    {
        "model",
        "recent_models",
        "draft_models",
        "recent_drafts",
        "model_folders",
        "cache_settings",
        "local_api",
        "endpoints",
        "asks_for_releases",
        "releases_asked_ms",
        "has_conversations",
        "last_conversation",
        "windows",
        "folded_sections",
    }
)
"""Settings of this computer, which are neither written nor taken over, such as who may use the local API."""

_HookText = Annotated[str, Meta(max_length=_MAX_HOOK_CHARS)]


class SettingsFileError(SentenceError):
    """A file can't be read as settings, or can't be written. Nothing was changed."""


class _File(Struct, frozen=True, kw_only=True):
    format: Literal["bough-settings"]
    version: int
    settings: Settings
    hooks: Annotated[dict[str, _HookText], Meta(max_length=_MAX_HOOKS)] = {}


class ReadSettings(Struct, frozen=True):
    """The contents of a file."""

    settings: Settings
    hooks: dict[str, str]
    """The text of each hook, by its file's name."""

    @property
    def changes(self) -> dict[str, Any]:
        """The settings to take over, by field. They switch no hooks on; presets contain the names of their hooks."""
        taken = {name: getattr(self.settings, name) for name in structs.asdict(self.settings) if _is_taken(name)}
        taken["generation"] = structs.replace(self.settings.generation, hooks=())
        return taken


def _is_taken(name: str) -> bool:
    return name not in _KEPT_FIELDS


def write_settings_file(path: Path, settings: Settings, hooks_folder: Path) -> int:
    """Write settings and the hooks of a folder; return the number of hooks. Raises `SettingsFileError`."""
    usual = Settings()
    shared = structs.replace(settings, **{name: getattr(usual, name) for name in _KEPT_FIELDS})
    hooks = _read_hooks(hooks_folder)
    file = _File(format="bough-settings", version=_VERSION, settings=shared, hooks=hooks)
    try:
        write_atomically(path, msgspec.json.format(msgspec.json.encode(file), indent=2), is_own=True)
    except OSError as error:
        raise SettingsFileError(
            Sentence("The settings could not be written to {file} ({error}).", file=path, error=_reason(error))
        ) from error
    return len(hooks)


def _read_hooks(folder: Path) -> dict[str, str]:
    """Return the user's hooks, without files that can't be hooks."""
    hooks: dict[str, str] = {}
    try:
        files = sorted(file for file in folder.iterdir() if _HOOK_NAME.fullmatch(file.name))
    except OSError:
        return hooks
    for file in files[:_MAX_HOOKS]:
        try:
            hooks[file.name] = read_regular(file, _MAX_HOOK_CHARS).decode("utf-8")
        except (OSError, ValueError):
            continue
    return hooks


def read_settings_file(path: Path) -> ReadSettings:
    """Read a file of `write_settings_file`. Every part must be valid. Raises `SettingsFileError`."""
    try:
        data = read_regular(path, _MAX_BYTES)
    except (OSError, ValueError) as error:
        raise SettingsFileError(
            Sentence("{file} can't be read ({error}). Nothing was changed.", file=path, error=_reason(error))
        ) from error
    try:
        found = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise SettingsFileError(
            Sentence(
                "{file} is not a settings file of Bough, or it is damaged ({error}). Nothing was changed.",
                file=path,
                error=error,
            )
        ) from error
    if found.version > _VERSION:
        raise SettingsFileError(
            Sentence(
                "{file} comes from a newer version of Bough. Nothing was changed. Import it with that version.",
                file=path,
            )
        )
    wrong = next((name for name in found.hooks if not _HOOK_NAME.fullmatch(name)), None)
    if wrong is not None:
        raise SettingsFileError(
            Sentence(
                "{file} contains a hook with an invalid name (“{name}”). Nothing was changed.",
                file=path,
                name=wrong[:100],
            )
        )
    return ReadSettings(found.settings, dict(found.hooks))


def add_hooks(hooks: dict[str, str], folder: Path) -> list[str]:
    """Write hooks into a folder. Return the names of hooks that were skipped because different ones have these names.

    If it raises `SettingsFileError`, no hook was added.
    """
    here = _read_hooks(folder)
    new = {name: text for name, text in hooks.items() if name not in here and not (folder / name).exists()}
    made: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in new.items():
            write_atomically(folder / name, text.encode("utf-8"), is_own=True)
            made.append(folder / name)
    except (OSError, UnicodeEncodeError) as error:
        for file in made:
            file.unlink(missing_ok=True)
        raise SettingsFileError(
            Sentence("The hooks could not be written ({error}). Nothing was changed.", error=_reason(error))
        ) from error
    return [name for name, text in hooks.items() if name not in new and here.get(name) != text]


def keep_present(settings: Settings, folder: Path) -> Path:
    """Write the present settings and hooks into a new file in their folder. Return its path.

    Raises `SettingsFileError`.
    """
    number = 1
    while (path := folder / f"settings before import {number}.json").exists():
        number += 1
    write_settings_file(path, settings, folder / "hooks")
    return path


def merged(
    now: Settings, read: ReadSettings, without_hooks: Iterable[str] = ()
) -> tuple[dict[str, Any], list[Sentence]]:
    """Return the changes to the present settings, and sentences about what there is no room for.

    Presets and settings of models are added, and replace those of the same names. All present ones are kept.
    `without_hooks`: names of hooks that the presets should not use.
    """
    changes = read.changes
    left_out = {name.removesuffix(".py") for name in without_hooks}
    present = {preset.name: preset for preset in now.presets}
    found = {
        preset.name: structs.replace(preset, generation=_without(preset.generation, left_out))
        for preset in read.settings.presets
    }
    presets, num_presets = _added(present, found, MAX_PRESETS)
    changes["presets"] = tuple(presets.values())
    changes["of_models"], num_models = _added(now.of_models, read.settings.of_models, MAX_MODELS)
    sentences: list[Sentence] = []
    if num_presets:
        sentences.append(
            Sentence(
                "Presets that were not imported, because Bough keeps at most {limit}: {num_presets}.",
                limit=MAX_PRESETS,
                num_presets=num_presets,
            )
        )
    if num_models:
        sentences.append(
            Sentence(
                "Models whose settings were not imported, because Bough keeps those of at most {limit}: {num_models}.",
                limit=MAX_MODELS,
                num_models=num_models,
            )
        )
    return changes, sentences


def _added(present: dict[str, _Kept], found: dict[str, _Kept], limit: int) -> tuple[dict[str, _Kept], int]:
    """Return the present entries with those that were found, and how many of these exceed the limit."""
    together = present | found
    return dict(itertools.islice(together.items(), limit)), max(len(together) - limit, 0)


def _without(generation: GenerationSettings, hooks: set[str]) -> GenerationSettings:
    return structs.replace(generation, hooks=tuple(name for name in generation.hooks if name not in hooks))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
