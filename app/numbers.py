"""Formats numbers in the language of the user interface. Independent of widgets."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLocale

from worker.sentence import scaled_size

_MAX = (1 << 63) - 1


def counted(number: float, num_decimals: int = 0) -> str:
    """Format a number with thousands separators."""
    if isinstance(number, int):
        # Qt's integers have 64 bits.
        return _locale().toString(min(max(number, -_MAX), _MAX))
    return _locale().toString(number, "f", num_decimals)


def shortened(number: float) -> str:
    """Format a number with as few decimals as possible."""
    return _locale().toString(number, "g", 6)


def sized(num_bytes: int) -> str:
    """Format a number of bytes in a suitable unit."""
    number, num_decimals, unit = scaled_size(num_bytes)
    if unit == "bytes":
        unit = QCoreApplication.translate("Numbers", "bytes")
    return f"{counted(number, num_decimals)} {unit}"


def _locale() -> QLocale:
    locale = QLocale()
    # The C locale leaves separators out.
    locale.setNumberOptions(QLocale.NumberOption.DefaultNumberOptions)
    return locale
