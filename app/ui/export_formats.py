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
    return [FormatWords(format_, *_words(format_)) for format_ in FORMATS]


def _words(format_: Format) -> tuple[str, str]:
    tr = QCoreApplication.translate
    match format_:
        case "md":
            return tr("Export", "Markdown"), tr("Export", "Text with headings; Bough reads it back.")
        case "html":
            return tr("Export", "Web page"), tr("Export", "One file that needs nothing else; branches fold.")
        case "pdf":
            return tr("Export", "PDF"), tr("Export", "Pages with numbers, and an outline of the messages.")
        case "txt":
            return tr("Export", "Plain text"), tr("Export", "Nothing is marked up, nothing is changed.")
        case "odt":
            return tr("Export", "OpenDocument"), tr("Export", "For word processors; formulas are pictures.")
        case "openai-jsonl":
            return tr("Export", "OpenAI JSON Lines"), tr(
                "Export", "For fine-tuning: one chat a line, one for each branch."
            )
        case "sharegpt-jsonl":
            return tr("Export", "ShareGPT JSON Lines"), tr("Export", "For fine-tuning: the form that many tools read.")
        case "preference-jsonl":
            return tr("Export", "Preference pairs"), tr(
                "Export", "For fine-tuning: the answer shown, and each one beside it."
            )
        case "bough":
            return tr("Export", "Bough"), tr("Export", "Everything, nothing lost: all that Bough knows of it.")
