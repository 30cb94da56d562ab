"""Forms beside each other, one below the other where there is no room; it knows nothing of what is asked in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QDoubleSpinBox, QGridLayout, QLabel, QSpinBox, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.parts.labels import heading
from app.ui.theme import scaled

_FIELD_PX = 140
_FIELD_HEIGHT_PX = 32
_LEAST_COLUMN_PX = 270
_BETWEEN_PX = 20
_INSET_PX = 8


class Row(NamedTuple):
    """A field, what it is called, and what it does."""

    name: str
    field: QWidget
    tip: str


class FormColumns(QWidget):
    """A column a form. Their rows stand at the same heights."""

    def __init__(self) -> None:
        super().__init__()
        self._columns = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._columns.setContentsMargins(0, 0, 0, 0)
        self._columns.setSpacing(_BETWEEN_PX)

    def add(self, title: str, rows: Sequence[Row]) -> None:
        """Add a form."""
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(0, 1)
        for place, row in enumerate(rows):
            row.field.setAccessibleName(row.name)
            row.field.setAccessibleDescription(row.tip)
            row.field.setToolTip(row.tip)
            row.field.setObjectName("form_field")
            row.field.setFixedSize(scaled(_FIELD_PX), scaled(_FIELD_HEIGHT_PX))
            label = QLabel(row.name)
            label.setToolTip(row.tip)
            label.setBuddy(row.field)
            label.setWordWrap(True)
            grid.setRowMinimumHeight(place, scaled(_FIELD_HEIGHT_PX))
            grid.addWidget(label, place, 0)
            grid.addWidget(row.field, place, 1, Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout()
        column.setSpacing(8)
        column.setContentsMargins(0, 4, 0, 0)
        column.addWidget(heading(title))
        column.addLayout(grid)
        column.addStretch(1)
        self._columns.addLayout(column, 1)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        num = self._columns.count()
        has_room = event.size().width() >= num * scaled(_LEAST_COLUMN_PX) + (num - 1) * _BETWEEN_PX
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._columns.setDirection(across if has_room else down)


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
