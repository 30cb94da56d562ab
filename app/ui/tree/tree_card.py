"""A card about one message of the tree: its first words, date, model, and the cost of going there."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from app.costs.worker_queries import Cost, Tier
from app.model.message import Message, MessageId
from app.ui.header import model_label
from app.ui.parts.cost_text import tier_text
from app.ui.parts.labels import ElidedLabel
from app.ui.parts.times import when
from app.ui.theme import SMALL_PX, Theme, text_font
from app.ui.tree.tree_geometry import DOT_PX
from app.ui.tree.tree_marks import draw_dot, draw_text
from app.ui.tree.tree_text import first_words, going_cost_text, role_text, version_text

_TEXT_PX = 13
_NUM_LINES, _NUM_COST_LINES = 3, 2


class TreeCard(QFrame):
    """Shows one message in a few lines; its height is fixed, so that the tree above it never moves."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("tree_card")
        self._head = ElidedLabel()
        self._head.setObjectName("role")
        self._text = _TextLines(theme, _TEXT_PX, _NUM_LINES)
        self._origin = ElidedLabel()
        self._origin.setObjectName("quiet")
        self._dot = _Dot(theme)
        self._tier = QLabel()
        self._tier.setObjectName("tree_tier")
        # The cost is the most important line, so it may wrap in a narrow dock.
        self._cost = _TextLines(theme, SMALL_PX, _NUM_COST_LINES, is_quiet=True)
        state = QGridLayout()
        state.setContentsMargins(0, 0, 0, 0)
        state.setHorizontalSpacing(6)
        state.setVerticalSpacing(2)
        state.addWidget(self._dot, 0, 0)
        state.addWidget(self._tier, 0, 1)
        state.addWidget(self._cost, 1, 0, 1, 2)
        state.setColumnStretch(1, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 10, 12, 10)
        column.setSpacing(4)
        column.addWidget(self._head)
        column.addWidget(self._text)
        column.addWidget(self._origin)
        column.addLayout(state)

    def set_theme(self, theme: Theme) -> None:
        self._text.theme = self._cost.theme = theme
        self._dot.theme = theme
        self.update()

    def show_message(self, message: Message, siblings: Sequence[MessageId], cost: Cost | None) -> None:
        """Show a message, its version and the cost of going there; None means that the cost is not known yet."""
        head = (role_text(message), version_text(message.id, siblings), message.name)
        self._head.show_text(" · ".join(text for text in head if text))
        self._text.show_text(first_words(message))
        model = message.record.model if message.record is not None else ""
        origin = (when(message.created_ms) if message.created_ms else "", model_label(model) if model else "")
        self._origin.show_text(" · ".join(text for text in origin if text))
        self._dot.show_tier(None if cost is None else cost.tier)
        tier = tier_text(cost)
        self._tier.setText(tier[:1].upper() + tier[1:])
        self._dot.setVisible(cost is not None and cost.tier is not None)
        self._cost.show_text(going_cost_text(message, cost))

    @property
    def cost_text(self) -> str:
        """The cost that is shown; "…" while it is not known."""
        return self._cost.accessibleName()

    def show_fold(self, text: str) -> None:
        """Show a fold instead of a message."""
        self.clear()
        self._head.show_text(text)
        self._text.show_text(self.tr("Press Enter or click to show them."))

    def clear(self) -> None:
        for label in (self._head, self._text, self._origin, self._cost):
            label.show_text("")
        self._tier.setText("")
        self._dot.hide()


class _TextLines(QWidget):
    """A widget that is high enough for a fixed number of text lines. Longer text is elided."""

    def __init__(self, theme: Theme, px: int, num_lines: int, *, is_quiet: bool = False) -> None:
        super().__init__()
        self.theme = theme
        self._px, self._num_lines, self._is_quiet = px, num_lines, is_quiet
        self._text = ""

    def show_text(self, text: str) -> None:
        self._text = text
        self.setAccessibleName(text)
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(0, round(QFontMetricsF(text_font(self._px)).lineSpacing() * self._num_lines) + 2)

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colour = self.theme.quiet_text if self._is_quiet else self.theme.text
        font = text_font(self._px)
        # A low window may have less height. Never show half a line.
        num_lines = max(1, min(self._num_lines, int(self.height() / QFontMetricsF(font).lineSpacing())))
        draw_text(painter, QRectF(self.rect()), self._text, font, colour, num_lines)
        painter.end()


class _Dot(QWidget):
    """The dot that shows where a branch is kept."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._tier: Tier | None = None
        self.setFixedSize(DOT_PX + 3, DOT_PX + 3)

    def show_tier(self, tier: Tier | None) -> None:
        self._tier = tier
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = QPointF(self.width() / 2, self.height() / 2)
        draw_dot(painter, middle, DOT_PX, self._tier, self.theme.text, self.theme.surface)
        painter.end()
