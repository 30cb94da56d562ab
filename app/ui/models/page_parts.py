"""Parts of a model's page: its facts, the question before it is deleted, and the field for an access token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.catalog.entry import LocalModel, RemoteModel
from app.catalog.facts import template_text
from app.numbers import counted, sized
from app.ui.models.entry import Entry, parameters_text, quantization_text, source_text
from app.ui.parts.buttons import FoldButton
from app.ui.parts.labels import quiet_label
from app.ui.parts.times import day
from app.ui.theme import Theme, code_font, scaled

_TEMPLATE_PX = 200


class Facts(QWidget):
    """The facts of a model in two columns: name and value. Unknown ones are left out."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        self._shown: list[tuple[str, str]] = []
        self._labels: list[tuple[QLabel, QLabel]] = []

    @property
    def shown(self) -> dict[str, str]:
        """The values by their names."""
        return dict(self._shown)

    def show_entry(self, entry: Entry, more: Sequence[tuple[str, str]] = ()) -> None:
        """Show the facts of a model, then `more`."""
        facts = [(name, value) for name, value in (*self._facts_of(entry), *more) if value]
        if facts == self._shown:
            return
        self._shown = facts
        while len(self._labels) < len(facts):
            self._add_labels()
        for number, (name_label, value_label) in enumerate(self._labels):
            is_used = number < len(facts)
            name, value = facts[number] if is_used else ("", "")
            name_label.setText(name)
            value_label.setText(value)
            name_label.setVisible(is_used)
            value_label.setVisible(is_used)

    def _add_labels(self) -> None:
        name_label, value_label = quiet_label(""), QLabel()
        name_label.setWordWrap(False)
        value_label.setWordWrap(True)
        value_label.setTextFormat(Qt.TextFormat.PlainText)
        value_label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row = len(self._labels)
        self._grid.addWidget(name_label, row, 0, Qt.AlignmentFlag.AlignBaseline)
        self._grid.addWidget(value_label, row, 1, Qt.AlignmentFlag.AlignBaseline)
        self._labels.append((name_label, value_label))

    def _facts_of(self, entry: Entry) -> list[tuple[str, str]]:
        model = entry.model
        if model is None:
            return []
        facts = [
            (self.tr("Size"), sized(model.num_bytes) if model.num_bytes else ""),
            (self.tr("Parameters"), parameters_text(model.num_parameters) if model.num_parameters else ""),
            (self.tr("Precision"), quantization_text(model.quantization)),
            (
                self.tr("Context"),
                self.tr("{count} tokens").format(count=counted(model.context_length)) if model.context_length else "",
            ),
            (self.tr("Measured speed"), entry.speeds),
            (self.tr("Licence"), model.licence),
            (self.tr("Architecture"), model.architecture),
        ]
        match model:
            case LocalModel():
                facts += [(self.tr("Runs on"), model.host), (self.tr("Found in"), source_text(model.source))]
            case RemoteModel():
                facts += [
                    (self.tr("Repository"), model.repo),
                    (self.tr("Downloads"), "" if model.num_downloads is None else self._downloads(model.num_downloads)),
                    (self.tr("Updated"), "" if model.updated_ms is None else day(model.updated_ms)),
                ]
        return facts

    def _downloads(self, number: int) -> str:
        return self.tr("{number} in the last month").format(number=counted(number))


