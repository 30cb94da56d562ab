"""The settings of keys: which action works by which, and a place to change that."""

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
_GAP_PX = 8
_NATIVE = QKeySequence.SequenceFormat.NativeText
_NO_MODIFIER_NEEDED = frozenset({Qt.Key.Key_Escape, *(Qt.Key(Qt.Key.Key_F1.value + number) for number in range(35))})
"""Any other key alone is one that somebody types."""
_FIXED = frozenset({"Return", "Enter", "Shift+Return", "Shift+Enter", "Tab", "Shift+Tab"})
"""Fields need them."""
_Standard = QKeySequence.StandardKey
_WRITING = (
    *(_Standard.Copy, _Standard.Cut, _Standard.Paste, _Standard.SelectAll),
    *(_Standard.MoveToNextWord, _Standard.MoveToPreviousWord),
    *(_Standard.MoveToStartOfDocument, _Standard.MoveToEndOfDocument),
    *(_Standard.SelectNextWord, _Standard.SelectPreviousWord),
    *(_Standard.SelectStartOfDocument, _Standard.SelectEndOfDocument),
    *(_Standard.DeleteStartOfWord, _Standard.DeleteEndOfWord),
)
"""What else they work by, on this system; they would have it before any action had."""


class KeysPage(SettingsPage):
    """A list of all actions; the key of the one that is chosen is changed below it, and holds at once."""

    def __init__(self, program: Program) -> None:
        super().__init__(takes_all=True)
        self._program = program
        self._entries = {entry.name: entry for entry in all_entries()}
        self._menus = [translated(title) for title, _ in MENUS]
        self.list = QTreeWidget()
        self.list.setObjectName("keys")
        self.list.setAccessibleName(self.tr("Actions and their keys"))
        self.list.setHeaderLabels([self.tr("Action"), self.tr("Key")])
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setMinimumHeight(_LIST_PX)
        self.list.setAllColumnsShowFocus(True)
        self.list.header().setAccessibleName(self.list.accessibleName())
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        for entry in self._entries.values():
            item = QTreeWidgetItem([translated(entry.text).rstrip("…"), ""])
            item.setData(0, _NAME, entry.name)
            self.list.addTopLevelItem(item)
        self.field = QKeySequenceEdit()
        self.field.setMaximumSequenceLength(1)
        self.field.setAccessibleName(self.tr("Key of the chosen action"))
        self.none_button = QPushButton(self.tr("No key"))
        self.reset_button = QPushButton(self.tr("Its own key"))
        self.reset_all_button = QPushButton(self.tr("All as they were"))
        self.says = QLabel()
        self.says.setObjectName("warning")
        self.says.setWordWrap(True)
        self.field.setMinimumWidth(scaled(_FIELD_PX))
        row = FlowLayout()
        for widget in (self.field, self.none_button, self.reset_button, self.reset_all_button):
            row.addWidget(widget)
        change = QVBoxLayout()
        change.setSpacing(_GAP_PX)
        change.addWidget(self.list, 1)
        change.addLayout(row)
        hint = quiet_label(self.tr("Letters alone work on the message that has the focus, also beside a key of yours."))
        self.cards.addWidget(
            card(
                self.tr("Keys"),
                self.tr("Choose an action, then press the key that it is to work by."),
                change,
                self.says,
                hint,
            )
        )
        self.list.currentItemChanged.connect(self._show_chosen)
        self.list.itemActivated.connect(lambda: self.field.setFocus(Qt.FocusReason.OtherFocusReason))
        self.field.editingFinished.connect(self._on_pressed)
        self.none_button.clicked.connect(self._take_away)
        self.reset_button.clicked.connect(self._reset)
        self.reset_all_button.clicked.connect(self._reset_all)
        program.settings_changed.connect(self._show_keys)
        self._show_keys()
        self.list.setCurrentItem(self._items()[0])

    def choose(self, name: str) -> None:
        """Choose an action by its name."""
        for item in self._items():
            if item.data(0, _NAME) == name:
                self.list.setCurrentItem(item)

    @property
    def chosen(self) -> str:
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
        self._show_chosen()

    def _show_chosen(self) -> None:
        if self.chosen:
            self.field.setKeySequence(self._key(self.chosen))
            self.none_button.setEnabled(not self._key(self.chosen).isEmpty())
            self.reset_button.setEnabled(self.chosen in self._program.settings.keys)
            self.says.setText("")

    def _on_pressed(self) -> None:
        name, key = self.chosen, self.field.keySequence()
        if not name or key == self._key(name):
            return
        why_not = self._why_not(name, key)
        if why_not:
            self.field.setKeySequence(self._key(name))
            self.says.setText(why_not)
        else:
            self._set(name, key.toString(QKeySequence.SequenceFormat.PortableText))

    def _why_not(self, name: str, key: QKeySequence) -> str:
        if key.isEmpty():
            return ""
        pressed: QKeyCombination = key[0]  # pyright: ignore[reportIndexIssue] (its stubs lack the operator)
        shown = key.toString(_NATIVE)
        is_for_writing = any(key in QKeySequence.keyBindings(standard) for standard in _WRITING)
        if is_for_writing or key.toString(QKeySequence.SequenceFormat.PortableText) in _FIXED:
            return self.tr("{} is needed where text is written. Choose another one.").format(shown)
        is_held = pressed.keyboardModifiers() & ~Qt.KeyboardModifier.ShiftModifier
        if not is_held and pressed.key() not in _NO_MODIFIER_NEEDED:
            return self.tr("{} alone is typed into texts. Hold Ctrl or Alt with it.").format(shown)
        menu = next((menu for menu in self._menus if QKeySequence.mnemonic(menu) == key), "")
        if menu:
            text = menu.replace("&", "")
            return self.tr("{} opens the menu “{}”. Choose another one.").format(shown, text)
        other = next((other for other in self._entries if other != name and self._key(other) == key), "")
        if other:
            text = translated(self._entries[other].text).rstrip("…")
            return self.tr("{} is the key of “{}” already. Give that one another key first.").format(shown, text)
        return ""

    def _set(self, name: str, key: str) -> None:
        chosen = {other: kept for other, kept in self._program.settings.keys.items() if other != name}
        if QKeySequence(key) != QKeySequence(self._entries[name].key):
            chosen[name] = key
        self._program.preferences.change(keys=chosen)

    def _take_away(self) -> None:
        self._set(self.chosen, "")

    def _reset(self) -> None:
        own = QKeySequence(self._entries[self.chosen].key)
        why_not = self._why_not(self.chosen, own)
        if why_not:
            self.says.setText(why_not)
        else:
            self._set(self.chosen, self._entries[self.chosen].key)

    def _reset_all(self) -> None:
        self._program.preferences.change(keys={})
