"""All actions of a window: their menus, keys and icons. The commands carry them out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QActionGroup, QIcon, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from app.ui.theme import Theme, icon


class Entry(NamedTuple):
    """One action.

    `letter` is not a shortcut of the window: a letter works on the focused message, a key such as Ctrl+C in the
    focused field.
    """

    name: str
    text: str
    key: str = ""
    letter: str = ""
    is_checkable: bool = False
    role: QAction.MenuRole = QAction.MenuRole.TextHeuristicRole
    """Decides where macOS puts the entry."""
    icon: str = ""


class Submenu(NamedTuple):
    """A menu inside a menu; at most one of its entries is checked."""

    title: str
    entries: tuple[Entry, ...]


SEPARATOR = Entry("", "")

MENUS: tuple[tuple[str, tuple[Entry | Submenu, ...]], ...] = (
    (
        "&File",
        (
            Entry("new", "New conversation", "Ctrl+N", icon="plus"),
            Entry("new_window", "New window", "Ctrl+Shift+N", icon="window"),
            Entry("new_project", "New project…", "Ctrl+Alt+N", icon="folder"),
            Entry("project", "Project…", "Ctrl+Alt+P", icon="folder"),
            SEPARATOR,
            Entry("rename", "Rename conversation…", "F2", icon="edit"),
            Entry("pin", "Pin conversation", "Ctrl+Shift+P", is_checkable=True, icon="pin"),
            Entry("folder", "Move to project…", "Ctrl+Shift+M", icon="folder"),
            Entry("archive", "Archive conversation", "Ctrl+Shift+A", is_checkable=True, icon="archive"),
            Entry("delete", "Delete conversation", "Ctrl+Shift+Backspace", icon="trash"),
            Entry("trash", "Trash…", "Ctrl+Shift+Delete", icon="trash"),
            Entry("empty_trash", "Empty trash…", "Ctrl+Alt+E"),
            SEPARATOR,
            Entry("import", "Import…", "Ctrl+Shift+I", icon="import"),
            Entry("export", "Export branch…", "Ctrl+Shift+E", icon="export"),
            Entry("export_many", "Export conversations…", "Ctrl+Shift+X", icon="export"),
            Entry("print", "Print branch…", "Ctrl+Alt+Shift+P", icon="print"),
            Entry("backups", "Backups…", "Ctrl+Shift+B", icon="history"),
            Entry("data", "Show data folder", "Ctrl+Shift+D", icon="folder"),
            SEPARATOR,
            Entry("settings", "Settings…", "Ctrl+,", role=QAction.MenuRole.PreferencesRole, icon="settings"),
            Entry("export_settings", "Export settings…", "Ctrl+Alt+X", icon="export"),
            Entry("import_settings", "Import settings…", "Ctrl+Alt+I", icon="import"),
            Entry("move", "Move to another computer…", "Ctrl+Alt+M", icon="export"),
            SEPARATOR,
            Entry("close_window", "Close window", "Ctrl+W", icon="close"),
            Entry("quit", "Quit", "Ctrl+Q"),
        ),
    ),
    (
        "&Edit",
        (
            Entry("undo", "Undo", "Ctrl+Z", icon="undo"),
            Entry("redo", "Redo", "Ctrl+Shift+Z", icon="redo"),
            SEPARATOR,
            Entry("cut", "Cut", letter="Ctrl+X"),
            Entry("copy_text", "Copy", letter="Ctrl+C"),
            Entry("paste", "Paste", letter="Ctrl+V"),
            Entry("select_all", "Select all", letter="Ctrl+A"),
            SEPARATOR,
            Entry("select_above", "Select message above", "Alt+Shift+Up"),
            Entry("select_below", "Select message below", "Alt+Shift+Down"),
            Entry("select_messages", "Select all messages", "Ctrl+Alt+A"),
            Entry("copy_messages", "Copy selected messages", "Ctrl+Shift+C", icon="copy"),
            SEPARATOR,
            Entry("find", "Find in conversation", "Ctrl+F", icon="search"),
            Entry("find_next", "Find next", "F3", icon="down"),
            Entry("find_previous", "Find previous", "Shift+F3", icon="up"),
            Entry("search_all", "Search everything…", "Ctrl+Shift+F", icon="search"),
        ),
    ),
    (
        "&Message",
        (
            Entry("edit", "Edit", letter="E", icon="edit"),
            Entry("regenerate", "Regenerate", letter="R", icon="regenerate"),
            Entry("regenerate_with", "Regenerate with…", letter="W"),
            Entry("fork", "Fork", letter="F", icon="fork"),
            Entry("continue", "Continue", letter="C", icon="continue"),
            Entry("copy", "Copy message", "Ctrl+Alt+C", icon="copy"),
            Entry("replace", "Replace in place", "Ctrl+Shift+Return"),
            SEPARATOR,
            Entry("star", "Star", letter="S", is_checkable=True, icon="star"),
            Entry("pin_branch", "Pin branch", letter="P", is_checkable=True, icon="pin"),
            Entry("name", "Name branch…", letter="N", icon="edit"),
            Entry("prune", "Prune", letter="Del", icon="trash"),
            Entry("side_by_side", "Versions side by side", letter="V", icon="columns"),
            Entry("compare", "Compare versions", letter="D", icon="compare"),
            Entry("keep_only", "Keep only this version", "Ctrl+Shift+K"),
            SEPARATOR,
            Entry("raw", "Show source text", letter="M", icon="format"),
            Entry("thought", "Show or fold the thought", letter="T"),
            Entry("links", "Links…", letter="L"),
            SEPARATOR,
            Entry("previous_sibling", "Previous version", "Alt+Left", icon="left"),
            Entry("next_sibling", "Next version", "Alt+Right", icon="right"),
            Entry("previous_message", "Previous message", "Alt+Up", icon="up"),
            Entry("next_message", "Next message", "Alt+Down", icon="down"),
            SEPARATOR,
            Entry("replay", "Run again and compare", "Ctrl+Shift+R", icon="regenerate"),
            Entry("stop", "Stop", "Esc", icon="stop"),
        ),
    ),
    (
        "&Ask",
        (
            Entry("write", "Write a message", "Ctrl+L", icon="edit"),
            Entry("attach", "Attach files…", "Ctrl+U", icon="attach"),
            SEPARATOR,
            Entry("system_prompt", "System prompt…", "Ctrl+Y", icon="system"),
            Entry("answer_format", "Answer format…", "Ctrl+J", icon="format"),
            Entry("sampling", "Sampling and hooks…", "Ctrl+P", icon="sampling"),
            SEPARATOR,
            Entry("renew", "Ask again with the project's text", "Ctrl+Alt+R", icon="regenerate"),
        ),
    ),
    (
        "M&odels",
        (
            Entry("models", "Models…", "Ctrl+M", icon="model"),
            Entry("open_model", "Open folder…", "Ctrl+O", icon="folder"),
            Submenu(
                "Draft model",
                (
                    Entry("no_draft_model", "No draft model", "Ctrl+Alt+O", is_checkable=True),
                    Entry("open_draft_model", "Choose draft model…", "Ctrl+Shift+O"),
                ),
            ),
        ),
    ),
    (
        "&View",
        (
            Entry("palette", "Command palette…", "Ctrl+K", icon="search"),
            SEPARATOR,
            Entry("sidebar", "Sidebar", "Ctrl+B", is_checkable=True, icon="sidebar"),
            Entry("tokens", "Tokens", "Ctrl+Shift+T", is_checkable=True, icon="tokens"),
            Entry("tree", "Tree", "Ctrl+T", is_checkable=True, icon="tree"),
            Entry("walk_tree", "Navigate the tree", "F6"),
            Submenu(
                "Theme",
                (
                    Entry("theme_system", "System", "Ctrl+Alt+0", is_checkable=True),
                    Entry("theme_light", "Light", "Ctrl+Alt+1", is_checkable=True),
                    Entry("theme_dark", "Dark", "Ctrl+Alt+2", is_checkable=True),
                ),
            ),
            Entry("larger_text", "Larger text", "Ctrl++"),
            Entry("smaller_text", "Smaller text", "Ctrl+-"),
            Entry("usual_text", "Usual size of text", "Ctrl+0"),
        ),
    ),
    (
        "&Help",
        (
            Entry("ask_guide", "Ask the guide", "F1", icon="leaf"),
            Entry("shortcuts", "Keyboard shortcuts", "Ctrl+/"),
            Entry("about", "About Bough", "Shift+F1"),
        ),
    ),
)


SHORT_MESSAGE_MENU = (
    "continue",
    "regenerate_with",
    "side_by_side",
    "compare",
    "star",
    "name",
    "pin_branch",
    "raw",
    "prune",
)
"""The entries of a message's context menu, at most nine. The Message menu and the palette have all entries."""


