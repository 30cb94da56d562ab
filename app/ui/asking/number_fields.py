"""Fields for numbers, as the panels have them; they know not what is counted."""

from __future__ import annotations

from PySide6.QtWidgets import QDoubleSpinBox, QSpinBox

_INSET_PX = 8


def number_field(lowest: float, highest: float, step: float, value: float, at_least: str = "") -> QDoubleSpinBox:
    """Return a field for a number; `at_least` is what it says of the lowest one. `value` is in its range, at least."""
    spin = QDoubleSpinBox()
    spin.setDecimals(2)
    spin.setRange(min(lowest, value), max(highest, value))
    spin.setSingleStep(step)
    if value >= lowest:
        spin.setSpecialValueText(at_least)
    spin.lineEdit().setTextMargins(_INSET_PX, 0, _INSET_PX, 0)
    return spin


def whole_field(lowest: int, highest: int, step: int, value: int, at_least: str = "") -> QSpinBox:
    """Return the same for a whole number."""
    spin = QSpinBox()
    spin.setGroupSeparatorShown(True)
    spin.setRange(lowest, max(highest, value))
    spin.setSingleStep(step)
    spin.setSpecialValueText(at_least)
    spin.lineEdit().setTextMargins(_INSET_PX, 0, _INSET_PX, 0)
    return spin


def read_number(spin: QDoubleSpinBox, before: float) -> float:
    """Return what stands in a field; a number that it shows rounded is what it was."""
    value = round(spin.value(), spin.decimals())
    return before if value == round(before, spin.decimals()) else value
