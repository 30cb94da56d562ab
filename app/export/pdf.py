"""Exports conversations as PDF, with page numbers, selectable text and an outline of all messages."""

from __future__ import annotations

import io
from collections.abc import Generator
from contextlib import closing
from datetime import UTC, datetime
from typing import NamedTuple

from pypdf import PdfReader, PdfWriter
from pypdf.generic import BooleanObject, DictionaryObject, Fit, IndirectObject, NameObject, TextStringObject
from pypdf.xmp import XmpInformation
from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSizeF
from PySide6.QtGui import QPageLayout, QPageSize, QPainter, QPdfWriter

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
from app.model.exports.captions import language, title
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Progress

_PRINTER_DPI = 1200


class Paper(NamedTuple):
    """Pages of another size than A4, and which of them are wanted. Lengths are in points."""

    width_pt: float
    height_pt: float
    margins_pt: tuple[float, float, float, float]
    """Left, top, right and bottom."""
    first: int = 0
    """The first wanted page, counted from 0."""
    end: int | None = None
    """The page after the last wanted one; None means that all further pages are wanted."""
    units_per_px: float = 1.0
    """Units of pictures in a pixel of 1/96 inch."""


def pdf(
    excerpt: Excerpt, options: Options, fonts: Fonts | None = None, paper: Paper | None = None
) -> Generator[Progress, None, bytes]:
    """Return a PDF and yield the progress. `paper`: None means all pages, as A4. Needs a `QGuiApplication`.

    Raises `FewPagesError` if no page of the document is wanted.
    """
    with closing(PaperDocument(fonts)) as document:
        # Layout and painting take about as long as filling.
        total = 2 * len(excerpt.messages)
        meanings = yield from _filled(document, excerpt, options, total)
        painted = QBuffer()
        painted.open(QIODevice.OpenModeFlag.WriteOnly)
        writer = _writer(painted, title(excerpt), paper)
        page = yield from lay_out_pages(document, _pixels(writer), total)
        numbers = _wanted(document, paper)
        yield from paint_pages(document, writer, page, title(excerpt), numbers, total)
        data = _with_outline(document, page, numbers, bytes(painted.data().data()), excerpt, options, meanings)
        yield Progress(total, total)
        return data


def pictures(excerpt: Excerpt, options: Options, fonts: Fonts, paper: Paper) -> Generator[Progress | tuple[int, bytes]]:
    """Yield the wanted pages as pictures, each with the number of its page, and the progress.

    A page has several pictures, one above another. Raises `FewPagesError` if no page is wanted.
    """
    # It loads NumPy, which nothing else here needs.
    from app.export.picture_recorder import PictureRecorder

    with closing(PaperDocument(fonts)) as document:
        total = 2 * len(excerpt.messages)
        yield from _filled(document, excerpt, options, total)
        # Nothing is painted on it, but it has the size of the pages.
        writer = _writer(QBuffer(), "", paper)
        pixels = _pixels(writer)
        page = yield from lay_out_pages(document, pixels, total)
        numbers = _wanted(document, paper)
        for number in numbers:
            recorder = PictureRecorder(pixels, paper.units_per_px, QRectF(0, 0, page.width(), page.height()))
            with QPainter(recorder) as painter:
                paint_page(document, painter, page, number)
            footer = PictureRecorder(pixels, paper.units_per_px)
            with QPainter(footer) as painter:
                paint_footer(document, painter, pixels, title(excerpt), number + 1, document.pageCount())
            for picture in (*recorder.take(), *footer.take()):
                yield number, picture
        yield Progress(total, total)


class FewPagesError(Exception):
    """The document has none of the wanted pages. The error's text is its number of pages."""


def _wanted(document: PaperDocument, paper: Paper | None) -> range:
    """Return the numbers of the wanted pages, counted from 0."""
    num_pages = document.pageCount()
    numbers = range(num_pages) if paper is None else range(num_pages)[max(paper.first, 0) : paper.end]
    if not numbers:
        raise FewPagesError(str(num_pages))
    return numbers


def _filled(
    document: PaperDocument, excerpt: Excerpt, options: Options, total: int
) -> Generator[Progress, None, dict[int, str]]:
    """Write the conversation into the document; return the text of each character that no font has."""
    unmapped = UnmappedCharacters(document)

    def written(start: int) -> None:
        break_long_runs(document, start)
        unmapped.replace_in(start)

    document.written = written
    for done in fill(document, excerpt, options):
        yield Progress(done, total)
    return unmapped.meanings


