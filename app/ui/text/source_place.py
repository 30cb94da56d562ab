"""Where in a message's source the text cursor is; what Markdown means is shorter than what was written."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QTextCursor

from app.ui.text.formula_object import FORMULA, formula_key
from app.ui.text.reading_order import as_read, blocks_of

_FARTHEST = 2_000
"""Characters of source that stand for nothing shown: a link's address is the longest of them."""
_UNWRITTEN = frozenset("\u2028\u200b\u2002☐☑")
"""What a document has where the source has something else."""
_OBJECT = "\ufffc"


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
