"""Draws LaTeX formulas as SVG with ziamath. Independent of documents."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any, NamedTuple

_MAX_CHARACTERS = 4_000
"""A longer text is not treated as a formula."""
_IGNORED = re.compile(r"\\label\s*\{[^{}]*\}|\\(?:notag|nonumber)(?![a-zA-Z])")
_NUMBERED = re.compile(r"(\\(?:begin|end)\s*\{(?:align|alignat|gather|equation))\}")
_TAG = re.compile(r"\\tag(\*?)\s*\{([^{}]*)\}")
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_FONT = "Bough"
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([A-Za-z]+)\*?\s*\}")
_KNOWN = re.compile(
    r"align(?:ed)?|array|cases|displaymath|equation|gather(?:ed)?|math|multline|split|(?:small|[pbBvV])?matrix"
)
"""Environments that ziamath supports. For any other environment, it would draw only the content."""
_LIKE_ALIGN = re.compile(r"\\(begin|end)\s*\{(?:(?:alignat|alignedat|eqnarray|flalign)\*?|aligned)\}(?:\s*\{\d+\})?")
_VIEW_BOX = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')


class Formula(NamedTuple):
    """A picture, in pixels; `below_px` of its height are below the baseline."""

    svg: str
    width_px: float
    height_px: float
    below_px: float


@lru_cache(maxsize=2048)
def formula(latex: str, size_px: float, colour: str, *, is_inline: bool) -> Formula | None:
    """Return a formula as a picture; None if it can't be drawn, in which case the caller shows its source."""
    if len(latex) > _MAX_CHARACTERS or not _are_braces_closed(latex):
        return None
    plain = _simplified(_without_numbers(latex))
    if any(_KNOWN.fullmatch(name) is None for _, name in _ENVIRONMENT.findall(plain)):
        return None
    latex_class = _latex_class()
    try:
        svg = latex_class(plain, size=size_px, font=_FONT, color=colour, inline=is_inline).svg()
    except Exception:  # noqa: BLE001 (invalid LaTeX breaks its parser in many ways)
        return None
    box = _VIEW_BOX.search(svg)
    if box is None:
        return None
    _, top, width, height = (float(number) for number in box.groups())
    return Formula(svg, width, height, height + top)


def _are_braces_closed(latex: str) -> bool:
    """Return whether all braces are paired. ziamath would silently leave out unpaired ones."""
    depth = 0
    for brace in re.findall(r"[{}]", _ESCAPE.sub("", latex)):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return not depth


def _simplified(latex: str) -> str:
    """Replace unsupported environments by supported ones that look the same."""
    return _LIKE_ALIGN.sub(r"\\\1{align*}", latex).replace("{dcases}", "{cases}")


def _without_numbers(latex: str) -> str:
    """Remove automatic numbers, and put explicit tags after the formula."""

    def number(found: re.Match[str]) -> str:
        return rf"\qquad\text{{{found[2]}}}" if found[1] else rf"\qquad\text{{({found[2]})}}"

    return _TAG.sub(number, _NUMBERED.sub(r"\1*}", _IGNORED.sub("", latex)))


@lru_cache(maxsize=1)
def _latex_class() -> Any:
    # Imported on first use, because the import reads fonts, in a deprecated way.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from ziamath.config import config
        from ziamath.zmath import Latex, loadedfonts

        from app.model.exports.formula_font import FormulaFont

    loadedfonts[_FONT] = FormulaFont()
    # Qt's SVG renderer does not support <use>.
    config.svg2 = False
    return Latex
