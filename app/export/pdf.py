"""Exports conversations as PDF, with page numbers, selectable text and an outline of all messages."""

from __future__ import annotations

import io
from collections.abc import Generator
from contextlib import closing
from datetime import UTC, datetime

from pypdf import PdfReader, PdfWriter
from pypdf.generic import Fit, IndirectObject
from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QSizeF
from PySide6.QtGui import QPagedPaintDevice, QPageLayout, QPageSize, QPainter, QPdfWriter

from app.export.pages import (
    DPI,
    FOOTER_PX,
    MARGIN_MM,
    MM_PER_INCH,
    keep_headings_with_text,
    lay_out,
    limit_indents,
    paint_footer,
    paint_page,
    split_blocks_at_pages,
)
from app.export.paper_document import Fonts, PaperDocument, break_long_runs, fill
from app.export.pdf_text import UnmappedCharacters, name_characters
from app.model.exports.captions import title
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Progress
from worker.sentence import Sentence

_PRINTER_DPI = 1200


def pdf(excerpt: Excerpt, options: Options, fonts: Fonts | None = None) -> Generator[Progress, None, bytes]:
    """Return a PDF and yield the progress. Needs a `QGuiApplication`."""
    with closing(PaperDocument(fonts)) as document:
        unmapped = UnmappedCharacters(document)

        def written(start: int) -> None:
            break_long_runs(document, start)
            unmapped.replace_in(start)

        document.written = written
        # Layout and painting take about as long as filling.
        total = 2 * len(excerpt.messages)
        for done in fill(document, excerpt, options):
            yield Progress(done, total)
        painted = QBuffer()
        painted.open(QIODevice.OpenModeFlag.WriteOnly)
        pages = yield from _paint(document, title(excerpt), painted, total)
        data = _with_outline(document, pages, bytes(painted.data().data()), excerpt, unmapped.meanings)
        yield Progress(total, total)
        return data


def _paint(document: PaperDocument, name: str, device: QIODevice, total: int) -> Generator[Progress, None, QSizeF]:
    """Paint the pages; return the size of a page's content in pixels."""
    writer = QPdfWriter(device)
    writer.setCreator("Bough")
    writer.setTitle(name)
    writer.setResolution(_PRINTER_DPI)
    margins = QMarginsF(MARGIN_MM, MARGIN_MM, MARGIN_MM, MARGIN_MM)
    writer.setPageLayout(
        QPageLayout(
            QPageSize(QPageSize.PageSizeId.A4), QPageLayout.Orientation.Portrait, margins, QPageLayout.Unit.Millimeter
        )
    )
    page = yield from lay_out_pages(document, writer, _PRINTER_DPI, total)
    yield from paint_pages(document, writer, _PRINTER_DPI, page, name, range(document.pageCount()), total)
    return page


def _pixels(device: QPagedPaintDevice, dpi: int) -> QSizeF:
    """Return the size of the printable part of a page, in pixels."""
    return QSizeF(device.width(), device.height()) * (DPI / dpi)


def lay_out_pages(
    document: PaperDocument, device: QPagedPaintDevice, dpi: int, total: int
) -> Generator[Progress, None, QSizeF]:
    """Lay out a document on the pages of a device; return the size of a page's content in pixels."""
    pixels = _pixels(device, dpi)
    page = QSizeF(pixels.width(), pixels.height() - FOOTER_PX)
    document.show_pictures()
    document.setPageSize(page)
    limit_indents(document)
    for _ in lay_out(document):
        yield Progress(total // 2, total)
    keep_headings_with_text(document)
    split_blocks_at_pages(document)
    for _ in lay_out(document):
        yield Progress(total // 2, total)
    return page


def paint_pages(
    document: PaperDocument,
    device: QPagedPaintDevice,
    dpi: int,
    page: QSizeF,
    name: str,
    numbers: range,
    total: int,
) -> Generator[Progress]:
    """Paint the pages `numbers`, counted from 0, each with a footer. Raises `OSError`."""
    painter = QPainter(device)
    if not painter.isActive():
        raise OSError(None, Sentence("the pages could not be painted"))
    painter.scale(dpi / DPI, dpi / DPI)
    pixels = _pixels(device, dpi)
    try:
        num_pages = document.pageCount()
        for number in numbers:
            if number != numbers.start:
                device.newPage()
            paint_page(document, painter, page, number)
            paint_footer(document, painter, pixels, name, number + 1, num_pages)
            yield Progress(total // 2 + (total // 2) * (number + 1) // (num_pages + 1), total)
    finally:
        painter.end()


def _with_outline(
    document: PaperDocument,
    page: QSizeF,
    painted: bytes,
    excerpt: Excerpt,
    meanings: dict[int, str],
) -> bytes:
    layout = document.documentLayout()
    writer = PdfWriter()
    reader = PdfReader(io.BytesIO(painted))
    writer.append(reader, import_outline=False)
    conversation, name = excerpt.conversation, title(excerpt)
    dates = {"/CreationDate": _date(conversation.created_ms), "/ModDate": _date(conversation.updated_ms)}
    writer.add_metadata({"/Title": name, "/Creator": "Bough", **dates})
    name_characters(writer, "".join([name, document.toPlainText(), *document.formulas]), meanings)
    height_pt = float(reader.pages[0].mediabox.height)
    margin_pt = MARGIN_MM / MM_PER_INCH * 72
    branch: IndirectObject | None = None
    for mark in document.marks:
        top = layout.blockBoundingRect(document.findBlock(mark.position)).top()
        number = min(int(top // page.height()), len(reader.pages) - 1)
        top_pt = height_pt - margin_pt - (top - number * page.height()) * 72 / DPI
        fit = Fit("/XYZ", (0, round(top_pt, 1), 0))
        parent = branch if mark.level else None
        item = writer.add_outline_item(title=mark.title, page_number=number, parent=parent, fit=fit)
        if not mark.level:
            branch = item
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def _date(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("D:%Y%m%d%H%M%S+00'00'")
    except (ValueError, OverflowError, OSError):
        return "D:19700101000000+00'00'"
