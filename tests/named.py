"""Which menus, buttons, settings and keys a text names that the program does not have.

In texts about Bough, `**File → Settings…**` is a menu entry, `**Settings → Keys**` a page, `**Edit**` a button, and a
key or a command stands in backticks.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Collection
from functools import cache

from app.ui.menus import MENUS, Entry, Submenu
from tests.driver import ROOT

_KEY = re.compile(r"(?:(?:Ctrl|Shift|Alt|Cmd)(?:\+(?=.)|$))*(?:[A-Z]|F\d+|Esc|Enter|Up|Down|Left|Right)?")
_KEYS_OF_EDITORS = {"Enter", "Shift+Enter", "Ctrl+Enter", "Up", "Ctrl+C", "Ctrl", "Cmd", "Shift"}


def flat(entries: tuple[Entry | Submenu, ...]) -> list[Entry]:
    """Return the entries of a menu and of its submenus."""
    return [each for entry in entries for each in (entry.entries if isinstance(entry, Submenu) else (entry,))]


def entries() -> dict[str, set[str]]:
    """Return the texts in each menu, including those of its submenus."""
    return {
        title.replace("&", ""): {entry.text for entry in flat(of_menu)}
        | {entry.title for entry in of_menu if isinstance(entry, Submenu)}
        for title, of_menu in MENUS
    }


@cache
def visible_texts() -> frozenset[str]:
    """Return every text that the window may show, in English."""
    messages = ET.parse(ROOT / "resources" / "translations" / "bough_de.ts").getroot().iter("source")  # noqa: S314 (our own)
    return frozenset((message.text or "").replace("&", "") for message in messages)


def wrong_names(text: str) -> list[str]:
    """Return the menu entries, buttons and settings that the window does not have."""
    menus, texts = entries(), visible_texts()
    wrong: list[str] = []
    for found in re.findall(r"\*\*(.+?)\*\*", text, re.DOTALL):
        first, *rest = (part.strip() for part in " ".join(found.split()).split("→"))
        if not (rest[1:] == [] and rest[0] in menus[first] if rest and first in menus else {first, *rest} <= texts):
            wrong.append(found)
    return wrong


def keys() -> set[str]:
    """Return the keys of all actions, and those of editors."""
    return _KEYS_OF_EDITORS.union(*({entry.key, entry.letter} for _, of_menu in MENUS for entry in flat(of_menu)))


def keys_named(text: str) -> set[str]:
    """Return the keys in a text."""
    return {name for name in re.findall(r"`(.+?)`", text) if _KEY.fullmatch(name)}


def wrong_pairs(text: str, but: Collection[str] = ()) -> list[str]:
    """Return menu entries with keys in brackets that are not theirs, except for the entries in `but`."""
    right = {entry.text: entry.key or entry.letter for _, of_menu in MENUS for entry in flat(of_menu)}
    pairs = re.findall(r"\*\*(?:\w+ → )?([^*]+)\*\*\s+\(`(.+?)`\)", text)
    return [f"{name} ({key})" for name, key in pairs if name not in but and right.get(" ".join(name.split())) != key]


def num_pairs(text: str) -> int:
    """Return how many menu entries have a key in brackets."""
    return len(re.findall(r"\*\*(?:\w+ → )?[^*]+\*\*\s+\(`.+?`\)", text))
