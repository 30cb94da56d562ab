"""Where Qt says that a character stands; it says it in a way of its own."""

from __future__ import annotations

from typing import Any


def float_x(found: Any) -> float:
    """Return where in its line a character stands: Qt tells the character's place, too."""
    return float(found[0] if isinstance(found, tuple) else found)
