"""Prints a conversation with the layout of its PDF."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from PySide6.QtPrintSupport import QPrinter

from app.export.paper_document import PaperDocument, break_long_runs, fill
from app.export.pdf import lay_out_pages, paint_pages
from app.model.exports.captions import title
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Progress
from worker.sentence import Sentence


def print_pages(excerpt: Excerpt, options: Options, printer: QPrinter) -> Generator[Progress]:
    """Print the pages that the user chose, and yield the progress. Raises `OSError`."""
    with closing(PaperDocument()) as document:
        document.written = lambda start: break_long_runs(document, start)
        total = 2 * len(excerpt.messages)
        for done in fill(document, excerpt, options):
            yield Progress(done, total)
        name = title(excerpt)
        printer.setDocName(name)
        printer.setCreator("Bough")
        page = yield from lay_out_pages(document, printer, printer.resolution(), total)
        num_pages = document.pageCount()
        first, last = 0, num_pages
        if printer.printRange() == QPrinter.PrintRange.PageRange:
            first = max(printer.fromPage() - 1, 0)
            last = min(printer.toPage() or num_pages, num_pages)
        if first >= last:
            raise OSError(None, Sentence("the document has only {num} pages", num=num_pages))
        yield from paint_pages(document, printer, printer.resolution(), page, name, range(first, last), total)
        yield Progress(total, total)
