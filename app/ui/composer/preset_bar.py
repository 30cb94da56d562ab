"""The list of presets: choose one; save, update or delete the user's own."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLineEdit, QPushButton, QStackedWidget, QWidget
from typing_extensions import override

from app.model.generation_settings import (
    BUILT_IN_PRESETS,
    GenerationSettings,
    Preset,
    current_preset,
    find_preset,
    with_preset,
    without_preset,
)
from app.model.settings import MAX_PRESETS
from app.model.text import clean
from app.ui.composer.display_names import preset_name
from app.ui.parts.buttons import NameBox

translate = QCoreApplication.translate

_FIELD_INSET_PX = 4
_GAP_PX = 8
_MAX_NAME_CHARS = 40


class PresetBar(QStackedWidget):
    """Two rows, one at a time: the list of presets with its buttons, and a field for the name of a new preset."""

    chosen = Signal(object)
    """The new `GenerationSettings`, with the chosen preset applied."""
    changed = Signal(object)
    """The user's presets, as a tuple."""

    def __init__(self, presets: Sequence[Preset], generation: GenerationSettings) -> None:
        super().__init__()
        self._presets = tuple(presets)
        self._generation = generation
        self.list = NameBox()
        self.list.setAccessibleName(self.tr("Preset"))
        self.list.setToolTip(self.tr("Named sampling settings"))
        self.list.activated.connect(self._choose)
        self.save_button = QPushButton(self.tr("Save as…"))
        self.save_button.setToolTip(self.tr("Save these settings under a name"))
        self.save_button.clicked.connect(self._begin_naming)
        self.update_button = QPushButton(self.tr("Update"))
        self.update_button.clicked.connect(self._update)
        self.delete_button = QPushButton(self.tr("Delete"))
        self.delete_button.clicked.connect(self._delete)
        self._rows: list[QBoxLayout] = []
        self._add_row(self.list, self.update_button, self.delete_button, self.save_button)
        self.name = QLineEdit()
        self.name.setMaxLength(_MAX_NAME_CHARS)
        self.name.setAccessibleName(self.tr("Preset name"))
        self.name.setPlaceholderText(self.tr("Name for these settings"))
        self.name.setTextMargins(_FIELD_INSET_PX, 0, _FIELD_INSET_PX, 0)
        self.name.returnPressed.connect(self._save)
        self.name.textChanged.connect(self._on_name)
        self._keep_button = QPushButton(self.tr("Save"))
        self._keep_button.setObjectName("primary")
        self._keep_button.clicked.connect(self._save)
        self._cancel_button = QPushButton(self.tr("Cancel"))
        self._cancel_button.clicked.connect(self._end_naming)
        self._add_row(self.name, self._cancel_button, self._keep_button)
        self.show_generation(generation)

    def _add_row(self, first: QWidget, *others: QWidget) -> None:
        widget = QWidget()
        row = QBoxLayout(QBoxLayout.Direction.LeftToRight, widget)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(_GAP_PX)
        row.addWidget(first, 1)
        for other in others:
            row.addWidget(other)
        self._rows.append(row)
        self.addWidget(widget)

    def show_generation(self, generation: GenerationSettings) -> None:
        """Show the name of the preset that these settings come from, and whether they were changed since."""
        self._generation = generation
        presets = (*BUILT_IN_PRESETS, *self._presets)
        name, is_changed = current_preset(presets, generation)
        self.list.clear()
        for preset in presets:
            self.list.addItem(preset_name(preset), preset.name)
        index = self.list.findData(name)
        if index < 0:
            self.list.insertItem(0, self.tr("Custom"), "")
            index = 0
        elif is_changed:
            self.list.setItemText(index, self.tr("{name}, changed").format(name=self.list.itemText(index)))
        self.list.setCurrentIndex(index)
        own = find_preset(self._presets, name)
        for button in (self.update_button, self.delete_button):
            button.setVisible(own is not None)
        self.update_button.setEnabled(is_changed)
        self.update_button.setToolTip(self.tr("Save these settings as “{name}”").format(name=name))
        self.delete_button.setToolTip(self.tr("Delete “{name}”; the settings here stay").format(name=name))

    def _choose(self, index: int) -> None:
        preset = find_preset((*BUILT_IN_PRESETS, *self._presets), self.list.itemData(index))
        if preset is not None:
            self.chosen.emit(preset.apply_to(self._generation))

    @override
    def resizeEvent(self, event: QResizeEvent, /) -> None:
        super().resizeEvent(event)
        for row in self._rows:
            needed = sum(width + _GAP_PX for width in _widths(row)) - _GAP_PX
            directions = QBoxLayout.Direction
            is_wide = event.size().width() >= needed
            row.setDirection(directions.LeftToRight if is_wide else directions.TopToBottom)

    @override
    def minimumSizeHint(self) -> QSize:
        # The buttons can stand below the list.
        width = max(width for row in self._rows for width in _widths(row))
        return QSize(width, super().minimumSizeHint().height())

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Escape first closes the name field, then the panel.
        if event.key() == Qt.Key.Key_Escape and self.currentIndex() == 1:
            self._end_naming()
        else:
            super().keyPressEvent(event)

    def _begin_naming(self) -> None:
        self.name.clear()
        self._on_name("")
        self.setCurrentIndex(1)
        self.name.setFocus()

    def _end_naming(self) -> None:
        self.setCurrentIndex(0)
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_name(self, text: str) -> None:
        name = " ".join(text.split())
        is_built_in = _is_built_in(name)
        is_there = find_preset(self._presets, name) is not None
        is_full = len(self._presets) >= MAX_PRESETS and not is_there
        self._keep_button.setEnabled(bool(name) and not is_built_in and not is_full)
        self._keep_button.setText(self.tr("Replace") if is_there else self.tr("Save"))
        why_not = ""
        if is_built_in:
            why_not = self.tr("This preset comes with Bough; choose another name")
        elif is_full:
            why_not = self.tr("There is no room for another preset; delete one first")
        self._keep_button.setToolTip(why_not)

    def _save(self) -> None:
        name = clean(" ".join(self.name.text().split()))
        if name and self._keep_button.isEnabled():
            self._put(name)
            self._end_naming()

    def _update(self) -> None:
        self._put(self._generation.preset)

    def _put(self, name: str) -> None:
        self._presets = with_preset(self._presets, name, self._generation)
        self.changed.emit(self._presets)
        preset = find_preset(self._presets, name)
        if preset is not None:
            self.chosen.emit(preset.apply_to(self._generation))

    def _delete(self) -> None:
        self._presets = without_preset(self._presets, self._generation.preset)
        self.changed.emit(self._presets)
        self.show_generation(self._generation)
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)


def _is_built_in(name: str) -> bool:
    """Return whether a built-in preset has this name, in English or in the language of the window."""
    taken = {one.casefold() for preset in BUILT_IN_PRESETS for one in (preset.name, preset_name(preset))}
    return name.casefold() in taken


def _widths(row: QBoxLayout) -> list[int]:
    """Return the least widths of the visible widgets of a row."""
    items = [row.itemAt(number) for number in range(row.count())]
    return [item.minimumSize().width() for item in items if item is not None and not item.isEmpty()]
