"""Conversations as PDF: pages with numbers, text that can be selected, an outline with each message."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import cast

from pypdf import PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, EncodedStreamObject, Fit, IndirectObject
from PySide6.QtCore import QByteArray, QMarginsF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QFont,
    QFontMetricsF,
    QPageLayout,
    QPageSize,
    QPainter,
    QPalette,
    QPdfWriter,
    QPyTextObject,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer
from typing_extensions import override

from app.export.document import PaperDocument, filled, picture_of, source_of
from app.model.exports.formula import Formula
from app.model.exports.part import Options, Part
from app.model.exports.wording import title
from app.model.exports.writing import Progress, whole_path

_DPI = 96
_PRINTER_DPI = 1200
_MARGIN_MM = 20
_FOOTER_PX = 28
_MM_PER_INCH = 25.4
_MEANT = {0x0009: " ", 0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
"""Blanks and tabs look alike, and so do ligatures and their letters."""


def pdf(part: Part, options: Options, path: Path) -> Generator[Progress]:
    """Write a PDF; yield how far it is. Raises `OSError`. A `QGuiApplication` must be there."""
    document = PaperDocument()
    # Laying out and painting take about as long as filling.
    total = 2 * len(part.messages)
    for done in filled(document, part, options):
        yield Progress(done, total)
    with whole_path(path) as temporary:
        painted = temporary.with_name(temporary.name + ".pages")
        try:
            pages = yield from _paint(document, title(part), painted, total)
            _add_outline(document, pages, painted, temporary, title(part))
        finally:
            painted.unlink(missing_ok=True)
    yield Progress(total, total)


def _paint(document: PaperDocument, name: str, path: Path, total: int) -> Generator[Progress, None, QSizeF]:
    """Paint the pages; return the size of what a page shows, in pixels."""
    path.touch()
    writer = QPdfWriter(str(path))
    writer.setCreator("Bough")
    writer.setTitle(name)
    writer.setResolution(_PRINTER_DPI)
    margins = QMarginsF(_MARGIN_MM, _MARGIN_MM, _MARGIN_MM, _MARGIN_MM)
    writer.setPageLayout(
        QPageLayout(
            QPageSize(QPageSize.PageSizeId.A4), QPageLayout.Orientation.Portrait, margins, QPageLayout.Unit.Millimeter
        )
    )
    pixels = QSizeF(writer.width(), writer.height()) * (_DPI / _PRINTER_DPI)
    page = QSizeF(pixels.width(), pixels.height() - _FOOTER_PX)
    layout = document.documentLayout()
    pictures = _Pictures(document)
    layout.registerHandler(QTextFormat.ObjectTypes.ImageObject.value, pictures)
    document.setPageSize(page)
    painter = QPainter(writer)
    if not painter.isActive():
        raise OSError(None, "The PDF could not be painted", str(path))
    painter.scale(_PRINTER_DPI / _DPI, _PRINTER_DPI / _DPI)
    try:
        num_pages = document.pageCount()
        for number in range(num_pages):
            if number:
                writer.newPage()
            _paint_page(document, painter, page, number)
            _paint_footer(document, painter, pixels, name, number + 1, num_pages)
            yield Progress(total // 2 + (total // 2) * (number + 1) // (num_pages + 1), total)
    finally:
        painter.end()
    return page


def _paint_page(document: PaperDocument, painter: QPainter, page: QSizeF, number: int) -> None:
    context = QAbstractTextDocumentLayout.PaintContext()
    palette = QPalette()
    # Whatever the system's colours: paper is white.
    palette.setColor(QPalette.ColorRole.Text, Qt.GlobalColor.black)
    context.palette = palette  # pyright: ignore[reportAttributeAccessIssue]
    view = QRectF(0, number * page.height(), page.width(), page.height())
    context.clip = view  # pyright: ignore[reportAttributeAccessIssue]
    painter.save()
    painter.translate(0, -view.top())
    painter.setClipRect(view)
    document.documentLayout().draw(painter, context)
    painter.restore()


def _paint_footer(
    document: PaperDocument, painter: QPainter, pixels: QSizeF, name: str, number: int, num_pages: int
) -> None:
    font = QFont(document.defaultFont())
    font.setPixelSize(10)
    painter.setFont(font)
    painter.setPen(QColor("#5F6963"))
    line = QRectF(0, pixels.height() - 14, pixels.width(), 14)
    painter.drawText(line, Qt.AlignmentFlag.AlignRight, f"{number} / {num_pages}")
    shown = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, round(pixels.width() * 0.8))
    painter.drawText(line, Qt.AlignmentFlag.AlignLeft, shown)


def _add_outline(document: PaperDocument, page: QSizeF, painted: Path, path: Path, name: str) -> None:
    layout = document.documentLayout()
    writer = PdfWriter()
    reader = PdfReader(painted)
    writer.append(reader, import_outline=False)
    writer.add_metadata({"/Title": name, "/Creator": "Bough"})
    _name_characters(writer)
    height_pt = float(reader.pages[0].mediabox.height)
    margin_pt = _MARGIN_MM / _MM_PER_INCH * 72
    branch: IndirectObject | None = None
    for mark in document.marks:
        top = layout.blockBoundingRect(document.findBlock(mark.position)).top()
        number = min(int(top // page.height()), len(reader.pages) - 1)
        top_pt = height_pt - margin_pt - (top - number * page.height()) * 72 / _DPI
        fit = Fit("/XYZ", (0, round(top_pt, 1), 0))
        parent = branch if mark.level else None
        item = writer.add_outline_item(title=mark.title, page_number=number, parent=parent, fit=fit)
        if not mark.level:
            branch = item
    with path.open("xb") as file:
        writer.write(file)


def _name_characters(writer: PdfWriter) -> None:
    """Let who copies text get its characters: of a glyph that stands for several, Qt names another one."""
    seen: set[int] = set()
    for page in writer.pages:
        resources = cast(DictionaryObject, page["/Resources"])
        fonts = cast(DictionaryObject, resources.get("/Font", DictionaryObject()))
        for name in fonts:
            reference = cast(DictionaryObject, fonts[name]).raw_get("/ToUnicode")
            if isinstance(reference, IndirectObject) and reference.idnum not in seen:
                seen.add(reference.idnum)
                stream = cast(EncodedStreamObject, reference.get_object())
                data = stream.get_data()
                for named, meant in _MEANT.items():
                    data = data.replace(b"<%04X>" % named, b"<%s>" % meant.encode("utf-16-be").hex().upper().encode())
                stream.set_data(data)


class _Pictures(QPyTextObject):
    """Draws pictures, and formulas as lines: with their source under them, unseen, for who selects or searches."""

    def __init__(self, document: PaperDocument) -> None:
        super().__init__(document)
        self._paper = document
        self._half_x_px = QFontMetricsF(document.defaultFont()).xHeight() / 2

    def _blanks_px(self, found: Formula) -> tuple[float, float]:
        """Above and below a formula, so that it stands right where Qt puts its middle beside the letters' middle."""
        blank = 2 * found.below_px - found.height_px + self._half_x_px
        return max(blank, 0.0), max(-blank, 0.0)

    @override
    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:
        name = format.toImageFormat().name()
        found = self._paper.formulas.get(name)
        if found is not None:
            return QSizeF(found.width_px, found.height_px + sum(self._blanks_px(found)))
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
        above, below = self._blanks_px(found)
        place = QRectF(rect).adjusted(0, above, 0, -below)
        source = source_of(name)
        painter.save()
        painter.setPen(QColor(0, 0, 0, 0))
        font = QFont(self._paper.defaultFont())
        font.setPixelSize(4)
        painter.setFont(font)
        painter.drawText(place.bottomLeft(), " ".join(source.split()))
        painter.restore()
        QSvgRenderer(QByteArray(found.svg.encode())).render(painter, place)


def _is_larger(size: QSizeF, most: QSizeF) -> bool:
    return size.width() > most.width() or size.height() > most.height()
