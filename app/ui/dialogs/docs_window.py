"""Windows with a text to read: a page of docs/, or a crash report."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from app.ui.parts.layouts import scrolled
from app.ui.parts.sheet import Sheet
from app.ui.text.message_text import MessageText
from app.ui.theme import Theme

_WIDTH_PX, _HEIGHT_PX = 760, 720
_REPORT_PX = 760, 520
_MAX_REPORT_CHARS = 1 << 20


class DocsWindow(Sheet):
    """Shows the page. Its code blocks have buttons to copy them."""

    def __init__(self, page_name: str, title: str, theme: Theme, parent: QWidget) -> None:
        """`page_name` is the name of a file in docs/."""
        super().__init__(title, parent)
        self.text = MessageText(theme, is_markdown=True)
        self.text.setAccessibleName(self.windowTitle())
        self.text.set_text(_page(page_name).read_text(encoding="utf-8"))
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 8, 0)
        column.addWidget(self.text)
        column.addStretch(1)
        area = scrolled(page)
        # With the focus, the page scrolls by arrow keys and Page Down.
        area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        area.setAccessibleName(self.windowTitle())
        self.body.addWidget(area, 1)
        self.close_button = self.add_button(self.tr("Close"), self.close, is_primary=True)
        self.open_at(_WIDTH_PX, _HEIGHT_PX)
        area.setFocus(Qt.FocusReason.OtherFocusReason)


class ReportWindow(Sheet):
    """Shows a report, which the user may copy or delete."""

    def __init__(self, path: Path, parent: QWidget) -> None:
        super().__init__(self.tr("Crash report"), parent)
        self._path = path
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.text.setAccessibleName(self.windowTitle())
        # Tab moves the focus out of the text.
        self.text.setTabChangesFocus(True)
        try:
            self.text.setPlainText(path.read_text("utf-8", "replace")[:_MAX_REPORT_CHARS])
        except OSError as error:
            self.text.setPlainText(self.tr("The report can't be read ({}).").format(error.strerror))
        self.body.addWidget(self.text, 1)
        self.note.setText(
            self.tr(
                "The report contains none of your texts and was not sent to anyone. If you report the problem, "
                "include a copy of it."
            )
        )
        self.delete_button = self.add_button(self.tr("Delete"), self._delete)
        self.copy_button = self.add_button(self.tr("Copy"), self._copy)
        self.close_button = self.add_button(self.tr("Close"), self.close, is_primary=True)
        self.open_at(*_REPORT_PX)
        self.text.setFocus(Qt.FocusReason.OtherFocusReason)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
        self.note.setText(self.tr("Copied."))

    def _delete(self) -> None:
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            self.note.setText(self.tr("The report can't be deleted ({}).").format(error.strerror))
        else:
            self.close()


def _page(name: str) -> Path:
    """Return the path of a page, among the resources of an installed Bough or in a checkout."""
    resources = Path(str(importlib.resources.files("resources")))
    installed = resources / "docs" / name
    return installed if installed.exists() else resources.parent / "docs" / name
