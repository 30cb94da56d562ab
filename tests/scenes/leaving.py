"""Scenes of import, export, search, trash and backups."""

from __future__ import annotations

import json

from PySide6.QtWidgets import QWidget

from app.ui.dialogs.export_window import ExportWindow
from tests.scenes.stage import Stage


def searching(stage: Stage) -> QWidget:
    stage.act("search_all")
    search = stage.window.dialogs.search
    search.field.setText("the answer")
    stage.wait(lambda: search.list.chosen is not None)
    return stage.window


def exporting(stage: Stage) -> QWidget:
    stage.open("code")
    return _export(stage)


def exporting_pages(stage: Stage) -> QWidget:
    """The whole tree as pages."""
    stage.open("versions")
    sheet = _export(stage)
    sheet.scopes.choose(2)
    sheet.formats.setCurrentIndex(sheet.formats.findData("pdf"))
    stage.wait(lambda: sheet.preview.isHidden() or sheet.preview.page.isVisible())
    return sheet


def importing(stage: Stage) -> QWidget:
    """Conversations that can be imported, a duplicate, and something that can't be read."""
    chats = [
        {"messages": [{"role": "user", "content": f"Question {number % 9}"}, {"role": "tool", "content": "4"}]}
        for number in range(10)
    ]
    (stage.folder / "chats.jsonl").write_text("\n".join([*map(json.dumps, chats), "{broken"]))
    sheet = stage.window.dialogs.show_import([stage.folder / "chats.jsonl", stage.folder / "missing.bough"])
    stage.wait(lambda: not sheet.is_working)
    sheet.twins.heading.setChecked(True)
    return sheet


def trash(stage: Stage) -> QWidget:
    """A deleted conversation and a pruned branch; both are back when the scene is played again."""
    stage.open("versions")
    stage.controller.prune(stage.controller.shown.path[-1].id)
    stage.application.program.conversations.delete(stage.planted["Trip plans"])
    sheet = stage.window.dialogs.show_trash()
    stage.wait(lambda: sheet.list.count() >= 2)
    stage.controller.undo_delete(stage.planted["Trip plans"])
    stage.controller.undo()
    return sheet


def backups(stage: Stage) -> QWidget:
    return stage.window.dialogs.show_backups()


def running_again(stage: Stage) -> QWidget:
    """An answer of the guide that was replayed exactly."""
    stage.controller.send("What is a branch?")
    stage.wait(lambda: stage.controller.shown.streaming_message is None)
    sheet = stage.window.dialogs.show_replay()
    assert sheet is not None
    stage.wait(lambda: sheet.is_over)
    return sheet


def _export(stage: Stage) -> ExportWindow:
    sheet = stage.window.dialogs.show_export()
    assert sheet is not None
    stage.wait(lambda: bool(sheet.preview.text.toPlainText()))
    return sheet
