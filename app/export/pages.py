"""The pages of a document for paper, painted one by one, be it on a file or on the screen."""

from __future__ import annotations

from collections.abc import Generator, Iterator
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

from app.export.document import PaperDocument, break_runs, filled
from app.export.paper_pictures import show_pictures
from app.model.exports.captions import title
from app.model.exports.excerpt import Excerpt, Options

DPI = 96
MARGIN_MM = 20
MM_PER_INCH = 25.4
FOOTER_PX = 28
_A4_MM = (210, 297)
_BLOCKS_A_STEP = 32
_LINE_BREAK = "\u2028"
_FILLS_A_PAGE = 12_000
"""Characters; no page holds more."""


class FirstPage(Struct, frozen=True):
    """A page as it will look."""

    picture: QImage
    is_all: bool
    """Whether nothing comes behind it."""


def lay_out(document: PaperDocument) -> Generator[None]:
    """Lay a document out, yielding every so many blocks: whoever shares this program's time gets on meanwhile."""
    layout = document.documentLayout()
    block = document.begin()
    number = 0
    while block.isValid():
        number += 1
        if number % _BLOCKS_A_STEP == 0:
            # All above it is laid out for that.
            layout.blockBoundingRect(block)
            yield
        block = block.next()


def keep_on_page(document: PaperDocument) -> None:
    """Let what stands far in, in many lists or quotes, have room on the page, whose size is set."""
    width = document.pageSize().width()
    room = int(width / 2 / document.indentWidth())
    edit = QTextCursor(document)
    edit.beginEditBlock()
    for block in _blocks(document):
        look, own = block.blockFormat(), block.textList()
        if own is not None and own.format().indent() > room:
            as_deep = own.format()
            as_deep.setIndent(room)
            own.setFormat(as_deep)
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
    """Let no heading be the last thing on a page, in a document that is laid out."""
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


def begin_blocks_with_pages(document: PaperDocument) -> None:
    """Let what goes on upon another page be a block of its own there, in a document that is laid out.

    Of a block that is painted from its middle on Qt paints the line above, too: nobody sees it, but whoever selects
    text or searches it has it twice.
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
            # A line stands on one page: its middle tells on which.
            its_page = int((top + line.y() + line.height() / 2) // height)
            if its_page > page >= 0:
                starts.append(block.position() + line.textStart())
            page = its_page
        block = block.next()
    edit = QTextCursor(document)
    edit.beginEditBlock()
    # The last one first: what stands before it keeps its place.
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
    excerpt: Excerpt, options: Options, pixels_per_px: float, *, has_footer: bool
) -> Generator[None, None, FirstPage]:
    """Return the first page, A4 in size; yield in between. It needs a `QGuiApplication`, and no particular thread."""
    document = PaperDocument()
    document.written = partial(break_runs, document)
    is_filled = True
    for _ in filled(document, excerpt, options):
        yield
        if document.characterCount() > _FILLS_A_PAGE:
            is_filled = False
            break
    show_pictures(document)
    whole = QSizeF(*_A4_MM) * (DPI / MM_PER_INCH)
    margin = MARGIN_MM / MM_PER_INCH * DPI
    inner = QSizeF(whole.width() - 2 * margin, whole.height() - 2 * margin)
    page = QSizeF(inner.width(), inner.height() - FOOTER_PX)
    document.setPageSize(page)
    keep_on_page(document)
    keep_headings_with_text(document)
    num_pages = document.pageCount()
    yield
    picture = QImage((whole * pixels_per_px).toSize(), QImage.Format.Format_RGB32)
    picture.fill(Qt.GlobalColor.white)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(pixels_per_px, pixels_per_px)
    painter.translate(margin, margin)
    paint_page(document, painter, page, 0)
    if has_footer:
        # How many pages there are is known once all of it is laid out.
        paint_footer(document, painter, inner, title(excerpt), 1, num_pages if is_filled else None)
    painter.end()
    return FirstPage(picture, is_filled and num_pages == 1)


def paint_page(document: PaperDocument, painter: QPainter, page: QSizeF, number: int) -> None:
    """Paint the page with this number, from 0; `page`: what a page shows."""
    context = QAbstractTextDocumentLayout.PaintContext()
    palette = QPalette()
    # Whatever the system's colours: paper is white.
    palette.setColor(QPalette.ColorRole.Text, Qt.GlobalColor.black)
    context.palette = palette  # pyright: ignore[reportAttributeAccessIssue]
    view = QRectF(0, number * page.height(), page.width(), page.height())
    # A line that begins where the page ends is none of it.
    context.clip = view.adjusted(0, 0, 0, -1)  # pyright: ignore[reportAttributeAccessIssue]
    painter.save()
    painter.translate(0, -view.top())
    painter.setClipRect(view)
    document.documentLayout().draw(painter, context)
    painter.restore()


def paint_footer(
    document: PaperDocument, painter: QPainter, pixels: QSizeF, name: str, number: int, num_pages: int | None
) -> None:
    """Write a conversation's name and the page's number below a page."""
    font = QFont(document.defaultFont())
    font.setPixelSize(10)
    painter.setFont(font)
    painter.setPen(QColor("#5F6963"))
    line = QRectF(0, pixels.height() - 14, pixels.width(), 14)
    painter.drawText(line, Qt.AlignmentFlag.AlignRight, f"{number} / {num_pages or '…'}")
    shown = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, round(pixels.width() * 0.8))
    painter.drawText(line, Qt.AlignmentFlag.AlignLeft, shown)
