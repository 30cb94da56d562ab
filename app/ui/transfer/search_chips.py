"""A search's filters as buttons: each shows what is typed and types what is chosen; the text alone is the truth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from app.model.search_words import Key, Mark, day, marked, said, with_mark, with_word
from app.ui.parts.flow import Flow
from app.ui.parts.plain import as_label
from app.ui.theme import Theme, icon

_BESIDE = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
_WEEK_DAYS = 7
_MONTH_DAYS = 30
_YEAR_DAYS = 365


class SearchChips(QWidget):
    """Who, when, which model, starred, pinned."""

    typed = Signal(str)
    """What is to stand in the field now."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._text = ""
        self._models: Sequence[str] = ()
        self.role = self._menu_chip(self.tr("Who said it"))
        self.date = self._menu_chip(self.tr("When it was said"))
        self.model = self._menu_chip(self.tr("Which model said it"))
        self.starred = self._mark_chip("starred", self.tr("Starred"), self.tr("Starred messages alone (is:starred)"))
        self.pinned = self._mark_chip("pinned", self.tr("Pinned"), self.tr("Pinned messages alone (is:pinned)"))
        row = Flow(self)
        row.setSpacing(8)
        for chip in (self.role, self.date, self.model, self.starred, self.pinned):
            chip.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
            row.addWidget(chip)
        self.set_theme(theme)
        self.show_text("")

    def set_theme(self, theme: Theme) -> None:
        self.starred.setIcon(icon("star", theme.text))
        self.pinned.setIcon(icon("pin", theme.text))
        for chip in (self.role, self.date, self.model):
            chip.setIcon(icon("down", theme.quiet_text))

    def set_models(self, names: Sequence[str]) -> None:
        """Offer these models."""
        self._models = names
        self.show_text(self._text)

    def show_text(self, text: str) -> None:
        """Show the filters that are typed."""
        self._text = text
        given = said(text)
        roles = {
            None: self.tr("Anyone"),
            "you": self.tr("You"),
            "answer": self.tr("Answers"),
            "system": self.tr("System prompts"),
            "note": self.tr("Notes"),
        }
        self._fill(self.role, "from", roles, given.get("from", "").lower() or None)
        dates = {
            None: self.tr("Any time"),
            day(0): self.tr("Today"),
            day(_WEEK_DAYS): self.tr("Last seven days"),
            day(_MONTH_DAYS): self.tr("Last 30 days"),
            day(_YEAR_DAYS): self.tr("Last year"),
        }
        since, until = given.get("after"), given.get("before")
        self._fill(self.date, "after", dates, since)
        if until is not None:
            since_text = dates.get(since, since) if since else ""
            until_text = self.tr("before {day}").format(day=until)
            self.date.setText(f"{since_text}, {until_text}" if since_text else until_text)
        models: dict[str | None, str] = {None: self.tr("Any model"), **{name: name for name in self._models}}
        self._fill(self.model, "model", models, given.get("model"))
        marks = marked(text)
        for chip, is_meant in ((self.starred, "starred" in marks), (self.pinned, "pinned" in marks)):
            blocked = chip.blockSignals(True)
            chip.setChecked(is_meant)
            chip.blockSignals(blocked)

    def _fill(self, chip: QToolButton, key: Key, names: dict[str | None, str], chosen: str | None) -> None:
        menu = chip.menu()
        menu.clear()
        for value, name in names.items():
            action = QAction(as_label(name), menu)
            action.setCheckable(True)
            action.setChecked(value == chosen)
            action.triggered.connect(partial(self._choose, key, value))
            menu.addAction(action)
        chip.setText(as_label(names.get(chosen) or self.tr("since {day}").format(day=chosen)))
        if key == "model" and chosen not in names:
            chip.setText(as_label(chosen or ""))
        chip.setProperty("narrows", chosen is not None)
        chip.setAccessibleName(f"{chip.toolTip()}: {chip.text()}")
        chip.style().unpolish(chip)
        chip.style().polish(chip)

    def _choose(self, key: Key, value: str | None, _is_checked: bool = False) -> None:
        self.typed.emit(with_word(self._text, key, value))

    def _on_mark(self, mark: Mark, is_on: bool) -> None:
        self.typed.emit(with_mark(self._text, mark, is_meant=is_on))

    def _mark_chip(self, mark: Mark, text: str, tip: str) -> QToolButton:
        chip = QToolButton()
        chip.setObjectName("chip")
        chip.setText(text)
        chip.setToolTip(tip)
        chip.setCheckable(True)
        chip.setToolButtonStyle(_BESIDE)
        chip.toggled.connect(partial(self._on_mark, mark))
        return chip

    def _menu_chip(self, name: str) -> QToolButton:
        chip = QToolButton()
        chip.setObjectName("chip")
        chip.setToolTip(name)
        chip.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        chip.setToolButtonStyle(_BESIDE)
        chip.setMenu(QMenu(chip))
        return chip
