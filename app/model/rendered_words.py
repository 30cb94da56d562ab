"""Converts Markdown to the words that a page shows, as plain text without marks."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from markdown_it.token import Token

from app.model.markdown_parser import DISPLAY, INLINE, NOTE_MARK, definitions, parsed

_PIECE_CHARS = 4_000
_MAX_PIECE_CHARS = 30_000
"""A longer block is returned unchanged, because parsing it would take too long."""
_BREAK = re.compile(r"\n[ \t]*\n(?=[^\s\-*+\d>])")
"""A blank line before a line that is neither indented nor in a list or quote."""
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_BOX = re.compile(r"\[(?P<is_checked>[ xX])\]\s")
_INDENT = "  "


def rendered_words(source: str) -> Generator[None, None, str]:
    """Return the words of a text. Yields between its pieces, so that the caller can do other work."""
    references = definitions(source)
    words: list[str] = []
    for piece in _pieces(source):
        words.append(_words(parsed(piece, references)) if len(piece) <= _MAX_PIECE_CHARS else piece)
        yield
    return "\n\n".join(filter(None, words))


def _pieces(source: str) -> Iterator[str]:
    """Split a text where new blocks begin that do not depend on the text above them."""
    start, is_open = 0, False
    end = 0
    for found in _BREAK.finditer(source):
        fences = len(_FENCE.findall(source, end, found.start()))
        is_open = is_open != bool(fences % 2)
        end = found.start()
        if not is_open and end - start >= _PIECE_CHARS:
            yield source[start:end]
            start = found.end()
    yield source[start:]


def _words(tokens: Sequence[Token]) -> str:
    writer = _Writer()
    for token in tokens:
        writer.take(token)
    return "".join(writer.out)


class _Writer:
    def __init__(self) -> None:
        self.out: list[str] = []
        self._numbers: list[int | None] = []
        """The number of the next item of each open list; None for lists with bullets."""
        self._marker = ""
        """The marker of the item that begins."""
        self._is_tight = False
        self._is_first_row = self._is_first_cell = self._is_in_cell = self._begins_list = False

    def take(self, token: Token) -> None:
        """Write a token of the outermost level."""
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._begins_list = not self._numbers
                is_numbered = token.type == "ordered_list_open"
                self._numbers.append(int(token.attrs.get("start", 1)) if is_numbered else None)
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "list_item_open":
                number = self._numbers[-1]
                self._marker = "• " if number is None else f"{number}. "
                self._numbers[-1] = None if number is None else number + 1
            case "footnote_reference_open":
                label: Any = token.meta.get("label", "")
                self._marker = f"[{label}] "
            case "paragraph_open":
                self._is_tight = token.hidden
            case "table_open":
                self._is_first_row = True
            case "tr_open":
                self._is_first_cell = True
            case "inline" if self._is_in_cell:
                self._write_cell(_inline(token.children or ()))
            case "inline":
                self._write_block(_inline(token.children or ()))
            case "th_open" | "td_open":
                self._is_in_cell = True
            case "th_close" | "td_close":
                self._is_in_cell = False
            case "fence" | "code_block":
                self._write_block(token.content.rstrip("\n"))
            case kind if kind == DISPLAY:
                self._write_block(token.content.strip())
            case "hr":
                self._write_block("———")
            case _:
                pass

    def _write_block(self, text: str) -> None:
        if self.out:
            self.out.append("\n" if self._is_tight and self._marker and not self._begins_list else "\n\n")
        self._begins_list = False
        indent = _INDENT * (len(self._numbers) - bool(self._numbers))
        if self._marker:
            self.out.append(indent + self._marker)
            self._marker = ""
        elif self._numbers:
            text = text.replace("\n", f"\n{indent}")
            self.out.append(indent)
        self._is_tight = False
        self.out.append(text)

    def _write_cell(self, text: str) -> None:
        if not self._is_first_cell:
            self.out.append("\t")
        elif self.out:
            self.out.append("\n\n" if self._is_first_row else "\n")
        self._is_first_cell = self._is_first_row = False
        self.out.append(text)


def _inline(tokens: Sequence[Token]) -> str:
    parts: list[str] = []
    for token in tokens:
        match token.type:
            case "softbreak":
                parts.append(" ")
            case "hardbreak":
                parts.append("\n")
            case "image":
                parts.append(_inline(token.children or ()))
            case kind if kind == NOTE_MARK:
                parts.append(f"[{token.content}]")
            case kind if kind == INLINE:
                parts.append(token.content.strip())
            case "text" | "code_inline" | "text_special":
                parts.append(token.content)
            case _:
                parts.append(token.content if not token.nesting else "")
    text = "".join(parts)
    box = _BOX.match(text)
    return text if box is None else f"{'☐' if box['is_checked'] == ' ' else '☑'} {text[box.end() :]}"
