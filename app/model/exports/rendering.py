"""Renders Markdown as HTML. Subclasses decide how tables, code, formulas and pictures look."""

from __future__ import annotations

import itertools
import re
from abc import abstractmethod
from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from typing_extensions import override

from app.model.markdown_parser import DISPLAY, INLINE, NOTE_MARK, parsed

_OPTIONS = MarkdownIt("js-default").options
_DIRECTED = frozenset({"bullet_list_open", "ordered_list_open", "blockquote_open"})
"""Elements with bullets, numbers or a bar at the side where their text begins."""
_BOX = re.compile(r"\[([ xX])\]\s")


class MarkdownRenderer(RendererHTML):
    """Renders Markdown as HTML; HTML in the Markdown is shown as text.

    Methods whose names do not begin with `render` are markdown-it's rules: each renders the tokens of the type in its
    name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rules |= {INLINE: self._formula, DISPLAY: self._formula, NOTE_MARK: self._note_mark}

    def render_markdown(self, text: str) -> str:
        return self.render(boxed(parsed(text, {})), _OPTIONS, {})

    # --- the looks -------------------------------------------------------------------------------------------

    @abstractmethod
    def render_table_start(self, headings: Sequence[str]) -> str:
        """Return the HTML before a table's rows."""

    @abstractmethod
    def render_table_end(self) -> str: ...

    @abstractmethod
    def render_code(self, code: str, language: str) -> str:
        """Return the HTML of a code block."""

    @abstractmethod
    def render_formula(self, latex: str, *, is_inline: bool) -> str: ...

    @abstractmethod
    def render_picture(self, source: str, description: str) -> str: ...

    # --- rules -----------------------------------------------------------------------------------------------

    @override
    def renderToken(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        match token.type:
            case "heading_open" | "heading_close":
                # The document's own headings are above those of messages.
                token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
            case "link_open":
                token.attrSet("rel", "noreferrer")
            case "th_open" | "td_open" if "style" in token.attrs:
                # Qt supports this attribute, but not the style.
                token.attrSet("align", str(token.attrs.pop("style")).removeprefix("text-align:"))
            case kind if kind in _DIRECTED:
                token.attrSet("dir", "auto")
            case _:
                pass
        return super().renderToken(tokens, idx, options, env)

    def table_open(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        first_row = itertools.takewhile(lambda token: token.type != "tr_close", itertools.islice(tokens, idx, None))
        return self.render_table_start([token.content for token in first_row if token.type == "inline"])

    def table_close(self, *_: object) -> str:
        return self.render_table_end()

    @override
    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        words = tokens[idx].info.split(maxsplit=1)
        return self.render_code(tokens[idx].content.removesuffix("\n"), words[0] if words else "")

    @override
    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self.render_code(tokens[idx].content.removesuffix("\n"), "")

    @override
    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self.render_picture(str(tokens[idx].attrs.get("src", "")), tokens[idx].content)

    def _formula(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        token = tokens[idx]
        # The info is punctuation after a display formula.
        return self.render_formula(token.content, is_inline=token.type == INLINE) + escape(token.info, quote=False)

    def _note_mark(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        return _number(tokens[idx].content)

    def footnote_reference_open(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        starts_with_text = tokens[idx + 1].type == "paragraph_open"
        return '<div class="footnote">\n' + ("" if starts_with_text else _footnote_number(tokens[idx]))

    def footnote_reference_close(self, *_: object) -> str:
        return "</div>\n"

    def paragraph_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        is_first = idx > 0 and tokens[idx - 1].type == "footnote_reference_open"
        number = _footnote_number(tokens[idx - 1]) if is_first else ""
        return self.renderToken(tokens, idx, options, env) + number


def _footnote_number(token: Token) -> str:
    return f"{_number(token.meta['label'])} "


def _number(label: str) -> str:
    return f"<sup>[{escape(label, quote=False)}]</sup>"


def boxed(tokens: list[Token]) -> list[Token]:
    """Replace the boxes of task lists by box characters, which screen readers can read."""
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and paragraph.type == "paragraph_open" and inline.children:
            first = inline.children[0]
            found = _BOX.match(first.content) if first.type == "text" else None
            if found is not None:
                first.content = f"{'☐' if found[1] == ' ' else '☑'} {first.content[found.end() :]}"
    return tokens
