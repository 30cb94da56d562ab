"""A document and its source: positions in both, and a selection as plain text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlock, QTextCursor, QTextDocument, QTextTable

from app.ui.text.formulas import FORMULA, formula_key, source_of

_FARTHEST = 2_000
"""Characters of source that stand for nothing shown: a link's address is the longest of them."""
_UNWRITTEN = frozenset("\u2028\u200b\u2002☐☑")
"""What a document has where the source has something else."""
_OBJECT = "\ufffc"
_OPENED_RUN = re.compile(r"([^\s\u200b]{1000})\u200b")
"""A long run, and the place at which it was given leave to break."""
_BREAK = "\u200b"


def source_place(cursor: QTextCursor, source: str, start: int) -> int:
    """Return how many characters of `source` stand before a cursor in the document that shows it from `start` on."""
    place = start
    for character, unit in _read_before(cursor):
        if character == _OBJECT:
            place = _after_formula(cursor, unit, source, place)
        elif character not in _UNWRITTEN:
            found = source.find(character, place, place + _FARTHEST)
            place = found + 1 if found >= 0 else place
    return place


def raw_place(cursor: QTextCursor, source: str) -> int:
    """The same where the document shows the source as it is."""
    place = 0
    units = cursor.document().toRawText().encode("utf-16-le", "surrogatepass")
    for character in units[: 2 * cursor.position()].decode("utf-16-le", "surrogatepass"):
        if character == "\u200b" and source[place : place + 1] != character:
            continue
        place += 2 if source.startswith("\r\n", place) else 1
    return min(place, len(source))


def _read_before(cursor: QTextCursor) -> Iterator[tuple[str, int]]:
    """Return each character that is read before a cursor comes, and the position behind it."""
    document = cursor.document()
    for block in as_read(blocks_of(document, 0, document.characterCount())):
        is_last = block == cursor.block()
        unit = block.position()
        for character in block.text():
            if is_last and unit >= cursor.position():
                return
            unit += 2 if character > "\uffff" else 1
            yield character, unit
        if is_last:
            return


def _after_formula(cursor: QTextCursor, unit: int, source: str, place: int) -> int:
    look = QTextCursor(cursor.document())
    look.setPosition(unit)
    if look.charFormat().objectType() != FORMULA:
        return place
    latex = formula_key(look.charFormat()).latex
    found = source.find(latex, place)
    if found < 0:
        return place
    end = found + len(latex)
    while source[end : end + 1].isspace():
        end += 1
    for closing in ("$$", r"\]", r"\)", "$"):
        if source.startswith(closing, end):
            return end + len(closing)
    return end


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


class CharacterPlaces:
    """Qt counts UTF-16 units; and long runs have been given leave to break, which is a character of its own."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._places = [0]
        """Where each character begins, and where the last one ends."""
        self._is_other = False

    def __getitem__(self, index: int) -> int:
        """Return where a character begins; for the number of characters, where the last one ends."""
        return self._places[index]

    @property
    def num_chars(self) -> int:
        """Of how many characters the places are known; of none where the document says another text."""
        return 0 if self._is_other else len(self._places) - 1

    def follow(self, text: str) -> None:
        """Take in what the document has grown by, and the text."""
        index, unit = len(self._places) - 1, self._places[-1]
        # Of a line end of two characters the document has one.
        self._is_other = self._is_other or text.find("\r", index) >= 0
        if self._is_other:
            return
        cursor = QTextCursor(self._document)
        cursor.setPosition(unit)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        shown = cursor.selectedText()
        if len(shown) == cursor.position() - unit and _BREAK not in shown:
            # Each character is a unit.
            num = min(len(shown), len(text) - index)
            self._places += range(unit + 1, unit + num + 1)
            return
        for character in shown:
            unit += num_units(character)
            if character == _BREAK and text[index : index + 1] != _BREAK:
                self._places[-1] = unit
            elif index < len(text):
                self._places.append(unit)
                index += 1
            else:
                break


def float_x(found: Any) -> float:
    """Return where in its line a character stands: Qt tells the character's place, too."""
    return float(found[0] if isinstance(found, tuple) else found)


def num_units(text: str) -> int:
    """Return how long Qt takes a text to be: it counts UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
