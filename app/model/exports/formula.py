"""LaTeX formulas as pictures of lines (SVG), by ziamath; it knows no document."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any, NamedTuple

_LONGEST = 4_000
"""Characters; a formula that is longer is no formula."""
_UNSAID = re.compile(r"\\label\s*\{[^{}]*\}|\\(?:notag|nonumber)(?![a-zA-Z])")
_NUMBERED = re.compile(r"(\\(?:begin|end)\s*\{(?:align|alignat|gather|equation))\}")
_TAG = re.compile(r"\\tag(\*?)\s*\{([^{}]*)\}")
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_FONT = "Bough"
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([A-Za-z]+)\*?\s*\}")
_KNOWN = re.compile(
    r"align(?:ed)?|array|cases|displaymath|equation|gather(?:ed)?|math|multline|split|(?:small|[pbBvV])?matrix"
)
"""Environments that are set as such; of others no more than what they hold would be drawn."""
_LIKE_ALIGN = re.compile(r"\\(begin|end)\s*\{(?:(?:alignat|alignedat|eqnarray|flalign)\*?|aligned)\}(?:\s*\{\d+\})?")
_VIEW_BOX = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')


class Formula(NamedTuple):
    """A picture, in pixels; `below_px` of its height stands below the line that text stands on."""

    svg: str
    width_px: float
    height_px: float
    below_px: float


@lru_cache(maxsize=2048)
def formula(latex: str, size_px: float, colour: str, *, is_inline: bool) -> Formula | None:
    """Return a formula as it is written in `colour`; None where it can't be set, and its source must do."""
    if len(latex) > _LONGEST or not _are_braces_closed(latex):
        return None
    plain = _plainer(_without_numbers(latex))
    if any(_KNOWN.fullmatch(name) is None for _, name in _ENVIRONMENT.findall(plain)):
        return None
    latex_class = _latex_class()
    try:
        svg = latex_class(plain, size=size_px, font=_FONT, color=colour, inline=is_inline).svg()
    except Exception:  # noqa: BLE001 (what people take for LaTeX breaks its parser in many ways)
        return None
    box = _VIEW_BOX.search(svg)
    if box is None:
        return None
    _, top, width, height = (float(number) for number in box.groups())
    return Formula(svg, width, height, height + top)


def _are_braces_closed(latex: str) -> bool:
    """Whether each brace has its other one: what has not would be drawn without it."""
    depth = 0
    for brace in re.findall(r"[{}]", _ESCAPE.sub("", latex)):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return not depth


def _plainer(latex: str) -> str:
    """Environments that look like others are these."""
    return _LIKE_ALIGN.sub(r"\\\1{align*}", latex).replace("{dcases}", "{cases}")


def _without_numbers(latex: str) -> str:
    """A message's formulas are not numbered, but for what was given a number by hand: it stands behind it."""

    def number(found: re.Match[str]) -> str:
        return rf"\qquad\text{{{found[2]}}}" if found[1] else rf"\qquad\text{{({found[2]})}}"

    return _TAG.sub(number, _NUMBERED.sub(r"\1*}", _UNSAID.sub("", latex)))


@lru_cache(maxsize=1)
def _latex_class() -> Any:
    # Its fonts are read when it is first wanted, in a way that Python calls old.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from ziamath.config import config
        from ziamath.zmath import Latex, loadedfonts

        from app.model.exports.formula_font import FormulaFont

    loadedfonts[_FONT] = FormulaFont()
    # Qt's SVG has no symbols that are used again.
    config.svg2 = False
    return Latex
