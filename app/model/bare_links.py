"""A markdown-it plugin that links bare addresses. They must begin with http:// or https://."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_ADDRESS = re.compile(r"(?<![a-zA-Z0-9@/])https?://[^\s<>\"“”「」，。、；：！？（）【】《》]{1,2000}", re.IGNORECASE)
_HOST = re.compile(r"https?://[\w\[]", re.IGNORECASE)
_TRAILING = ".,;:!?'*_~`|"
"""Characters that end the sentence rather than the address."""
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
    """Return an address without trailing punctuation. A closing bracket belongs to it if it was opened in it."""
    while address:
        last = address[-1]
        opening = _PAIRS.get(last)
        if last not in _TRAILING and (opening is None or address.count(opening) >= address.count(last)):
            break
        address = address[:-1]
    return address
