"""Markdown that grows, as a text document of which only the last block is written again; it knows no widget."""

from __future__ import annotations

from typing import Any

from markdown_it import MarkdownIt
from PySide6.QtGui import QTextBlockFormat, QTextCursor, QTextDocument

from app.ui.markdown_writer import LIST_INDENT_PX, MarkdownWriter
from app.ui.theme import Theme, text_font

_PARSER = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
"""One for all documents: what it learns of a text is in the environment that it is called with."""


class MarkdownDocument:
    """A `QTextDocument` that shows Markdown; what is appended costs as much as the block that it ends up in."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        self.document = document
        document.setUndoRedoEnabled(False)
        document.setDocumentMargin(0)
        document.setIndentWidth(LIST_INDENT_PX)
        document.setDefaultFont(text_font())
        self._theme = theme
        self._source = ""
        self._references: dict[str, Any] = {}
        # Everything before these places is final: in the source, and in the document.
        self._final_source = 0
        self._final_position = 0
        self._final_is_fresh = True
        self._final_format = QTextBlockFormat()

    @property
    def source(self) -> str:
        return self._source

    @property
    def has_quotes(self) -> bool:
        return ">" in self._source

    def set_source(self, source: str) -> None:
        """Show another text."""
        self._source = source
        self._references = {}
        self._final_source = self._final_position = 0
        self._final_is_fresh = True
        self._final_format = QTextBlockFormat()
        self._write_tail()

    def append(self, text: str) -> None:
        """Show more text at the end."""
        self._source += text
        self._write_tail()

    def set_plain(self, text: str) -> None:
        """Show text as it is, line by line, instead of Markdown."""
        self.set_source("")
        writer = MarkdownWriter(QTextCursor(self.document), self._theme, is_fresh=True)
        writer.write_plain(text)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours for what is written from now on."""
        self._theme = theme

    def _write_tail(self) -> None:
        tail = self._source[self._final_source :]
        # A definition at the end may still grow, so what the tail defines counts for the tail alone.
        tokens = _PARSER.parse(tail, {"references": dict(self._references)})
        starts = [token.map[0] for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
        cursor = QTextCursor(self.document)
        cursor.beginEditBlock()
        cursor.setPosition(self._final_position)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        # Removing what follows an empty block leaves that block with the format of what was removed.
        if cursor.blockFormat() != self._final_format:
            cursor.setBlockFormat(self._final_format)
        writer = MarkdownWriter(cursor, self._theme, is_fresh=self._final_is_fresh)
        if len(starts) > 1:
            last_line = starts[-1]
            split = next(
                i for i, token in enumerate(tokens) if token.level == 0 and token.map and token.map[0] == last_line
            )
            writer.write(tokens[:split])
            final = "".join(tail.splitlines(keepends=True)[:last_line])
            _PARSER.parse(final, environment := {"references": self._references})
            self._references = environment["references"]
            self._final_source += len(final)
            self._final_position = cursor.position()
            self._final_is_fresh = writer.is_fresh
            self._final_format = cursor.blockFormat()
            tokens = tokens[split:]
        writer.write(tokens)
        writer.end()
        cursor.endEditBlock()
