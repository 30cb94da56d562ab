"""Finds the code fence or HTML block that a Markdown text leaves open, in linear time and mostly without a parser."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block.html_block import HTML_SEQUENCES

_MAY_OPEN = re.compile(r"^( {0,3})(?:(`{3,}(?=[^`\n]*$)|~{3,})|<)", re.MULTILINE)
"""A line that may open a fence or an HTML block; its indentation and the fence's mark."""
_HTML_CLOSINGS = ("</{tag}>", "-->", "?>", ">", "]]>")
"""The texts that end the first kinds of HTML blocks. An empty line ends the others."""
_WHOLE_TAG = HTML_SEQUENCES[-1][0]
"""Opens the only kind of HTML block that can't interrupt a paragraph."""
_BLANK = re.compile(r"^[ \t]*$", re.MULTILINE)
_BREAK = re.compile(r"^[ \t]*\n(?=[^ \t\n])", re.MULTILINE)
"""An empty line before a line without indentation. No list, quote or paragraph continues after it."""
_LIST = re.compile(r"^[ >]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)", re.MULTILINE)
_MIN_PARSED = 2_000
"""Where a parser is needed, at least this many characters are parsed at a time."""


class _Opened(NamedTuple):
    """A block outside lists and quotes."""

    end: re.Pattern[str]
    """Matches in the line that ends the block."""
    closing: str | None
    """A line that ends the block; None if an empty line ends it."""


_TO_BLANK = _Opened(_BLANK, None)


class _Unsure:
    """It takes a parser to decide whether a line opens a block."""


def end_of_open_block(text: str) -> str | None:
    """Return the line that closes the block that a text leaves open outside lists and quotes; None if none is open."""
    if "```" not in text and "~~~" not in text and "<" not in text:
        return None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    position = start = 0
    # Blocks that are open at `position` begin at `start` or later.
    has_list = False
    while (found := _MAY_OPEN.search(text, position)) is not None:
        line = found.start()
        for gap in _BREAK.finditer(text, position, line + 1):
            start, has_list = gap.end(), False
        # Only an indented line may belong to a list.
        has_list = has_list or _LIST.search(text, max(start, position), line) is not None
        opened = _Unsure() if found[1] and has_list else _opened(text, found, is_first=line == start)
        after = line if found[2] is None else _next_line(text, line)
        if isinstance(opened, _Unsure):
            gap = _BREAK.search(text, max(line, start + _MIN_PARSED))
            after = len(text) if gap is None else gap.end()
            opened = _open_at_end(text[start:after])
            if opened is None:
                position = start = after
                has_list = False
                continue
        if opened is None:
            position = _next_line(text, line)
            continue
        ended = opened.end.search(text, after)
        if ended is None:
            return opened.closing
        position = start = _next_line(text, ended.start())
        has_list = False
    return None


def _next_line(text: str, position: int) -> int:
    return text.find("\n", position) + 1 or len(text)


def _opened(text: str, found: re.Match[str], *, is_first: bool) -> _Opened | _Unsure | None:
    """Return the block that a line outside lists opens. `is_first`: no paragraph can be open before the line."""
    if found[2] is not None:
        return _fence(found[2])
    end = text.find("\n", found.start())
    line = text[found.end() - 1 : end if end >= 0 else len(text)]
    opened = _html(line)
    if opened is None and _WHOLE_TAG.search(line) is not None:
        return _TO_BLANK if is_first else _Unsure()
    return opened


@lru_cache(maxsize=64)
def _fence(mark: str) -> _Opened:
    return _Opened(re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE), mark)


def _html(line: str) -> _Opened | None:
    """Return the HTML block that a line opens even inside a paragraph."""
    for number, (begin, end, _) in enumerate(HTML_SEQUENCES[:-1]):
        if (found := begin.search(line)) is not None:
            if number >= len(_HTML_CLOSINGS):
                return _TO_BLANK
            return _Opened(end, _HTML_CLOSINGS[number].format(tag=found[1].lower() if found.groups() else ""))
    return None


def _open_at_end(text: str) -> _Opened | None:
    """Parse a text, and return the block that it leaves open."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable("inline")
    last = parser.parse(f"{text}\n\n## what follows")[-1]
    match last.type:
        case "fence":
            return _fence(last.markup)
        case "html_block":
            return _html(last.content.partition("\n")[0].lstrip(" "))
        case _:
            return None
