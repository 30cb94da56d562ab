"""What the lines and marks of the tokens mode mean, in a corner of the transcript."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QHBoxLayout, QLabel, QWidget
from typing_extensions import override

from app.model.message import ORIGINS
from app.ui.text.token_tint import paint_mark
from app.ui.theme import Theme

_MARGIN_PX = 4
_LINE_WIDTH_PX = 44


class TokenLegend(QFrame):
    """Lies at the upper edge of what scrolls, which begins below it while it is there."""

    def __init__(self, theme: Theme, over: QAbstractScrollArea) -> None:
        super().__init__(over)
        self.setObjectName("popover")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._over = over
        self._samples: list[_Sample] = []
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 4, 10, 4)
        row.setSpacing(6)
        for origin, words in (
            ("", self.tr("expected – surprising")),
            (ORIGINS["forced"], self.tr("forced")),
            (ORIGINS["healed"], self.tr("healed")),
            (ORIGINS["draft"], self.tr("drafted")),
            (ORIGINS["chosen"], self.tr("chosen by you")),
        ):
            sample = _Sample(origin, theme)
            self._samples.append(sample)
            label = QLabel(words)
            label.setObjectName("quiet")
            row.addWidget(sample)
            row.addWidget(label)
            row.addSpacing(6)
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
        self.adjustSize()
        self.move(max(_MARGIN_PX, (self._over.width() - self.width()) // 2), _MARGIN_PX)
        self.raise_()
        room_px = 0 if self.isHidden() else self.height() + 2 * _MARGIN_PX
        if self._over.viewportMargins().top() != room_px:
            self._over.setViewportMargins(0, room_px, 0, 0)


class _Sample(QWidget):
    """A line from faint to strong, or one mark."""

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
            paint_mark(painter, QPointF(1.5, 5), self._origin, self.theme)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            for number, (alpha, height) in enumerate(((70, 1.5), (130, 2.5), (190, 3.5), (255, 4.5))):
                colour = QColor(self.theme.warning)
                colour.setAlpha(alpha)
                painter.setBrush(colour)
                painter.drawRect(QRectF(number * 11, 11 - height, 10, height))
        painter.end()
