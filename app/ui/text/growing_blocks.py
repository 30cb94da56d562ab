"""The end of a text that still grows: which part of it may change, and code and tables that take in what follows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markdown_it.token import Token
from PySide6.QtCore import QTextBoundaryFinder
from PySide6.QtGui import QTextCursor, QTextTable

from app.ui.text.block_writer import QUOTE_DEPTH
from app.ui.text.code_blocks import CodeSpan, coloured, insert_code
from app.ui.text.document_text import num_units
from app.ui.text.highlight import Piece, highlighted
from app.ui.text.tables import Cell, rows_of, write_row
from app.ui.text.text_formats import TextFormats
from app.ui.theme import Theme

_JOINER = "\u200d"
_REGIONAL = range(0x1F1E6, 0x1F200)
_UNDECIDED = re.compile(r" {0,3}(\d{1,9}[.)]?|[-*+]+|[-*+] +|=+|#+|>|\|.*)?")
"""A last line that may still become something else: then what stands above it may go on."""
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])[ \t]+\S")
_WORD = re.compile(r"[^\W_]+ (?=[^\W_])")
_LONG_PARAGRAPH = 16_000
"""Characters of a paragraph that are written again with each that comes."""
_OPENING = re.compile(r"(?P<marker>`{3,}|~{3,})[^\n]*\n")
_WINDOW = 300
"""Characters before the end whose colours are found out again; what stands further up keeps the ones it has."""
_NOT_QUOTED = (QUOTE_DEPTH, 0)


def split_open_cluster(text: str) -> tuple[str, str]:
    """Return `text` without the cluster at its end that is certainly not finished, and that cluster."""
    if not text or (text[-1] != _JOINER and ord(text[-1]) not in _REGIONAL):
        return text, ""
    # From the last break on is enough to look at: clusters do not reach over line breaks and spaces.
    start = max(text.rfind(" "), text.rfind("\n")) + 1
    tail = text[start:]
    finder = QTextBoundaryFinder(QTextBoundaryFinder.BoundaryType.Grapheme, tail)
    finder.toEnd()
    units_before = finder.toPreviousBoundary()
    # Qt counts UTF-16 units.
    first = len(tail.encode("utf-16-le")[: 2 * units_before].decode("utf-16-le"))
    cluster = tail[first:]
    if cluster[-1] == _JOINER or len(cluster) == 1:
        return text[: start + first], cluster
    return text, ""


class LastBlock(NamedTuple):
    """The last block of a text, or the last item of a list that is."""

    above: list[Token]
    """What stands above it."""
    above_source: str
    tokens: list[Token]
    source: str
    is_above_final: bool
    """Whether nothing that follows makes something else of what stands above it."""

    @property
    def is_long_paragraph(self) -> bool:
        """Whether it is all there is, and too long to be written again and again."""
        is_paragraph = bool(self.tokens) and self.tokens[0].type == "paragraph_open"
        return is_paragraph and not self.above and len(self.source) > _LONG_PARAGRAPH


class OpenTable(NamedTuple):
    """A table that may have more rows."""

    head: str
    unfinished: str
    """The row that has no end yet."""


def last_block(source: str, tokens: list[Token]) -> LastBlock:
    """Find it in a text that was parsed as these."""
    starts = [token.map[0] for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
    if not starts:
        return LastBlock([], "", tokens, source, is_above_final=False)
    lines = source.split("\n")
    line = starts[-1]
    split = next(at for at, token in enumerate(tokens) if token.level == 0 and token.map and token.map[0] == line)
    if (item := _last_item(tokens[split:], lines)) is not None:
        # Items of a list that another one follows are final, too.
        split += item
        line = (tokens[split].map or [0])[0]
    above_source = "".join(f"{each}\n" for each in lines[:line])
    is_decided = line < len(lines) - 1 or _UNDECIDED.fullmatch(lines[-1]) is None
    has_above = len(starts) > 1 or item is not None
    return LastBlock(
        tokens[:split],
        above_source,
        tokens[split:],
        source[len(above_source) :],
        is_above_final=has_above and is_decided,
    )


def cut_of(paragraph: str) -> int:
    """Return where a very long paragraph is cut: most of it is before, the rest goes on without a gap."""
    cut = len(paragraph) - _LONG_PARAGRAPH // 4
    return next((found.end() for found in _WORD.finditer(paragraph, cut - 1_000, cut)), cut)


def open_table(block: LastBlock) -> OpenTable | None:
    """Return the table that a block is, where it has a whole row and may have more."""
    tokens, source = block.tokens, block.source
    if len(tokens) < 2 or tokens[0].type != "table_open" or tokens[-1].type != "table_close":
        return None
    lines = source.split("\n")
    if len(lines) < 4 or source[:1].isspace() or not lines[2].strip():
        return None
    num_rows = sum(token.type == "tr_open" for token in tokens)
    # Behind its rows nothing stands, not even an empty line.
    is_open = num_rows + 1 == len(lines) - (0 if lines[-1] else 1)
    return OpenTable(f"{lines[0]}\n{lines[1]}\n", lines[-1]) if is_open else None


def _last_item(tokens: list[Token], lines: list[str]) -> int | None:
    """Return where the last item of a list begins, with which tokens begin; None where it may yet be none, or all."""
    if not tokens[0].type.endswith("_list_open"):
        return None
    items = [index for index, token in enumerate(tokens) if token.type == "list_item_open" and token.level == 1]
    line = (tokens[items[-1]].map or [0])[0]
    return items[-1] if len(items) > 1 and _ITEM.match(lines[line]) else None


class GrowingCode:
    """An open fence at the margin, and the code in it, which has been written as an empty span."""

    def __init__(self, span: CodeSpan, theme: Theme, marker: str) -> None:
        self.span = span
        self._theme = theme
        self._formats = TextFormats(theme)
        self._closing = re.compile(rf" {{0,3}}{re.escape(marker[0])}{{{len(marker)},}}[ \t]*")
        self._stable = span.start.position()
        """Where in the document everything before is certain."""
        self._pending = ""
        """The source from there on."""
        self._shown = ""
        """Of it, what stands in the document."""
        self._window = self._stable
        self._window_text = ""
        self._coloured: list[Piece] = []

    def append(self, text: str) -> str | None:
        """Take what comes next; return what follows the fence once it is closed, else None."""
        before = self._pending.count("\n")
        self._pending += text
        complete, _, unfinished = self._pending.rpartition("\n")
        lines = self._pending.split("\n")[:-1]
        for index in range(before, len(lines)):
            if self._closing.fullmatch(lines[index]):
                self._show("\n".join(lines[:index]).rstrip("\n"))
                self.span.code += self._shown
                return "\n".join((*lines[index + 1 :], unfinished))
        # It may be the end of the fence, or more of it.
        is_end = self._closing.fullmatch(unfinished) is not None
        self._show((complete if is_end else self._pending).rstrip("\n"))
        self._settle(complete.rstrip("\n"))
        return None

    def _show(self, text: str) -> None:
        cursor = QTextCursor(self.span.start.document())
        cursor.beginEditBlock()
        common = len(self._shown) if text.startswith(self._shown) else 0
        cursor.setPosition(self._stable + num_units(text[:common]))
        format_ = cursor.blockFormat()
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        if cursor.hasSelection():
            cursor.removeSelectedText()
            # An empty block takes over the format of what follows it.
            cursor.setBlockFormat(format_)
        insert_code(cursor, text[common:], self._formats.code())
        self.span.num_lines += text.count("\n") - self._shown.count("\n")
        self._shown = text
        self._colour(cursor)
        cursor.endEditBlock()

    def _settle(self, certain: str) -> None:
        """What is a whole line, with something in it or after it, changes no more."""
        self.span.code += certain
        self._window_text += certain
        self._stable += num_units(certain)
        self._pending = self._pending[len(certain) :]
        self._shown = self._shown[len(certain) :]
        if len(self._window_text) > 2 * _WINDOW:
            cut = self._window_text.find("\n", len(self._window_text) - _WINDOW) + 1
            self._window += num_units(self._window_text[:cut])
            self._window_text = self._window_text[cut:]
            self._coloured.clear()

    def _colour(self, cursor: QTextCursor) -> None:
        code = self._window_text + self._shown
        if not self.span.language or len(code) > 8 * _WINDOW:
            return
        found = highlighted(code, self.span.language, self._theme.code_style, self._theme.sunken)
        num_same = next((i for i, (a, b) in enumerate(zip(found, self._coloured, strict=False)) if a != b), None)
        if num_same is None:
            num_same = min(len(found), len(self._coloured))
        place = self._window + sum(num_units(piece.text) for piece in found[:num_same])
        coloured(cursor, place, found[num_same:], self._formats)
        self._coloured = found


class Fence(NamedTuple):
    """How a fence begins, and what follows its first line."""

    marker: str
    code: str


def opened_fence(source: str) -> Fence | None:
    """Return the fence at the margin with which `source` begins."""
    found = _OPENING.match(source)
    return None if found is None else Fence(found["marker"], source[found.end() :])


class GrowingTable:
    """A table at the margin that nothing follows yet."""

    def __init__(
        self, table: QTextTable, head: str, unfinished: str, theme: Theme, parse: Callable[[str], list[Token]]
    ) -> None:
        """`head`: its first two lines; `unfinished`: its last one as far as it is there, which is written."""
        self.table = table
        self.pending = unfinished
        """The source of the last row."""
        self.places: list[int] = []
        """Where formulas stand in the rows that the last text brought."""
        self._head = head
        self._theme = theme
        self._parse = parse

    @property
    def certain_end(self) -> int:
        """Where in the document the row begins that is written again; the table's end, where there is none."""
        if not self.pending:
            return self.table.lastPosition() + 1
        return self.table.cellAt(self.table.rows() - 1, 0).firstPosition()

    def append(self, text: str) -> str | None:
        """Take what comes next; return what follows the table once it has ended, else None."""
        if self.pending:
            self.table.removeRows(self.table.rows() - 1, 1)
        source, self.pending, self.places = self.pending + text, "", []
        while source:
            line, end, rest = source.partition("\n")
            cells = self._cells(line)
            if cells is None:
                return source
            self.table.appendRows(1)
            self.places += write_row(self.table, self.table.rows() - 1, cells, self._theme, _NOT_QUOTED)
            if not end:
                self.pending = line
            source = rest
        return None

    def _cells(self, line: str) -> Sequence[Cell] | None:
        """Return the cells of a line; None where it is no row of the table."""
        tokens = self._parse(f"{self._head}{line}")
        if not tokens or tokens[0].type != "table_open" or tokens[-1].type != "table_close":
            return None
        rows = rows_of(tokens)
        return rows[1] if len(rows) == 2 else None
