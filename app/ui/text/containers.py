"""Divides a long list or quote into two texts.

The second text is parsed as if the lists and quotes that the first text opened were still open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from markdown_it.token import Token

_MARKER = re.compile(r"[ \t]*(?:>|[-*+]|\d{1,9}[.)])")
_SPACE = re.compile(r"[ \t]{1,4}(?=[^ \t])")
_NO_QUOTE_MARK = re.compile(r"[^>\t]")
_CONTAINERS = frozenset({"list_item_open", "list_item_continued", "blockquote_open"})
_NUM_TRIED = 3
_NUM_OPEN_LINES = 2
"""The number of lines at the end whose meaning may still change while text streams in."""
Parse: TypeAlias = Callable[[str], list[Token]]


class Division(NamedTuple):
    """The place at which a list or quote is divided."""

    token: int
    """The index of the first token below the division."""
    source: int
    """The position of the division in the source."""
    containers: str
    """The lines that open the lists and quotes around the division."""


def parsed_inside(containers: str, text: str, parse: Parse) -> list[Token]:
    """Return the tokens of a text inside the lists and quotes that `containers` opens; "" means none.

    The tokens of these lists and quotes have negative line numbers, and their items the type `list_item_continued`.
    """
    tokens = parse(containers + text)
    num_lines = containers.count("\n")
    if not num_lines:
        return tokens
    inside: list[Token] = []
    num_dropped = 0
    for token in tokens:
        if token.map:
            token.map = [line - num_lines for line in token.map]
        is_above = token.map is not None and token.map[0] < 0
        if is_above and token.type == "paragraph_open":
            num_dropped = 3
        elif is_above and token.type == "list_item_open":
            token.type = "list_item_continued"
        if num_dropped:
            num_dropped -= 1
        else:
            inside.append(token)
    return inside


def division(containers: str, text: str, tokens: Sequence[Token], parse: Parse) -> Division | None:
    """Return the last place at which a text can be divided so that it looks the same; None if there is none.

    `tokens` is the result of `parsed_inside(containers, text, parse)`.
    """
    lines = (containers + text).split("\n")
    num_above = containers.count("\n")
    for index, around in _places(tokens, len(lines) - num_above - _NUM_OPEN_LINES)[: -_NUM_TRIED - 1 : -1]:
        line = (tokens[index].map or [0])[0]
        opening = _opening_lines(around, lines, num_above)
        source = sum(len(each) + 1 for each in lines[num_above : num_above + line])
        if opening is not None and _is_same(tokens[index:], parsed_inside(opening, text[source:], parse)):
            return Division(index, source, opening)
    return None


def _places(tokens: Sequence[Token], end: int) -> list[tuple[int, list[Token]]]:
    """Return the blocks in lists and quotes that begin on a line before `end`.

    Each block is the index of its first token, with the tokens that open the lists and quotes around it.
    """
    places: list[tuple[int, list[Token]]] = []
    around: list[Token] = []
    above: list[Token] = []
    """The list item that has just ended."""
    for index, token in enumerate(tokens):
        if token.nesting < 0:
            if around and around[-1].level == token.level:
                above = [around.pop()]
            continue
        if token.map is None or token.type == "inline":
            continue
        if around and 0 < token.map[0] < end and token.map[0] > (around[-1].map or [0])[0]:
            items = above if token.type == "list_item_open" else []
            places.append((index, [each for each in (*around, *items) if each.type in _CONTAINERS]))
        if token.type in _CONTAINERS or token.type.endswith("_list_open"):
            around.append(token)
    return places


def _opening_lines(around: Sequence[Token], lines: Sequence[str], num_above: int) -> str | None:
    """Return lines that open the lists and quotes `around`, and an empty line; None if their marks are not found."""
    opening: list[str] = []
    first_lines = [(token.map or [0])[0] + num_above for token in around]
    for line in sorted(set(first_lines)):
        num_quotes = sum(
            token.type == "blockquote_open" and first < line for token, first in zip(around, first_lines, strict=True)
        )
        end = 0
        for _ in range(num_quotes + first_lines.count(line)):
            found = _MARKER.match(lines[line], end)
            if found is None:
                return None
            end = found.end()
        space = _SPACE.match(lines[line], end)
        opening.append(lines[line][:end] + (" " if space is None else space[0]))
    # After an empty line, any number may begin a list.
    return "".join(f"{each}x\n{_NO_QUOTE_MARK.sub(' ', each).rstrip()}\n" for each in opening)


def _is_same(tokens: Sequence[Token], others: Sequence[Token]) -> bool:
    """Return whether `tokens` equal `others` without the tokens of lines with negative numbers."""
    begins = next((at for at, each in enumerate(others) if each.map is not None and each.map[0] >= 0), len(others))
    return [_look(each) for each in tokens] == [_look(each) for each in others[begins:]]


def _look(token: Token) -> tuple[str, str, str]:
    return token.type, token.content, token.markup
