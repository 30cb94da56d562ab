"""The settings page for models: the draft model, when the model is unloaded, and which folders are searched."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.answers.sessions import GUIDE
from app.program import Program
from app.ui.header import model_label
from app.ui.models.draft_model_commands import misfit_text
from app.ui.parts.labels import ElidedLabel, quiet_label
from app.ui.parts.layouts import order_tabs
from app.ui.parts.radio_group import RadioGroup
from app.ui.settings.settings_page import SettingsPage, card

_MINUTES = (0, 5, 15, 60)


class ModelsPage(SettingsPage):
    """The models themselves are in the Models window, to which a button leads."""

    def __init__(self, program: Program, open_models: QAction, open_draft_model: QAction) -> None:
        super().__init__()
        self._program = program
        self.open_button = QPushButton(self.tr("Models…"))
        self.open_button.clicked.connect(open_models.trigger)
        self.cards.addWidget(
            card(
                self.tr("Models"),
                self.tr("The models on this computer, and those of the hub, have a window of their own."),
                _row(self.open_button),
            )
        )
        self.drafts = DraftModelCard(program, open_draft_model)
        self.cards.addWidget(self.drafts)
        self.idle = RadioGroup(self.tr("Unload the model"))
        self.idle.add(self.tr("Never"), self.tr("It stays in memory until you choose another one."))
        for minutes in _MINUTES[1:]:
            self.idle.add(self.tr("After %n minute(s) without an answer", "", minutes))
        minutes = program.settings.unload_after_minutes
        if minutes not in _MINUTES:
            self.idle.add(self.tr("After %n minute(s) without an answer", "", minutes))
        self._minutes = (*_MINUTES, minutes)
        self.idle.choose(self._minutes.index(minutes))
        self.idle.changed.connect(self._set_idle)
        self.cards.addWidget(
            card(
                self.idle.accessibleName(),
                self.tr("Then its memory is free for other programs. The next question loads it again."),
                self.idle,
            )
        )
        self._folders: tuple[str, ...] = ()
        self._rows = QVBoxLayout()
        self._rows.setSpacing(4)
        self.remove_buttons: list[QPushButton] = []
        self.add_button = QPushButton(self.tr("Add folder…"))
        self.add_button.clicked.connect(self._add_folder)
        column = QVBoxLayout()
        column.setSpacing(8)
        column.addLayout(self._rows)
        column.addLayout(_row(self.add_button))
        self.cards.addWidget(
            card(
                self.tr("Folders with models"),
                self.tr(
                    "Bough's own folder, the Hugging Face cache and those of LM Studio, Ollama and llama.cpp are "
                    "always searched. Nothing is copied."
                ),
                column,
            )
        )
        program.settings_changed.connect(self._show_folders)
        self._show_folders()

    @override
    def refresh(self) -> None:
        self.drafts.refresh()

    def _set_idle(self) -> None:
        self._program.set_unload_after(self._minutes[self.idle.chosen])

    def _show_folders(self) -> None:
        folders = self._program.settings.model_folders
        if folders == self._folders:
            return
        self._folders = folders
        while item := self._rows.takeAt(0):
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.remove_buttons = []
        for folder in folders:
            self._rows.addWidget(self._new_row(folder))
        order_tabs(self.add_button, self.remove_buttons)

    def _new_row(self, folder: str) -> QWidget:
        label = ElidedLabel()
        label.show_text(folder)
        button = QPushButton(self.tr("Remove"))
        button.setAccessibleName(self.tr("Remove {what}").format(what=folder))
        button.setToolTip(self.tr("The folder is no longer searched. Its files are kept."))
        button.clicked.connect(partial(self._program.remove_model_folder, folder))
        self.remove_buttons.append(button)
        widget = QWidget()
        row = QHBoxLayout(widget)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(label, 1)
        row.addWidget(button)
        return widget

    def _add_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Add a folder with models"))
        if folder:
            self._program.add_model_folder(Path(folder))


def _row(button: QPushButton) -> QHBoxLayout:
    row = QHBoxLayout()
    row.addWidget(button)
    row.addStretch(1)
    return row


class DraftModelCard(QWidget):
    """The choice of a draft model for the loaded model. A chosen draft model is loaded at once; the cache is kept."""

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
        # With nothing to choose and nothing to gain, there is only the sentence.
        needs_none = session.state == "ready" and session.name == GUIDE and names == [""]
        self._choices.setVisible(not needs_none)
        self.open_button.setVisible(not needs_none)
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
        order_tabs(self.open_button, choices.buttons)

    def refresh(self) -> None:
        """Find out which draft models can be used with the loaded model."""
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
