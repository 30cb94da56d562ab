"""Every action of the window with its place in the menus and its key; what it does is the window's to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from app.ui.theme import Theme, icon


class Entry(NamedTuple):
    """One action. `letter` works on the message that has the focus; it is no shortcut of the window."""

    name: str
    text: str
    key: str = ""
    letter: str = ""
    is_checkable: bool = False
    role: QAction.MenuRole = QAction.MenuRole.TextHeuristicRole
    """Where macOS puts it."""
    icon: str = ""


class Submenu(NamedTuple):
    """A menu in a menu; one of its entries is checked."""

    title: str
    entries: tuple[Entry, ...]


SEPARATOR = Entry("", "")

MENUS: tuple[tuple[str, tuple[Entry | Submenu, ...]], ...] = (
    (
        "&File",
        (
            Entry("new", "New conversation", "Ctrl+N", icon="plus"),
            Entry("rename", "Rename conversation…", "F2"),
            Entry("delete", "Delete conversation"),
            Entry("empty_trash", "Empty trash…"),
            SEPARATOR,
            Entry("export", "Export branch…", "Ctrl+Shift+E"),
            Entry("data", "Show data folder", icon="folder"),
            SEPARATOR,
            Entry("settings", "Settings…", "Ctrl+,", role=QAction.MenuRole.PreferencesRole, icon="sampling"),
            SEPARATOR,
            Entry("quit", "Quit", "Ctrl+Q"),
        ),
    ),
    (
        "&Message",
        (
            Entry("edit", "Edit", letter="E", icon="edit"),
            Entry("regenerate", "Regenerate", letter="R", icon="regenerate"),
            Entry("fork", "Fork", letter="F", icon="fork"),
            Entry("continue", "Continue", letter="C", icon="continue"),
            Entry("copy", "Copy message", icon="copy"),
            SEPARATOR,
            Entry("previous_sibling", "Previous version", "Alt+Left"),
            Entry("next_sibling", "Next version", "Alt+Right"),
            Entry("previous_message", "Previous message", "Alt+Up"),
            Entry("next_message", "Next message", "Alt+Down"),
            SEPARATOR,
            Entry("stop", "Stop", "Esc", icon="stop"),
        ),
    ),
    ("M&odels", (Entry("open_model", "Open folder…", "Ctrl+O", icon="folder"),)),
    (
        "&View",
        (
            Entry("sidebar", "Sidebar", "Ctrl+B", is_checkable=True),
            Submenu(
                "Theme",
                (
                    Entry("theme_system", "System", is_checkable=True),
                    Entry("theme_light", "Light", is_checkable=True),
                    Entry("theme_dark", "Dark", is_checkable=True),
                ),
            ),
        ),
    ),
    ("&Help", (Entry("shortcuts", "Keyboard shortcuts", "F1"), Entry("about", "About Bough"))),
)


class Menus:
    """The menu bar of a window, and its actions by their names."""

    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        self._actions: dict[str, QAction] = {}
        self._icons: dict[str, str] = {}
        self._menus: dict[str, QMenu] = {}
        for title, entries in MENUS:
            menu = self._menus[title.replace("&", "")] = window.menuBar().addMenu(title)
            for entry in entries:
                if isinstance(entry, Submenu):
                    self._fill_submenu(menu.addMenu(entry.title), entry.entries)
                elif entry == SEPARATOR:
                    menu.addSeparator()
                else:
                    menu.addAction(self._new(entry))

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def connect_slots(self, slots: Mapping[str, Callable[[], object]]) -> None:
        """Say what each action does, by its name. Raises `KeyError` where one does nothing."""
        for name, action in self._actions.items():
            action.triggered.connect(_calling(slots[name]))

    def set_theme(self, theme: Theme) -> None:
        """Draw the icons in the theme's colour."""
        for name, icon_name in self._icons.items():
            self._actions[name].setIcon(icon(icon_name, theme.quiet_text))

    def menu(self, title: str) -> QMenu:
        """Return a menu of the bar by its title."""
        return self._menus[title]

    def keys(self) -> list[tuple[str, str]]:
        """Return what each key does: the action's text and the key as the system writes it."""
        rows: list[tuple[str, str]] = []
        for action in self._actions.values():
            text, _, letter = action.text().partition("\t")
            key = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText) or letter
            if key:
                rows.append((text, key))
        return rows

    def _fill_submenu(self, menu: QMenu, entries: tuple[Entry, ...]) -> None:
        group = QActionGroup(self._window)
        for entry in entries:
            action = self._new(entry)
            group.addAction(action)
            menu.addAction(action)

    def _new(self, entry: Entry) -> QAction:
        text = f"{entry.text}\t{entry.letter}" if entry.letter else entry.text
        action = self._actions[entry.name] = QAction(text, self._window)
        action.setCheckable(entry.is_checkable)
        action.setMenuRole(entry.role)
        if entry.icon:
            self._icons[entry.name] = entry.icon
        if entry.key:
            action.setShortcut(QKeySequence(entry.key))
        # A window's action works by its key though its menu be closed.
        self._window.addAction(action)
        return action


def _calling(slot: Callable[[], object]) -> Callable[[bool], None]:
    """Whether an action is checked is its slot's to find out."""

    def call(_is_checked: bool) -> None:
        slot()

    return call
