"""A step of the tour: a branch leaves as a file, looked at before."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.tour.visitor import Visitor, expect
from app.ui.dialogs.export_window import ExportWindow


def export(visitor: Visitor) -> dict[str, Any]:
    """Write the branch that is shown to `transcript.md`."""
    visitor.press_key_of("export")
    sheet = visitor.opened(ExportWindow)
    # The system's dialog for folders is no part of the tour.
    sheet.set_folder(visitor.out)
    visitor.type_over(sheet.name_field, "transcript")
    visitor.wait("the preview", lambda: bool(sheet.preview.text.toPlainText()))
    visitor.picture("exporting", sheet)
    QTest.keyClick(sheet, Qt.Key.Key_Return)
    visitor.wait("the export", lambda: not sheet.is_working)
    text = (visitor.out / "transcript.md").read_text(encoding="utf-8")
    for message in visitor.controller.path:
        expect(message.text.strip() in text, f"the transcript lacks {message.text[:40]!r}")
    return {"characters": len(text)}
