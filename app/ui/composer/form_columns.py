"""Forms in columns, and number fields for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QDoubleSpinBox, QGridLayout, QLabel, QSpinBox, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.parts.labels import heading
from app.ui.theme import scaled

_FIELD_PX = 140
_FIELD_HEIGHT_PX = 32
_MIN_COLUMN_PX = 270
_GAP_PX = 20
_LABEL_GAP_PX = 12
_INSET_PX = 8


class Row(NamedTuple):
    """A field with its label and its tool tip."""

    name: str
    field: QWidget
    tip: str


class FormColumns(QWidget):
    """One column for each form, with aligned rows.

    Where there is not enough width, the forms are stacked, and then labels stand above their fields.
    """

    def __init__(self) -> None:
        super().__init__()
        self._grids: list[tuple[QGridLayout, list[tuple[QLabel, QWidget]]]] = []
        """Each form with its labels and fields."""
        self._is_stacked = False
        self._columns = _Columns(self)
        self._columns.setContentsMargins(0, 0, 0, 0)
        self._columns.setSpacing(_GAP_PX)

    def add(self, title: str, rows: Sequence[Row]) -> None:
        """Add a form; without a title its rows begin at the top."""
        grid = QGridLayout()
        grid.setHorizontalSpacing(_LABEL_GAP_PX)
        grid.setColumnStretch(0, 1)
        lines: list[tuple[QLabel, QWidget]] = []
        for row in rows:
            row.field.setAccessibleName(row.name)
            row.field.setAccessibleDescription(row.tip)
            row.field.setToolTip(row.tip)
            row.field.setObjectName("form_field")
            row.field.setFixedSize(scaled(_FIELD_PX), scaled(_FIELD_HEIGHT_PX))
            label = QLabel(row.name)
            label.setToolTip(row.tip)
            label.setBuddy(row.field)
            label.setWordWrap(True)
            lines.append((label, row.field))
        self._grids.append((grid, lines))
        _place(grid, lines, is_stacked=self._is_stacked)
        column = QVBoxLayout()
        column.setSpacing(8)
        column.setContentsMargins(0, 4, 0, 0)
        if title:
            column.addWidget(heading(title))
        column.addLayout(grid)
        column.addStretch(1)
        self._columns.addLayout(column, 1)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.arrange(event.size().width())

    def arrange(self, width_px: int) -> None:
        """Place the forms and their labels for this width."""
        num = self._columns.count()
        has_room = width_px >= num * scaled(_MIN_COLUMN_PX) + (num - 1) * _GAP_PX
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._columns.setDirection(across if has_room else down)
        is_stacked = width_px < self._widest_label_px + _LABEL_GAP_PX + scaled(_FIELD_PX)
        if is_stacked != self._is_stacked:
            self._is_stacked = is_stacked
            for grid, lines in self._grids:
                _place(grid, lines, is_stacked=is_stacked)

    @property
    def _widest_label_px(self) -> int:
        return max((label.minimumSizeHint().width() for _, lines in self._grids for label, _ in lines), default=0)

    @override
    def minimumSizeHint(self) -> QSize:
        # Forms can be stacked, and labels can stand above their fields.
        width = max(self._widest_label_px, scaled(_FIELD_PX) if self._grids else 0)
        return QSize(width, super().minimumSizeHint().height())


class _Columns(QBoxLayout):
    """The layout of `FormColumns`, which is arranged as soon as Qt tries a width."""

    def __init__(self, forms: FormColumns) -> None:
        super().__init__(QBoxLayout.Direction.LeftToRight, forms)
        self._forms = forms

    @override
    def heightForWidth(self, arg__1: int) -> int:
        # Qt ignores later changes, while it applies the layout around this one.
        self._forms.arrange(arg__1)
        return super().heightForWidth(arg__1)


def _place(grid: QGridLayout, lines: Sequence[tuple[QLabel, QWidget]], *, is_stacked: bool) -> None:
    """Place fields beside their labels, or below them."""
    for number, (label, field) in enumerate(lines):
        if is_stacked:
            grid.addWidget(label, 2 * number, 0, 1, 2)
            grid.addWidget(field, 2 * number + 1, 0, 1, 2, Qt.AlignmentFlag.AlignLeft)
        else:
            grid.addWidget(label, number, 0)
            grid.addWidget(field, number, 1, Qt.AlignmentFlag.AlignVCenter)
    for number in range(grid.rowCount()):
        grid.setRowMinimumHeight(number, 0 if is_stacked or number >= len(lines) else scaled(_FIELD_HEIGHT_PX))
    # Rows without widgets still have space around them.
    grid.setVerticalSpacing(4 if is_stacked else 8)


def number_field(minimum: float, maximum: float, step: float, value: float, minimum_text: str = "") -> QDoubleSpinBox:
    """Return a field that shows `minimum_text` for its minimum. The range is extended to include `value`."""
    spin = QDoubleSpinBox()
    spin.setDecimals(2)
    spin.setRange(min(minimum, value), max(maximum, value))
    spin.setSingleStep(step)
    if value >= minimum:
        spin.setSpecialValueText(minimum_text)
    spin.lineEdit().setTextMargins(_INSET_PX, 0, _INSET_PX, 0)
    return spin


MAX_WHOLE = 2**31 - 1
"""The largest number that Qt's field can show. A setting may be larger, but no answer reaches even this limit."""


def whole_field(minimum: int, maximum: int, step: int, value: int, minimum_text: str = "") -> QSpinBox:
    """Return a field for a whole number. The parameters are those of `number_field`."""
    spin = QSpinBox()
    spin.setGroupSeparatorShown(True)
    spin.setRange(minimum, max(maximum, min(value, MAX_WHOLE)))
    spin.setSingleStep(step)
    spin.setSpecialValueText(minimum_text)
    spin.lineEdit().setTextMargins(_INSET_PX, 0, _INSET_PX, 0)
    return spin


def read_number(spin: QDoubleSpinBox, before: float) -> float:
    """Return the value of a field; return `before` unchanged if the field shows `before` rounded."""
    value = round(spin.value(), spin.decimals())
    return before if value == round(before, spin.decimals()) else value
