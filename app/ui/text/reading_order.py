"""In which direction tables are read, and in which order what stands in them: Qt lays all out from left to right."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlock, QTextCursor, QTextDocument, QTextTable


def is_mirrored(table: QTextTable) -> bool:
    """Whether a table's first column stands at the right."""
    return table.format().layoutDirection() == Qt.LayoutDirection.RightToLeft


def as_read(blocks: Iterable[QTextBlock]) -> Iterator[QTextBlock]:
    """Return blocks that follow one another in a document in the order in which they are read."""
    for (_, row), found in itertools.groupby(blocks, _mirrored_row):
        if row < 0:
            yield from found
        else:
            # A cell is a block.
            yield from reversed([*found])


def blocks_of(document: QTextDocument, start: int, end: int) -> Iterator[QTextBlock]:
    """Return the blocks from one position to another, as they stand in the document."""
    block = document.findBlock(start)
    while block.isValid() and block.position() <= end:
        yield block
        block = block.next()


def _mirrored_row(block: QTextBlock) -> tuple[QTextTable | None, int]:
    cursor = QTextCursor(block)
    table = cursor.currentTable()
    return (None, -1) if table is None or not is_mirrored(table) else (table, table.cellAt(cursor).row())
