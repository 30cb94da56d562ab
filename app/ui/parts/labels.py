"""Labels, and text prepared for labels and tool tips."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

_MAX_CHARS = 2_000
_LONG_WORD = re.compile(r"[^\s/-]{20,}")
_WORD = re.compile(r"[^\s\u200b/-]{8,}")
_SLASH = re.compile(r"/(?=\d)")
"""A slash at which Qt ends no line."""
_BREAK = "\u200b"
"""A character without a width, at which a line may end."""


def _broken(word: re.Match[str]) -> str:
    return _BREAK.join(word[0])


def beginning(text: str, most: int = _MAX_CHARS) -> str:
    """Return a text for a label: at most the first `most` characters, because Qt lays out long texts slowly."""
    return text if len(text) <= most else f"{text[:most]}…"


def selectable_label(text: str) -> QLabel:
    """Return a label that takes the focus and whose text can be selected and copied."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    flags = Qt.TextInteractionFlag
    label.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
    return label


class BreakingLabel(QLabel):
    """A label of several lines that also breaks words that are too long for a line, such as names of files.

    The text is plain text.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._whole = ""
        self._is_broken = False
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)

    @override
    def setText(self, text: str, /) -> None:
        self._whole = text
        self._show()

    def _show(self) -> None:
        shown = _LONG_WORD.sub(_broken, self._whole)
        shown = _SLASH.sub(f"/{_BREAK}", shown)
        room, metrics = self.contentsRect().width(), self.fontMetrics()
        # Large text in a narrow window leaves no room for words of usual length, either.
        shown = _WORD.sub(
            lambda found: _broken(found) if metrics.horizontalAdvance(found[0]) > room else found[0], shown
        )
        if shown != super().text():
            super().setText(shown)
        was_broken, self._is_broken = self._is_broken, shown != self._whole
        if self._is_broken or was_broken:
            # Screen readers would read the breaks.
            self.setAccessibleName(self._whole if self._is_broken else "")

    @override
    def resizeEvent(self, event: QResizeEvent, /) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._show()

    @override
    def text(self) -> str:
        return self._whole


class ElidedLabel(QLabel):
    """One line that ends in an ellipsis if it does not fit; the tool tip then shows the whole text.

    The label has no minimum width.
    """

    def __init__(self) -> None:
        super().__init__()
        self._whole = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        # Left-aligned in every script, next to the widget on its left.
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute | Qt.AlignmentFlag.AlignVCenter)

    def show_text(self, text: str) -> None:
        text = beginning(text)
        self._whole = text
        self.setAccessibleName(text)
        self._fit()

    def _fit(self) -> None:
        metrics, room = self.fontMetrics(), self.width()
        shown = metrics.elidedText(self._whole, Qt.TextElideMode.ElideRight, room)
        # In some scripts Qt's result is a pixel or two too wide.
        while room > 0 and metrics.horizontalAdvance(shown) > self.width():
            room -= 1
            shown = metrics.elidedText(self._whole, Qt.TextElideMode.ElideRight, room)
        self.setText(shown)
        self.setToolTip("" if shown == self._whole else as_tool_tip(self._whole))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()


def quiet_label(text: str) -> QLabel:
    """Return a label for an explanation, wrapped and in quiet colour."""
    label = BreakingLabel(text)
    label.setObjectName("quiet")
    return label


def heading(title: str, explanation: str = "") -> QWidget:
    """Return the heading of a section, with an explanation below it."""
    widget = QWidget()
    column = QVBoxLayout(widget)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    label = QLabel(title)
    label.setObjectName("role")
    label.setWordWrap(True)
    column.addWidget(label)
    if explanation:
        column.addWidget(quiet_label(explanation))
    return widget


def rule() -> QFrame:
    """Return a horizontal line between two sections."""
    line = QFrame()
    line.setObjectName("rule")
    line.setFixedHeight(1)
    return line


def as_tool_tip(text: str) -> str:
    """Return `text` as a tool tip that shows it literally: Qt would render text that looks like HTML."""
    text = beginning(text)
    # Plain text stays as it is, because screen readers read the string.
    return f"<span>{html.escape(text)}</span>" if "<" in text else text


def as_label(text: str) -> str:
    """Return `text` for a button or a menu, where an ampersand marks the mnemonic."""
    return text.replace("&", "&&")


def widest_word_px(label: QLabel) -> int:
    """Return the width of the widest word of a label, in pixels."""
    return label.fontMetrics().boundingRect(0, 0, 1, 9999, Qt.TextFlag.TextWordWrap, label.text()).width()


def balanced_width_px(height_at: Callable[[int], int], min_px: int, max_px: int) -> int:
    """Return the smallest width at which a text needs no more lines than at `max_px`, so that its lines are balanced.

    `height_at` returns the text's height at a width; it must not grow with the width.
    """
    height = height_at(max_px)
    return min_px + bisect_left(range(min_px, max_px), True, key=lambda width: height_at(width) <= height)
