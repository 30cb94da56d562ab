"""The settings page for keyboard shortcuts."""

from __future__ import annotations

from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QHeaderView,
    QKeySequenceEdit,
    QLabel,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
)

from app.program import Program
from app.ui.menus import MENUS, all_entries, translated
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import FlowLayout
from app.ui.settings.settings_page import SettingsPage, card
from app.ui.theme import scaled

_NAME = Qt.ItemDataRole.UserRole
_LIST_PX = 340
_FIELD_PX = 160
_ACTION_PX = 100
_GAP_PX = 8
_NATIVE = QKeySequence.SequenceFormat.NativeText
_NO_MODIFIER_NEEDED = frozenset({Qt.Key.Key_Escape, *(Qt.Key(Qt.Key.Key_F1.value + number) for number in range(35))})
"""Keys that may be a shortcut without a modifier, because they are not used for typing."""
_RESERVED = frozenset({"Return", "Enter", "Shift+Return", "Shift+Enter", "Tab", "Shift+Tab"})
"""Keys that no action may have, because text fields and dialogs use them."""
_Standard = QKeySequence.StandardKey
_EDITING = (
    *(_Standard.Copy, _Standard.Cut, _Standard.Paste, _Standard.SelectAll),
    *(_Standard.MoveToNextWord, _Standard.MoveToPreviousWord),
    *(_Standard.MoveToStartOfDocument, _Standard.MoveToEndOfDocument),
    *(_Standard.SelectNextWord, _Standard.SelectPreviousWord),
    *(_Standard.SelectStartOfDocument, _Standard.SelectEndOfDocument),
    *(_Standard.DeleteStartOfWord, _Standard.DeleteEndOfWord),
)
"""Shortcuts of text fields on this system. A focused field would handle them before any action."""


