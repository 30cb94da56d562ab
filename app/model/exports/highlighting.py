"""The themes' colours, and code in colours that can be read; it knows no document."""

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

_READABLE = 4.5
_STEPS = 20
_LONGEST = 200_000
"""Characters of code that are highlighted."""


class Stretch(NamedTuple):
    """Code that looks the same; `kind` names how, among the ones of `code_looks`."""

    text: str
    kind: str


class Look(NamedTuple):
    """How a stretch of code looks; `colour` is None where the text's own is meant."""

    colour: str | None
    is_bold: bool
    is_italic: bool


@lru_cache(maxsize=2)
def theme(scheme: Literal["light", "dark"]) -> dict[str, str]:
    """Return a theme's colours by their names."""
    path = Path(str(importlib.resources.files("resources").joinpath(f"themes/{scheme}.toml")))
    return tomllib.loads(path.read_text(encoding="utf-8"))


def stretches(code: str, language: str) -> list[Stretch]:
    """Return `code` in stretches; in one of no kind where its language is none known, or it is very long."""
    if not language or len(code) > _LONGEST:
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
    # Some lexers take \r\n for \n: then the code stands as it is.
    return found if "".join(stretch.text for stretch in found) == code else [Stretch(code, "")]


@lru_cache(maxsize=2)
def code_looks(scheme: Literal["light", "dark"]) -> dict[str, Look]:
    """Return how each kind of stretch looks, readable on the theme's ground for code."""
    colours = theme(scheme)
    looks: dict[str, Look] = {}
    for kind, style in get_style_by_name(colours["code_style"]):
        colour = readable(f"#{style['color']}", colours["sunken"]) if style["color"] else None
        looks["-".join(kind).lower()] = Look(colour, bool(style["bold"]), bool(style["italic"]))
    return looks


@lru_cache(maxsize=512)
def readable(colour: str, ground: str) -> str:
    """Return `colour`, as much darker or lighter as text in it must be to be read on `ground` (WCAG 2)."""
    end = max(("#000000", "#ffffff"), key=lambda candidate: contrast(candidate, ground))
    mixed = (_mixed(colour, end, step / _STEPS) for step in range(_STEPS + 1))
    return next((candidate for candidate in mixed if contrast(candidate, ground) >= _READABLE), end)


def contrast(one: str, other: str) -> float:
    """Return the ratio of two colours' luminances, from 1 to 21."""
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
