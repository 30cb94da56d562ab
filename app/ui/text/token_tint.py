"""Lines and marks below the tokens of an answer, and their legend. A stronger line means a less probable token."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF, QTextBlock, QTextDocument
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QHBoxLayout, QLabel, QWidget
from typing_extensions import override

from app.model.message import ORIGINS
from app.model.token_pieces import TokenPiece
from app.ui.parts.layouts import FlowLayout
from app.ui.text.document_text import CharacterPositions, cursor_x
from app.ui.theme import Theme

_MIN_LINE_PX, _MAX_LINE_PX = 1.5, 4.5
_MIN_ALPHA = 70
"""The alpha value (of 255) of the line below the most probable token."""
_NUM_STRENGTHS = 24
_MARK_PX = 5.0
_MIN_WIDTH_PX = 4.0
"""The width of a token that is only a line end."""

MARKED_ORIGINS = tuple(ORIGINS[name] for name in ("forced", "healed", "draft", "chosen"))
_MARGIN_PX = 4
_LINE_WIDTH_PX = 44


class TokenTint:
    """The lines and marks in one message that grows and is shown as plain text."""

    def __init__(self, document: QTextDocument, text: str, pieces: Sequence[TokenPiece]) -> None:
        self.pieces: list[TokenPiece] = []
        """The tokens whose text is in the document."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._strengths: list[int | None] = []
        self._document = document
        self._positions = CharacterPositions(document)
        self.grow(text, pieces)

    def grow(self, text: str, pieces: Sequence[TokenPiece]) -> None:
        """Add the tokens at the end of `pieces` that are new; `text` is the whole source."""
        positions = self._positions
        positions.extend(text)
        for piece in itertools.islice(pieces, len(self.pieces), None):
            if piece.end > positions.num_chars:
                break
            self.pieces.append(piece)
            self._strengths.append(_strength(piece))
            self._starts.append(positions[piece.start])
            self._ends.append(positions[piece.end])

    def index_at(self, position: int) -> int | None:
        """Return the index of the token at a document position; None if there is none."""
        index = bisect.bisect_right(self._starts, position) - 1
        return index if index >= 0 and position < self._ends[index] else None

    def rect(self, index: int) -> QRectF:
        """Return the rectangle of a token. If a token has several lines, it is that of the first line."""
        block = self._document.findBlock(self._starts[index])
        return next((box.rect for box in self._boxes_in(block) if box.token == index), QRectF())

    def paint(self, painter: QPainter, visible: QRect, theme: Theme, current: int | None) -> None:
        """Draw the visible lines and marks, and a frame around the token with the index `current`."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pens = _pens(theme)
        layout = self._document.documentLayout()
        block = self._document.findBlock(
            max(0, layout.hitTest(QPointF(visible.topLeft()), Qt.HitTestAccuracy.FuzzyHit))
        )
        while block.isValid() and layout.blockBoundingRect(block).top() <= visible.bottom():
            for box in self._boxes_in(block, visible):
                piece, strength = self.pieces[box.token], self._strengths[box.token]
                if strength is not None:
                    height, colour = pens[strength]
                    left, width = box.left + 0.5, max(1.0, box.right - box.left - 1.5)
                    painter.fillRect(QRectF(left, box.bottom - height, width, height), colour)
                if piece.origin in MARKED_ORIGINS:
                    _paint_mark(painter, QPointF(box.left + 0.5, box.bottom - _MARK_PX), piece.origin, theme)
                if box.token == current:
                    painter.setPen(QPen(QColor(theme.accent), 2))
                    painter.setBrush(Qt.BrushStyle.NoBrush)
                    painter.drawRoundedRect(box.rect.adjusted(-1, 1, 1, 0), 4, 4)
            block = block.next()

    def _boxes_in(self, block: QTextBlock, visible: QRect | None = None) -> Iterator[_Box]:
        """Yield the boxes of the tokens in a block, line by line; `visible` None means all lines."""
        begin, layout = block.position(), block.layout()
        x, y = layout.position().x(), layout.position().y()
        for number in range(layout.lineCount()):
            line = layout.lineAt(number)
            top, bottom = y + line.y(), y + line.y() + line.height()
            if visible is not None and (bottom < visible.top() or top > visible.bottom() + 1):
                continue
            start = begin + line.textStart()
            end = start + line.textLength()
            is_last = number == layout.lineCount() - 1
            index = max(0, bisect.bisect_right(self._ends, start))
            before, before_x = -1, 0.0
            while index < len(self._starts) and (self._starts[index] < end or (is_last and self._starts[index] == end)):
                first, last = max(self._starts[index], start), min(self._ends[index], end)
                # Most tokens begin at the end of the token before.
                left = before_x if first == before else cursor_x(line, first - begin)
                right = cursor_x(line, last - begin)
                before, before_x = last, right
                if left > right:
                    left, right = right, left
                yield _Box(index, x + left, x + max(left + _MIN_WIDTH_PX, right), top, bottom)
                index += 1


class _Box(NamedTuple):
    """The part of a token that is on one line."""

    token: int
    """The token's index."""
    left: float
    right: float
    top: float
    bottom: float

    @property
    def rect(self) -> QRectF:
        return QRectF(self.left, self.top, self.right - self.left, self.bottom - self.top)


