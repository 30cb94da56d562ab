"""Numbers as the window's language writes them; it knows no widget."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.model.sizes import size_in_words


def counted(number: float, num_decimals: int = 0) -> str:
    """Return a number with its thousands apart."""
    return localised(f"{number:,.{num_decimals}f}")


def sized(num_bytes: int) -> str:
    """Return an amount of memory or disk."""
    return localised(size_in_words(num_bytes)).replace("bytes", QCoreApplication.translate("Numbers", "bytes"))


def localised(written: str) -> str:
    """Return a number, or an amount, that is written as in English."""
    thousands = QCoreApplication.translate("Numbers", ",")
    decimals = QCoreApplication.translate("Numbers", ".")
    return written.translate(str.maketrans({",": thousands, ".": decimals}))
