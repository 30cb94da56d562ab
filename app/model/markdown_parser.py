"""Parses Markdown as chat models write it: with tables, strikethrough, formulas, footnotes and bare links.

The window and the exports parse all Markdown here. HTML is shown as text. No text is lost: very deeply nested lists and
quotes are shown as plain text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, link
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

_ADDRESS = re.compile(r"(?<![a-zA-Z0-9@/])https?://[^\s<>\"“”「」，。、；：！？（）【】《》]{1,2000}", re.IGNORECASE)
_HOST = re.compile(r"https?://[\w\[]", re.IGNORECASE)
_TRAILING = ".,;:!?'*_~`|"
"""Characters at the end of an address that belong to the sentence."""
_PAIRS = {")": "(", "]": "[", "}": "{"}


def bare_link_plugin(parser: MarkdownIt) -> None:
    """Link addresses after markdown-it has joined adjacent text."""
    parser.core.ruler.after("text_join", "bare_link", _link)


def _link(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.children and "://" in token.content:
            token.children = list(_linked(token.children, state.md))


def _linked(children: list[Token], parser: MarkdownIt) -> Iterator[Token]:
    depth = 0
    for child in children:
        depth += (child.type == "link_open") - (child.type == "link_close")
        if child.type == "text" and not depth and "://" in child.content:
            yield from _parts(child, parser)
        else:
            yield child


def _parts(text: Token, parser: MarkdownIt) -> Iterator[Token]:
    end = 0
    for found in _ADDRESS.finditer(text.content):
        address = _without_punctuation(found[0])
        target = parser.normalizeLink(address)
        if not _HOST.match(address) or not parser.validateLink(target):
            continue
        if end < found.start():
            yield _text(text, text.content[end : found.start()])
        yield Token("link_open", "a", 1, {"href": target}, markup="linkify", info="auto", level=text.level)
        yield _text(text, address, level=text.level + 1)
        yield Token("link_close", "a", -1, markup="linkify", info="auto", level=text.level)
        end = found.start() + len(address)
    if end < len(text.content):
        yield _text(text, text.content[end:])


def _text(like: Token, content: str, level: int | None = None) -> Token:
    return Token("text", "", 0, content=content, level=like.level if level is None else level)


def _without_punctuation(address: str) -> str:
    """Return an address without trailing punctuation. A closing bracket is kept if it was opened inside the address."""
    while address:
        last = address[-1]
        opening = _PAIRS.get(last)
        if last not in _TRAILING and (opening is None or address.count(opening) >= address.count(last)):
            break
        address = address[:-1]
    return address


INLINE, DISPLAY = "formula_inline", "formula_display"

_MAX_CHARS = 4_000
"""Longer text between the marks is not a formula."""
_MAX_LINES = 100
_CLOSINGS = {"$$": "$$", r"\[": r"\]", r"\(": r"\)"}
_ENVIRONMENT = re.compile(r"\\begin\{((?:equation|align|alignat|gather)\*?)\}")
_ESCAPED = re.compile(r"(?:\\\\)*\\$")
_AFTER = re.compile(r"[ \t]*[.,;:]?[ \t]*")


def formula_plugin(parser: MarkdownIt) -> None:
    """Find formulas before backslashes and dollars are parsed as anything else."""
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before("fence", "formula", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def as_written(token: Token) -> str:
    """Return a formula with its delimiters."""
    return with_marks(token.content, token.markup)


def with_marks(latex: str, opening: str) -> str:
    """Return LaTeX between an opening mark and the matching closing mark."""
    return f"{opening}{latex}{_CLOSINGS.get(opening, opening)}"


def _inline(state: StateInline, silent: bool) -> bool:
    opening = state.src[state.pos : state.pos + 2]
    if opening in _CLOSINGS:
        found = _closed(state.src, state.pos + 2, _CLOSINGS[opening])
    elif opening.startswith("$"):
        opening = "$"
        found = _dollars(state.src, state.pos)
    else:
        return False
    if found is None:
        return False
    end, latex = found
    if not silent:
        token = state.push(DISPLAY if opening in {"$$", r"\["} else INLINE, "math", 0)
        token.content = latex
        token.markup = opening
    state.pos = end
    return True


def _closed(text: str, start: int, closing: str) -> tuple[int, str] | None:
    """Return the end of a formula and its LaTeX; None if it is not closed or empty."""
    at = text.find(closing, start, start + _MAX_CHARS)
    while at > 0 and _ESCAPED.search(text, start, at):
        at = text.find(closing, at + 1, start + _MAX_CHARS)
    latex = text[start:at].strip() if at > 0 else ""
    return (at + len(closing), latex) if latex else None


def _dollars(text: str, pos: int) -> tuple[int, str] | None:
    """Like `_closed` for single dollars, except for prices such as “$5 and $6” and dollars next to words."""
    before, after = text[pos - 1 : pos], text[pos + 1 : pos + 2]
    if before.isalnum() or not after or after.isspace():
        return None
    found = _closed(text, pos + 1, "$")
    if found is None or text[found[0] - 2].isspace() or text[found[0] : found[0] + 1].isalnum():
        return None
    return found


def _block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    begin = state.bMarks[start_line] + state.tShift[start_line]
    opening = state.src[begin : begin + 2]
    if (environment := _ENVIRONMENT.match(state.src, begin, state.eMarks[start_line])) is not None:
        # The environment's begin and end are part of the formula.
        opening, closing = "", rf"\end{{{environment[1]}}}"
    elif opening in {"$$", r"\["}:
        closing = _CLOSINGS[opening]
    else:
        return False
    lines: list[str] = []
    for line in range(start_line, min(end_line, start_line + _MAX_LINES)):
        if line > start_line and state.sCount[line] < state.blkIndent and not state.isEmpty(line):
            return False
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        text = text[len(opening) :] if line == start_line else text
        before, found, behind = text.partition(closing)
        lines.append(before if opening else before + found)
        if found:
            return _push(state, start_line, line, "\n".join(lines).strip(), opening, behind, silent=silent)
    return False


def _push(
    state: StateBlock, start_line: int, line: int, latex: str, opening: str, behind: str, *, silent: bool
) -> bool:
    if not latex or _AFTER.fullmatch(behind) is None:
        return False
    if not silent:
        token = state.push(DISPLAY, "math", 0)
        token.block = True
        token.content = latex
        token.markup = opening
        token.info = behind.strip()
        token.map = [start_line, line + 1]
        state.line = line + 1
    return True


NOTE_MARK = "note_mark"
"""The type of a token for a reference to a footnote; its content is the footnote's name."""

