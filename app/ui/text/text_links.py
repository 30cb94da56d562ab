"""The links of a text: by pointer, or one after another by key, each shows where it leads before it is followed."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QUrl
from PySide6.QtGui import QCursor, QTextCursor
from PySide6.QtWidgets import QTextBrowser

from app.ui.text.link_popover import LinkPopover, links_in


class TextLinks:
    """Asks about a text's links; it opens none."""

    def __init__(self, text: QTextBrowser) -> None:
        self._text = text
        self._number = -1
        """Of the link that was asked about last, by the key."""
        self.popover: LinkPopover | None = None
        text.setOpenLinks(False)
        text.anchorClicked.connect(self._on_clicked)

    def walk(self) -> bool:
        """Show where the next link leads, the first one after the last; return whether there is any."""
        text, links = self._text, links_in(self._text.document())
        if not links:
            return False
        self._number = (self._number + 1) % len(links)
        link = links[self._number]
        cursor = QTextCursor(text.document())
        cursor.setPosition(link.start)
        cursor.setPosition(link.end, QTextCursor.MoveMode.KeepAnchor)
        text.setTextCursor(cursor)
        self._show(QUrl(link.address), text.viewport().mapToGlobal(text.cursorRect(cursor).bottomLeft()))
        return True

    def _on_clicked(self, url: QUrl) -> None:
        self._show(url, QCursor.pos() + QPoint(0, 12))

    def _show(self, url: QUrl, place: QPoint) -> None:
        self.popover = LinkPopover(url, self._text)
        self.popover.show_at(place)
