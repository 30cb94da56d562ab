"""Addresses that stand in text as they are, as links; for markdown-it. Only such as begin with http:// or https://."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_ADDRESS = re.compile(r"(?<![a-zA-Z0-9@/])https?://[^\s<>\"“”「」，。、；：！？（）【】《》]{1,2000}", re.IGNORECASE)
_HOST = re.compile(r"https?://[\w\[]", re.IGNORECASE)
_BEHIND = ".,;:!?'*_~`|"
"""What ends the sentence, and not the address."""
_PAIRS = {")": "(", "]": "[", "}": "{"}


def bare_link_plugin(parser: MarkdownIt) -> None:
    """Have addresses linked, once text is in one piece."""
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
    place = 0
    for found in _ADDRESS.finditer(text.content):
        address = _without_what_follows(found[0])
        target = parser.normalizeLink(address)
        if not _HOST.match(address) or not parser.validateLink(target):
            continue
        if place < found.start():
            yield _text(text, text.content[place : found.start()])
        yield Token("link_open", "a", 1, {"href": target}, markup="linkify", info="auto", level=text.level)
        yield _text(text, address, level=text.level + 1)
        yield Token("link_close", "a", -1, markup="linkify", info="auto", level=text.level)
        place = found.start() + len(address)
    if place < len(text.content):
        yield _text(text, text.content[place:])


def _text(like: Token, content: str, level: int | None = None) -> Token:
    return Token("text", "", 0, content=content, level=like.level if level is None else level)


def _without_what_follows(address: str) -> str:
    """Return an address without the sentence's marks behind it; a bracket belongs to it if it was opened in it."""
    while address:
        last = address[-1]
        opening = _PAIRS.get(last)
        if last not in _BEHIND and (opening is None or address.count(opening) >= address.count(last)):
            break
        address = address[:-1]
    return address
