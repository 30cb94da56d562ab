"""A table while it streams: only its last row is written again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markdown_it.token import Token
from PySide6.QtGui import QTextTable

from app.ui.text.block_writer import QUOTE_DEPTH
from app.ui.text.table_writer import Cell, rows_of, write_row
from app.ui.theme import Theme

_NOT_QUOTED = (QUOTE_DEPTH, 0)


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
