"""The choice of a draft model for the loaded model."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.program import Program
from app.ui.header import model_label
from app.ui.models.draft_model_commands import misfit_text
from app.ui.parts.labels import quiet_label
from app.ui.parts.radio_group import RadioGroup
from app.ui.settings.settings_page import card


class DraftModelCard(QWidget):
    """The choice of a draft model for the loaded model; the chosen one is loaded at once, and the cache is kept."""

    def __init__(self, program: Program, open_draft_model: QAction) -> None:
        super().__init__()
        self._program = program
        self._names: list[str] = []
        self._state = quiet_label("")
        self._choices = RadioGroup(self.tr("Draft model"))
        self._choices_row = QVBoxLayout()
        self._choices_row.addWidget(self._choices)
        self.open_button = QPushButton(self.tr("Choose folder…"))
        self.open_button.setAccessibleName(self.tr("Choose a draft model folder"))
        self.open_button.clicked.connect(open_draft_model.trigger)
        row = QHBoxLayout()
        row.addWidget(self.open_button)
        row.addStretch(1)
        explanation = self.tr(
            "A smaller model of the same family that predicts the next tokens. Correct predictions "
            "make answers faster, and the answers stay the same. It needs extra memory."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(card(self.tr("Draft model"), explanation, self._state, self._choices_row, row))
        program.drafts.changed.connect(self._show_misfits)
        program.session.changed.connect(self._show)
        program.settings_changed.connect(self._show)
        self._show()

    @property
    def choices(self) -> RadioGroup:
        """The list of draft models, with "None" first."""
        return self._choices

    def _show(self) -> None:
        session = self._program.session
        names = ["", *self._program.settings.possible_drafts(session.name)]
        if session.draft not in names:
            names.append(session.draft)
        if names != self._names or not self._choices.buttons:
            self._fill(names)
            self.refresh()
        self._show_misfits()
        with QSignalBlocker(self._choices):
            self._choices.choose(names.index(session.draft))
        model = model_label(session.name)
        if session.state == "ready" and session.name == "guide" and not session.draft:
            text = self.tr("The guide needs no draft model: it is fast enough.")
        elif session.state == "ready":
            text = self.tr("For {model}.") if session.draft else self.tr("For {model} (none yet).")
        elif session.state == "loading":
            text = self.tr("Loading {model}…")
        else:
            text = self.tr("No model is loaded.")
        self._state.setText(text.format(model=model))

    def _fill(self, names: list[str]) -> None:
        self._choices_row.removeWidget(self._choices)
        self._choices.deleteLater()
        self._names = names
        self._choices = choices = RadioGroup(self.tr("Draft model"))
        for name in names:
            choices.add(model_label(name) if name else self.tr("None"), name)
        choices.changed.connect(self._load)
        self._choices_row.addWidget(choices)

    def refresh(self) -> None:
        """Check which draft models fit the loaded model."""
        if self.isVisible():
            self._program.drafts.check()

    def _show_misfits(self) -> None:
        for number, name in enumerate(self._names):
            if name:
                problem = misfit_text(self._program, name)
                self._choices.buttons[number].setEnabled(not problem)
                problem = problem[:1].upper() + problem[1:]
                self._choices.explain(number, f"{problem} · {name}" if problem else name)

    def _load(self) -> None:
        self._program.set_draft_model(self._names[self._choices.chosen])
