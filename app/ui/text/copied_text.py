"""What a selection in a message is as plain text: formulas as they are written, tables by tabs and lines."""

from __future__ import annotations

import re

from PySide6.QtGui import QTextCursor, QTextTable

from app.ui.text.formula_object import FORMULA, source_of
from app.ui.text.reading_order import as_read, blocks_of

_OBJECT = "\ufffc"
_OPENED_RUN = re.compile(r"([^\s\u200b]{1000})\u200b")
"""A long run, and the place at which it was given leave to break."""


def copied_text(cursor: QTextCursor) -> str:
    """Return the selected text."""
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    parts: list[str] = []
    table, row = None, -1
    for block in as_read(blocks_of(cursor.document(), start, end)):
        part = QTextCursor(block)
        part.setPosition(max(start, block.position()))
        part.setPosition(min(end, block.position() + block.length() - 1), QTextCursor.MoveMode.KeepAnchor)
        above, table_above, row_above = bool(parts), table, row
        table, row = _place(part)
        if above:
            parts.append("\t" if table is not None and (table, row) == (table_above, row_above) else "\n")
        if block.length() > 1 or table is not None or not _is_low(part):
            parts.append(_written(part))
        elif above:
            parts.pop()
    return _OPENED_RUN.sub(r"\1", "".join(parts)).replace("\u2028", "\n")


def _place(cursor: QTextCursor) -> tuple[QTextTable | None, int]:
    table = cursor.currentTable()
    return (None, -1) if table is None else (table, table.cellAt(cursor).row())


def _is_low(cursor: QTextCursor) -> bool:
    """Whether a block is an empty one that only a table needs."""
    return cursor.blockFormat().lineHeight() == 1


def _written(part: QTextCursor) -> str:
    text = part.selectedText()
    if _OBJECT not in text:
        return text
    pieces = text.split(_OBJECT)
    sources: list[str] = []
    place = QTextCursor(part.document())
    for position in range(part.selectionStart() + 1, part.selectionEnd() + 1):
        place.setPosition(position)
        if place.charFormat().objectType() == FORMULA:
            sources.append(source_of(place.charFormat()))
    sources += [""] * (len(pieces) - len(sources))
    return "".join(f"{piece}{source}" for piece, source in zip(pieces, sources, strict=False))