_NAMED_ENTRY = re.compile(r"\*\*(\w+ → [^*]+)\*\*")
_OPENING = {
    f"{title.replace('&', '')} → {entry.text}": entry
    for title, entries in MENUS
    for entry in entries
    if isinstance(entry, Entry) and entry.text.endswith("…") and title != "&Message"
}


class Menus:
    """The menu bar of a window, and its actions by name."""

    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        self._actions: dict[str, QAction] = {}
        self._texts: dict[str, str] = {}
        self._icons: dict[str, str] = {}
        self._theme: Theme | None = None
        self._menus: dict[str, QMenu] = {}
        self.all = QMenu(window)
        """All menus of the menu bar as one, for a window that is too narrow for the bar."""
        for title, entries in MENUS:
            menu = self._menus[title.replace("&", "")] = window.menuBar().addMenu(translated(title))
            self.all.addMenu(menu)
            menu.aboutToShow.connect(partial(self.draw_icons, menu))
            for entry in entries:
                if isinstance(entry, Submenu):
                    submenu = self._menus[entry.title] = menu.addMenu(translated(entry.title))
                    self._fill_submenu(submenu, entry.entries)
                elif entry == SEPARATOR:
                    menu.addSeparator()
                else:
                    menu.addAction(self._new(entry))

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def connect_slots(self, slots: Mapping[str, Callable[[], object]]) -> None:
        """Connect each action to its slot, by name. Raises `KeyError` if an action has none."""
        for name, action in self._actions.items():
            action.triggered.connect(_without_argument(slots[name]))

    def set_theme(self, theme: Theme) -> None:
        """Use the theme's colours for icons. Icons are drawn when their menu opens."""
        self._theme = theme

    def draw_icons(self, menu: QMenu) -> None:
        """Set the icons of a menu that is about to show; it may also have entries that are not in `MENUS`."""
        names = {action: name for name, action in self._actions.items()}
        for action in menu.actions():
            if action in names or action.isCheckable():
                self.draw_icon(action, self._icons.get(names.get(action, ""), ""))

    def draw_icon(self, action: QAction, name: str) -> None:
        """Set the icon of an action. A checked action gets a check mark, because Qt shows none beside an icon."""
        if self._theme is not None:
            drawn = icon(name, self._theme.quiet_text) if name else QIcon()
            action.setIcon(icon("check", self._theme.accent) if action.isChecked() else drawn)

    def menu(self, title: str) -> QMenu:
        """Return a menu or submenu by its English title."""
        return self._menus[title]

    def icon_name(self, name: str) -> str:
        """Return the name of an action's icon, or an empty string."""
        return self._icons.get(name, "")

    def copied(self, name: str, menu: QMenu) -> QAction:
        """Return an action for another menu that triggers an action of these menus.

        An action must not stand in two menus: Qt gives it one accessible object, which belongs to one of them.
        """
        action = self._actions[name]
        text, _, key = action.text().partition("\t")
        key = key or action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        copied = QAction(f"{text}\t{key}" if key else text, menu)
        copied.setCheckable(action.isCheckable())
        copied.setChecked(action.isChecked())
        copied.triggered.connect(action.trigger)
        self.draw_icon(copied, self.icon_name(name))
        return copied

    def set_text(self, name: str, text: str) -> None:
        """Change the text of an action, for example to say what it would do now; empty restores its own text."""
        action = self._actions[name]
        _, tab, letter = action.text().partition("\t")
        action.setText(f"{text or self._texts[name]}{tab}{letter}")

    def own_text(self, name: str) -> str:
        """Return the translation of the text that an action has in `MENUS`."""
        return self._texts[name]

    def update_all(self) -> None:
        """Update the state of all actions, as if their menus had been opened."""
        for menu in self._menus.values():
            menu.aboutToShow.emit()

    def set_keys(self, chosen: Mapping[str, str]) -> None:
        """Set the shortcuts: those that the user chose, by action name, and the defaults for all other actions."""
        for entry in all_entries():
            key = chosen.get(entry.name, entry.key)
            self._actions[entry.name].setShortcut(QKeySequence(key))

    def __iter__(self) -> Iterator[tuple[str, QAction]]:
        return iter(self._actions.items())

    def _fill_submenu(self, menu: QMenu, entries: tuple[Entry, ...]) -> None:
        group = QActionGroup(self._window)
        for entry in entries:
            action = self._new(entry)
            group.addAction(action)
            menu.addAction(action)
        menu.aboutToShow.connect(partial(self.draw_icons, menu))

    def _new(self, entry: Entry) -> QAction:
        text = self._texts[entry.name] = translated(entry.text)
        if entry.letter:
            text += "\t" + QKeySequence(entry.letter).toString(QKeySequence.SequenceFormat.NativeText)
        action = self._actions[entry.name] = QAction(text, self._window)
        action.setCheckable(entry.is_checkable)
        action.toggled.connect(lambda: self.draw_icon(action, entry.icon))
        action.setMenuRole(entry.role)
        if entry.icon:
            self._icons[entry.name] = entry.icon
        if entry.key:
            action.setShortcut(QKeySequence(entry.key))
        # The shortcut also works while the menu is closed.
        self._window.addAction(action)
        return action


