"""Formulas and pictures on paper: as large as there is room, and with the words of a formula under it."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPyTextObject, QTextBlock, QTextDocument, QTextFormat
from PySide6.QtSvg import QSvgRenderer
from typing_extensions import override

from app.export.document import PaperDocument, picture_of, source_of
from app.model.exports.formula import Formula


def show_pictures(document: PaperDocument) -> None:
    """Let a document draw its formulas and pictures."""
    document.documentLayout().registerHandler(QTextFormat.ObjectTypes.ImageObject.value, _Pictures(document))


class _Pictures(QPyTextObject):
    """Draws pictures, and formulas as lines: with their source under them, unseen, for who selects or searches."""

    def __init__(self, document: PaperDocument) -> None:
        super().__init__(document)
        self._paper = document
        self._half_x_px = QFontMetricsF(document.defaultFont()).xHeight() / 2

    def _scale(self, found: Formula, block: QTextBlock) -> float:
        """A formula that is wider than the page is as wide as that."""
        left = block.blockFormat().leftMargin() + _steps(block) * self._paper.indentWidth()
        room = self._paper.pageSize().width() - left
        return min(1.0, max(room, 1.0) / found.width_px)

    def _blanks_px(self, found: Formula, scale: float) -> tuple[float, float]:
        """Above and below a formula, so that it stands right where Qt puts its middle beside the letters' middle."""
        blank = (2 * found.below_px - found.height_px) * scale + self._half_x_px
        return max(blank, 0.0), max(-blank, 0.0)

    @override
    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:
        name = format.toImageFormat().name()
        found = self._paper.formulas.get(name)
        if found is not None:
            scale = self._scale(found, doc.findBlock(posInDocument))
            return QSizeF(found.width_px, found.height_px) * scale + QSizeF(0, sum(self._blanks_px(found, scale)))
        picture = picture_of(name)
        if picture is None:
            return QSizeF(0, 0)
        size = QSizeF(picture.size())
        most = self._paper.pageSize() * 0.9
        return size.scaled(most, Qt.AspectRatioMode.KeepAspectRatio) if _is_larger(size, most) else size

    @override
    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        doc: QTextDocument,
        posInDocument: int,
        format: QTextFormat,
    ) -> None:
        name = format.toImageFormat().name()
        found = self._paper.formulas.get(name)
        if found is None:
            picture = picture_of(name)
            if picture is not None:
                painter.drawImage(QRectF(rect), picture)
            return
        above, below = self._blanks_px(found, self._scale(found, doc.findBlock(posInDocument)))
        place = QRectF(rect).adjusted(0, above, 0, -below)
        source = source_of(name)
        painter.save()
        painter.setPen(QColor(0, 0, 0, 0))
        font = QFont(self._paper.defaultFont())
        font.setPixelSize(4)
        painter.setFont(font)
        painter.drawText(place.bottomLeft(), " ".join(source.split()))
        painter.restore()
        # In a PDF Qt would draw its letters' outlines, too, as if they were bold.
        svg = found.svg.replace("<svg ", '<svg stroke-width="0" ', 1)
        QSvgRenderer(QByteArray(svg.encode())).render(painter, place)


def _is_larger(size: QSizeF, most: QSizeF) -> bool:
    return size.width() > most.width() or size.height() > most.height()


def _steps(block: QTextBlock) -> int:
    own = block.textList()
    return block.blockFormat().indent() + (own.format().indent() if own is not None else 0)
