"""The page of a project: its name, instructions, files, model and sampling."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QVBoxLayout, QWidget
from typing_extensions import override

from app.conversation.controller import Controller
from app.costs.worker_queries import Cost, PromptCosts
from app.model.generation_settings import BUILT_IN_PRESETS, GenerationSettings, current_preset, find_preset
from app.model.message import Message
from app.model.project import Project, unsent_beginning
from app.projects import name_of
from app.sentences import translated
from app.ui.composer.display_names import preset_name
from app.ui.composer.writing_field import WritingField
from app.ui.dialogs.project_files import ProjectFiles
from app.ui.header import model_label
from app.ui.parts.buttons import NameBox
from app.ui.parts.cost_text import cost_text
from app.ui.parts.file_drops import FileDrops
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import scrolled
from app.ui.parts.sheet import Sheet, filled_by
from app.ui.theme import Theme, text_font
from worker.sentence import Sentence

_SIZE_PX = (560, 680)
_MIN_INSTRUCTIONS_PX = 120
_MAX_NAME_CHARS = 200


class ProjectWindow(Sheet):
    """Changes apply when the user saves them. Ctrl+Enter saves, Esc closes without saving."""

    saved = Signal(str)
    """The name of the project's folder, which may be new."""

    def __init__(self, controller: Controller, folder: str, theme: Theme, parent: QWidget) -> None:
        """An empty `folder` means a new project."""
        super().__init__("", parent)
        self.setWindowTitle(self.tr("Project") if folder else self.tr("New project"))
        self.folder = folder
        self._controller = controller
        self._projects = controller.program.projects
        self._before = self._projects.get(folder) or Project()
        self.name = QLineEdit(folder)
        self.name.setMaxLength(_MAX_NAME_CHARS)
        self.instructions = WritingField(self._before.instructions)
        self.instructions.setObjectName("field")
        self.instructions.setFont(text_font())
        self.instructions.setTabChangesFocus(True)
        self.instructions.setMinimumHeight(_MIN_INSTRUCTIONS_PX)
        self.instructions.show_hint(self.tr("What the model should know or do in every conversation here"))
        self.instructions.refused.connect(self._warn)
        self.files = ProjectFiles(self._before.files, controller.file_sizes, theme)
        self.files.refused.connect(self._on_refused)
        FileDrops(self).dropped.connect(self.files.add)
        self.model = NameBox()
        self.sampling = NameBox()
        self.cost = quiet_label("")
        self.cost.setVisible(False)
        self._fill_models()
        self._fill_sampling()
        self._lay_out()
        self.cancel_button = self.add_button(self.tr("Cancel"), self.reject, key=self.tr("Esc"))
        self.save_button = self.add_button(self.tr("Save"), self._save, key="Ctrl+Enter")
        self.save_button.setObjectName("primary")
        self._costs = PromptCosts(controller.model, self)
        self._costs.known.connect(self._show_cost)
        self._costs.failed.connect(self._clear_cost)
        self.name.textChanged.connect(self._on_changed)
        self.instructions.textChanged.connect(self._on_changed)
        self.files.changed.connect(self._on_changed)
        for watched in (self.name, self.instructions):
            watched.installEventFilter(self)
        self._on_changed()
        self.open_at(*_SIZE_PX, filling=filled_by(self._area))
        (self.instructions if folder else self.name).setFocus()

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        grid.setContentsMargins(0, 0, 0, 0)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(
            quiet_label(
                self.tr("New conversations here begin with these instructions and files. The model reads them once.")
            )
        )
        column.addSpacing(8)
        for name, tip, field in (
            (self.tr("Name"), "", self.name),
            (self.tr("Instructions"), self.tr("The system prompt of new conversations here"), self.instructions),
            (self.tr("Files"), self.tr("Every new conversation here begins with these files"), self.files),
            (self.tr("Model"), self.tr("The model that answers new conversations here"), self.model),
            (self.tr("Sampling"), self.tr("For conversations here that have no settings of their own"), self.sampling),
        ):
            label = QLabel(name)
            label.setObjectName("role")
            label.setToolTip(tip)
            label.setBuddy(self.files.add_button if field is self.files else field)
            field.setAccessibleName(name)
            field.setAccessibleDescription(tip)
            column.addWidget(label)
            column.addWidget(field, 1 if field is self.instructions else 0)
            if field is self.files:
                column.addWidget(self.cost)
            column.addSpacing(8)
        self._area = scrolled(page)
        self.body.addWidget(self._area, 1)

    def _fill_models(self) -> None:
        self.model.addItem(self.tr("The model chosen for new conversations"), "")
        models = dict.fromkeys((*self._controller.program.offered_models, self._before.model))
        for name in models:
            if name:
                self.model.addItem(model_label(name), name)
        self.model.setCurrentIndex(max(self.model.findData(self._before.model), 0))

    def _fill_sampling(self) -> None:
        """Offer the default, the presets, and the open conversation's settings unless they equal one of these."""
        before, own = self._before.generation, self._controller.preparation.generation
        presets = (*BUILT_IN_PRESETS, *self._controller.program.settings.presets)
        self.sampling.addItem(self.tr("The app's default"), None)
        for preset in presets:
            self.sampling.addItem(preset_name(preset), preset.apply_to(GenerationSettings()))
        known = [self.sampling.itemData(index) for index in range(self.sampling.count())]
        if before is not None and before not in known:
            name, _ = current_preset(presets, before)
            preset = find_preset(presets, name)
            text = self.tr("Custom") if preset is None else self.tr("{name}, changed").format(name=preset_name(preset))
            self.sampling.addItem(text, before)
        if own not in (*known, before) and own != self._controller.program.settings.generation:
            self.sampling.addItem(self.tr("As in the open conversation"), own)
        found = (index for index in range(self.sampling.count()) if self.sampling.itemData(index) == before)
        self.sampling.setCurrentIndex(next(found, 0))

    @property
    def project(self) -> Project:
        """The project with the values in the fields."""
        return Project(
            instructions=self.instructions.content,
            files=self.files.files,
            model=self.model.currentData(),
            generation=self.sampling.currentData(),
        ).cleaned

    def _on_changed(self) -> None:
        self.save_button.setEnabled(bool(name_of(self.name.text())) and self.files.are_read)
        self._costs.ask(self._beginning, self._controller.preparation.template_options())

    def _beginning(self) -> list[Message]:
        return unsent_beginning(self.project.instructions, self.project.file_texts)

    def _show_cost(self, cost: Cost) -> None:
        self.cost.setText(self.tr("A new conversation: {cost}").format(cost=cost_text(cost)))
        self.cost.setVisible(True)

    def _clear_cost(self, _why: Sentence) -> None:
        self.cost.clear()
        self.cost.setVisible(False)

    def _warn(self, why: str) -> None:
        self.show_message(why, "warning")

    def _on_refused(self, why: Sentence) -> None:
        self.show_message(translated(why), "warning")

    def _save(self) -> None:
        name = name_of(self.name.text())
        if not name or not self.files.are_read:
            return
        if name != self.folder and name in self._projects.names:
            self.show_message(self.tr("There is already a project “{name}”.").format(name=name), "warning")
            self.name.setFocus()
            return
        if self.folder and name != self.folder:
            self._projects.rename(self.folder, name)
        if self._projects.put(name, self.project):
            self.saved.emit(name)
            self.accept()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
            has_control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            if is_enter and (has_control or watched is self.name):
                self._save()
                return True
        return super().eventFilter(watched, event)
