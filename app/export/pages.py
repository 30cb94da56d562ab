"""Lays out the pages of a paper document, and paints them into a PDF or a picture."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial

from msgspec import Struct
from PySide6.QtCore import QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QFont,
    QImage,
    QPainter,
    QPalette,
    QTextBlock,
    QTextCursor,
    QTextFormat,
)

from app.export.paper_document import Fonts, PaperDocument, break_long_runs, fill
from app.model.exports.captions import title
from app.model.exports.excerpt import Excerpt, Options

DPI = 96
MARGIN_MM = 20
MM_PER_INCH = 25.4
FOOTER_PX = 28
_A4_PX = QSizeF(210, 297) * (DPI / MM_PER_INCH)
_MARGIN_PX = MARGIN_MM / MM_PER_INCH * DPI
_BLOCKS_PER_STEP = 32
_LINE_BREAK = "\u2028"
_MAX_PAGE_CHARACTERS = 12_000
"""A page holds fewer characters than this."""
_PREVIEW_CHARACTERS = (3_000, 10_000, 30_000, 100_000)
"""The numbers of characters of each message from which the first page is made, tried in turn until they fill it. While
Qt lays out a text, other threads wait."""


class FirstPage(Struct, frozen=True):
    """The first page as it will be exported."""

    picture: QImage
    is_all: bool
    """Whether the document has only this page."""


def lay_out(document: PaperDocument) -> Generator[None]:
    """Lay out a document; yield regularly, so that other threads can run."""
    layout = document.documentLayout()
    block = document.begin()
    number = 0
    while block.isValid():
        number += 1
        if number % _BLOCKS_PER_STEP == 0:
            # This lays out everything up to the block.
            layout.blockBoundingRect(block)
            yield
        block = block.next()


def limit_indents(document: PaperDocument) -> None:
    """Limit the indentation of deeply nested lists and quotes to half the page, whose size must be set."""
    width = document.pageSize().width()
    room = int(width / 2 / document.indentWidth())
    edit = QTextCursor(document)
    edit.beginEditBlock()
    for block in _blocks(document):
        look, own = block.blockFormat(), block.textList()
        if own is not None and own.format().indent() > room:
            limited = own.format()
            limited.setIndent(room)
            own.setFormat(limited)
        if look.leftMargin() > width / 4 or look.indent() > room:
            look.setLeftMargin(min(look.leftMargin(), width / 4))
            look.setRightMargin(min(look.rightMargin(), width / 4))
            look.setIndent(min(look.indent(), room))
            edit.setPosition(block.position())
            edit.setBlockFormat(look)
    edit.endEditBlock()


def _blocks(document: PaperDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def keep_headings_with_text(document: PaperDocument) -> None:
    """Move headings at the end of a page to the next page, in a document that is laid out."""
    height = document.pageSize().height()
    layout = document.documentLayout()
    heading: QTextBlock | None = None
    block = document.begin()
    while block.isValid():
        if not block.blockFormat().headingLevel():
            if heading is not None:
                top = layout.blockBoundingRect(heading).top()
                is_last = int(top // height) < int(_middle_of_first_line(layout, block) // height)
                if is_last and top % height > heading.blockFormat().topMargin() + 1:
                    look = heading.blockFormat()
                    look.setPageBreakPolicy(QTextFormat.PageBreakFlag.PageBreak_AlwaysBefore)
                    QTextCursor(heading).setBlockFormat(look)
            heading = None
        elif heading is None and block.position():
            heading = block
        block = block.next()


def _middle_of_first_line(layout: QAbstractTextDocumentLayout, block: QTextBlock) -> float:
    found = layout.blockBoundingRect(block)
    line = block.layout().lineAt(0)
    return found.top() + (line.y() - block.layout().boundingRect().top() + line.height() / 2 if line.isValid() else 0)


def split_blocks_at_pages(document: PaperDocument) -> None:
    """Split blocks that continue on another page, in a document that is laid out.

    When Qt paints a block from its middle on, it also paints the line before. That line is clipped, but occurs twice in
    the PDF's text.
    """
    height = document.pageSize().height()
    layout = document.documentLayout()
    starts: list[int] = []
    block = document.begin()
    while block.isValid():
        lines = block.layout()
        top = layout.blockBoundingRect(block).top() - lines.boundingRect().top()
        page = -1
        for number in range(lines.lineCount()):
            line = lines.lineAt(number)
            # A line belongs to the page that contains its middle.
            its_page = int((top + line.y() + line.height() / 2) // height)
            if its_page > page >= 0:
                starts.append(block.position() + line.textStart())
            page = its_page
        block = block.next()
    edit = QTextCursor(document)
    edit.beginEditBlock()
    # From the last to the first, so that earlier positions stay valid.
    for start in reversed(starts):
        edit.setPosition(start)
        above, look = edit.blockFormat(), edit.blockFormat()
        look.setTopMargin(0)
        look.setPageBreakPolicy(QTextFormat.PageBreakFlag.PageBreak_AlwaysBefore)
        if document.characterAt(start - 1) == _LINE_BREAK:
            edit.deletePreviousChar()
        edit.insertBlock(look)
        if (own := edit.currentList()) is not None:
            own.remove(edit.block())
        above.setBottomMargin(0)
        edit.movePosition(QTextCursor.MoveOperation.PreviousBlock)
        edit.setBlockFormat(above)
    edit.endEditBlock()


def first_page(
    excerpt: Excerpt, options: Options, pixels_per_px: float, fonts: Fonts | None = None, *, has_footer: bool
) -> Generator[None, None, FirstPage]:
    """Return the first A4 page; yield in between. Needs a `QGuiApplication`, in any thread."""
    longest = max((len(message.text) for message in excerpt.messages), default=0)
    for max_characters in (*(most for most in _PREVIEW_CHARACTERS if most < longest), None):
        with closing(PaperDocument(fonts)) as document:
            is_filled = yield from _begin(document, excerpt, options, max_characters)
            _set_a4(document)
            yield
            if max_characters is None or not is_filled or document.pageCount() > 1:
                is_whole = is_filled and max_characters is None
                return _painted(document, pixels_per_px, title(excerpt) if has_footer else None, is_whole=is_whole)
    raise AssertionError("The last round returns")


def _set_a4(document: PaperDocument) -> None:
    """Lay out a document for A4 pages."""
    document.show_pictures()
    document.setPageSize(_A4_PX - QSizeF(2 * _MARGIN_PX, 2 * _MARGIN_PX + FOOTER_PX))
    limit_indents(document)
    keep_headings_with_text(document)


def _painted(document: PaperDocument, pixels_per_px: float, name: str | None, *, is_whole: bool) -> FirstPage:
    """Paint the first page of a document, with a footer if `name` is given. `is_whole`: the document is complete."""
    num_pages = document.pageCount()
    picture = QImage((_A4_PX * pixels_per_px).toSize(), QImage.Format.Format_RGB32)
    picture.fill(Qt.GlobalColor.white)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(pixels_per_px, pixels_per_px)
    painter.translate(_MARGIN_PX, _MARGIN_PX)
    paint_page(document, painter, document.pageSize(), 0)
    if name is not None:
        inner = document.pageSize() + QSizeF(0, FOOTER_PX)
        paint_footer(document, painter, inner, name, 1, num_pages if is_whole else None)
    painter.end()
    return FirstPage(picture, is_whole and num_pages == 1)


def _begin(
    document: PaperDocument, excerpt: Excerpt, options: Options, max_characters: int | None
) -> Generator[None, None, bool]:
    """Fill at least the first page, with at most `max_characters` of each message.

    Return whether the end of the conversation was reached.
    """
    document.written = partial(break_long_runs, document)
    for _ in fill(document, excerpt, options, max_characters):
        yield
        if document.characterCount() > _MAX_PAGE_CHARACTERS:
            return False
    return True


def paint_page(document: PaperDocument, painter: QPainter, page: QSizeF, number: int) -> None:
    """Paint the page with this number, from 0; `page` is the size of a page's content."""
    context = QAbstractTextDocumentLayout.PaintContext()
    palette = QPalette()
    # Paper is white in every colour scheme.
    palette.setColor(QPalette.ColorRole.Text, Qt.GlobalColor.black)
    context.palette = palette  # pyright: ignore[reportAttributeAccessIssue]
    view = QRectF(0, number * page.height(), page.width(), page.height())
    # Exclude a line that begins where the page ends.
    context.clip = view.adjusted(0, 0, 0, -1)  # pyright: ignore[reportAttributeAccessIssue]
    painter.save()
    painter.translate(0, -view.top())
    painter.setClipRect(view)
    document.documentLayout().draw(painter, context)
    painter.restore()


def paint_footer(
    document: PaperDocument, painter: QPainter, pixels: QSizeF, name: str, number: int, num_pages: int | None
) -> None:
    """Write the conversation's name and the page number below a page."""
    font = QFont(document.defaultFont())
    font.setPixelSize(10)
    painter.setFont(font)
    painter.setPen(QColor("#5F6963"))
    line = QRectF(0, pixels.height() - 14, pixels.width(), 14)
    painter.drawText(line, Qt.AlignmentFlag.AlignRight, f"{number} / {num_pages or '…'}")
    shown = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, round(pixels.width() * 0.8))
    painter.drawText(line, Qt.AlignmentFlag.AlignLeft, shown)
