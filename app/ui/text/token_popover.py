"""A popover with the alternatives of a token and their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from app.model.message import ORIGINS, Alternative
from app.model.token_pieces import TokenPiece
from app.numbers import counted
from app.ui.parts.labels import balanced_width_px
from app.ui.theme import SMALL_PX, Theme, code_font, icon, scaled, text_font

_WIDTH_PX = 296
_MAX_WIDTH_PX = 400
_MARGIN_PX = 6
_BORDER_PX = 1
_ROW_PX = 30
_LINE_PX = 34
"""The height that the popover skips when it opens above a token and not below it."""
_GAP_PX = 6
_BAR_PX = 64
_PERCENT_PX = 60
_SIGNS = str.maketrans({" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"})


class TokenPopover(QFrame):
    """Appears beside a token without taking the focus."""

    chosen = Signal(int)
    """The id of the alternative that the user chose."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.ToolTip)
        self.setObjectName("popover")
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._theme = theme
        self._rows: list[AlternativeRow] = []
        self._own = 0
        self._marked = 0
        self._hint = QLabel()
        self._hint.setObjectName("quiet")
        self._hint.setWordWrap(True)
        self._hint.setContentsMargins(4, 6, 4, 2)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(_MARGIN_PX, _MARGIN_PX, _MARGIN_PX, _MARGIN_PX)
        self._column.setSpacing(0)
        self._column.addWidget(self._hint)

    @property
    def rows(self) -> Sequence[AlternativeRow]:
        return self._rows

    @property
    def marked_id(self) -> int | None:
        """The id of the alternative that Enter chooses; None if the token itself is marked."""
        return None if not self._rows or self._marked == self._own else self._rows[self._marked].alternative.id

    def show_token(self, piece: TokenPiece, text: str, point: QPoint, *, can_fork: bool) -> None:
        """List the alternatives of a token, below a point of the screen. `text` is the token's text."""
        for row in self._rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._rows.clear()
        for number, choice in enumerate(piece.choices):
            is_own = choice.id == piece.id
            row_text = text if is_own and not choice.text else choice.text
            row = AlternativeRow(choice, visible_token(row_text), self._theme, is_own=is_own)
            row.clicked.connect(partial(self._choose, number))
            self._column.insertWidget(number, row)
            row.show()
            self._rows.append(row)
            if is_own:
                self._own = number
        self._hint.setText(self._hint_text(piece, can_fork=can_fork and len(self._rows) > 1))
        self.mark(self._own)
        self.ensurePolished()
        self._hint.ensurePolished()
        has_hint = bool(self._hint.text())
        self._hint.setVisible(has_hint)
        room_px = self.screen().availableGeometry().width()
        min_px, max_px = min(scaled(_WIDTH_PX), room_px), min(scaled(_MAX_WIDTH_PX), room_px)
        width = balanced_width_px(self._hint_height, min_px, max_px) if has_hint else min_px
        hint_px = self._hint_height(width) if has_hint else 0
        self.setFixedSize(width, 2 * (_MARGIN_PX + _BORDER_PX) + len(self._rows) * scaled(_ROW_PX) + hint_px)
        self._move_to(point)
        self.show()

    def mark(self, number: int) -> None:
        """Mark the row that Enter chooses."""
        self._marked = min(max(number, 0), len(self._rows) - 1)
        for index, row in enumerate(self._rows):
            row.set_marked(index == self._marked)

    def step(self, step: int) -> None:
        self.mark(self._marked + step)

    @property
    def description(self) -> str:
        """The accessible text of the marked row."""
        return self._rows[self._marked].accessibleName() if self._rows else ""

    def _choose(self, number: int, _checked: bool = False) -> None:
        if number != self._own:
            self.chosen.emit(self._rows[number].alternative.id)

    def _hint_text(self, piece: TokenPiece, *, can_fork: bool) -> str:
        origins = {
            ORIGINS["forced"]: self.tr("Forced: no other token was possible, or a hook set it."),
            ORIGINS["healed"]: self.tr("Healed: it starts with the end of the text before it."),
            ORIGINS["draft"]: self.tr("Drafted: it was predicted, and the model confirmed it."),
            ORIGINS["chosen"]: self.tr("Chosen by you."),
            ORIGINS["given"]: self.tr("Part of the text that the model continued."),
            ORIGINS["recut"]: self.tr("The answer ended inside a token, so its end was tokenized again."),
        }
        hints = [origins[piece.origin]] if piece.origin in origins else []
        if not piece.alternatives:
            hints.append(
                self.tr(
                    "No alternatives are known. They are recorded only for answers that are written while tokens are "
                    "shown."
                )
            )
        elif can_fork:
            hints.append(self.tr("↑ ↓ and Enter, or a click, continue with another token."))
        return "\n".join(hints)

    def _hint_height(self, width: int) -> int:
        return self._hint.heightForWidth(width - 2 * (_MARGIN_PX + _BORDER_PX))

    def _move_to(self, point: QPoint) -> None:
        screen = QGuiApplication.screenAt(point) or QGuiApplication.primaryScreen()
        room = screen.availableGeometry()
        x = min(max(point.x(), room.left()), room.right() - self.width())
        is_below = point.y() + self.height() <= room.bottom()
        self.move(x, point.y() if is_below else max(room.top(), point.y() - self.height() - scaled(_LINE_PX)))


