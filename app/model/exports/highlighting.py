"""The themes' colours, and syntax highlighting with readable colours. Independent of documents."""

from __future__ import annotations

import importlib.resources
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from pygments import lex
from pygments.lexers import get_lexer_by_name
from pygments.styles import get_style_by_name
from pygments.util import ClassNotFound

_MIN_CONTRAST = 4.5
_NUM_STEPS = 20
_MAX_CHARACTERS = 200_000
"""Longer code is not highlighted."""


class Stretch(NamedTuple):
    """A piece of code with a single look; `kind` is a key of `code_looks`, or empty."""

    text: str
    kind: str


class Look(NamedTuple):
    """The look of a piece of code. If `colour` is None, it has the colour of the text."""

    colour: str | None
    is_bold: bool
    is_italic: bool


@lru_cache(maxsize=2)
def theme(scheme: Literal["light", "dark"]) -> dict[str, str]:
    """Return a theme's colours by their names."""
    path = Path(str(importlib.resources.files("resources").joinpath(f"themes/{scheme}.toml")))
    return tomllib.loads(path.read_text(encoding="utf-8"))


def stretches(code: str, language: str) -> list[Stretch]:
    """Split `code` into pieces. If its language is unknown or it is very long, it is one piece without a kind."""
    if not language or len(code) > _MAX_CHARACTERS:
        return [Stretch(code, "")]
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return [Stretch(code, "")]
    found: list[Stretch] = []
    for kind, text in lex(code, lexer):
        name = "-".join(kind).lower()
        if found and found[-1].kind == name:
            found[-1] = Stretch(found[-1].text + text, name)
        else:
            found.append(Stretch(text, name))
    # Some lexers change \r\n to \n; then the code is not highlighted.
    return found if "".join(stretch.text for stretch in found) == code else [Stretch(code, "")]


@lru_cache(maxsize=2)
def code_looks(scheme: Literal["light", "dark"]) -> dict[str, Look]:
    """Return the look of each kind, with colours that are readable on the theme's background of code."""
    colours = theme(scheme)
    looks: dict[str, Look] = {}
    for kind, style in get_style_by_name(colours["code_style"]):
        colour = readable(f"#{style['color']}", colours["sunken"]) if style["color"] else None
        looks["-".join(kind).lower()] = Look(colour, bool(style["bold"]), bool(style["italic"]))
    return looks


@lru_cache(maxsize=512)
def readable(colour: str, ground: str) -> str:
    """Return `colour`, made darker or lighter until text in it is readable on `ground` (WCAG 2)."""
    end = max(("#000000", "#ffffff"), key=lambda candidate: contrast(candidate, ground))
    mixed = (_mixed(colour, end, step / _NUM_STEPS) for step in range(_NUM_STEPS + 1))
    return next((candidate for candidate in mixed if contrast(candidate, ground) >= _MIN_CONTRAST), end)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in bytes.fromhex(colour[1:]))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mixed(one: str, other: str, share: float) -> str:
    pairs = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)
