"""A window with a page of docs/."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.ui.parts.layouts import scrolled
from app.ui.parts.sheet import Sheet
from app.ui.text.message_text import MessageText
from app.ui.theme import Theme

_WIDTH_PX, _HEIGHT_PX = 760, 720


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


def _page(name: str) -> Path:
    """Return the path of a page, among the resources of an installed Bough or in a checkout."""
    resources = Path(str(importlib.resources.files("resources")))
    installed = resources / "docs" / name
    return installed if installed.exists() else resources.parent / "docs" / name
