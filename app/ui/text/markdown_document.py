"""A text document that shows growing Markdown; only its last block is written again. Independent of widgets."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field, replace
from typing import Any

from markdown_it.token import Token
from PySide6.QtGui import QTextBlockFormat, QTextCursor, QTextDocument, QTextTable

from app.model.markdown_parser import parsed
from app.ui.text.block_writer import LIST_INDENT_PX
from app.ui.text.code_blocks import CODE_LINE, HEAD_PX, CodeHighlighter, CodeSpan, highlight_now
from app.ui.text.formulas import (
    FORMULA,
    FormulaKey,
    FormulaObject,
    fit_formula,
    formula_source_at,
    formulas,
    is_formula,
)
from app.ui.text.growing_blocks import GrowingCode, GrowingTable, last_block, open_table, opening_fence, paragraph_split
from app.ui.text.markdown_writer import SHORT_CODE, Lines, MarkdownWriter, language_of
from app.ui.theme import Theme, text_font


@dataclass(frozen=True)
class _FinalPart:
    """The beginning of the text and of the document that further text cannot change."""

    source: int = 0
    """Its end in the source."""
    position: int = 0
    """Its end in the document."""
    in_empty_block: bool = True
    """Whether it ends with an empty block that the next block may use."""
    in_paragraph: bool = False
    """Whether it ends inside a paragraph."""
    next_number: int = 0
    """The number of the next item if it ends in a list, else 0."""
    last_line: str = ""
    block_format: QTextBlockFormat = field(default_factory=QTextBlockFormat)
    num_spans: int = 0
    num_tables: int = 0


class MarkdownDocument:
    """Shows Markdown in a `QTextDocument`.

    The cost of appending text depends on the length of the last block only, in an open code fence on that of the line.
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
        self._final = _FinalPart()
        self._growing: GrowingCode | GrowingTable | None = None
        self.highlighter = CodeHighlighter(document, theme)
        self.spans: list[CodeSpan] = []
        """The code frames from top to bottom."""
        self.tables: list[QTextTable] = []
        self.formula_positions: list[int] = []
        handler = FormulaObject(document)
        handler.rendered.connect(self._on_formula_rendered)
        document.documentLayout().registerHandler(FORMULA, handler)

    @property
    def source(self) -> str:
        return self._source

    @property
    def formulas(self) -> list[str]:
        """The Markdown sources of its formulas."""
        return [formula_source_at(self.document, position) for position in self.formula_positions]

    def set_source(self, source: str) -> None:
        """Show a new text."""
        self._source = _normalized(source)
        self._is_plain = False
        self._references = {}
        self._final = _FinalPart()
        self._growing = None
        self._write_tail()

    def append(self, text: str) -> None:
        """Append source text."""
        if self._is_plain:
            self._append_plain(text)
            return
        if self._source.endswith("\r"):
            # It may be the first half of a CRLF.
            self._source, text = self._source[:-1], f"\r{text}"
        text = _normalized(text, is_whole=False)
        self._source += text
        match self._growing:
            case GrowingCode() as code:
                self._grow_code(code, text)
            case GrowingTable() as table:
                self._grow_table(table, text)
            case None:
                self._write_tail()

    def finish(self) -> None:
        """End the stream: highlight code whose fence is still open as a whole."""
        if isinstance(self._growing, GrowingCode):
            self._highlight(self._growing.span)

    def set_plain(self, text: str) -> None:
        """Show a new text as plain text."""
        self.set_source("")
        self._is_plain = True
        self._append_plain(text)

    def replace_last_block(self, text: str) -> None:
        """Replace the text of the last block."""
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text)

    def _append_plain(self, text: str) -> None:
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        MarkdownWriter(cursor, self._theme, in_empty_block=not cursor.position()).write_plain(text)
        cursor.endEditBlock()

    def set_theme(self, theme: Theme) -> None:
        """Use other colours for text that is written from now on."""
        self._theme = theme
        self.document.setDefaultFont(text_font())
        self.highlighter.set_theme(theme)

    def _write_tail(self) -> None:
        tail = self._source[self._final.source :]
        # A link definition at the end may still grow, so definitions in the tail apply to the tail only.
        tokens = parsed(tail, dict(self._references))
        last = last_block(tail, tokens)
        cursor = self._clear_tail()
        writer = MarkdownWriter(
            cursor,
            self._theme,
            in_empty_block=self._final.in_empty_block,
            source=Lines(tail.split("\n"), self._final.last_line),
            next_number=self._final.next_number,
        )
        writer.continues_paragraph = self._final.in_paragraph
        writer.write(last.above)
        fence = opening_fence(last.source) if last.tokens and last.tokens[0].type == "fence" else None
        if fence is not None or last.is_above_final:
            parsed(last.above_source, self._references)
            self._set_final(len(self._source) - len(last.source), cursor, writer)
        code = None
        if fence is not None:
            span = writer.begin_code(language_of(last.tokens[0]))
            code = self._growing = GrowingCode(span, self._theme, fence.marker)
        else:
            writer.write(self._write_beginning(writer, last.source) if last.is_long_paragraph else last.tokens)
            if (rows := open_table(last)) is not None:
                # The text above the table may define links.
                parsed(last.above_source, self._references)
                self._set_final(len(self._source) - len(rows.unfinished), cursor, writer)
                self._growing = GrowingTable(writer.tables[-1], rows.head, rows.unfinished, self._theme, self._parse)
            writer.end()
        cursor.endEditBlock()
        self._collect(writer)
        if fence is not None and code is not None:
            self._grow_code(code, fence.code)

    def _write_beginning(self, writer: MarkdownWriter, paragraph: str) -> list[Token]:
        """Write most of a very long paragraph as final; return the rest, which continues it without a gap."""
        split = paragraph_split(paragraph)
        writer.write(self._parse(paragraph[:split]))
        self._set_final(len(self._source) - len(paragraph) + split, writer.cursor, writer)
        self._final = replace(self._final, in_paragraph=True)
        writer.continues_paragraph = True
        return self._parse(paragraph[split:])

    def _clear_tail(self) -> QTextCursor:
        """Begin an edit block and remove everything after the final part; return a cursor at its end."""
        cursor = QTextCursor(self.document)
        cursor.beginEditBlock()
        cursor.setPosition(self._final.position)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        # Removing text leaves an empty block with the format of the removed block.
        if cursor.blockFormat() != self._final.block_format:
            cursor.setBlockFormat(self._final.block_format)
        del self.spans[self._final.num_spans :]
        del self.tables[self._final.num_tables :]
        del self.formula_positions[bisect.bisect_left(self.formula_positions, self._final.position) :]
        return cursor

    def _set_final(self, source: int, cursor: QTextCursor, writer: MarkdownWriter | None) -> None:
        """Make everything before the cursor final; `source` is its end in the source.

        `writer` holds what was written since the last `_collect`; None means nothing.
        """
        self._final = _FinalPart(
            source=source,
            position=cursor.position(),
            in_empty_block=writer is not None and writer.in_empty_block,
            next_number=0 if writer is None else writer.next_number,
            last_line=self._source[:source].removesuffix("\n").rpartition("\n")[2],
            block_format=cursor.blockFormat(),
            num_spans=len(self.spans) + (0 if writer is None else len(writer.spans)),
            num_tables=len(self.tables) + (0 if writer is None else len(writer.tables)),
        )

    def _collect(self, writer: MarkdownWriter) -> None:
        self.spans += writer.spans
        self.tables += writer.tables
        self.formula_positions += writer.formula_positions
        self.highlighter.keep_only(self.spans)
        for span in writer.long_spans:
            self.highlighter.add(span)
        self._make_room_above()

    def _grow_code(self, growing: GrowingCode, text: str) -> None:
        """Append text to an open fence; once it is closed, write the text after it as Markdown."""
        rest = growing.append(text)
        if rest is None:
            return
        self._growing = None
        self._highlight(growing.span)
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self._set_final(len(self._source) - len(rest), cursor, None)
        if rest:
            self._write_tail()

    def _parse(self, text: str) -> list[Token]:
        return parsed(text, dict(self._references))

    def _grow_table(self, growing: GrowingTable, text: str) -> None:
        """Append text to a table; once it has ended, write the text after it as Markdown."""
        cursor = QTextCursor(self.document)
        cursor.beginEditBlock()
        del self.formula_positions[bisect.bisect_left(self.formula_positions, growing.stable_end) :]
        rest = growing.append(text)
        self.formula_positions += growing.formula_positions
        source = len(self._source) - len(growing.pending if rest is None else rest)
        self._final = replace(self._final, source=source, position=growing.table.lastPosition() + 1)
        cursor.endEditBlock()
        if rest is not None:
            self._growing = None
            self._write_tail()

    def _highlight(self, span: CodeSpan) -> None:
        """Highlight complete code again: later lines may have changed the meaning of earlier ones."""
        if len(span.code) > SHORT_CODE:
            self.highlighter.add(span)
        else:
            highlight_now(span, self._theme)

    def _on_formula_rendered(self, key: FormulaKey) -> None:
        positions = [position for position in self.formula_positions if is_formula(self.document, position, key)]
        if positions and formulas().is_invalid(key):
            # Write the text again, with the formula's source instead.
            self.set_source(self._source)
            return
        for position in positions:
            fit_formula(self.document, position, key)

    def _make_room_above(self) -> None:
        """Make room for the header of a code frame at the top, where Qt ignores the block's margin."""
        is_code = self.document.begin().blockFormat().hasProperty(CODE_LINE)
        frame = self.document.rootFrame()
        format_ = frame.frameFormat()
        room_px = HEAD_PX if is_code else 0
        if format_.topMargin() != room_px:
            format_.setTopMargin(room_px)
            frame.setFrameFormat(format_)


def _normalized(text: str, *, is_whole: bool = True) -> str:
    """Return a text with the parser's line ends; `is_whole` False keeps a CR at the end, which LF may follow."""
    if "\r" not in text and "\0" not in text:
        return text
    text = text.replace("\0", "\ufffd").replace("\r\n", "\n")
    if not is_whole and text.endswith("\r"):
        return text[:-1].replace("\r", "\n") + "\r"
    return text.replace("\r", "\n")
