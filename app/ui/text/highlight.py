"""Syntax highlighting with Pygments, in readable colours. Independent of documents."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from pygments import lex
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.style import Style
from pygments.styles import get_style_by_name
from pygments.util import ClassNotFound
from PySide6.QtGui import QColor

_MAX_CHARS = 100_000
"""Code with more characters is not highlighted."""
_READABLE_CONTRAST = 4.5
_NUM_STEPS = 20


class Piece(NamedTuple):
    """A piece of code in one format. A `colour` of None means the colour of normal text."""

    text: str
    colour: str | None = None
    is_bold: bool = False
    is_italic: bool = False


def pieces(code: str, language: str, style_name: str, background: str) -> Iterator[Piece]:
    """Yield `code` in highlighted pieces, or in one plain piece if its language is unknown or it is very long."""
    if not language or len(code) > _MAX_CHARS:
        yield Piece(code)
        return
    lexer = _lexer(language)
    if lexer is None:
        yield Piece(code)
        return
    style = get_style_by_name(style_name)
    last = Piece("")
    # Some lexers recognise a line only by its line end.
    for kind, text in lex(f"{code}\n", lexer):
        if last.text:
            yield last
        format_ = _format_of(kind, style)
        colour = readable(f"#{format_['color']}", background) if format_["color"] else None
        last = Piece(text) if text.isspace() else Piece(text, colour, bool(format_["bold"]), bool(format_["italic"]))
    if rest := last.text.removesuffix("\n"):
        yield last._replace(text=rest)


def _format_of(kind: Any, style: type[Style]) -> Any:
    """Return the format of a kind of token. A kind that the style lacks has the format of its parent kind."""
    try:
        return style.style_for_token(kind)
    except KeyError:
        if kind.parent is None:
            raise
        return _format_of(kind.parent, style)


def highlighted(code: str, language: str, style_name: str, background: str) -> list[Piece]:
    """Return `code` in highlighted pieces that are readable on `background`."""
    found = list(pieces(code, language, style_name, background))
    # A few lexers change characters; then the code stays plain.
    return found if "".join(piece.text for piece in found) == code else [Piece(code)]


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours as WCAG 2 defines it, from 1 to 21."""
    darker, lighter = sorted((_luminance(QColor(one)), _luminance(QColor(other))))
    return (lighter + 0.05) / (darker + 0.05)


@lru_cache(maxsize=512)
def readable(colour: str, background: str) -> str:
    """Return `colour`, made darker or lighter until text in this colour is readable on `background`."""
    end = max(("#000000", "#ffffff"), key=lambda candidate: contrast(candidate, background))
    mixed = (_mixed(colour, end, step / _NUM_STEPS) for step in range(_NUM_STEPS + 1))
    return next((candidate for candidate in mixed if contrast(candidate, background) >= _READABLE_CONTRAST), end)


def _luminance(colour: QColor) -> float:
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in (colour.redF(), colour.greenF(), colour.blueF())
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mixed(one: str, other: str, share: float) -> str:
    a, b = QColor(one), QColor(other)
    channels = ((a.red(), b.red()), (a.green(), b.green()), (a.blue(), b.blue()))
    return QColor(*(round(x + (y - x) * share) for x, y in channels)).name()