def _strength(piece: TokenPiece) -> int | None:
    """Return the strength of the line below a token; None means that there is no line."""
    surprise = piece.surprise
    return None if surprise is None else round(surprise * _NUM_STRENGTHS)


def _pens(theme: Theme) -> list[tuple[float, QColor]]:
    """Return the height and the colour of the line of each strength."""
    pens: list[tuple[float, QColor]] = []
    for strength in range(_NUM_STRENGTHS + 1):
        share = strength / _NUM_STRENGTHS
        colour = QColor(theme.warning)
        colour.setAlpha(round(_MIN_ALPHA + (255 - _MIN_ALPHA) * share))
        pens.append((_MIN_LINE_PX + (_MAX_LINE_PX - _MIN_LINE_PX) * share, colour))
    return pens


def _paint_mark(painter: QPainter, corner: QPointF, origin: str, theme: Theme) -> None:
    """Draw the mark of a token's origin; each origin has its own shape."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.information))
    box = QRectF(corner.x(), corner.y(), _MARK_PX, _MARK_PX)
    if origin == ORIGINS["forced"]:
        painter.drawRect(box)
    elif origin == ORIGINS["healed"]:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.information), 1.5))
        painter.drawEllipse(box.adjusted(0.5, 0.5, -0.5, -0.5))
    elif origin == ORIGINS["draft"]:
        painter.drawPolygon(QPolygonF([box.bottomLeft(), box.bottomRight(), QPointF(box.center().x(), box.top())]))
    else:
        painter.setBrush(QColor(theme.accent))
        middle = box.center()
        sides = (middle.x(), box.top()), (box.right(), middle.y()), (middle.x(), box.bottom()), (box.left(), middle.y())
        painter.drawPolygon(QPolygonF([QPointF(*side) for side in sides]))


class TokenLegend(QFrame):
    """The legend at the upper edge of a scroll area, whose content moves below it."""

    def __init__(self, theme: Theme, over: QAbstractScrollArea) -> None:
        super().__init__(over)
        self.setObjectName("popover")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._over = over
        self._samples: list[_Sample] = []
        self._rows = FlowLayout(self)
        self._rows.setContentsMargins(10, 4, 10, 4)
        self._rows.setSpacing(12)
        for origin, text in (
            ("", self.tr("expected – surprising")),
            (ORIGINS["forced"], self.tr("forced")),
            (ORIGINS["healed"], self.tr("healed")),
            (ORIGINS["draft"], self.tr("drafted")),
            (ORIGINS["chosen"], self.tr("chosen by you")),
        ):
            sample = _Sample(origin, theme)
            self._samples.append(sample)
            label = QLabel(text)
            label.setObjectName("quiet")
            pair = QWidget()
            row = QHBoxLayout(pair)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(6)
            row.addWidget(sample)
            row.addWidget(label)
            self._rows.addWidget(pair)
        over.installEventFilter(self)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        for sample in self._samples:
            sample.theme = theme
            sample.update()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._over and event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    @override
    def setVisible(self, visible: bool) -> None:
        super().setVisible(visible)
        self._place()

    def _place(self) -> None:
        for label in self.findChildren(QLabel):
            label.ensurePolished()
        # The style draws a line around it.
        around = self.contentsMargins()
        across, down = around.left() + around.right(), around.top() + around.bottom()
        # The scroll bar may come later.
        edge = max(_MARGIN_PX, self._over.verticalScrollBar().sizeHint().width())
        width = min(self._rows.width_of_one_row + across, self._over.width() - 2 * edge)
        self.resize(width, self._rows.heightForWidth(width - across) + down)
        self.move(max(_MARGIN_PX, (self._over.width() - self.width()) // 2), _MARGIN_PX)
        self.raise_()
        room_px = 0 if self.isHidden() else self.height() + 2 * _MARGIN_PX
        if self._over.viewportMargins().top() != room_px:
            self._over.setViewportMargins(0, room_px, 0, 0)


class _Sample(QWidget):
    """A sample of the lines from faint to strong, or of one mark."""

    def __init__(self, origin: str, theme: Theme) -> None:
        super().__init__()
        self._origin = origin
        self.theme = theme
        self.setFixedSize(self.sizeHint())

    @override
    def sizeHint(self) -> QSize:
        return QSize(8 if self._origin else _LINE_WIDTH_PX, 14)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._origin:
            _paint_mark(painter, QPointF(1.5, 5), self._origin, self.theme)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            for number, (alpha, height) in enumerate(((70, 1.5), (130, 2.5), (190, 3.5), (255, 4.5))):
                colour = QColor(self.theme.warning)
                colour.setAlpha(alpha)
                painter.setBrush(colour)
                painter.drawRect(QRectF(number * 11, 11 - height, 10, height))
        painter.end()
