"""How well one colour stands out from another, as WCAG 2 measures it; it knows no theme."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtGui import QColor

_READABLE = 4.5
_STEPS = 20


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
