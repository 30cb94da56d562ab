"""What else could have stood at a token's place: a bar and a percentage each, the chosen one marked."""

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
_WIDEST_PX = 400
_MARGIN_PX = 6
_BORDER_PX = 1
_ROW_PX = 30
_LINE_PX = 34
"""A line of text, and a little: so far above its place it is above the token."""
_GAP_PX = 6
_BAR_PX = 64
_PERCENT_PX = 60
_SIGNS = str.maketrans({" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"})


class TokenPopover(QFrame):
    """Floats beside a token; it never takes the focus."""

    chosen = Signal(int)
    """The id of another token that is to stand here."""

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
        """The token that Enter takes; None on the one that stands there."""
        return None if not self._rows or self._marked == self._own else self._rows[self._marked].alternative.id

    def show_token(self, piece: TokenPiece, text: str, place: QPoint, *, can_fork: bool) -> None:
        """List what could stand at the place of a token that spells `text`."""
        for row in self._rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._rows.clear()
        for number, choice in enumerate(piece.choices):
            is_own = choice.id == piece.id
            words = text if is_own and not choice.text else choice.text
            row = AlternativeRow(choice, shown_token(words), self._theme, is_own=is_own)
            row.clicked.connect(partial(self._choose, number))
            self._column.insertWidget(number, row)
            row.show()
            self._rows.append(row)
            if is_own:
                self._own = number
        self._hint.setText(self._words(piece, can_fork=can_fork and len(self._rows) > 1))
        self.mark(self._own)
        self.ensurePolished()
        self._hint.ensurePolished()
        has_words = bool(self._hint.text())
        self._hint.setVisible(has_words)
        least, most = scaled(_WIDTH_PX), scaled(_WIDEST_PX)
        width = balanced_width_px(self._words_height, least, most) if has_words else least
        words_px = self._words_height(width) if has_words else 0
        self.setFixedSize(width, 2 * (_MARGIN_PX + _BORDER_PX) + len(self._rows) * scaled(_ROW_PX) + words_px)
        self._move_to(place)
        self.show()

    def mark(self, number: int) -> None:
        """Mark a row for Enter."""
        self._marked = min(max(number, 0), len(self._rows) - 1)
        for index, row in enumerate(self._rows):
            row.set_marked(index == self._marked)

    def step(self, step: int) -> None:
        self.mark(self._marked + step)

    def said(self) -> str:
        """What a screen reader says of the marked row."""
        return self._rows[self._marked].accessibleName() if self._rows else ""

    def _choose(self, number: int, _checked: bool = False) -> None:
        if number != self._own:
            self.chosen.emit(self._rows[number].alternative.id)

    def _words(self, piece: TokenPiece, *, can_fork: bool) -> str:
        origins = {
            ORIGINS["forced"]: self.tr("Forced: nothing else could stand here, or a hook put it here."),
            ORIGINS["healed"]: self.tr("Healed: it begins with the end of the text before it."),
            ORIGINS["draft"]: self.tr("Drafted: it was guessed, and the model agreed."),
            ORIGINS["chosen"]: self.tr("Chosen by you."),
            ORIGINS["given"]: self.tr("It was there before the model went on."),
            ORIGINS["recut"]: self.tr("The answer ended inside a token: its end was cut anew."),
        }
        words = [origins[piece.origin]] if piece.origin in origins else []
        if not piece.alternatives:
            words.append(self.tr("No alternatives are known. Answers asked for in this mode have them."))
        elif can_fork:
            words.append(self.tr("↑ ↓ and Enter, or a click, go on from another one."))
        return "\n".join(words)

    def _words_height(self, width: int) -> int:
        return self._hint.heightForWidth(width - 2 * (_MARGIN_PX + _BORDER_PX))

    def _move_to(self, place: QPoint) -> None:
        screen = QGuiApplication.screenAt(place) or QGuiApplication.primaryScreen()
        room = screen.availableGeometry()
        x = min(max(place.x(), room.left()), room.right() - self.width())
        is_below = place.y() + self.height() <= room.bottom()
        self.move(x, place.y() if is_below else max(room.top(), place.y() - self.height() - scaled(_LINE_PX)))


class AlternativeRow(QAbstractButton):
    """One token that could stand there."""

    def __init__(self, alternative: Alternative, words: str, theme: Theme, *, is_own: bool) -> None:
        super().__init__()
        self.alternative = alternative
        self._words = words or self.tr("end here")
        self._theme = theme
        self._is_own = is_own
        self._is_marked = False
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFixedHeight(scaled(_ROW_PX))
        name = self.tr("{token}, {percent}").format(token=self._words, percent=self._percent)
        self.setAccessibleName(self.tr("{row}, chosen").format(row=name) if is_own else name)
        self.setCursor(Qt.CursorShape.ArrowCursor if is_own else Qt.CursorShape.PointingHandCursor)

    @property
    def share(self) -> float:
        """How likely it was, from 0 to 1."""
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
        if self._is_own:
            icon("check", self._theme.accent).paint(painter, 6, (self.height() - 16) // 2, 16, 16)
        words = self.rect().adjusted(28, 0, -_BAR_PX - scaled(_PERCENT_PX) - _GAP_PX, 0)
        painter.setPen(QColor(self._theme.text))
        painter.setFont(code_font())
        shown = painter.fontMetrics().elidedText(self._words, Qt.TextElideMode.ElideRight, words.width())
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, shown)
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


def shown_token(text: str) -> str:
    """Return a token's text with signs for what can't be seen."""
    return text.translate(_SIGNS)
