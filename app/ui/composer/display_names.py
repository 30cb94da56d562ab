"""Translated names of answer formats and presets."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QCoreApplication

from app.model.generation_settings import FormatKind, Preset

translate = QCoreApplication.translate


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