_DEPTHS = (20, 100)
"""Limits for the nesting of blocks, tried in turn. A larger limit is slower for text that only looks nested."""
_NOTE_MARK = re.compile(r"\[\^([^\]\s]{1,40})\]")


def _link_if_closed(state: StateInline, silent: bool) -> bool:
    """Look for a link only if its text may end: markdown-it would read the text once for each bracket in it."""
    if state.src[state.pos] != "[" or state.src.find("]", state.pos) < 0:
        return False
    return link(state, silent)


def _new_parser(depth: int = _DEPTHS[0]) -> MarkdownIt:
    options = {"html": False, "linkify": False, "maxNesting": depth}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    footnote_plugin(parser)
    # A footnote is shown where it is written. A reference is valid even if its footnote has not streamed in yet.
    parser.core.ruler.disable("footnote_tail")
    parser.inline.ruler.disable(["footnote_inline", "footnote_ref"])
    parser.inline.ruler.at("link", _link_if_closed)
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
"""Shared by all documents. The state of a text is in the environment that is passed to `parse`."""
_FLAT_PARSER = _new_parser().disable(["list", "blockquote"])


_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]{1,200}\]:[ \t]*[^\s][^\n]{0,2000}$", re.MULTILINE)
_MAX_DEFINITIONS = 500


def definitions(text: str) -> dict[str, Any]:
    """Return the link definitions on lines of their own, even inside a code block; at most 500."""
    references: dict[str, Any] = {}
    for found in itertools.islice(_DEFINITION.finditer(text), _MAX_DEFINITIONS):
        _FLAT_PARSER.parse(found[0], {"references": references})
    return references


def parsed(text: str, references: dict[str, Any]) -> list[Token]:
    """Return the tokens of a text. `references` holds the link definitions so far, and gets those of the text."""
    for depth, parser in _PARSERS.items():
        tokens = parser.parse(text, {"references": references})
        # The parser drops deeper blocks.
        if all(token.level < depth - 2 for token in tokens):
            return tokens
    return _FLAT_PARSER.parse(text, {"references": references})
