"""Radio buttons with explanations, and a choice of a size in GiB."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDoubleSpinBox, QHBoxLayout, QLabel, QRadioButton, QVBoxLayout, QWidget

from app.model.cache_folder import GIB
from app.ui.parts.buttons import WrappingRadioButton
from app.ui.parts.labels import quiet_label
from app.ui.theme import scaled

_INSET_PX = 28
"""The indentation in pixels that aligns an explanation with the text of its button."""
_STEP_GIB = 0.5
_SPIN_PX = 112
_FIELD_INSET_PX = 8


class RadioGroup(QWidget):
    """A column of radio buttons, identified by their index."""

    changed = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.buttons: list[QRadioButton] = []
        self._labels: list[QLabel] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)

    def add(self, text: str, explanation: str = "", beside: QWidget | None = None) -> None:
        """Add an option; `beside` is a field next to it, enabled while the option is chosen."""
        button = WrappingRadioButton(text)
        button.toggled.connect(self._on_toggled)
        self.buttons.append(button)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(button)
        if beside is not None:
            beside.setEnabled(False)
            button.toggled.connect(beside.setEnabled)
            row.addWidget(beside)
        row.addStretch(1)
        self._column.addLayout(row)
        label = quiet_label("")
        label.setContentsMargins(_INSET_PX, 0, 0, 6)
        self._labels.append(label)
        self._column.addWidget(label)
        self.explain(len(self.buttons) - 1, explanation)

    def explain(self, number: int, explanation: str) -> None:
        """Show an explanation below an option."""
        self._labels[number].setText(explanation)
        self._labels[number].setVisible(bool(explanation))
        self.buttons[number].setAccessibleDescription(explanation)

    @property
    def chosen(self) -> int:
        return next((number for number, button in enumerate(self.buttons) if button.isChecked()), 0)

    def choose(self, number: int) -> None:
        self.buttons[number].setChecked(True)

    def focus(self) -> None:
        """Give the chosen option the keyboard focus."""
        self.buttons[self.chosen].setFocus(Qt.FocusReason.TabFocusReason)

    def _on_toggled(self, is_checked: bool) -> None:
        if is_checked:
            self.changed.emit()


class SizeChoice(RadioGroup):
    """A choice between automatic (None) and a number of bytes. A third option, if the caller adds it, means 0 bytes."""

    def __init__(self, name: str, num_bytes: int | None, *, min_gib: float, max_gib: float, default_gib: float) -> None:
        """`min_gib` and `max_gib` limit the field, but the present value `num_bytes` is always allowed."""
        super().__init__(name)
        self._num_bytes = num_bytes or int(default_gib * GIB)
        size = self._num_bytes / GIB
        self.field = QDoubleSpinBox()
        self.field.setRange(min(min_gib, size), max(max_gib, size))
        self.field.setDecimals(2)
        self.field.setSingleStep(_STEP_GIB)
        self.field.setSuffix(" GiB")
        self.field.setValue(size)
        self.field.setFixedWidth(scaled(_SPIN_PX))
        self.field.lineEdit().setTextMargins(_FIELD_INSET_PX, 0, _FIELD_INSET_PX, 0)
        self.field.setAccessibleName(self.tr("{}, maximum").format(name))
        self._shown = self.field.value()
        self.field.valueChanged.connect(self.changed)
        self.add(self.tr("Automatic"))
        self.add(self.tr("At most"), beside=self.field)

    def show_value(self, num_bytes: int | None) -> None:
        """Choose the option for `num_bytes`."""
        if num_bytes is None:
            self.choose(0)
        else:
            self.choose(2 if num_bytes == 0 and len(self.buttons) > 2 else 1)

    @property
    def value(self) -> int | None:
        match self.chosen:
            case 0:
                return None
            case 1:
                # An unchanged value is not rounded.
                return self._num_bytes if self.field.value() == self._shown else int(self.field.value() * GIB)
            case _:
                return 0
