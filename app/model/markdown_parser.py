"""Markdown as chat models write it, as tokens: tables, strike-through, formulas, footnotes; it knows no document.

Windows and exports read it in this one way. HTML in it is text, and nothing of a text is dropped, however deep it is:
in the end its lists and quotes are text.
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
"""A token: here the text refers to the footnote that is its content."""

_DEPTHS = (20, 100)
"""Blocks in blocks that are looked for; the more there may be, the longer takes what only looks like many."""
_NOTE_MARK = re.compile(r"\[\^([^\]\s]{1,40})\]")


def _new_parser(depth: int = _DEPTHS[0]) -> MarkdownIt:
    options = {"html": False, "linkify": False, "maxNesting": depth}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    footnote_plugin(parser)
    # A note is shown where it stands. Its mark is one whether the note is there or not yet: text is final before it is.
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
"""For all documents: what one learns of a text is in the environment that it is called with."""
_FLAT_PARSER = _new_parser().disable(["list", "blockquote"])


def parsed(text: str, references: dict[str, Any]) -> list[Token]:
    """Return the tokens of a text; link definitions in it are added to those of the text before it."""
    for depth, parser in _PARSERS.items():
        tokens = parser.parse(text, {"references": references})
        # What stands deeper is dropped by the parser.
        if all(token.level < depth - 2 for token in tokens):
            return tokens
    return _FLAT_PARSER.parse(text, {"references": references})
