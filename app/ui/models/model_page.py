"""The page of one model: what it is good for, whether it fits, and what can be done with it."""

from __future__ import annotations

from typing import Literal, TypeAlias, assert_never

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.catalog.entry import Fit, LocalModel, RemoteModel
from app.numbers import counted, sized
from app.sentences import translated
from app.ui.models.entry import (
    Entry,
    good_for,
    parameters_text,
    quantization_text,
    source_text,
)
from app.ui.models.memory_bar import MemoryBar
from app.ui.parts.labels import ElidedLabel, quiet_label
from app.ui.parts.layouts import scrolled
from app.ui.theme import Theme, icon

_STEPS = 1000

Action: TypeAlias = Literal["chat", "cancel_load", "unload", "show_folder"]
"""What the user can do with a model."""


def main_action(entry: Entry) -> Action | None:
    """Return the one action that the page offers first; None if nothing can be done."""
    match entry.model:
        case LocalModel():
            if entry.presence == "loading":
                return "cancel_load"
            if entry.problem is not None or entry.model.format == "gguf":
                return None
            return "chat"
        case RemoteModel():
            return None


class ModelPage(QWidget):
    """Shows the chosen model. The window carries out the actions."""

    requested = Signal(object)
    """An `Action` with the shown model."""
    back_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._entry: Entry | None = None
        self.back_button = QToolButton()
        self.back_button.setAccessibleName(self.tr("Back to the list"))
        self.back_button.setToolTip(self.tr("Back to the list (Esc)"))
        self.back_button.clicked.connect(self.back_requested)
        self.title = ElidedLabel()
        self.title.setObjectName("title")
        self.more_button = QToolButton()
        self.more_button.setAccessibleName(self.tr("More"))
        self.more_button.setToolTip(self.tr("More"))
        self.more_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self.more_button)
        self._menu.aboutToShow.connect(self._fill_menu)
        self.more_button.setMenu(self._menu)
        self.line = QLabel()
        self.line.setWordWrap(True)
        self.main_button = QPushButton()
        self.main_button.setObjectName("primary")
        self.main_button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.main_button.clicked.connect(self._on_main)
        self.progress = QProgressBar()
        self.progress.setRange(0, _STEPS)
        self.progress.setTextVisible(False)
        self.progress_text = quiet_label("")
        self.problem = QLabel()
        self.problem.setObjectName("failure")
        self.problem.setWordWrap(True)
        self.problem.setTextFormat(Qt.TextFormat.PlainText)
        self.memory_text = QLabel()
        self.memory_text.setWordWrap(True)
        self.memory_bar = MemoryBar(theme)
        self.facts = Facts()
        self._lay_out()
        self.set_theme(theme)
        self.show_entry(None)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(16, 12, 12, 0)
        head.setSpacing(8)
        head.addWidget(self.back_button)
        head.addWidget(self.title, 1)
        head.addWidget(self.more_button)
        self._page = QWidget()
        column = QVBoxLayout(self._page)
        column.setContentsMargins(16, 4, 16, 16)
        column.setSpacing(12)
        column.addWidget(self.line)
        column.addWidget(self.problem)
        column.addWidget(self.main_button)
        progress = QVBoxLayout()
        progress.setSpacing(4)
        progress.addWidget(self.progress)
        progress.addWidget(self.progress_text)
        column.addLayout(progress)
        memory = QVBoxLayout()
        memory.setSpacing(6)
        memory.addWidget(self.memory_bar)
        memory.addWidget(self.memory_text)
        column.addLayout(memory)
        column.addWidget(self.facts)
        column.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(4)
        outer.addLayout(head)
        outer.addWidget(scrolled(self._page), 1)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.back_button.setIcon(icon("left", theme.quiet_text))
        self.more_button.setIcon(icon("more", theme.quiet_text))
        self.memory_bar.set_theme(theme)

    @property
    def entry(self) -> Entry | None:
        return self._entry

    def show_entry(self, entry: Entry | None) -> None:
        """Show a model; None shows an empty page."""
        self._entry = entry
        self._page.setVisible(entry is not None)
        self.more_button.setVisible(entry is not None and isinstance(entry.model, LocalModel))
        if entry is None:
            self.title.show_text("")
            return
        self.title.show_text(entry.title)
        self._show_text(self.line, good_for(entry))
        self._show_text(self.problem, "" if entry.problem is None else translated(entry.problem))
        self._show_main(main_action(entry))
        self._show_progress(entry)
        self._show_memory(entry.fit)
        self.facts.show_entry(entry)

    def _show_main(self, action: Action | None) -> None:
        self.main_button.setVisible(action is not None)
        match action:
            case "chat":
                text, tip = self.tr("Chat"), self.tr("Start a conversation with this model (Enter)")
            case "cancel_load":
                text, tip = self.tr("Cancel"), self.tr("Stop loading this model")
            case "unload" | "show_folder" | None:
                text, tip = "", ""
            case _:
                assert_never(action)
        self.main_button.setText(text)
        self.main_button.setToolTip(tip)

    def _show_progress(self, entry: Entry) -> None:
        is_shown = entry.fraction is not None
        self.progress.setVisible(is_shown)
        self.progress_text.setVisible(is_shown)
        if entry.fraction is not None:
            self.progress.setValue(round(_STEPS * entry.fraction))
            self.progress.setAccessibleName(self.tr("Loading"))
            self.progress_text.setText(self.tr("Loading: {percent} %").format(percent=counted(100 * entry.fraction, 0)))

    def _show_memory(self, fit: Fit | None) -> None:
        self.memory_bar.setVisible(fit is not None)
        self.memory_bar.show_fit(fit)
        self._show_text(self.memory_text, "" if fit is None else translated(fit.sentence))

    def _show_text(self, label: QLabel, text: str) -> None:
        label.setText(text)
        label.setVisible(bool(text))

    def _on_main(self) -> None:
        action = None if self._entry is None else main_action(self._entry)
        if action is not None:
            self.requested.emit(action)

    def _fill_menu(self) -> None:
        menu = self._menu
        menu.clear()
        if self._entry is not None and self._entry.presence == "loaded":
            menu.addAction(self.tr("Unload"), lambda: self.requested.emit("unload"))
        menu.addAction(self.tr("Show folder"), lambda: self.requested.emit("show_folder"))


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
        return dict(self._shown)

    def show_entry(self, entry: Entry) -> None:
        facts = [(name, value) for name, value in self._facts_of(entry) if value]
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
        self._grid.addWidget(name_label, row, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(value_label, row, 1, Qt.AlignmentFlag.AlignTop)
        self._labels.append((name_label, value_label))

    def _facts_of(self, entry: Entry) -> list[tuple[str, str]]:
        model = entry.model
        facts = [
            (self.tr("Size"), sized(model.num_bytes) if model.num_bytes else ""),
            (self.tr("Parameters"), parameters_text(model.num_parameters) if model.num_parameters else ""),
            (self.tr("Precision"), quantization_text(model.quantization)),
            (
                self.tr("Context"),
                self.tr("{count} tokens").format(count=counted(model.context_length)) if model.context_length else "",
            ),
            (self.tr("Licence"), model.licence),
            (self.tr("Architecture"), model.architecture),
        ]
        if isinstance(model, LocalModel):
            facts.append((self.tr("Found in"), source_text(model.source)))
        return facts
