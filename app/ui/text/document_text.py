"""Maps positions in a message's document to positions in its source, and returns a selection as plain text."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlock, QTextCursor, QTextDocument, QTextLine, QTextTable

from app.ui.text.formulas import FORMULA, PlacedFormula, key_of, key_source
from app.ui.text.text_formats import CONTINUES_LINE

_MAX_HIDDEN_CHARS = 2_000
"""The maximum number of consecutive source characters that the document hides. Link addresses are the longest."""
_GENERATED = frozenset("\u2028\u200b\u2002☐☑")
"""Characters in the document that stand for other characters in the source."""
_OBJECT = "\ufffc"
_REPLACEMENT = "\ufffd"
_REPLACED = re.compile("[\0\ufffc\ufffd\ufdd0\ufdd1]")
"""A character of the source for which the document has `_REPLACEMENT`."""
_LONG_RUN = re.compile(r"([^\s\u200b]{1000})\u200b")
"""Text without a space, and the break that `inline_writer.breakable` inserted after it."""
_BREAK = "\u200b"
_INSERTED = frozenset((_BREAK, "\u2029"))


def source_position(cursor: QTextCursor, source: str, start: int) -> int:
    """Return the position in `source` of a cursor. The document shows `source` as Markdown, from `start` on."""
    position = start
    for character, unit in _read_before(cursor):
        if character == _OBJECT:
            position = _after_formula(cursor, unit, source, position)
        elif character == _REPLACEMENT:
            replaced = _REPLACED.search(source, position, position + _MAX_HIDDEN_CHARS)
            position = position if replaced is None else replaced.end()
        elif character not in _GENERATED:
            found = source.find(character, position, position + _MAX_HIDDEN_CHARS)
            position = found + 1 if found >= 0 else position
    return position


def raw_position(cursor: QTextCursor, source: str) -> int:
    """Return the position in `source` of a cursor. The document shows `source` as plain text."""
    position = 0
    units = cursor.document().toRawText().encode("utf-16-le", "surrogatepass")
    for character in units[: 2 * cursor.position()].decode("utf-16-le", "surrogatepass"):
        if _is_inserted(character, source[position : position + 1]):
            continue
        position += 2 if source.startswith("\r\n", position) else 1
    return min(position, len(source))


def _read_before(cursor: QTextCursor) -> Iterator[tuple[str, int]]:
    """Yield the characters before a cursor in reading order, each with the position after it."""
    document = cursor.document()
    for block in in_reading_order(blocks_between(document, 0, document.characterCount()), document):
        is_last = block == cursor.block()
        unit = block.position()
        for character in block.text():
            if is_last and unit >= cursor.position():
                return
            unit += 2 if character > "\uffff" else 1
            yield character, unit
        if is_last:
            return


def _after_formula(cursor: QTextCursor, unit: int, source: str, position: int) -> int:
    """Return the position in the source after the formula that ends at `unit` in the document."""
    formula = QTextCursor(cursor.document())
    formula.setPosition(unit)
    if formula.charFormat().objectType() != FORMULA:
        return position
    latex = key_of(formula.charFormat()).latex
    found = source.find(latex, position)
    if found < 0:
        return position
    end = found + len(latex)
    while source[end : end + 1].isspace():
        end += 1
    for closing in ("$$", r"\]", r"\)", "$"):
        if source.startswith(closing, end):
            return end + len(closing)
    return end


def copied_text(cursor: QTextCursor, formulas: Sequence[PlacedFormula]) -> str:
    """Return a selection as plain text: formulas as LaTeX, table cells with tabs and line breaks between them.

    `formulas` are all formulas of the document, in its order.
    """
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    texts: list[str] = []
    tables = _Tables(cursor.document())
    place = _OUTSIDE
    for block, above in _with_places(blocks_between(cursor.document(), start, end), tables):
        first = block.position()
        last = first + block.length() - 1
        text = block.text() if start <= first and last <= end else _OBJECT
        if _OBJECT in text:
            # Only part of it is selected, or it has formulas.
            text = _text_with_formulas(block, max(start, first), min(end, last), formulas)
        # In each block by itself, because runs are counted from its beginning.
        text = _LONG_RUN.sub(r"\1", text)
        before, place = place, above
        if texts and block.blockFormat().hasProperty(CONTINUES_LINE):
            texts.append(block.blockFormat().stringProperty(CONTINUES_LINE))
        elif texts:
            texts.append("\t" if place is not _OUTSIDE and place == before else "\n")
        if first < last or place is not _OUTSIDE or not _is_filler(block):
            texts.append(text)
        elif texts:
            texts.pop()
    return "".join(texts).replace("\u2028", "\n")


def _is_inserted(shown: str, source: str) -> bool:
    """Return whether a character of the document is a break that was inserted into a long line of the source."""
    return shown in _INSERTED and shown != source and (shown == _BREAK or source not in {"\n", "\r", "\u2028"})


def _is_filler(block: QTextBlock) -> bool:
    """Return whether an empty block is there only because Qt needs one beside a table."""
    return block.blockFormat().lineHeight() == 1


def _text_with_formulas(block: QTextBlock, start: int, end: int, formulas: Sequence[PlacedFormula]) -> str:
    """Return the text of a part of a block, with the sources of formulas in place of their pictures."""
    selected = QTextCursor(block)
    selected.setPosition(start)
    selected.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    text = selected.selectedText()
    if _OBJECT not in text:
        return text
    # All objects are formulas. Asking the document for their formats would take much longer.
    first = bisect.bisect_left(formulas, start, key=attrgetter("position"))
    pieces = text.split(_OBJECT)
    sources = (key_source(placed.key) for placed in formulas[first : first + len(pieces) - 1])
    return "".join(f"{piece}{source}" for piece, source in zip(pieces, [*sources, ""], strict=True))


def is_mirrored(table: QTextTable) -> bool:
    """Return whether a table's first column is at the right."""
    return table.format().layoutDirection() == Qt.LayoutDirection.RightToLeft


