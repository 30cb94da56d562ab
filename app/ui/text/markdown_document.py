"""Markdown that grows, as a text document of which only the last block is written again; it knows no widget."""

from __future__ import annotations

import bisect
from typing import Any

from markdown_it.token import Token
from PySide6.QtGui import QTextBlockFormat, QTextCursor, QTextDocument, QTextTable

from app.model.markdown_parser import parsed
from app.ui.text.block_writer import LIST_INDENT_PX
from app.ui.text.code_blocks import CODE_LINE, HEAD_PX, CodeColours, CodeSpan, colour_now
from app.ui.text.formulas import FORMULA, FormulaKey, FormulaObject, fit_formula, formula_at, formulas, is_formula
from app.ui.text.growing_blocks import GrowingCode, GrowingTable, cut_of, last_block, open_table, opened_fence
from app.ui.text.markdown_writer import SHORT_CODE, Lines, MarkdownWriter, language_of
from app.ui.theme import Theme, text_font


class MarkdownDocument:
    """A `QTextDocument` that shows Markdown; what is appended costs as much as the block that it ends up in.

    Of code whose fence is open it costs as much as the line.
    """

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        self.document = document
        document.setUndoRedoEnabled(False)
        document.setDocumentMargin(0)
        document.setIndentWidth(LIST_INDENT_PX)
        document.setDefaultFont(text_font())
        self._theme = theme
        self._source = ""
        self._is_plain = False
        self._references: dict[str, Any] = {}
        # Everything before these places is final: in the source, and in the document.
        self._final_source = 0
        self._final_position = 0
        self._final_is_fresh = True
        self._final_format = QTextBlockFormat()
        self._next_number = 0
        """That of the next item, where what is final ends in a list that goes on; else 0."""
        self._goes_on = False
        """Whether what is final ends inside a paragraph."""
        self._line_before = ""
        self._num_final_spans = self._num_final_tables = 0
        self._growing: GrowingCode | None = None
        self._table: GrowingTable | None = None
        self.colours = CodeColours(document, theme)
        self.spans: list[CodeSpan] = []
        """The frames of code, from top to bottom."""
        self.tables: list[QTextTable] = []
        self.formula_places: list[int] = []
        """Where in the document formulas stand."""
        pictures = FormulaObject(document)
        pictures.drawn.connect(self._on_drawn)
        document.documentLayout().registerHandler(FORMULA, pictures)

    @property
    def source(self) -> str:
        return self._source

    @property
    def formulas(self) -> list[str]:
        """The formulas in it, as they are written."""
        return [formula_at(self.document, place) for place in self.formula_places]

    def set_source(self, source: str) -> None:
        """Show another text."""
        self._source = _normalized(source)
        self._is_plain = False
        self._begin()
        self._write_tail()

    def append(self, text: str) -> None:
        """Show more text at the end."""
        if self._is_plain:
            self._append_plain(text)
            return
        if self._source.endswith("\r"):
            # Half of a line's end, perhaps.
            self._source, text = self._source[:-1], f"\r{text}"
        text = _normalized(text, is_whole=False)
        self._source += text
        if self._growing is not None:
            self._grow(self._growing, text)
        elif self._table is not None:
            self._grow_table(self._table, text)
        else:
            self._write_tail()

    def finish(self) -> None:
        """Nothing follows for now: give code that is still open its last colours."""
        if self._growing is not None:
            self._colour(self._growing.span)

    def set_plain(self, text: str) -> None:
        """Show text as it is, line by line, instead of Markdown."""
        self.set_source("")
        self._is_plain = True
        self._append_plain(text)

    def write_last_block(self, text: str) -> None:
        """Show another text in the last block, which nothing follows."""
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text)

    def _append_plain(self, text: str) -> None:
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        MarkdownWriter(cursor, self._theme, is_fresh=not cursor.position()).write_plain(text)
        cursor.endEditBlock()

    def set_theme(self, theme: Theme) -> None:
        """Use other colours for what is written from now on."""
        self._theme = theme
        self.document.setDefaultFont(text_font())
        self.colours.set_theme(theme)

    def _begin(self) -> None:
        self._references = {}
        self._final_source = self._final_position = 0
        self._final_is_fresh = True
        self._final_format = QTextBlockFormat()
        self._num_final_spans = self._num_final_tables = 0
        self._next_number = 0
        self._goes_on = False
        self._line_before = ""
        self._growing = None
        self._table = None

    def _write_tail(self) -> None:
        tail = self._source[self._final_source :]
        # A definition at the end may still grow, so what the tail defines counts for the tail alone.
        tokens = parsed(tail, dict(self._references))
        last = last_block(tail, tokens)
        cursor = self._cleared()
        writer = MarkdownWriter(
            cursor,
            self._theme,
            is_fresh=self._final_is_fresh,
            source=Lines(tail.split("\n"), self._line_before),
            next_number=self._next_number,
        )
        writer.goes_on = self._goes_on
        writer.write(last.above)
        opened = opened_fence(last.source) if last.tokens and last.tokens[0].type == "fence" else None
        if opened is not None or last.is_above_final:
            parsed(last.above_source, self._references)
            self._set_final(len(self._source) - len(last.source), cursor, writer)
        if opened is not None:
            self._growing = GrowingCode(writer.begin_code(language_of(last.tokens[0])), self._theme, opened.marker)
        else:
            writer.write(self._write_beginning(writer, last.source) if last.is_long_paragraph else last.tokens)
            if (rows := open_table(last)) is not None:
                # Links may be defined before it.
                parsed(last.above_source, self._references)
                self._set_final(len(self._source) - len(rows.unfinished), cursor, writer)
                self._table = GrowingTable(writer.tables[-1], rows.head, rows.unfinished, self._theme, self._parse)
            writer.end()
        cursor.endEditBlock()
        self._take(writer)
        if opened is not None and self._growing is not None:
            self._grow(self._growing, opened.code)

    def _write_beginning(self, writer: MarkdownWriter, paragraph: str) -> list[Token]:
        """Write most of a very long paragraph for good; return the rest, which goes on below it without a gap."""
        cut = cut_of(paragraph)
        writer.write(self._parse(paragraph[:cut]))
        self._set_final(len(self._source) - len(paragraph) + cut, writer.cursor, writer)
        self._goes_on = writer.goes_on = True
        return self._parse(paragraph[cut:])

    def _cleared(self) -> QTextCursor:
        """Return a cursor behind what is final, with nothing behind it, in an edit that has begun."""
        cursor = QTextCursor(self.document)
        cursor.beginEditBlock()
        cursor.setPosition(self._final_position)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        # Removing what follows an empty block leaves that block with the format of what was removed.
        if cursor.blockFormat() != self._final_format:
            cursor.setBlockFormat(self._final_format)
        del self.spans[self._num_final_spans :]
        del self.tables[self._num_final_tables :]
        del self.formula_places[bisect.bisect_left(self.formula_places, self._final_position) :]
        return cursor

    def _set_final(self, source: int, cursor: QTextCursor, writer: MarkdownWriter | None) -> None:
        self._final_source = source
        self._final_position = cursor.position()
        self._final_is_fresh = writer is not None and writer.is_fresh
        self._next_number = 0 if writer is None else writer.next_number
        self._goes_on = False
        self._line_before = self._source[:source].removesuffix("\n").rpartition("\n")[2]
        self._final_format = cursor.blockFormat()
        self._num_final_spans = len(self.spans) + (0 if writer is None else len(writer.spans))
        self._num_final_tables = len(self.tables) + (0 if writer is None else len(writer.tables))

    def _take(self, writer: MarkdownWriter) -> None:
        self.spans += writer.spans
        self.tables += writer.tables
        self.formula_places += writer.formula_places
        self.colours.keep(self.spans)
        for span in writer.uncoloured:
            self.colours.add(span)
        self._make_room_above()

    def _grow(self, growing: GrowingCode, text: str) -> None:
        """Write more of an open fence; what follows it once it is closed is Markdown again."""
        rest = growing.append(text)
        if rest is None:
            return
        self._growing = None
        self._colour(growing.span)
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self._set_final(len(self._source) - len(rest), cursor, None)
        if rest:
            self._write_tail()

    def _parse(self, text: str) -> list[Token]:
        return parsed(text, dict(self._references))

    def _grow_table(self, growing: GrowingTable, text: str) -> None:
        """Write more rows of a table; what follows them is written as ever."""
        cursor = QTextCursor(self.document)
        cursor.beginEditBlock()
        del self.formula_places[bisect.bisect_left(self.formula_places, growing.certain_end) :]
        rest = growing.append(text)
        self.formula_places += growing.places
        self._final_source = len(self._source) - len(growing.pending if rest is None else rest)
        self._final_position = growing.table.lastPosition() + 1
        cursor.endEditBlock()
        if rest is not None:
            self._table = None
            self._write_tail()

    def _colour(self, span: CodeSpan) -> None:
        """Find out all colours anew: what came later may have made something else of what stands above."""
        if len(span.code) > SHORT_CODE:
            self.colours.add(span)
        else:
            colour_now(span, self._theme)

    def _on_drawn(self, key: FormulaKey) -> None:
        places = [place for place in self.formula_places if is_formula(self.document, place, key)]
        if places and formulas().is_refused(key):
            # Then it is text.
            self.set_source(self._source)
            return
        for place in places:
            fit_formula(self.document, place, key)

    def _make_room_above(self) -> None:
        """A frame that begins a document has its head above the first line, where no block's margin counts."""
        is_code = self.document.begin().blockFormat().hasProperty(CODE_LINE)
        frame = self.document.rootFrame()
        format_ = frame.frameFormat()
        room_px = HEAD_PX if is_code else 0
        if format_.topMargin() != room_px:
            format_.setTopMargin(room_px)
            frame.setFrameFormat(format_)


def _normalized(text: str, *, is_whole: bool = True) -> str:
    """Return a text with the line ends that the parser makes of it; where more follows, a half one stays."""
    if "\r" not in text and "\0" not in text:
        return text
    text = text.replace("\0", "\ufffd").replace("\r\n", "\n")
    if not is_whole and text.endswith("\r"):
        return text[:-1].replace("\r", "\n") + "\r"
    return text.replace("\r", "\n")
