"""The formats of exports in people's words: a name, and one line on what it is good for."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from app.model.exports.format_names import FORMATS, Format


class FormatWords(NamedTuple):
    """What is said of a format."""

    format: Format
    name: str
    line: str


def all_formats() -> list[FormatWords]:
    """Return what is said of each format, in the order in which they are offered."""
    return [FormatWords(format_, _name(format_), _line(format_)) for format_ in FORMATS]


def _name(format_: Format) -> str:
    match format_:
        case "md":
            return QCoreApplication.translate("Export", "Markdown")
        case "html":
            return QCoreApplication.translate("Export", "Web page")
        case "pdf":
            return QCoreApplication.translate("Export", "PDF")
        case "txt":
            return QCoreApplication.translate("Export", "Plain text")
        case "odt":
            return QCoreApplication.translate("Export", "OpenDocument")
        case "openai-jsonl":
            return QCoreApplication.translate("Export", "OpenAI JSON Lines")
        case "sharegpt-jsonl":
            return QCoreApplication.translate("Export", "ShareGPT JSON Lines")
        case "preference-jsonl":
            return QCoreApplication.translate("Export", "Preference pairs")
        case "bough":
            return QCoreApplication.translate("Export", "Bough")


def _line(format_: Format) -> str:
    match format_:
        case "md":
            return QCoreApplication.translate("Export", "Text with headings; Bough reads it back.")
        case "html":
            return QCoreApplication.translate("Export", "One file that needs nothing else; branches fold.")
        case "pdf":
            return QCoreApplication.translate("Export", "Pages with numbers, and an outline of the messages.")
        case "txt":
            return QCoreApplication.translate("Export", "Nothing is marked up, nothing is changed.")
        case "odt":
            return QCoreApplication.translate("Export", "For word processors; formulas are pictures.")
        case "openai-jsonl":
            return QCoreApplication.translate("Export", "For fine-tuning: one chat a line, one for each branch.")
        case "sharegpt-jsonl":
            return QCoreApplication.translate("Export", "For fine-tuning: the form that many tools read.")
        case "preference-jsonl":
            return QCoreApplication.translate("Export", "For fine-tuning: the answer shown, and each one beside it.")
        case "bough":
            return QCoreApplication.translate("Export", "Everything, nothing lost: all that Bough knows of it.")
