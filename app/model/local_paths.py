"""Removes this computer's folders from exports: an absolute path becomes its last name.

The texts of messages are never changed, because they belong to the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, cast

from msgspec import structs

from app.model.generation_settings import GenerationSettings
from app.model.message import Conversation, Message, Record
from app.model.project import Project
from worker.sentence import SentenceParts, received

_HUB_FOLDER = re.compile(r"models--(?P<repo>[^/\\]+)")
_PATH_FIELDS = frozenset({"path", "file", "folder", "model", "name", "place", "source"})
"""Fields of sentences whose whole value may be a path, with spaces in it."""
_STARTS = r"(?:file://)?(?:~|[A-Za-z]:|\\\\)?"
_QUOTED = re.compile(rf"(?<=[\"'“‘«`])(?P<path>{_STARTS}[/\\][^\"'”’»`\n]*[/\\][^\"'”’»`\n]*)(?=[\"'”’»`])")
_BARE = re.compile(rf"(?<![\w./:\\~])(?P<path>{_STARTS}(?:[/\\][^\s/\\\"'”’»`,;:()<>|]+){{2,}}[/\\]?)")


def name_of(path: str) -> str:
    """Return the last name of an absolute path; a downloaded model's is "owner/model". Other names are unchanged."""
    path_type = _path_type(path)
    if path_type is None:
        return path
    parts = path_type(path).parts
    repo = next((found["repo"] for part in parts if (found := _HUB_FOLDER.fullmatch(part))), None)
    return repo.replace("--", "/") if repo is not None else path_type(path).name or path


def without_folders(text: str, folders: Iterable[str] = ()) -> str:
    """Return a text with names in place of absolute paths.

    `folders` are known folders, by which paths with spaces are found.
    """
    if "/" not in text and "\\" not in text:
        return text
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(f"{folder}/", "").replace(f"{folder}\\", "")
    for pattern in (_QUOTED, _BARE):
        text = pattern.sub(lambda found: name_of(found["path"].removeprefix("file://")), text)
    return text


def shareable(message: Message, folders: Iterable[str] = ()) -> Message:
    """Return a message for others: its text, and its record without folders. `folders` as in `without_folders`."""
    if message.role == "file":
        name, newline, text = message.text.partition("\n")
        if name_of(name) != name:
            message = structs.replace(message, text=f"{name_of(name)}{newline}{text}")
    record = message.record
    if record is None:
        return message
    changed = _changed(record, folders)
    return structs.replace(message, record=structs.replace(record, **changed)) if changed else message


def shareable_conversation(conversation: Conversation) -> Conversation:
    """Return a conversation whose model is named without its folder."""
    name = name_of(conversation.model)
    return conversation if name == conversation.model else structs.replace(conversation, model=name)


def shareable_project(project: Project) -> Project:
    """Return a project whose models, hooks and files are named without their folders."""
    files = tuple(structs.replace(file, name=name_of(file.name)) for file in project.files)
    generation = None if project.generation is None else shareable_settings(project.generation)
    return structs.replace(project, model=name_of(project.model), files=files, generation=generation)


def shareable_settings(settings: GenerationSettings) -> GenerationSettings:
    """Return settings whose models, hooks and preset are named without their folders."""
    return structs.replace(
        settings,
        models=tuple(map(name_of, settings.models)),
        hooks=tuple(map(name_of, settings.hooks)),
        hook_options=_options(settings.hook_options),
        preset=name_of(settings.preset),
    )


def folders_of(names: Iterable[str]) -> set[str]:
    """Return the folders in which absolute paths lie."""
    found = {str(path_type(name).parent) for name in names if (path_type := _path_type(name)) is not None}
    # A folder at the very top reveals nothing, so it is not removed.
    return {folder for folder in found if len(folder) > len("C:\\")}


def _changed(record: Record, folders: Iterable[str]) -> dict[str, Any]:
    """Return the changed values of those fields of a record that contain folders."""
    new: dict[str, Any] = {
        "model": name_of(record.model),
        "hooks": tuple(map(name_of, record.hooks)),
        "hook_options": _options(record.hook_options),
        "hook_records": tuple(structs.replace(one, name=name_of(one.name)) for one in record.hook_records),
        "notices": tuple(_parts(notice, folders) for notice in record.notices),
    }
    if record.error is not None:
        parts = None if record.error_parts is None else _parts(record.error_parts, folders)
        is_plain_text = parts is None or not parts.template
        new["error_parts"] = parts
        new["error"] = without_folders(record.error, folders) if is_plain_text else str(received("", parts))
    return {name: value for name, value in new.items() if value != getattr(record, name)}


def _parts(sentence: SentenceParts, folders: Iterable[str]) -> SentenceParts:
    fields: dict[str, str | int | SentenceParts] = {}
    for name, value in sentence.fields.items():
        match value:
            case SentenceParts():
                fields[name] = _parts(value, folders)
            case str() if name in _PATH_FIELDS and name_of(value) != value:
                fields[name] = name_of(value)
            case str():
                fields[name] = without_folders(value, folders)
            case _:
                fields[name] = value
    return SentenceParts(sentence.template, fields)


def _options(options: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name_of(name): _without_paths(values) for name, values in options.items()}


def _without_paths(value: Any) -> Any:
    """Return a JSON value with names in place of texts that are absolute paths."""
    match value:
        case str():
            return name_of(value)
        case list():
            return [_without_paths(item) for item in cast("list[Any]", value)]
        case dict():
            return {key: _without_paths(item) for key, item in cast("dict[str, Any]", value).items()}
        case _:
            return value


def _path_type(text: str) -> type[PurePosixPath | PureWindowsPath] | None:
    """Return the kind of an absolute path with a folder; None for other texts, such as "/no_think"."""
    if "\n" in text:
        return None
    if text.startswith(("/", "~/")) and PurePosixPath(text).parent.name:
        return PurePosixPath
    path = PureWindowsPath(text)
    return PureWindowsPath if path.is_absolute() and (path.parent.name or path.drive.startswith("\\")) else None
