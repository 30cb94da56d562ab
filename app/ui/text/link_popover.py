"""Links of a text: each shows its whole address, Open and Copy before it is followed."""

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

_SAFE_SCHEMES = frozenset({"http", "https", "mailto"})
_WIDTH_PX = 420
_LINE_PX = 19
_MOST_LINES = 6
_CHARS_A_LINE = 42


class LinkPopover(QFrame):
    """Asks whether a link is to be opened."""

    closed = Signal()

    def __init__(self, url: QUrl, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("popover")
        self.setFixedWidth(_WIDTH_PX)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName(self.tr("Link"))
        self._url = url
        # As it is sent: letters of other scripts that look like ours show as what they are.
        self.address = url.toString(QUrl.ComponentFormattingOption.FullyEncoded)
        field = QPlainTextEdit(self.address)
        field.setObjectName("field")
        field.setReadOnly(True)
        field.setAccessibleName(self.tr("Where the link leads"))
        field.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        field.setTabChangesFocus(True)
        num_lines = min(_MOST_LINES, 1 + len(self.address) // _CHARS_A_LINE)
        field.setFixedHeight(num_lines * _LINE_PX + 20)
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
            why = QLabel(self.tr("Bough opens web and mail addresses alone. This is another one; it can be copied."))
            why.setObjectName("quiet")
            why.setWordWrap(True)
            column.addWidget(why)
        column.addLayout(row)

    def show_at(self, place: QPoint) -> None:
        """Open below a place on the screen, and within it."""
        self.adjustSize()
        screen = QGuiApplication.screenAt(place) or QGuiApplication.primaryScreen()
        room = screen.availableGeometry()
        x = min(max(place.x(), room.left()), room.right() - self.width())
        y = place.y() if place.y() + self.height() <= room.bottom() else place.y() - self.height() - 24
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
    """Whether an address is one that the system may be handed."""
    return url.scheme().lower() in _SAFE_SCHEMES


class Link(NamedTuple):
    """A link in a document: where it is, and where it leads."""

    start: int
    end: int
    address: str


def links_in(document: QTextDocument) -> list[Link]:
    """Return the links of a document."""
    links: list[Link] = []
    block = document.begin()
    while block.isValid():
        for run in block.textFormats():
            address = run.format.anchorHref()
            start = block.position() + run.start
            if address and links and links[-1][1:] == (start, address):
                # It looks another way from here on.
                links[-1] = links[-1]._replace(end=start + run.length)
            elif address:
                links.append(Link(start, start + run.length, address))
        block = block.next()
    return links


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
