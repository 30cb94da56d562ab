"""The links of a text. A popover shows the whole address of a link before it is opened."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QPoint, Qt, QUrl, Signal
from PySide6.QtGui import QCursor, QDesktopServices, QGuiApplication, QTextCursor, QTextDocument, QTextOption
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from app.ui.theme import scaled

_SAFE_SCHEMES = frozenset({"http", "https", "mailto"})
_WIDTH_PX = 420
_LINE_PX = 19
_MAX_LINES = 6
_CHARS_PER_LINE = 42


class LinkPopover(QFrame):
    """Shows an address with the buttons Open and Copy."""

    closed = Signal()

    def __init__(self, url: QUrl, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("popover")
        width = min(scaled(_WIDTH_PX), self.screen().availableGeometry().width())
        self.setFixedWidth(width)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName(self.tr("Link"))
        self._url = url
        # The address is shown in its encoded form, where letters of other scripts can't pass for Latin letters.
        self.address = url.toString(QUrl.ComponentFormattingOption.FullyEncoded)
        field = QPlainTextEdit(self.address)
        field.setObjectName("field")
        field.setReadOnly(True)
        field.setAccessibleName(self.tr("Link address"))
        field.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        field.setTabChangesFocus(True)
        num_lines = min(_MAX_LINES, 1 + len(self.address) * scaled(_WIDTH_PX) // (_CHARS_PER_LINE * width))
        field.setFixedHeight(num_lines * scaled(_LINE_PX) + 20)
        self.copy_button = QPushButton(self.tr("Copy"))
        self.copy_button.clicked.connect(self._copy)
        self.open_button = QPushButton(self.tr("Open"))
        self.open_button.setObjectName("primary")
        self.open_button.clicked.connect(self._open)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.copy_button)
        row.addWidget(self.open_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.setSpacing(8)
        column.addWidget(field)
        if not is_safe(url):
            self.open_button.hide()
            why = QLabel(self.tr("Bough opens only web and mail addresses. You can copy this one."))
            why.setObjectName("quiet")
            why.setWordWrap(True)
            column.addWidget(why)
        column.addLayout(row)

    def show_at(self, point: QPoint) -> None:
        """Open below a point of the screen, or above the point if there is not enough space below."""
        self.adjustSize()
        screen = QGuiApplication.screenAt(point) or QGuiApplication.primaryScreen()
        room = screen.availableGeometry()
        x = min(max(point.x(), room.left()), room.right() - self.width())
        y = point.y() if point.y() + self.height() <= room.bottom() else point.y() - self.height() - 24
        self.move(x, max(y, room.top()))
        self.show()
        (self.open_button if is_safe(self._url) else self.copy_button).setFocus(Qt.FocusReason.PopupFocusReason)

    def _open(self) -> None:
        self.close()
        QDesktopServices.openUrl(self._url)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.address)
        self.close()


def is_safe(url: QUrl) -> bool:
    """Return whether an address is safe to open in other programs."""
    return url.scheme().lower() in _SAFE_SCHEMES


class Link(NamedTuple):
    """The positions of a link in a document, and its address."""

    start: int
    end: int
    address: str


def links_in(document: QTextDocument) -> list[Link]:
    """Return the links of a document in order."""
    links: list[Link] = []
    block = document.begin()
    while block.isValid():
        for run in block.textFormats():
            address = run.format.anchorHref()
            start = block.position() + run.start
            if address and links and links[-1][1:] == (start, address):
                # The same link continues in another format.
                links[-1] = links[-1]._replace(end=start + run.length)
            elif address:
                links.append(Link(start, start + run.length, address))
        block = block.next()
    return links


class TextLinks:
    """Shows the popover for the links of a text, by click or one after another by key."""

    def __init__(self, text: QTextBrowser) -> None:
        self._text = text
        self._index = -1
        """The index of the link that `show_next` showed last."""
        self.popover: LinkPopover | None = None
        text.setOpenLinks(False)
        text.anchorClicked.connect(self._on_clicked)

    def show_next(self) -> bool:
        """Show the popover of the next link; after the last link, of the first. Return whether there is any link."""
        text, links = self._text, links_in(self._text.document())
        if not links:
            return False
        self._index = (self._index + 1) % len(links)
        link = links[self._index]
        cursor = QTextCursor(text.document())
        cursor.setPosition(link.start)
        cursor.setPosition(link.end, QTextCursor.MoveMode.KeepAnchor)
        text.setTextCursor(cursor)
        self._show(QUrl(link.address), text.viewport().mapToGlobal(text.cursorRect(cursor).bottomLeft()))
        return True

    def _on_clicked(self, url: QUrl) -> None:
        self._show(url, QCursor.pos() + QPoint(0, 12))

    def _show(self, url: QUrl, point: QPoint) -> None:
        self.popover = LinkPopover(url, self._text)
        self.popover.show_at(point)
