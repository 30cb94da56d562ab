"""The Models window: a list with a search field on the left, the chosen model on the right.

Where both do not fit, they are two pages, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QDialog, QFrame, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget
from typing_extensions import override

from app.catalog.entry import LocalModel
from app.model.fuzzy import fit, folded
from app.program import Program
from app.ui.models.entry import Entry, Presence
from app.ui.models.model_list import ModelList, Row
from app.ui.models.model_page import Action, ModelPage, main_action
from app.ui.theme import Theme, scaled

_WIDTH_PX, _HEIGHT_PX = 940, 640
_MIN_PX = (320, 360)
_NARROW_PX = 700
_LIST_PX = 340
_OF_SCREEN = 0.9
_LIST_KEYS = {Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_PageDown, Qt.Key.Key_PageUp}
_ENTER = {Qt.Key.Key_Return, Qt.Key.Key_Enter}


class ModelsWindow(QDialog):
    """The models on this machine. It stays open while models load."""

    chat_requested = Signal(str)
    """A conversation should begin with the model of this name."""

    def __init__(self, program: Program, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("models")
        self.setWindowTitle(self.tr("Models"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._program = program
        self._entries: dict[str, Entry] = {}
        self._is_narrow = False
        self._is_page_open = False
        """Whether the page of the model is shown, in a narrow window."""
        self.field = QLineEdit()
        self.field.setObjectName("search_everything")
        self.field.setPlaceholderText(self.tr("Search models"))
        self.field.setAccessibleName(self.tr("Search models"))
        self.field.setClearButtonEnabled(False)
        self.field.installEventFilter(self)
        self.list = ModelList(theme)
        self.empty = QLabel()
        self.empty.setObjectName("search_says")
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.page = ModelPage(theme)
        self._left = QFrame()
        self._left.setObjectName("models_list")
        self._lay_out()
        self.field.textChanged.connect(self._show)
        self.list.chosen.connect(self._on_chosen)
        self.list.entered.connect(self._on_entered)
        self.list.clicked.connect(self._on_clicked)
        self.page.requested.connect(self._act)
        self.page.back_requested.connect(self._show_list)
        program.local_models.changed.connect(self._show)
        program.session.changed.connect(self._show)
        self._show()
        self.list.choose(f"local:{program.session.name}")
        program.local_models.look()
        self._fit_width(self.width())
        self.field.setFocus()

    def _lay_out(self) -> None:
        column = QVBoxLayout(self._left)
        column.setContentsMargins(8, 12, 0, 8)
        column.setSpacing(8)
        head = QHBoxLayout()
        head.setContentsMargins(4, 0, 12, 0)
        head.addWidget(self.field)
        column.addLayout(head)
        column.addWidget(self.list, 1)
        column.addWidget(self.empty, 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._left)
        row.addWidget(self.page, 1)
        room = self.screen().availableGeometry()
        self.setMinimumSize(min(_MIN_PX[0], room.width()), min(_MIN_PX[1], room.height()))
        width, height = int(room.width() * _OF_SCREEN), int(room.height() * _OF_SCREEN)
        self.resize(min(scaled(_WIDTH_PX), width), min(scaled(_HEIGHT_PX), height))

    def set_theme(self, theme: Theme) -> None:
        self.list.set_theme(theme)
        self.page.set_theme(theme)

    # --- content -------------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Update the list and the page."""
        entries = [*self._local_entries()]
        wanted = folded(self.field.text())
        found = [entry for entry in entries if fit(wanted, folded(entry.title)) is not None]
        self._entries = {entry.key: entry for entry in found}
        self.list.show_rows(self._rows(found))
        self.list.setVisible(bool(found))
        self.empty.setVisible(not found)
        self.empty.setText(self.tr("No model on this computer has this name."))
        self.page.show_entry(self._entries.get(self.list.chosen_key))

    def _rows(self, found: Sequence[Entry]) -> list[Row]:
        return [Row("", self.tr("On this computer")), *(entry.row for entry in found)] if found else []

    def _local_entries(self) -> list[Entry]:
        return [self._local_entry(model) for model in self._program.local_models.all]

    def _local_entry(self, model: LocalModel) -> Entry:
        session = self._program.session
        presence: Presence = ""
        fraction: float | None = None
        if session.name == model.name:
            match session.state:
                case "ready":
                    presence = "loaded"
                case "loading":
                    presence, fraction = "loading", session.fraction
                case "unloaded":
                    presence = "unloaded"
                case "failed":
                    pass
        return Entry(model, None, presence, fraction)

    @property
    def entries(self) -> Sequence[Entry]:
        """The models in the list."""
        return list(self._entries.values())

    def _on_chosen(self, key: str) -> None:
        self.page.show_entry(self._entries.get(key))

    # --- actions -------------------------------------------------------------------------------------------

    def _on_entered(self) -> None:
        if self._is_narrow and not self._is_page_open:
            self._show_page()
            return
        entry = self.page.entry
        action = None if entry is None else main_action(entry)
        if action is not None:
            self._act(action)

    def _on_clicked(self) -> None:
        if self._is_narrow:
            self._show_page()

    def _act(self, action: Action) -> None:
        entry = self.page.entry
        if entry is None:
            return
        match action, entry.model:
            case "chat", LocalModel(name=name):
                self.chat_requested.emit(name)
            case "cancel_load", _:
                self._program.session.cancel_load()
            case "unload", _:
                self._program.unload_model()
            case "show_folder", LocalModel(path=path):
                self._show_folder(path if path.is_dir() else path.parent)
            case _:
                pass

    def _show_folder(self, folder: Path) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))

    # --- two columns, or two pages ---------------------------------------------------------------------------

    def _fit_width(self, width: int) -> None:
        self._is_narrow = width < scaled(_NARROW_PX)
        self._left.setMinimumWidth(0)
        self._left.setMaximumWidth(16777215 if self._is_narrow else scaled(_LIST_PX))
        if not self._is_narrow:
            self._left.setMinimumWidth(scaled(_LIST_PX))
        self._show_columns()

    def _show_columns(self) -> None:
        self._left.setVisible(not self._is_narrow or not self._is_page_open)
        self.page.setVisible(not self._is_narrow or self._is_page_open)
        self.page.back_button.setVisible(self._is_narrow)

    def _show_page(self) -> None:
        self._is_page_open = True
        self._show_columns()
        self.page.main_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_list(self) -> None:
        self._is_page_open = False
        self._show_columns()
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_width(event.size().width())

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            # Files may have changed while the user was elsewhere.
            self._program.local_models.look()

    # --- keys ------------------------------------------------------------------------------------------------

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in _LIST_KEYS and self.list.rows:
                self.list.setFocus(Qt.FocusReason.TabFocusReason)
                QApplication.sendEvent(self.list, event)
                return True
            if event.key() in _ENTER:
                self._on_entered()
                return True
        return super().eventFilter(watched, event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape leaves the model's page of a narrow window, else clears the search, else closes the window."""
        if event.key() == Qt.Key.Key_Escape and self._is_narrow and self._is_page_open:
            self._show_list()
        elif event.key() == Qt.Key.Key_Escape and self.field.text():
            self.field.clear()
            self.field.setFocus()
        else:
            super().keyPressEvent(event)
