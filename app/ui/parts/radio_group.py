"""One of several, as radio buttons with a word on each; a size in GiB, as one of them."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDoubleSpinBox, QHBoxLayout, QLabel, QRadioButton, QVBoxLayout, QWidget

from app.model.sizes import GIB
from app.ui.parts.labels import quiet_label
from app.ui.theme import scaled

_INSET_PX = 28
"""Under a button's text."""
_STEP_GIB = 0.5
_SPIN_PX = 112
_FIELD_INSET_PX = 8


class RadioGroup(QWidget):
    """Radio buttons, one of which is checked. Options are named by their number, from 0."""

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
        """Add an option, with a field that belongs to it."""
        button = QRadioButton(text)
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
        """Say what an option means."""
        self._labels[number].setText(explanation)
        self._labels[number].setVisible(bool(explanation))
        self.buttons[number].setAccessibleDescription(explanation)

    @property
    def chosen(self) -> int:
        return next((number for number, button in enumerate(self.buttons) if button.isChecked()), 0)

    def choose(self, number: int) -> None:
        self.buttons[number].setChecked(True)

    def focus(self) -> None:
        """Put the focus on what is chosen."""
        self.buttons[self.chosen].setFocus(Qt.FocusReason.TabFocusReason)

    def _on_toggled(self, is_checked: bool) -> None:
        if is_checked:
            self.changed.emit()


class SizeChoice(RadioGroup):
    """A number of bytes; None is automatic."""

    def __init__(self, name: str, num_bytes: int | None, lowest: float, highest: float, usual: float) -> None:
        """A third option, where one is added, is 0.

        `lowest`, `highest`, `usual`: GiB; what is set stays as it is, whatever they say.
        """
        super().__init__(name)
        self._num_bytes = num_bytes or int(usual * GIB)
        size = self._num_bytes / GIB
        self.field = QDoubleSpinBox()
        self.field.setRange(min(lowest, size), max(highest, size))
        self.field.setDecimals(2)
        self.field.setSingleStep(_STEP_GIB)
        self.field.setSuffix(" GiB")
        self.field.setValue(size)
        self.field.setFixedWidth(scaled(_SPIN_PX))
        self.field.lineEdit().setTextMargins(_FIELD_INSET_PX, 0, _FIELD_INSET_PX, 0)
        self.field.setAccessibleName(self.tr("{}, at most").format(name))
        self._shown = self.field.value()
        self.field.valueChanged.connect(self.changed)
        self.add(self.tr("Automatic"))
        self.add(self.tr("At most"), beside=self.field)

    def show_value(self, num_bytes: int | None) -> None:
        """Check the option that is `num_bytes`."""
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
                # What nobody has changed is not rounded either.
                return self._num_bytes if self.field.value() == self._shown else int(self.field.value() * GIB)
            case _:
                return 0
