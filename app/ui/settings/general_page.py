"""The settings of how Bough looks and speaks: language, theme, size of text, motion, names of conversations."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSlider

from app.model.settings import LARGEST_TEXT, SMALLEST_TEXT, Motion, Theme
from app.program import Program
from app.ui.languages import LANGUAGES
from app.ui.parts.one_of import OneOf, quiet_label
from app.ui.settings.settings_page import SettingsPage, card

_THEMES: tuple[Theme, ...] = ("system", "light", "dark")
_MOTIONS: tuple[Motion, ...] = ("system", "less")
_STEP = 10


class GeneralPage(SettingsPage):
    """What is chosen holds at once, in all windows."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program
        settings = program.settings
        self.language = OneOf(self.tr("Language"))
        self.language.add(self.tr("As the system says"))
        for name in LANGUAGES.values():
            self.language.add(name)
        self.language.choose((["", *LANGUAGES]).index(settings.language) if settings.language in LANGUAGES else 0)
        self.theme = OneOf(self.tr("Theme"))
        for name in (self.tr("As the system says"), self.tr("Light"), self.tr("Dark")):
            self.theme.add(name)
        self.theme.choose(_THEMES.index(settings.theme))
        self.text_size = QSlider(Qt.Orientation.Horizontal)
        self.text_size.setAccessibleName(self.tr("Size of text"))
        self.text_size.setRange(SMALLEST_TEXT // _STEP, LARGEST_TEXT // _STEP)
        self.text_size.setPageStep(1)
        self.text_size.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.text_size.setValue(settings.text_percent // _STEP)
        self._percent = quiet_label("")
        self._percent.setWordWrap(False)
        self._percent.setMinimumWidth(48)
        self.motion = OneOf(self.tr("Motion"))
        self.motion.add(self.tr("As the system says"))
        self.motion.add(self.tr("Less"), self.tr("Nothing glides; what changes is there at once."))
        self.motion.choose(_MOTIONS.index(settings.motion))
        self.names = OneOf(self.tr("Names of conversations"))
        self.names.add(
            self.tr("After the first exchange"),
            self.tr("What the first question asks for; where it only greets, what the answer says."),
        )
        self.names.add(self.tr("As the first question begins"))
        self.names.choose(0 if settings.names_conversations else 1)
        size = QHBoxLayout()
        size.setSpacing(12)
        size.addWidget(self.text_size, 1)
        size.addWidget(self._percent)
        for one in (self.language, self.theme):
            self.cards.addWidget(card(one.accessibleName(), "", one))
        self.cards.addWidget(card(self.tr("Size of text"), "", size))
        for one in (self.motion, self.names):
            self.cards.addWidget(card(one.accessibleName(), "", one))
        self._show_percent()
        self.language.changed.connect(self._set)
        self.theme.changed.connect(self._set)
        self.motion.changed.connect(self._set)
        self.names.changed.connect(self._set)
        self.text_size.valueChanged.connect(self._set)

    def _set(self) -> None:
        self._show_percent()
        self._program.preferences.change(
            theme=_THEMES[self.theme.chosen],
            text_percent=self.text_size.value() * _STEP,
            motion=_MOTIONS[self.motion.chosen],
            names_conversations=self.names.chosen == 0,
            language=["", *LANGUAGES][self.language.chosen],
        )

    def _show_percent(self) -> None:
        self._percent.setText(f"{self.text_size.value() * _STEP} %")
        self.text_size.setAccessibleDescription(self._percent.text())
