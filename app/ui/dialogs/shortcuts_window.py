"""The window with all keyboard shortcuts, menu by menu."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.ui.menus import MENUS, Entry, Menus, Submenu, key_of, translated
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import scrolled
from app.ui.parts.sheet import Sheet
from app.ui.theme import grown

_WIDTH_PX, _HEIGHT_PX = 520, 640
_PLUS = "+\u200b"
"""A plus at which a line may end."""


class ShortcutsWindow(Sheet):
    """Lists the shortcuts; a button leads to the settings where the user can change them."""

    def __init__(self, menus: Menus, change: Callable[[], object], parent: QWidget) -> None:
        super().__init__("", parent)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        page = QWidget()
        self._grid = QGridLayout(page)
        self._grid.setContentsMargins(8, 4, 8, 4)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(0, 1)
        writing = ((self.tr("Send"), self.tr("Enter")), (self.tr("New line"), self.tr("Shift+Enter")))
        self._add(self.tr("Writing"), writing)
        for title, entries in _by_menu():
            keys = [(translated(entry.text), key) for entry in entries if (key := key_of(menus[entry.name]))]
            self._add(translated(title).replace("&", ""), keys)
        self._grid.setRowStretch(self._grid.rowCount(), 1)
        self._area = scrolled(page, "shortcuts")
        # With the focus, the list scrolls by arrow keys and Page Down.
        self._area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._area.setAccessibleName(self.windowTitle())
        self.body.addWidget(quiet_label(self.tr("Single-letter keys act on the focused message.")))
        self.body.addWidget(self._area, 1)
        self.add_button(self.tr("Change keys…"), change)
        self.close_button = self.add_button(self.tr("Close"), self.close, is_primary=True)
        self.open_at(_WIDTH_PX, _HEIGHT_PX)
        # The list is as wide as its rows, unless the screen is too narrow.
        margins_px = self.width() - self._area.width()
        widest_px = self.screen().availableGeometry().width() - margins_px
        bar_px = self._area.verticalScrollBar().sizeHint().width()
        needed_px = page.minimumSizeHint().width() + bar_px + 2 * self._area.frameWidth()
        self._area.setMinimumWidth(min(needed_px, widest_px))
        self._area.setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def texts(self) -> list[str]:
        """All texts of the list."""
        return [found.text().replace(_PLUS, "+") for found in self._area.findChildren(QLabel)]

    def _add(self, title: str, keys: Sequence[tuple[str, str]]) -> None:
        heading = QLabel(title)
        heading.setObjectName("role")
        row = self._grid.rowCount()
        is_narrow = self.screen().availableGeometry().width() < grown(_WIDTH_PX)
        heading.setContentsMargins(0, 12 if row > 1 else 0, 0, 0)
        self._grid.addWidget(heading, row, 0, 1, 2)
        for line, (text, key) in enumerate(keys, row + 1):
            key_label = QLabel(key.replace("+", _PLUS) if is_narrow else key)
            key_label.setObjectName("quiet")
            key_label.setWordWrap(is_narrow)
            key_label.setAccessibleName(key)
            text_label = QLabel(text)
            # The text wraps, so the key is never cut off.
            text_label.setWordWrap(True)
            self._grid.addWidget(text_label, line, 0)
            self._grid.addWidget(key_label, line, 1, Qt.AlignmentFlag.AlignRight)


def _by_menu() -> Iterator[tuple[str, list[Entry]]]:
    """Yield each menu's title with its entries and those of its submenus."""
    for title, parts in MENUS:
        entries: list[Entry] = []
        for part in parts:
            entries += part.entries if isinstance(part, Submenu) else [part]
        yield title, [entry for entry in entries if entry.name]
