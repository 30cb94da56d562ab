"""The settings window, and its small pages: general, answers, data."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QSlider,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.model.message import Overflow
from app.model.settings import MAX_TEXT_PERCENT, MIN_TEXT_PERCENT, Motion, Theme
from app.numbers import counted
from app.program import Program
from app.ui.languages import LANGUAGES
from app.ui.menus import Menus, label
from app.ui.parts.buttons import WrappingButton
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import FlowLayout
from app.ui.parts.radio_group import RadioGroup
from app.ui.settings.keys_page import KeysPage
from app.ui.settings.local_api_page import LocalApiPage
from app.ui.settings.memory_page import MemoryPage
from app.ui.settings.models_page import ModelsPage
from app.ui.settings.settings_page import SettingsPage, card
from app.ui.theme import grown, scaled

_WIDTH_PX = 780
_HEIGHT_PX = 720
_MIN_PX = (320, 360)
_LIST_PX = 176
_PAGE_PX = 400
"""The minimum width of a page beside the list, in pixels."""
_LIST_EDGE_PX = 20
_OF_SCREEN = 0.9
_THEMES: tuple[Theme, ...] = ("system", "light", "dark")
_MOTIONS: tuple[Motion, ...] = ("system", "less")
_TEXT_SIZE_STEP = 10
_OVERFLOWS: tuple[Overflow, Overflow] = ("fail", "drop_oldest")
_DATA_ACTIONS = (
    ("import", "export", "export_many"),
    ("export_settings", "import_settings"),
    ("move",),
    ("backups", "trash", "empty_trash"),
    ("data",),
)


class SettingsWindow(QDialog):
    """A list of pages on the left, and the selected page next to it. Each page applies its own settings."""

    def __init__(self, program: Program, menus: Menus, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settings")
        self.setWindowTitle(self.tr("Settings"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.general = GeneralPage(program)
        self.answers = AnswersPage(program)
        self.memory_page = MemoryPage(program)
        self.keys = KeysPage(program)
        self.models = ModelsPage(program, menus["models"], menus["open_draft_model"])
        self.local_api = LocalApiPage(program)
        self.data = DataPage(menus)
        self.list = QListWidget()
        self.list.setObjectName("settings_pages")
        self.list.setAccessibleName(self.tr("Pages"))
        self.choice = QComboBox()
        """The drop-down that replaces the list in a narrow window."""
        self.choice.setAccessibleName(self.list.accessibleName())
        self._pages = QStackedWidget()
        for name, page in (
            (self.tr("General"), self.general),
            (self.tr("Answers"), self.answers),
            (self.tr("Memory and disk"), self.memory_page),
            (self.tr("Keys"), self.keys),
            (self.tr("Models"), self.models),
            (self.tr("Local API"), self.local_api),
            (self.tr("Data"), self.data),
        ):
            self.list.addItem(QListWidgetItem(name))
            self.choice.addItem(name)
            self._pages.addWidget(page)
        self.list.currentRowChanged.connect(self._show_page)
        self.choice.currentIndexChanged.connect(self.list.setCurrentRow)
        self._above = QWidget()
        above = QHBoxLayout(self._above)
        above.setContentsMargins(16, 12, 16, 0)
        above.addWidget(self.choice, 1)
        self._above.setVisible(False)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addWidget(self._above)
        column.addWidget(self._pages, 1)
        row.addWidget(self.list)
        row.addLayout(column, 1)
        room = self.screen().availableGeometry()
        # The list goes above the page only once the window has its size, and would widen the window until then.
        self.setMinimumSize(min(grown(_MIN_PX[0]), room.width()), min(_MIN_PX[1], room.height()))
        self.resize(min(grown(_WIDTH_PX), room.width()), min(grown(_HEIGHT_PX), int(room.height() * _OF_SCREEN)))
        self._fit_list()
        self.list.setCurrentRow(0)
        self.list.setFocus()

    def show_page(self, page: SettingsPage) -> None:
        self.list.setCurrentRow(self._pages.indexOf(page))

    def _show_page(self, number: int) -> None:
        self._pages.setCurrentIndex(number)
        self.choice.setCurrentIndex(number)
        self._refresh()

    def _refresh(self) -> None:
        page = self._pages.currentWidget()
        if isinstance(page, SettingsPage):
            page.refresh()

    def _fit_list(self) -> None:
        """Make the list as wide as the longest page name, at any text size."""
        self.list.ensurePolished()
        self.list.setFixedWidth(max(_LIST_PX, self.list.sizeHintForColumn(0) + _LIST_EDGE_PX))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = event.size().width() < self.list.width() + scaled(_PAGE_PX)
        if is_narrow == self._above.isHidden():
            had_focus = self.list.hasFocus() or self.choice.hasFocus()
            self.list.setVisible(not is_narrow)
            self._above.setVisible(is_narrow)
            if had_focus:
                (self.choice if is_narrow else self.list).setFocus()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._fit_list()
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            # When the window opens, and whenever the user returns to it.
            self._refresh()


class GeneralPage(SettingsPage):
    """Language, appearance and names of conversations; changes apply at once, in all windows."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program
        settings = program.settings
        self.language = RadioGroup(self.tr("Language"))
        self.language.add(self.tr("System"))
        for name in LANGUAGES.values():
            self.language.add(name)
        self.language.choose((["", *LANGUAGES]).index(settings.language) if settings.language in LANGUAGES else 0)
        self.theme = RadioGroup(self.tr("Theme"))
        for name in (self.tr("System"), self.tr("Light"), self.tr("Dark")):
            self.theme.add(name)
        self.theme.choose(_THEMES.index(settings.theme))
        self.text_size = QSlider(Qt.Orientation.Horizontal)
        self.text_size.setAccessibleName(self.tr("Text size"))
        self.text_size.setRange(MIN_TEXT_PERCENT // _TEXT_SIZE_STEP, MAX_TEXT_PERCENT // _TEXT_SIZE_STEP)
        self.text_size.setPageStep(1)
        self.text_size.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.text_size.setValue(settings.text_percent // _TEXT_SIZE_STEP)
        self._percent = quiet_label("")
        self._percent.setWordWrap(False)
        self._percent.setMinimumWidth(48)
        self.motion = RadioGroup(self.tr("Motion"))
        self.motion.add(self.tr("System"))
        self.motion.add(self.tr("Reduced"), self.tr("Changes appear at once, without animation."))
        self.motion.choose(_MOTIONS.index(settings.motion))
        self.names = RadioGroup(self.tr("Conversation names"))
        self.names.add(
            self.tr("After the first exchange"),
            self.tr("Taken from the first question, or from the answer if the question is only a greeting."),
        )
        self.names.add(self.tr("From the first question"))
        self.names.choose(0 if settings.names_conversations else 1)
        size = QHBoxLayout()
        size.setSpacing(12)
        size.addWidget(self.text_size, 1)
        size.addWidget(self._percent)
        for one in (self.language, self.theme):
            self.cards.addWidget(card(one.accessibleName(), "", one))
        self.cards.addWidget(card(self.tr("Text size"), "", size))
        for one in (self.motion, self.names):
            self.cards.addWidget(card(one.accessibleName(), "", one))
        self.releases: RadioGroup | None = None
        """Whether to ask for newer versions; None if this build has nobody to ask."""
        if program.release_news.address:
            self._add_releases(program.release_news.address)
        self._show_percent()
        self.language.changed.connect(self._set)
        self.theme.changed.connect(self._set)
        self.motion.changed.connect(self._set)
        self.names.changed.connect(self._set)
        self.text_size.valueChanged.connect(self._set)

    def _add_releases(self, address: str) -> None:
        from app.care.releases import host_of

        group = self.releases = RadioGroup(self.tr("Newer versions"))
        group.add(self.tr("Never ask"))
        group.add(
            self.tr("Ask once a day"),
            self.tr("Bough asks {host} for the newest version and sends nothing else. It installs nothing.").format(
                host=host_of(address)
            ),
        )
        group.choose(int(self._program.settings.asks_for_releases))
        self.cards.addWidget(card(group.accessibleName(), "", group))
        group.changed.connect(lambda: self._program.preferences.change(asks_for_releases=group.chosen == 1))

    def _set(self) -> None:
        self._show_percent()
        self._program.preferences.change(
            theme=_THEMES[self.theme.chosen],
            text_percent=self.text_size.value() * _TEXT_SIZE_STEP,
            motion=_MOTIONS[self.motion.chosen],
            names_conversations=self.names.chosen == 0,
            language=["", *LANGUAGES][self.language.chosen],
        )

    def _show_percent(self) -> None:
        self._percent.setText(f"{self.text_size.value() * _TEXT_SIZE_STEP} %")
        self.text_size.setAccessibleDescription(self._percent.text())


class AnswersPage(SettingsPage):
    """The behaviour for long conversations. Sampling is set in each conversation."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program
        self.overflow = RadioGroup(self.tr("When a conversation is longer than the model's context"))
        self.overflow.add(
            self.tr("Stop with an error"), self.tr("You can then shorten the message, or continue from an earlier one.")
        )
        self.overflow.add(
            self.tr("Leave out the oldest messages"),
            self.tr(
                "The system prompt and your last question stay. Nothing is deleted: the model just doesn't "
                "see the oldest messages, and the answer says how many."
            ),
        )
        self.overflow.choose(_OVERFLOWS.index(program.settings.overflow))
        self.figures = RadioGroup(self.tr("Figures below an answer"))
        self.figures.add(self.tr("One"), self.tr("Its tooltip and a click show the others."))
        self.figures.add(self.tr("All"), self.tr("Tokens read and kept, times, memory and the like."))
        self.figures.choose(int(program.settings.all_figures))
        self._context = quiet_label("")
        self.cards.addWidget(card(self.overflow.accessibleName(), self._context, self.overflow))
        self.cards.addWidget(card(self.figures.accessibleName(), "", self.figures))
        self.cards.addWidget(
            card(
                self.tr("Sampling"),
                self.tr(
                    "Temperature, length and stop strings belong to each conversation. Set them with the "
                    "Sampling button below the message field; you can also save them there as a preset."
                ),
            )
        )
        self.overflow.changed.connect(self._set)
        self.figures.changed.connect(self._set)
        program.session.changed.connect(self._show_model)
        self._show_model()

    def _set(self) -> None:
        self._program.set_overflow(_OVERFLOWS[self.overflow.chosen])
        self._program.preferences.change(all_figures=self.figures.chosen == 1)

    def _show_model(self) -> None:
        info = self._program.session.info
        if info is None:
            text = self.tr(
                "The context is how much text a model can read at once, its answer included. A word is one "
                "or two tokens."
            )
        else:
            text = self.tr(
                "The loaded model can read up to {} tokens, its answer included. A word is one or two tokens."
            ).format(counted(info.context_length))
        self._context.setText(text)


class DataPage(SettingsPage):
    """Buttons for menu actions on stored data."""

    def __init__(self, menus: Menus) -> None:
        super().__init__()
        titles = (
            (
                self.tr("Import and export"),
                self.tr(
                    "Import conversations from other programs, or export them as files that other programs can read."
                ),
            ),
            (
                self.tr("Settings"),
                self.tr("Export the settings, presets and hooks as one file."),
            ),
            (
                self.tr("Another computer"),
                self.tr("Conversations, projects, settings, presets and hooks as one file. Models and keys stay here."),
            ),
            (
                self.tr("Backups and trash"),
                self.tr("Bough makes a backup once a day. Deleted conversations stay in the trash for 30 days."),
            ),
            (
                self.tr("Data folder"),
                self.tr("Everything you write stays on this computer, in one folder."),
            ),
        )
        actions = dict(iter(menus))
        for (title, explanation), names in zip(titles, _DATA_ACTIONS, strict=True):
            row = FlowLayout()
            row.setSpacing(8)
            for name in names:
                if name in actions:
                    action = actions[name]
                    button = WrappingButton(label(action))
                    button.clicked.connect(action.trigger)
                    row.addWidget(button)
            self.cards.addWidget(card(title, explanation, row))
