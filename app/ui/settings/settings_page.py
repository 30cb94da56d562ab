"""Base class of the settings pages: a column of cards, and optionally a footer."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLayout, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import scrolled

_MARGIN_PX, _NARROW_MARGIN_PX = 16, 8
_NARROW_PX = 420


class SettingsPage(QWidget):
    """Subclasses fill `cards`, which scroll if they do not fit."""

    def __init__(self, *, fills_height: bool = False) -> None:
        """`fills_height` means that the cards grow with the window."""
        super().__init__()
        page = QWidget()
        column = self._column = QVBoxLayout(page)
        column.setContentsMargins(_MARGIN_PX, _MARGIN_PX, _MARGIN_PX, _MARGIN_PX)
        column.setSpacing(12)
        self.cards = QVBoxLayout()
        self.cards.setSpacing(12)
        column.addLayout(self.cards)
        if not fills_height:
            column.addStretch(1)
        self._outer = QVBoxLayout(self)
        self._outer.setContentsMargins(0, 0, 0, 0)
        self._outer.setSpacing(0)
        self._outer.addWidget(scrolled(page), 1)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside = _MARGIN_PX if event.size().width() >= _NARROW_PX else _NARROW_MARGIN_PX
        self._column.setContentsMargins(beside, _MARGIN_PX, beside, _MARGIN_PX)

    def add_footer(self, note: QLabel, *buttons: QWidget) -> None:
        """Add a footer with a note and buttons, which stays visible while the cards scroll."""
        footer = QFrame()
        footer.setObjectName("settings_foot")
        row = QHBoxLayout(footer)
        row.setContentsMargins(16, 12, 16, 12)
        row.setSpacing(8)
        row.addWidget(note, 1)
        for button in buttons:
            row.addWidget(button)
        self._outer.addWidget(footer)

    def refresh(self) -> None:
        """Update the page; called when it is opened and when its window is activated again."""


def card(title: str, explanation: str | QLabel, *contents: QWidget | QLayout) -> QFrame:
    """Return a card with a heading, an explanation and its controls."""
    frame = QFrame()
    frame.setObjectName("card")
    heading = QLabel(title)
    heading.setObjectName("heading")
    heading.setWordWrap(True)
    column = QVBoxLayout(frame)
    column.setContentsMargins(16, 12, 16, 12)
    column.setSpacing(4)
    column.addWidget(heading)
    if explanation:
        column.addWidget(quiet_label(explanation) if isinstance(explanation, str) else explanation)
    column.addSpacing(4)
    for content in contents:
        if isinstance(content, QLayout):
            column.addLayout(content)
        else:
            column.addWidget(content)
    return frame
