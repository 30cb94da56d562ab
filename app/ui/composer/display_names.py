"""Translated names of answer formats, presets and parts of files."""

from __future__ import annotations

import re
from collections.abc import Mapping

from PySide6.QtCore import QCoreApplication

from app.model.generation_settings import FormatKind, Preset

translate = QCoreApplication.translate

_NUMBERED_PART = re.compile(r"(?P<kind>page|chapter|line|lines) (?P<numbers>\d+(?:–\d+)?)")


def format_name(kind: FormatKind | None) -> str:
    """Return the name of an answer format; None means free text."""
    names: Mapping[FormatKind | None, str] = {
        None: translate("FormatPopover", "Free text"),
        "json_schema": translate("FormatPopover", "JSON schema"),
        "regex": translate("FormatPopover", "Regex"),
        "choice": translate("FormatPopover", "Choices"),
        "lark": translate("FormatPopover", "Grammar"),
    }
    return names[kind]


def part_title(title: str) -> str:
    """Return the title of a part of a file. Titles made by Bough are translated; the model gets them in English."""
    if title == "beginning":
        return translate("PartsPopover", "Beginning")
    found = _NUMBERED_PART.fullmatch(title)
    if found is None:
        return title
    names = {
        "page": translate("PartsPopover", "Page {numbers}"),
        "chapter": translate("PartsPopover", "Chapter {numbers}"),
        "line": translate("PartsPopover", "Line {numbers}"),
        "lines": translate("PartsPopover", "Lines {numbers}"),
    }
    return names[found["kind"]].format(numbers=found["numbers"])


def preset_name(preset: Preset) -> str:
    """Return the name of a preset; the built-in ones are translated."""
    if not preset.is_built_in:
        return preset.name
    names = {
        "Precise": translate("PresetBar", "Precise"),
        "Balanced": translate("PresetBar", "Balanced"),
        "Creative": translate("PresetBar", "Creative"),
        "Wild": translate("PresetBar", "Wild"),
    }
    return names.get(preset.name, preset.name)
