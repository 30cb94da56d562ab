"""Parses Markdown as chat models write it: with tables, strike-through, formulas and footnotes.

The window and all exports use this parser. HTML is plain text. No text is dropped: beyond the maximum depth, lists and
quotes become plain text.
"""

from __future__ import annotations

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from app.model.bare_links import bare_link_plugin
from app.model.markdown_math import formula_plugin

NOTE_MARK = "note_mark"
"""The type of a token for a reference to a footnote; its content is the footnote's name."""

_DEPTHS = (20, 100)
"""The maximum nesting of blocks, tried in turn. A larger one is slower for text that only looks nested."""
_NOTE_MARK = re.compile(r"\[\^([^\]\s]{1,40})\]")


def _new_parser(depth: int = _DEPTHS[0]) -> MarkdownIt:
    options = {"html": False, "linkify": False, "maxNesting": depth}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    footnote_plugin(parser)
    # A footnote is shown where it is written. A reference counts even if its footnote has not streamed in yet.
    parser.core.ruler.disable("footnote_tail")
    parser.inline.ruler.disable(["footnote_inline", "footnote_ref"])
    parser.inline.ruler.after("image", NOTE_MARK, _note_mark)
    formula_plugin(parser)
    bare_link_plugin(parser)
    return parser


def _note_mark(state: StateInline, silent: bool) -> bool:
    found = _NOTE_MARK.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push(NOTE_MARK, "", 0).content = found[1]
    state.pos = found.end()
    return True


_PARSERS = {depth: _new_parser(depth) for depth in _DEPTHS}
"""Shared by all documents, because a text's state is in the environment passed to `parse`."""
_FLAT_PARSER = _new_parser().disable(["list", "blockquote"])


def parsed(text: str, references: dict[str, Any]) -> list[Token]:
    """Return the tokens of a text. `references` holds the link definitions so far, and gets those of the text."""
    for depth, parser in _PARSERS.items():
        tokens = parser.parse(text, {"references": references})
        # The parser drops deeper blocks.
        if all(token.level < depth - 2 for token in tokens):
            return tokens
    return _FLAT_PARSER.parse(text, {"references": references})