def all_entries() -> Iterator[Entry]:
    """Yield every entry of the menus and submenus, without separators."""
    for _, entries in MENUS:
        for entry in entries:
            if isinstance(entry, Submenu):
                yield from entry.entries
            elif entry != SEPARATOR:
                yield entry


def opened_entry(text: str) -> Entry | None:
    """Return the last entry that a text names, as in “**Models → Models…**”, if it opens something; else None.

    Entries that end in “…” open a window, a panel or a dialog. Those of the Message menu need a current message.
    """
    for named in reversed(_NAMED_ENTRY.findall(text)):
        if named in _OPENING:
            return _OPENING[named]
    return None


def menu_texts() -> Iterator[str]:
    """Yield every text of the menus, for translation."""
    for title, entries in MENUS:
        yield title
        yield from (entry.title for entry in entries if isinstance(entry, Submenu))
    yield from (entry.text for entry in all_entries())


def label(action: QAction) -> str:
    """Return the text of an action without its letter and mnemonic."""
    return action.text().partition("\t")[0].replace("&", "")


def key_of(action: QAction) -> str:
    """Return the shortcut of an action as the system writes it, else its letter, else an empty string."""
    key = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    return key or action.text().partition("\t")[2]


def tip_with_key(action: QAction) -> str:
    """Return a tool tip for an action: its text and its key."""
    key = key_of(action)
    text = label(action).rstrip("…")
    return f"{text} ({key})" if key else text


def translated(text: str) -> str:
    """Translate a text of `MENUS`; `packaging/translations.py` collects these texts."""
    return QCoreApplication.translate("Menus", text)


def _without_argument(slot: Callable[[], object]) -> Callable[[bool], None]:
    """Return a slot for `triggered` that ignores whether the action is checked."""

    def call(_is_checked: bool) -> None:
        slot()

    return call
