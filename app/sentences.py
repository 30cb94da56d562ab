"""Translates sentences of other parts of the program into the language of the window. Independent of widgets."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.numbers import counted, sized
from worker.sentence import Sentence, filled


def translated(text: str) -> str:
    """Return a sentence in the language of the user interface. Text without a translation is returned unchanged."""
    if not isinstance(text, Sentence):
        return QCoreApplication.translate("Sentences", text) if text else ""
    template = QCoreApplication.translate("Sentences", text.template)
    return filled(template, {name: _field(name, value) for name, value in text.fields.items()})


def _field(name: str, value: str | int) -> str:
    if isinstance(value, str):
        return translated(value) if isinstance(value, Sentence) else value
    return sized(value) if name.endswith("_bytes") else counted(value)