def _writer(device: QIODevice, name: str, paper: Paper | None) -> QPdfWriter:
    writer = QPdfWriter(device)
    writer.setCreator("Bough")
    writer.setTitle(name)
    writer.setResolution(_PRINTER_DPI)
    margins = QMarginsF(MARGIN_MM, MARGIN_MM, MARGIN_MM, MARGIN_MM)
    size, unit = QPageSize(QPageSize.PageSizeId.A4), QPageLayout.Unit.Millimeter
    if paper is not None:
        points = QSizeF(paper.width_pt, paper.height_pt)
        # Pages in landscape are wider than high.
        size = QPageSize(points, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch)
        margins, unit = QMarginsF(*paper.margins_pt), QPageLayout.Unit.Point
    writer.setPageLayout(QPageLayout(size, QPageLayout.Orientation.Portrait, margins, unit))
    return writer


def _pixels(writer: QPdfWriter) -> QSizeF:
    """Return the size of the printable part of a page, in pixels."""
    return QSizeF(writer.width(), writer.height()) * (DPI / _PRINTER_DPI)


def lay_out_pages(document: PaperDocument, pixels: QSizeF, total: int) -> Generator[Progress, None, QSizeF]:
    """Lay out a document on pages of this size; return the size of a page's content, without its footer."""
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
    document: PaperDocument, writer: QPdfWriter, page: QSizeF, name: str, numbers: range, total: int
) -> Generator[Progress]:
    """Paint the pages `numbers`, counted from 0, each with a footer."""
    pixels = _pixels(writer)
    with QPainter(writer) as painter:
        painter.scale(_PRINTER_DPI / DPI, _PRINTER_DPI / DPI)
        num_pages = document.pageCount()
        for number in numbers:
            if number != numbers.start:
                writer.newPage()
            paint_page(document, painter, page, number)
            paint_footer(document, painter, pixels, name, number + 1, num_pages)
            yield Progress(total // 2 + (total // 2) * (number + 1) // (num_pages + 1), total)


def _with_outline(
    document: PaperDocument,
    page: QSizeF,
    numbers: range,
    painted: bytes,
    excerpt: Excerpt,
    options: Options,
    meanings: dict[int, str],
) -> bytes:
    layout = document.documentLayout()
    writer = PdfWriter()
    reader = PdfReader(io.BytesIO(painted))
    writer.append(reader, import_outline=False)
    conversation, name = excerpt.conversation, title(excerpt)
    dates = {"/CreationDate": _date(conversation.created_ms), "/ModDate": _date(conversation.updated_ms)}
    writer.add_metadata({"/Title": name, "/Creator": "Bough", **dates})
    _describe(writer, name, language(excerpt, options))
    name_characters(writer, "".join([name, document.toPlainText(), *document.formulas]), meanings)
    height_pt = float(reader.pages[0].mediabox.height)
    margin_pt = MARGIN_MM / MM_PER_INCH * 72
    branch: IndirectObject | None = None
    for mark in document.marks:
        top = layout.blockBoundingRect(document.findBlock(mark.position)).top()
        number = min(int(top // page.height()), document.pageCount() - 1)
        if number not in numbers:
            continue
        top_pt = height_pt - margin_pt - (top - number * page.height()) * 72 / DPI
        fit = Fit("/XYZ", (0, round(top_pt, 1), 0))
        parent = branch if mark.level else None
        item = writer.add_outline_item(title=mark.title, page_number=number - numbers.start, parent=parent, fit=fit)
        if not mark.level:
            branch = item
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def _describe(writer: PdfWriter, name: str, tag: str) -> None:
    """Set the title and the language as screen readers and archives look for them. Viewers show the title."""
    found = XmpInformation.create()
    found.dc_title = {"x-default": name}
    found.dc_language = [tag]
    found.xmp_creator_tool = "Bough"
    writer.xmp_metadata = found
    root = writer.root_object
    root[NameObject("/Lang")] = TextStringObject(tag)
    root[NameObject("/ViewerPreferences")] = DictionaryObject({NameObject("/DisplayDocTitle"): BooleanObject(True)})


def _date(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("D:%Y%m%d%H%M%S+00'00'")
    except (ValueError, OverflowError, OSError):
        return "D:19700101000000+00'00'"
