"""How hits of a search look in a text: a wash with a line under it; the one at hand stands out by a frame of colour."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit

from app.ui.theme import Theme


class HitLooks:
    """Makes selections for `QTextEdit.setExtraSelections`."""

    def __init__(self, theme: Theme) -> None:
        self._other = QTextCharFormat()
        self._other.setBackground(QColor(theme.accent_wash))
        self._other.setForeground(QColor(theme.text))
        self._other.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
        self._other.setUnderlineColor(QColor(theme.accent))
        self._current = QTextCharFormat()
        self._current.setBackground(QColor(theme.accent))
        self._current.setForeground(QColor(theme.on_accent))

    def lit(self, cursors: Sequence[QTextCursor], current: int | None) -> list[QTextEdit.ExtraSelection]:
        """Return the looks of hits; `current`: which of them is the one at hand."""
        selections: list[QTextEdit.ExtraSelection] = []
        for number, cursor in enumerate(cursors):
            selection = QTextEdit.ExtraSelection()
            selection.cursor = cursor  # pyright: ignore[reportAttributeAccessIssue]
            selection.format = self._current if number == current else self._other  # pyright: ignore[reportAttributeAccessIssue]
            selections.append(selection)
        return selections
