"""The settings page for models: the loaded model, recent models and the draft model."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.numbers import counted
from app.program import Program
from app.ui.header import model_label
from app.ui.models.draft_model_commands import misfit_text
from app.ui.parts.labels import quiet_label
from app.ui.parts.radio_group import RadioGroup
from app.ui.settings.settings_page import SettingsPage, card


class ModelsPage(SettingsPage):
    """A list of models; the chosen one is loaded at once."""

    def __init__(self, program: Program, open_model: QAction, open_draft_model: QAction) -> None:
        super().__init__()
        self._program = program
        self._names: list[str] = []
        self._state = quiet_label("")
        self._choices: RadioGroup | None = None
        self._choices_row = QHBoxLayout()
        self.open_button = QPushButton(self.tr("Open folder…"))
        self.open_button.clicked.connect(open_model.trigger)
        self.forget_button = QPushButton(self.tr("Remove other models"))
        self.forget_button.setToolTip(self.tr("Removes them from this list. Their files stay."))
        self.forget_button.clicked.connect(self._forget)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.open_button)
        row.addWidget(self.forget_button)
        row.addStretch(1)
        self.cards.addWidget(card(self.tr("Model"), self._state, self._choices_row, row))
        self.drafts = DraftModelCard(program, open_draft_model)
        self.cards.addWidget(self.drafts)
        program.session.changed.connect(self._show_session)
        program.settings_changed.connect(self._show_models)
        self._show_models()
        self._show_session()

    @property
    def choices(self) -> RadioGroup:
        """The list of models."""
        assert self._choices is not None
        return self._choices

    @override
    def refresh(self) -> None:
        self.drafts.refresh()

    def _show_models(self) -> None:
        names = ["guide", *self._program.settings.recent_models]
        if names == self._names:
            return
        self._names = names
        if self._choices is not None:
            self._choices_row.removeWidget(self._choices)
            self._choices.deleteLater()
        self._choices = choices = RadioGroup(self.tr("Model"))
        for name in names:
            is_guide = name == "guide"
            choices.add(model_label(name), self.tr("Knows only Bough.") if is_guide else name)
        if self._program.session.name in names:
            choices.choose(names.index(self._program.session.name))
        choices.changed.connect(self._load)
        self._choices_row.addWidget(choices)
        self.forget_button.setEnabled(len(names) > 1)

    def _show_session(self) -> None:
        session = self._program.session
        if session.info is not None:
            text = self.tr("{} · {} M parameters · context {} tokens").format(
                session.info.architecture,
                counted(session.info.num_parameters / 1e6, 1),
                counted(session.info.context_length),
            )
        elif session.state == "loading":
            text = self.tr("Loading {}…").format(model_label(session.name))
        else:
            text = self.tr("No model is loaded.")
        self._state.setText(text)
        if session.name in self._names:
            # If another model could not be loaded, this one is still the chosen one.
            with QSignalBlocker(self.choices):
                self.choices.choose(self._names.index(session.name))

    def _load(self) -> None:
        name = self._names[self.choices.chosen]
        if name != self._program.session.name:
            self._program.load_model(name)

    def _forget(self) -> None:
        current, draft = self._program.session.name, self._program.session.draft
        self._program.preferences.change(
            recent_models=tuple(name for name in self._program.settings.recent_models if name == current),
            recent_drafts=tuple(name for name in self._program.settings.recent_drafts if name == draft),
        )


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
