"""The settings of models: which one is loaded, which ones were, and the way to another."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QPushButton
from typing_extensions import override

from app.numbers import counted
from app.program import Program
from app.ui.header import model_label
from app.ui.parts.one_of import OneOf, quiet_label
from app.ui.settings.draft_model_card import DraftModelCard
from app.ui.settings.settings_page import SettingsPage, card


class ModelsPage(SettingsPage):
    """What is chosen is loaded at once."""

    def __init__(self, program: Program, open_model: QAction, open_draft_model: QAction) -> None:
        super().__init__()
        self._program = program
        self._names: list[str] = []
        self._state = quiet_label("")
        self._choices: OneOf | None = None
        self._place = QHBoxLayout()
        self.open_button = QPushButton(self.tr("Open folder…"))
        self.open_button.clicked.connect(open_model.trigger)
        self.forget_button = QPushButton(self.tr("Forget the others"))
        self.forget_button.setToolTip(self.tr("Takes them out of this list. Their files stay where they are."))
        self.forget_button.clicked.connect(self._forget)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.open_button)
        row.addWidget(self.forget_button)
        row.addStretch(1)
        self.cards.addWidget(card(self.tr("Model"), self._state, self._place, row))
        self.drafts = DraftModelCard(program, open_draft_model)
        self.cards.addWidget(self.drafts)
        program.session.changed.connect(self._show_session)
        program.settings_changed.connect(self._show_models)
        self._show_models()
        self._show_session()

    @property
    def choices(self) -> OneOf:
        """The models that there are to choose from."""
        assert self._choices is not None
        return self._choices

    @override
    def look_again(self) -> None:
        self.drafts.look()

    def _show_models(self) -> None:
        names = ["guide", *self._program.settings.recent_models]
        if names == self._names:
            return
        self._names = names
        if self._choices is not None:
            self._place.removeWidget(self._choices)
            self._choices.deleteLater()
        self._choices = choices = OneOf(self.tr("Model"))
        for name in names:
            is_guide = name == "guide"
            choices.add(model_label(name), self.tr("Knows Bough and nothing else.") if is_guide else name)
        if self._program.session.name in names:
            choices.choose(names.index(self._program.session.name))
        choices.changed.connect(self._load)
        self._place.addWidget(choices)
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
            text = self.tr("Loading {} …").format(model_label(session.name))
        else:
            text = self.tr("No model is loaded.")
        self._state.setText(text)
        if session.name in self._names:
            # Where another one was refused, this one is chosen still.
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
