"""The settings in one dialog, a page for each kind; what each page sets is its own business."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QListWidget, QListWidgetItem, QStackedWidget, QWidget
from typing_extensions import override

from app.program import Program
from app.ui.menus import Menus
from app.ui.settings.answers_page import AnswersPage
from app.ui.settings.data_page import DataPage
from app.ui.settings.general_page import GeneralPage
from app.ui.settings.keys_page import KeysPage
from app.ui.settings.memory_page import MemoryPage
from app.ui.settings.models_page import ModelsPage
from app.ui.settings.settings_page import SettingsPage
from app.ui.theme import scaled

_WIDTH_PX = 780
_HEIGHT_PX = 720
_LIST_PX = 176
_LIST_EDGE_PX = 20
_OF_SCREEN = 0.9


class SettingsWindow(QDialog):
    """The pages by their names at the left, the one that is chosen beside them."""

    def __init__(self, program: Program, menus: Menus, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settings")
        self.setWindowTitle(self.tr("Settings"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.general = GeneralPage(program)
        self.answers = AnswersPage(program)
        self.memory_page = MemoryPage(program)
        self.keys = KeysPage(program)
        self.models = ModelsPage(program, menus["open_model"], menus["open_draft_model"])
        self.data = DataPage(menus)
        self.list = QListWidget()
        self.list.setObjectName("settings_pages")
        self.list.setAccessibleName(self.tr("Pages"))
        self._pages = QStackedWidget()
        for name, page in (
            (self.tr("General"), self.general),
            (self.tr("Answers"), self.answers),
            (self.tr("Memory and disk"), self.memory_page),
            (self.tr("Keys"), self.keys),
            (self.tr("Models"), self.models),
            (self.tr("Data"), self.data),
        ):
            self.list.addItem(QListWidgetItem(name))
            self._pages.addWidget(page)
        self.list.currentRowChanged.connect(self._show_page)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.list)
        row.addWidget(self._pages, 1)
        room = self.screen().availableGeometry()
        self.resize(min(scaled(_WIDTH_PX), room.width()), min(scaled(_HEIGHT_PX), int(room.height() * _OF_SCREEN)))
        self._fit_list()
        self.list.setCurrentRow(0)
        self.list.setFocus()

    def show_page(self, page: SettingsPage) -> None:
        self.list.setCurrentRow(self._pages.indexOf(page))

    def _show_page(self, number: int) -> None:
        self._pages.setCurrentIndex(number)
        self._look_again()

    def _look_again(self) -> None:
        page = self._pages.currentWidget()
        if isinstance(page, SettingsPage):
            page.look_again()

    def _fit_list(self) -> None:
        """All names of pages can be read, however large the text is."""
        self.list.ensurePolished()
        self.list.setFixedWidth(max(_LIST_PX, self.list.sizeHintForColumn(0) + _LIST_EDGE_PX))

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._fit_list()
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            # When it is opened, and whenever somebody comes back to it.
            self._look_again()
