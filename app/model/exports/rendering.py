"""Parsed Markdown as HTML, token by token; how code, formulas and pictures look is another's choice."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from html import escape
from typing import Protocol

from markdown_it.token import Token

from app.model.markdown_parser import DISPLAY, INLINE, NOTE_MARK, parsed

_PLAIN_TAGS = {
    "paragraph": "p",
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "list_item": "li",
    "strong": "strong",
    "em": "em",
    "s": "s",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
}
_DIRECTED = frozenset({"bullet_list", "ordered_list", "blockquote"})
"""What has marks of its own beside its text, at the side where that begins."""
_BOX = re.compile(r"\[([ xX])\]\s")
_BLOCKS = frozenset({"p", "blockquote", "ul", "li", "thead", "tbody", "tr"})


class Looks(Protocol):
    """How some things look; each method returns HTML."""

    table_end: str
    """What stands behind a table's rows."""

    def table(self, heads: Sequence[str]) -> str:
        """What stands before a table's rows; `heads`: what its columns are called."""
        ...

    def code(self, code: str, language: str) -> str:
        """A block of code."""
        ...

    def formula(self, latex: str, *, is_inline: bool) -> str: ...

    def picture(self, source: str, words: str) -> str: ...


def rendered(text: str, looks: Looks) -> str:
    """Return Markdown as HTML; HTML in it is text."""
    parts: list[str] = []
    number = ""
    tokens = boxed(parsed(text, {}))
    for place, token in enumerate(tokens):
        parts.append(looks.table(_heads(tokens, place)) if token.type == "table_open" else _html(token, looks))
        if token.type == "footnote_reference_open":
            number = f"{_number(token.meta['label'])} "
        elif number:
            # In the note's first line, where that is one.
            parts.insert(len(parts) if token.type == "paragraph_open" else -1, number)
            number = ""
    return "".join(parts)


def _heads(tokens: Sequence[Token], place: int) -> list[str]:
    """Return what the columns are called of the table that begins at a place."""
    row = itertools.takewhile(lambda token: token.type != "tr_close", itertools.islice(tokens, place, None))
    return [token.content for token in row if token.type == "inline"]


def boxed(tokens: list[Token]) -> list[Token]:
    """Have the boxes of task lists be characters that look like boxes, and are read out as such."""
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and paragraph.type == "paragraph_open" and inline.children:
            first = inline.children[0]
            found = _BOX.match(first.content) if first.type == "text" else None
            if found is not None:
                first.content = f"{'☐' if found[1] == ' ' else '☑'} {first.content[found.end() :]}"
    return tokens


def _html(token: Token, looks: Looks) -> str:
    kind = token.type
    if kind in {INLINE, DISPLAY}:
        # Behind a block of its own a stop may stand.
        return looks.formula(token.content, is_inline=kind == INLINE) + escape(token.info, quote=False)
    if kind == NOTE_MARK:
        return _number(token.content)
    if kind == "footnote_reference_open":
        return '<div class="footnote">\n'
    if kind == "footnote_reference_close":
        return "</div>\n"
    name, _, side = kind.rpartition("_")
    if side in {"open", "close"}:
        return _tag(name, token, is_open=side == "open", looks=looks)
    match kind:
        case "inline":
            return _inline(token.children or [], looks)
        case "text" | "html_inline" | "text_special":
            return escape(token.content, quote=False)
        case "code_inline":
            return f"<code>{escape(token.content, quote=False)}</code>"
        case "softbreak":
            return "\n"
        case "hardbreak":
            return "<br>\n"
        case "fence" | "code_block":
            words = token.info.split(maxsplit=1)
            return looks.code(token.content.removesuffix("\n"), words[0] if words else "")
        case "hr":
            return "<hr>\n"
        case "image":
            return looks.picture(str(token.attrs.get("src", "")), token.content)
        case _:
            return escape(token.content, quote=False)


def _number(label: str) -> str:
    return f"<sup>[{escape(label, quote=False)}]</sup>"


def _inline(tokens: Sequence[Token], looks: Looks) -> str:
    return "".join(_html(token, looks) for token in tokens)


def _tag(name: str, token: Token, *, is_open: bool, looks: Looks) -> str:
    # Paragraphs of a tight list are not marked.
    if name == "paragraph" and token.hidden:
        return "" if is_open else "\n"
    if name == "table":
        return looks.table_end
    attributes = ' dir="auto"' if name in _DIRECTED else ""
    match name:
        case "heading":
            # The document's own headings stand above those of the messages.
            tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        case "ordered_list":
            tag = "ol"
            attributes += f' start="{token.attrs["start"]}"' if "start" in token.attrs else ""
        case "link":
            tag = "a"
            attributes = f' href="{escape(str(token.attrs.get("href", "")))}" rel="noreferrer"'
        case "th" | "td":
            tag = name
            align = str(token.attrs.get("style", "")).removeprefix("text-align:")
            attributes = f' align="{align}"' if align else ""
        case _:
            tag = _PLAIN_TAGS.get(name, "span")
    line_break = "\n" if tag in _BLOCKS or tag.startswith("h") else ""
    return f"<{tag}{attributes}>" if is_open else f"</{tag}>{line_break}"