class _Place(NamedTuple):
    """A table and one of its rows."""

    table: int
    row: int
    is_mirrored: bool


_OUTSIDE = _Place(-1, -1, is_mirrored=False)
"""The place of blocks outside tables."""


class _Tables:
    """The tables of a document. Qt's own search for the table of a block is slow in a document with many tables."""

    def __init__(self, document: QTextDocument) -> None:
        self._tables = [frame for frame in document.rootFrame().childFrames() if isinstance(frame, QTextTable)]
        self._starts = [table.firstPosition() for table in self._tables]
        self._ends = [table.lastPosition() for table in self._tables]

    def place(self, block: QTextBlock) -> _Place:
        """Return the table and row of a block."""
        position = block.position()
        index = bisect.bisect_right(self._starts, position) - 1
        if index < 0 or position > self._ends[index]:
            return _OUTSIDE
        table = self._tables[index]
        return _Place(index, table.cellAt(position).row(), is_mirrored(table))


def in_reading_order(blocks: Iterable[QTextBlock], document: QTextDocument) -> Iterator[QTextBlock]:
    """Yield consecutive blocks of a document in reading order.

    In a right-to-left table the order differs, because Qt lays all tables out from left to right.
    """
    return (block for block, _ in _with_places(blocks, _Tables(document)))


def _with_places(blocks: Iterable[QTextBlock], tables: _Tables) -> Iterator[tuple[QTextBlock, _Place]]:
    """Yield blocks in reading order, each with its place."""
    for place, found in itertools.groupby(((block, tables.place(block)) for block in blocks), itemgetter(1)):
        if place.is_mirrored:
            # Each cell is one block.
            yield from reversed([*found])
        else:
            yield from found


def blocks_between(document: QTextDocument, start: int, end: int) -> Iterator[QTextBlock]:
    """Yield the blocks from one position to another in document order."""
    block = document.findBlock(start)
    while block.isValid() and block.position() <= end:
        yield block
        block = block.next()


class CharacterPositions:
    """The document positions of the characters of a source text that grows and is shown as plain text.

    The positions differ from those in the source, because Qt counts UTF-16 units and long words have inserted breaks.
    """

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._positions = [0]
        """The position of each character, and the end of the last character."""
        self._has_mismatch = False

    def __getitem__(self, index: int) -> int:
        """Return the position of a character. The index `num_chars` means the end of the last character."""
        return self._positions[index]

    @property
    def num_chars(self) -> int:
        """The number of characters with known positions; 0 if the document differs from the source."""
        return 0 if self._has_mismatch else len(self._positions) - 1

    def extend(self, text: str) -> None:
        """Find the positions of the characters that were appended to the document; `text` is the whole source."""
        index, unit = len(self._positions) - 1, self._positions[-1]
        # The document has one character for a CRLF.
        self._has_mismatch = self._has_mismatch or text.find("\r", index) >= 0
        if self._has_mismatch:
            return
        cursor = QTextCursor(self._document)
        cursor.setPosition(unit)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        shown = cursor.selectedText()
        if len(shown) == cursor.position() - unit and not _INSERTED.intersection(shown):
            # Each character is one UTF-16 unit.
            num = min(len(shown), len(text) - index)
            self._positions += range(unit + 1, unit + num + 1)
            return
        for character in shown:
            unit += num_units(character)
            if _is_inserted(character, text[index : index + 1]):
                self._positions[-1] = unit
            elif index < len(text):
                self._positions.append(unit)
                index += 1
            else:
                break


def cursor_x(line: QTextLine, position: int) -> float:
    """Return the x coordinate of a position in a line. (PySide returns a tuple where its stubs say float.)"""
    found: Any = line.cursorToX(position)
    return float(found[0] if isinstance(found, tuple) else found)


def num_units(text: str) -> int:
    """Return the length of a text in UTF-16 units, which Qt's positions count."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