class TemplateFold(QWidget):
    """The chat template of a model on this machine, folded. The template is read when the user opens the fold.

    For a model without a template, a plain template is offered.
    """

    plain_chosen = Signal(bool)

    def __init__(self, theme: Theme, template_of: Callable[[str], str | None]) -> None:
        """`template_of` returns the template that the user chose for a model without one."""
        super().__init__()
        self._template_of = template_of
        self._model: LocalModel | None = None
        self._given: str | None = None
        """The template that the user chose; None if the user chose none."""
        self.button = FoldButton(theme)
        self.button.setText(self.tr("Chat template"))
        self.button.toggled.connect(self._on_toggled)
        self.text = QPlainTextEdit()
        self.text.setObjectName("field")
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(self.tr("Chat template"))
        self.text.setFont(code_font())
        self.text.setMinimumHeight(scaled(_TEMPLATE_PX))
        self.text.setVisible(False)
        self.note = quiet_label(self.tr("This model has none, so messages reach it as plain text."))
        self.note.setVisible(False)
        self.plain_button = QPushButton()
        self.plain_button.setAutoDefault(False)
        self.plain_button.setVisible(False)
        self.plain_button.clicked.connect(lambda: self.plain_chosen.emit(self._given is None))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.note)
        column.addWidget(self.text)
        column.addWidget(self.plain_button, 0, Qt.AlignmentFlag.AlignLeft)

    @property
    def controls(self) -> tuple[QWidget, ...]:
        """The controls, from top to bottom."""
        return self.button, self.text, self.plain_button

    def set_theme(self, theme: Theme) -> None:
        self.button.set_theme(theme)
        self.text.setFont(code_font())

    def show_entry(self, entry: Entry) -> None:
        model = entry.model
        can_show = isinstance(model, LocalModel) and model.format == "mlx" and model.problem is None
        shown = model if can_show and isinstance(model, LocalModel) else None
        if (None if shown is None else shown.path) != (None if self._model is None else self._model.path):
            self.button.setChecked(False)
        given = None if shown is None or shown.has_template else self._template_of(shown.name)
        is_other = given != self._given
        self._model, self._given = shown, given
        self.setVisible(shown is not None)
        if is_other and self.button.isChecked():
            self._on_toggled(True)

    def _on_toggled(self, is_open: bool) -> None:
        if self._model is None:
            return
        has_own = self._model.has_template
        if is_open:
            self.text.setPlainText(template_text(self._model.path) if has_own else self._given or "")
            self.plain_button.setText(self.tr("Use a plain template") if self._given is None else self.tr("Use none"))
        self.text.setVisible(is_open and (has_own or self._given is not None))
        self.note.setVisible(is_open and not has_own and self._given is None)
        self.plain_button.setVisible(is_open and not has_own)


class Confirmation(QFrame):
    """A question on the page, with a button to agree and a button to cancel. Hidden until `ask` is called."""

    answered = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.yes_button = QPushButton()
        self.no_button = QPushButton()
        self.yes_button.clicked.connect(lambda: self._answer(True))
        self.no_button.clicked.connect(lambda: self._answer(False))
        for button in (self.yes_button, self.no_button):
            # Enter presses the button that has the focus, and no other one.
            button.setAutoDefault(False)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.yes_button)
        row.addWidget(self.no_button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.setSpacing(8)
        column.addWidget(self.text)
        column.addLayout(row)
        self.setVisible(False)

    def ask(self, text: str, yes: str, no: str) -> None:
        """Show a question. The button that changes nothing gets the focus."""
        self.text.setText(text)
        self.yes_button.setText(yes)
        self.no_button.setText(no)
        self.setVisible(True)
        self.no_button.setFocus(Qt.FocusReason.OtherFocusReason)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._answer(False)
        else:
            super().keyPressEvent(event)

    def _answer(self, is_yes: bool) -> None:
        self.setVisible(False)
        self.answered.emit(is_yes)


class TokenForm(QWidget):
    """A field for an access token of the hub. The token is never shown, and is cleared as soon as it is submitted."""

    entered = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.field = QLineEdit()
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setPlaceholderText(self.tr("Token"))
        self.field.setAccessibleName(self.tr("Token for Hugging Face"))
        self.field.returnPressed.connect(self._enter)
        self.button = QPushButton(self.tr("Use token"))
        self.button.setAutoDefault(False)
        self.button.clicked.connect(self._enter)
        self.note = quiet_label("")
        self.reset()
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.field, 1)
        row.addWidget(self.button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(row)
        column.addWidget(self.note)

    def reset(self) -> None:
        """Clear the field and the sentence below it."""
        self.field.clear()
        self.note.setText(self.tr("The token is stored in your system's keyring, never in Bough's own files."))

    def say(self, text: str) -> None:
        """Show a sentence below the field."""
        self.note.setText(text)

    def _enter(self) -> None:
        text = self.field.text()
        self.field.clear()
        if text.strip():
            self.entered.emit(text)
