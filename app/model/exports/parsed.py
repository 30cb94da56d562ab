"""Markdown as models write it, parsed for exports: tables, strike-through, formulas in $…$, \\(…\\) and \\[…\\]."""

from __future__ import annotations

from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.texmath import texmath_plugin

MATH_INLINE = frozenset({"math_inline"})
MATH_BLOCK = frozenset({"math_block", "math_block_label", "math_block_eqno", "math_inline_double"})


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """Return the parser; HTML is text to it, as it is in the window."""
    made = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    # $5 and $10 are prices.
    dollarmath_plugin(made, allow_space=False, allow_digits=False, allow_labels=False, double_inline=True)
    texmath_plugin(made, delimiters="brackets")
    return made


def parsed(text: str) -> list[Token]:
    return parser().parse(text, {})
