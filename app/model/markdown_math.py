r"""A markdown-it plugin for formulas as chat models write them: $…$, $$…$$, \(…\), \[…\] and bare environments."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

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
    return f"{token.markup}{token.content}{_CLOSINGS.get(token.markup, token.markup)}"


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
    """Do the same for single dollars, except for prices such as “$5 and $6” and dollars next to words."""
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