class AlternativeRow(QAbstractButton):
    """The row of one alternative; `is_own` marks the token that is in the answer."""

    def __init__(self, alternative: Alternative, text: str, theme: Theme, *, is_own: bool) -> None:
        super().__init__()
        self.alternative = alternative
        self._text = text or self.tr("end here")
        self._theme = theme
        self._is_own = is_own
        self._is_marked = False
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFixedHeight(scaled(_ROW_PX))
        name = self.tr("{token}, {percent}").format(token=self._text, percent=self._percent)
        self.setAccessibleName(self.tr("{row}, chosen").format(row=name) if is_own else name)
        self.setCursor(Qt.CursorShape.ArrowCursor if is_own else Qt.CursorShape.PointingHandCursor)

    @property
    def share(self) -> float:
        """The probability of the alternative, from 0 to 1."""
        return 0.0 if self.alternative.logprob is None else math.exp(min(0.0, self.alternative.logprob))

    @property
    def _percent(self) -> str:
        if self.alternative.logprob is None:
            return "–"
        percent = 100 * self.share
        if percent < 0.05:
            return f"< {counted(0.1, 1)} %"
        return f"{counted(percent, 0 if percent >= 9.95 else 1)} %"

    def set_marked(self, marked: bool) -> None:
        self._is_marked = marked
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(scaled(_WIDTH_PX), scaled(_ROW_PX))

    @override
    def enterEvent(self, event: object) -> None:
        self.update()

    @override
    def leaveEvent(self, event: object) -> None:
        self.update()

    @override
    def paintEvent(self, e: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if self._is_marked or (self.underMouse() and not self._is_own):
            painter.setBrush(QColor(self._theme.accent_wash if self._is_marked else self._theme.hover))
            painter.drawRoundedRect(self.rect(), 6, 6)
        mark_px = scaled(16)
        if self._is_own:
            icon("check", self._theme.accent).paint(painter, 6, (self.height() - mark_px) // 2, mark_px, mark_px)
        text_box = self.rect().adjusted(mark_px + 12, 0, -_BAR_PX - scaled(_PERCENT_PX) - _GAP_PX, 0)
        painter.setPen(QColor(self._theme.text))
        painter.setFont(code_font())
        elided = painter.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideRight, text_box.width())
        painter.drawText(text_box, Qt.AlignmentFlag.AlignVCenter, elided)
        bar = QRectF(self.width() - _BAR_PX - scaled(_PERCENT_PX), self.height() / 2 - 3, _BAR_PX, 6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.line))
        painter.drawRoundedRect(bar, 3, 3)
        bar.setWidth(max(2.0, _BAR_PX * self.share))
        painter.setBrush(QColor(self._theme.accent if self._is_own else self._theme.control_line))
        painter.drawRoundedRect(bar, 3, 3)
        painter.setPen(QColor(self._theme.quiet_text))
        painter.setFont(text_font(SMALL_PX))
        at_right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.rect().adjusted(0, 0, -_GAP_PX, 0), at_right, self._percent)
        painter.end()


def visible_token(text: str) -> str:
    """Return a token's text with signs for spaces and line ends."""
    return text.translate(_SIGNS)
