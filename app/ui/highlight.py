"""Code in colours, by Pygments; it knows no document."""

from __future__ import annotations

from typing import NamedTuple

from pygments import lex
from pygments.lexers import get_lexer_by_name
from pygments.styles import get_style_by_name
from pygments.util import ClassNotFound

from app.ui.contrast import readable

_LONGEST = 20_000
"""Characters of code that are highlighted: it is done again with every tick while the code streams."""


class Piece(NamedTuple):
    """A stretch of code that looks the same; `colour` is None where the text's own is meant."""

    text: str
    colour: str | None = None
    is_bold: bool = False
    is_italic: bool = False


def highlighted(code: str, language: str, style_name: str, ground: str) -> list[Piece]:
    """Return `code` in pieces, to be read on `ground`; in one where its language is none known, or it is very long."""
    if not language or len(code) > _LONGEST:
        return [Piece(code)]
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return [Piece(code)]
    style = get_style_by_name(style_name)
    pieces: list[Piece] = []
    for kind, text in lex(code, lexer):
        look = style.style_for_token(kind)
        colour = readable(f"#{look['color']}", ground) if look["color"] else None
        pieces.append(Piece(text, colour, bool(look["bold"]), bool(look["italic"])))
    return pieces