class KeysPage(SettingsPage):
    """A list of all actions, and controls to change the key of the selected one at once."""

    def __init__(self, program: Program) -> None:
        super().__init__(fills_height=True)
        self._program = program
        self._entries = {entry.name: entry for entry in all_entries()}
        self._menus = [translated(title) for title, _ in MENUS]
        self.list = self._new_list()
        self.field = QKeySequenceEdit()
        self.none_button = QPushButton(self.tr("Remove key"))
        self.reset_button = QPushButton(self.tr("Reset to default"))
        self.reset_all_button = QPushButton(self.tr("Reset all"))
        self.warning = QLabel()
        self._build()
        self._connect()
        self._show_keys()
        self.list.setCurrentItem(self._items()[0])

    def _new_list(self) -> QTreeWidget:
        rows = QTreeWidget()
        rows.setObjectName("keys")
        rows.setAccessibleName(self.tr("Actions and keys"))
        rows.setHeaderLabels([self.tr("Action"), self.tr("Key")])
        rows.setRootIsDecorated(False)
        rows.setUniformRowHeights(True)
        rows.setMinimumHeight(_LIST_PX)
        rows.setAllColumnsShowFocus(True)
        rows.header().setAccessibleName(rows.accessibleName())
        rows.header().setStretchLastSection(False)
        # A narrower list scrolls sideways, so that the actions can be read.
        rows.header().setMinimumSectionSize(scaled(_ACTION_PX))
        rows.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        rows.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        for entry in self._entries.values():
            item = QTreeWidgetItem([translated(entry.text).rstrip("…"), ""])
            item.setData(0, _NAME, entry.name)
            rows.addTopLevelItem(item)
        return rows

    def _build(self) -> None:
        self.field.setMaximumSequenceLength(1)
        self.field.setAccessibleName(self.tr("Key for the selected action"))
        self.warning.setObjectName("warning")
        self.warning.setWordWrap(True)
        self.field.setMinimumWidth(scaled(_FIELD_PX))
        row = FlowLayout()
        for widget in (self.field, self.none_button, self.reset_button, self.reset_all_button):
            row.addWidget(widget)
        change = QVBoxLayout()
        change.setSpacing(_GAP_PX)
        change.addWidget(self.list, 1)
        change.addLayout(row)
        hint = quiet_label(self.tr("Single letters work on the focused message, even if you choose another key."))
        self.cards.addWidget(
            card(
                self.tr("Keys"),
                self.tr("Select an action, then press the new key."),
                change,
                self.warning,
                hint,
            )
        )

    def _connect(self) -> None:
        self.list.currentItemChanged.connect(self._show_selected)
        self.list.itemActivated.connect(lambda: self.field.setFocus(Qt.FocusReason.OtherFocusReason))
        self.field.editingFinished.connect(self._on_key_entered)
        self.none_button.clicked.connect(self._clear)
        self.reset_button.clicked.connect(self._reset)
        self.reset_all_button.clicked.connect(self._reset_all)
        self._program.settings_changed.connect(self._show_keys)

    def select(self, name: str) -> None:
        """Select an action by its name."""
        for item in self._items():
            if item.data(0, _NAME) == name:
                self.list.setCurrentItem(item)

    @property
    def selected(self) -> str:
        item = self.list.currentItem()
        return item.data(0, _NAME) if item is not None else ""

    def _items(self) -> list[QTreeWidgetItem]:
        found = [self.list.topLevelItem(row) for row in range(self.list.topLevelItemCount())]
        return [item for item in found if item is not None]

    def _key(self, name: str) -> QKeySequence:
        return QKeySequence(self._program.settings.keys.get(name, self._entries[name].key))

    def _show_keys(self) -> None:
        for item in self._items():
            name = item.data(0, _NAME)
            keys = (self._key(name), QKeySequence(self._entries[name].letter))
            item.setText(1, ", ".join(key.toString(_NATIVE) for key in keys if not key.isEmpty()))
        self.reset_all_button.setEnabled(bool(self._program.settings.keys))
        self._show_selected()

    def _show_selected(self) -> None:
        if self.selected:
            self.field.setKeySequence(self._key(self.selected))
            self.none_button.setEnabled(not self._key(self.selected).isEmpty())
            self.reset_button.setEnabled(self.selected in self._program.settings.keys)
            self.warning.setText("")

    def _on_key_entered(self) -> None:
        name, key = self.selected, self.field.keySequence()
        if not name or key == self._key(name):
            return
        problem = self._problem_with(name, key)
        if problem:
            self.field.setKeySequence(self._key(name))
            self.warning.setText(problem)
        else:
            self._set(name, key.toString(QKeySequence.SequenceFormat.PortableText))

    def _problem_with(self, name: str, key: QKeySequence) -> str:
        if key.isEmpty():
            return ""
        pressed: QKeyCombination = key[0]  # pyright: ignore[reportIndexIssue] (its stubs lack the operator)
        shown = key.toString(_NATIVE)
        is_for_editing = any(key in QKeySequence.keyBindings(standard) for standard in _EDITING)
        if is_for_editing or key.toString(QKeySequence.SequenceFormat.PortableText) in _RESERVED:
            return self.tr("{} is needed for typing. Choose another key.").format(shown)
        modifiers = pressed.keyboardModifiers() & ~Qt.KeyboardModifier.ShiftModifier
        if not modifiers and pressed.key() not in _NO_MODIFIER_NEEDED:
            return self.tr("{} alone types text. Combine it with Ctrl or Alt.").format(shown)
        menu = next((menu for menu in self._menus if QKeySequence.mnemonic(menu) == key), "")
        if menu:
            text = menu.replace("&", "")
            return self.tr("{} opens the menu “{}”. Choose another key.").format(shown, text)
        other = next((other for other in self._entries if other != name and self._key(other) == key), "")
        if other:
            text = translated(self._entries[other].text).rstrip("…")
            return self.tr("{} is already used for “{}”. Change that key first.").format(shown, text)
        return ""

    def _set(self, name: str, key: str) -> None:
        chosen = {other: kept for other, kept in self._program.settings.keys.items() if other != name}
        if QKeySequence(key) != QKeySequence(self._entries[name].key):
            chosen[name] = key
        self._program.preferences.change(keys=chosen)

    def _clear(self) -> None:
        self._set(self.selected, "")

    def _reset(self) -> None:
        own = QKeySequence(self._entries[self.selected].key)
        problem = self._problem_with(self.selected, own)
        if problem:
            self.warning.setText(problem)
        else:
            self._set(self.selected, self._entries[self.selected].key)

    def _reset_all(self) -> None:
        self._program.preferences.change(keys={})
