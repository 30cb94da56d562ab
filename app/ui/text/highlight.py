"""Code in colours, by Pygments. Independent of documents."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from pygments import lex
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.styles import get_style_by_name
from pygments.util import ClassNotFound
from PySide6.QtGui import QColor

_LONGEST = 100_000
"""Characters of code that are highlighted."""
_READABLE = 4.5
_STEPS = 20


class Piece(NamedTuple):
    """A stretch of code that looks the same; `colour` is None where the text's own is meant."""

    text: str
    colour: str | None = None
    is_bold: bool = False
    is_italic: bool = False


def pieces(code: str, language: str, style_name: str, ground: str) -> Iterator[Piece]:
    """Yield `code` in pieces as they are found; in one where its language is none known, or it is very long."""
    if not language or len(code) > _LONGEST:
        yield Piece(code)
        return
    lexer = _lexer(language)
    if lexer is None:
        yield Piece(code)
        return
    style = get_style_by_name(style_name)
    last = Piece("")
    # Some lexers take for a line only what has a line end.
    for kind, text in lex(f"{code}\n", lexer):
        if last.text:
            yield last
        look = style.style_for_token(kind)
        colour = readable(f"#{look['color']}", ground) if look["color"] else None
        last = Piece(text) if text.isspace() else Piece(text, colour, bool(look["bold"]), bool(look["italic"]))
    if rest := last.text.removesuffix("\n"):
        yield last._replace(text=rest)


def highlighted(code: str, language: str, style_name: str, ground: str) -> list[Piece]:
    """Return `code` in pieces, to be read on `ground`."""
    found = list(pieces(code, language, style_name, ground))
    # Some lexers take one character for another: then the code stands as it is.
    return found if "".join(piece.text for piece in found) == code else [Piece(code)]


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def contrast(one: str, other: str) -> float:
    """Return the ratio of two colours' luminances, from 1 to 21."""
    darker, lighter = sorted((_luminance(QColor(one)), _luminance(QColor(other))))
    return (lighter + 0.05) / (darker + 0.05)


@lru_cache(maxsize=512)
def readable(colour: str, ground: str) -> str:
    """Return `colour`, as much darker or lighter as text in it must be to be read on `ground`."""
    end = max(("#000000", "#ffffff"), key=lambda candidate: contrast(candidate, ground))
    mixed = (_mixed(colour, end, step / _STEPS) for step in range(_STEPS + 1))
    return next((candidate for candidate in mixed if contrast(candidate, ground) >= _READABLE), end)


def _luminance(colour: QColor) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (colour.redF(), colour.greenF(), colour.blueF())
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mixed(one: str, other: str, share: float) -> str:
    a, b = QColor(one), QColor(other)
    parts = ((a.red(), b.red()), (a.green(), b.green()), (a.blue(), b.blue()))
    return QColor(*(round(x + (y - x) * share) for x, y in parts)).name()
