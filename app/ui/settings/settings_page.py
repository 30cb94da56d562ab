"""A page of the settings: cards one below another, and where something has to be confirmed, a foot."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLayout, QVBoxLayout, QWidget

from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import scrolled


class SettingsPage(QWidget):
    """Fills `cards`; they scroll where there is no room for all of them."""

    def __init__(self, *, takes_all: bool = False) -> None:
        """`takes_all`: what is in it grows with the window."""
        super().__init__()
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        self.cards = QVBoxLayout()
        self.cards.setSpacing(12)
        column.addLayout(self.cards)
        if not takes_all:
            column.addStretch(1)
        self._whole = QVBoxLayout(self)
        self._whole.setContentsMargins(0, 0, 0, 0)
        self._whole.setSpacing(0)
        self._whole.addWidget(scrolled(inner), 1)

    def show_foot(self, note: QLabel, *buttons: QWidget) -> None:
        """Keep a note and buttons below the cards, in sight."""
        foot = QFrame()
        foot.setObjectName("settings_foot")
        row = QHBoxLayout(foot)
        row.setContentsMargins(16, 12, 16, 12)
        row.setSpacing(8)
        row.addWidget(note, 1)
        for button in buttons:
            row.addWidget(button)
        self._whole.addWidget(foot)

    def look_again(self) -> None:
        """Find out what is so now: somebody has come to this page, or back to it."""


def card(title: str, explanation: str | QLabel, *parts: QWidget | QLayout) -> QFrame:
    """Return a card: what it is about, what that means, and what can be set."""
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
    for part in parts:
        if isinstance(part, QLayout):
            column.addLayout(part)
        else:
            column.addWidget(part)
    return frame
