"""Where Markdown that grows may still become something else: in its last block; it knows no document."""

from __future__ import annotations

import re
from typing import NamedTuple

from markdown_it.token import Token

_UNDECIDED = re.compile(r" {0,3}(\d{1,9}[.)]?|[-*+]+|[-*+] +|=+|#+|>|\|.*)?")
"""A last line that may still become something else: then what stands above it may go on."""
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])[ \t]+\S")
_WORD = re.compile(r"[^\W_]+ (?=[^\W_])")
_LONG_PARAGRAPH = 16_000
"""Characters of a paragraph that are written again with each that comes."""


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
