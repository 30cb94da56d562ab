"""How the next answers are drawn, as a small form; what is set holds at once."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.model.message import Sampling

_WIDTH_PX = 344
_FIELD_INSET_PX = 8
_MAX_SEED = 2**63 - 1
_MAX_SEED_DIGITS = 100
"""Python reads no number of some thousand."""


class SamplingPopover(QFrame):
    """Temperature, top-p, maximum tokens, stop strings and seed."""

    changed = Signal(object)
    """The new `Sampling`."""

    def __init__(self, sampling: Sampling, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("popover")
        self.setFixedWidth(_WIDTH_PX)
        self._sampling = sampling
        self._anchor: QWidget | None = None
        self.temperature = _spin(0.0, 2.0, 0.05, sampling.temperature)
        self.top_p = _spin(0.05, 1.0, 0.05, sampling.top_p)
        self.max_tokens = QSpinBox()
        self.max_tokens.setGroupSeparatorShown(True)
        self.max_tokens.setRange(1, 1_000_000)
        self.max_tokens.setSingleStep(128)
        self.max_tokens.setValue(sampling.max_tokens)
        self.max_tokens.lineEdit().setTextMargins(_FIELD_INSET_PX, 0, _FIELD_INSET_PX, 0)
        self.stop = QPlainTextEdit("\n".join(text.replace("\n", "\\n") for text in sampling.stop))
        self.stop.setObjectName("field")
        self.stop.setTabChangesFocus(True)
        self.stop.setFixedHeight(72)
        self.stop.setPlaceholderText("one a line; \\n is a line break")
        self.seed = QLineEdit("" if sampling.seed is None else str(sampling.seed))
        self.seed.setPlaceholderText("a new one each time")
        self._seed_error = QLabel("A seed is a whole number from 0 to 9,223,372,036,854,775,807.")
        self._seed_error.setObjectName("failure")
        self._seed_error.setWordWrap(True)
        self._seed_error.setVisible(False)

        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(8)
        for label, field in (
            ("Temperature", self.temperature),
            ("Top-p", self.top_p),
            ("Maximum tokens", self.max_tokens),
            ("Stop strings", self.stop),
            ("Seed", self.seed),
        ):
            field.setAccessibleName(label)
            form.addRow(label, field)
        self._layout = layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(8)
        layout.addLayout(form)
        layout.addWidget(self._seed_error)
        hint = QLabel(
            "Temperature 0 always takes the likeliest token. ↑ and ↓ change a number. "
            "What is set here holds for the next answers."
        )
        hint.setObjectName("quiet")
        hint.setWordWrap(True)
        layout.addWidget(hint)
        self.temperature.valueChanged.connect(self._on_changed)
        self.top_p.valueChanged.connect(self._on_changed)
        self.max_tokens.valueChanged.connect(self._on_changed)
        self.stop.textChanged.connect(self._on_changed)
        self.seed.textChanged.connect(self._on_changed)

    def show_above(self, widget: QWidget) -> None:
        """Open over a widget, its lower left corner at that one's upper left."""
        self._anchor = widget
        self._place()
        self.show()
        self.temperature.setFocus()

    def _place(self) -> None:
        widget = self._anchor
        if widget is None:
            return
        # `adjustSize` would squeeze the fields into two thirds of the screen, and not count wrapped lines.
        self.ensurePolished()
        self._layout.activate()
        self.resize(_WIDTH_PX, self._layout.totalHeightForWidth(_WIDTH_PX))
        corner = widget.mapToGlobal(QPoint(0, -self.height() - 8))
        screen = widget.screen().availableGeometry()
        self.move(max(corner.x(), screen.left()), max(corner.y(), screen.top()))

    def _on_changed(self) -> None:
        seed_text = self.seed.text().strip()
        is_seed = seed_text.isdecimal() and len(seed_text) <= _MAX_SEED_DIGITS and int(seed_text) <= _MAX_SEED
        if self._seed_error.isHidden() == (bool(seed_text) and not is_seed):
            self._seed_error.setVisible(bool(seed_text) and not is_seed)
            self._place()
        sampling = Sampling(
            temperature=round(self.temperature.value(), 2),
            top_p=round(self.top_p.value(), 2),
            max_tokens=self.max_tokens.value(),
            stop=tuple(line.replace("\\n", "\n") for line in self.stop.toPlainText().split("\n") if line),
            seed=int(seed_text) if is_seed else None,
        )
        if sampling != self._sampling:
            self._sampling = sampling
            self.changed.emit(sampling)


def _spin(lowest: float, highest: float, step: float, value: float) -> QDoubleSpinBox:
    spin = QDoubleSpinBox()
    spin.setRange(lowest, highest)
    spin.setSingleStep(step)
    spin.setDecimals(2)
    spin.setValue(value)
    spin.lineEdit().setTextMargins(_FIELD_INSET_PX, 0, _FIELD_INSET_PX, 0)
    return spin
