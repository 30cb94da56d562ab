"""Steps of the tour: an answer that must be JSON of a certain form, and a file that goes with a question."""

from __future__ import annotations

import json
from typing import Any

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest

from app.tour.visitor import Visitor, expect, figures_of
from app.ui.composer.format_popover import FormatPopover

_SCHEMA = (
    '{"type": "object", "properties": {"topic": {"enum": ["branches", "tokens", "exports"]}, '
    '"is_kept": {"type": "boolean"}}, "required": ["topic", "is_kept"], "additionalProperties": false}'
)
_NOTES = "Shopping for the week\n\n- apples\n- bread\n- a map of the forest\n"


def ask_for_a_form(visitor: Visitor) -> dict[str, Any]:
    """Write a schema that is looked at while it is written; the answer keeps to it."""
    visitor.press_key_of("new")
    visitor.press_key_of("answer_format")
    popover = visitor.opened(FormatPopover)
    visitor.click(popover.kinds["json_schema"])
    visitor.click(popover.editor.viewport())
    QTest.keyClicks(popover.editor, "{")
    visitor.wait("what is wrong with half a schema", lambda: popover.verdict.objectName() == "failure")
    visitor.type_over(popover.editor, _SCHEMA)
    visitor.wait("that the schema can be used", lambda: popover.verdict.objectName() == "good")
    visitor.picture("answer format")
    QTest.keyClick(popover, Qt.Key.Key_Escape)
    visitor.ask("Is what a model has read kept?")
    answer = visitor.finished_answer()
    said = json.loads(answer.text)
    expect(set(said) == {"topic", "is_kept"} and isinstance(said["is_kept"], bool), "the answer has another form")
    return {**figures_of(answer), "said": said}


def attach_a_file(visitor: Visitor) -> dict[str, Any]:
    """Paste a file into the composer, see how large it is for the model, and ask."""
    visitor.press_key_of("new")
    file = visitor.folder / "notes.txt"
    file.write_text(_NOTES, encoding="utf-8")
    copied = QMimeData()
    copied.setUrls([QUrl.fromLocalFile(str(file))])
    QGuiApplication.clipboard().setMimeData(copied)
    composer = visitor.window.composer

    def chips() -> list[str]:
        return [button.accessibleName() for button in composer.attachments.buttons]

    QTest.keySequence(composer.text, QKeySequence(QKeySequence.StandardKey.Paste))
    QGuiApplication.clipboard().clear()
    visitor.wait("how large the file is", lambda: any("tokens" in chip for chip in chips()))
    visitor.picture("attached")
    visitor.ask("What is in my notes?")
    answer = visitor.finished_answer()
    expect(_NOTES.strip() in visitor.controller.path[-2].text, "the file did not go along")
    return figures_of(answer)
