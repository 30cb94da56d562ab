"""The actions on a message, as values. Independent of the widgets that request them."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from msgspec import Struct
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from app.model.message import Message
from app.ui.menus import all_entries


class MessageAction(Enum):
    """An action of the Message menu. Each value is the name of its menu entry."""

    EDIT = "edit"
    REGENERATE = "regenerate"
    REGENERATE_WITH = "regenerate_with"
    FORK = "fork"
    CONTINUE = "continue"
    COPY = "copy"
    STAR = "star"
    PIN_BRANCH = "pin_branch"
    NAME_BRANCH = "name"
    PRUNE = "prune"
    SIDE_BY_SIDE = "side_by_side"
    COMPARE = "compare"
    KEEP_ONLY = "keep_only"
    REPLACE = "replace"


class DisplayAction(Enum):
    """An action of the Message menu that the message's view carries out itself."""

    TOGGLE_RAW = "raw"
    TOGGLE_THOUGHT = "thought"
    WALK_LINKS = "links"


class SaveVersion(Struct, frozen=True):
    """Save this text as a new sibling of the message."""

    text: str


class SaveAndContinue(Struct, frozen=True):
    """Save this text as a new sibling of an answer, and continue it."""

    text: str


class ReplaceText(Struct, frozen=True):
    """Replace the message's text."""

    text: str


class ShowSibling(Struct, frozen=True):
    """Show the next version of the message (1) or the previous version (-1)."""

    step: int


class ForkAtToken(Struct, frozen=True):
    """Start a new answer that has another token at this index, and continue it."""

    token_index: int
    token_id: int


class ContinueAfter(Struct, frozen=True):
    """Start a new answer with the first characters of this answer, this many, and continue it."""

    num_chars: int


class OpenMenu(Struct, frozen=True):
    """Open the Message menu at this global position."""

    position: QPoint
    left_out: tuple[MessageAction, ...] = ()
    """The actions whose buttons have no room below the message. The menu begins with them."""


class OpenEntry(Struct, frozen=True):
    """Do what this entry of the window's menus does. The guide's answer names it."""

    name: str


MessageRequest: TypeAlias = (
    MessageAction
    | SaveVersion
    | SaveAndContinue
    | ReplaceText
    | ShowSibling
    | ForkAtToken
    | ContinueAfter
    | OpenMenu
    | OpenEntry
)

ROW_ACTIONS = (
    MessageAction.EDIT,
    MessageAction.REGENERATE,
    MessageAction.FORK,
    MessageAction.CONTINUE,
    MessageAction.COPY,
)
"""The actions that have a button below the message."""
MARK_ACTIONS = (MessageAction.STAR, MessageAction.PIN_BRANCH)
VERSION_ACTIONS = (MessageAction.SIDE_BY_SIDE, MessageAction.COMPARE, MessageAction.KEEP_ONLY)
"""The actions that need a message with several versions."""
TREE_ACTIONS = (*MARK_ACTIONS, MessageAction.NAME_BRANCH, MessageAction.PRUNE, *VERSION_ACTIONS)
"""The actions that only change or show the tree, and need no model."""

_BY_NAME = {action.value: action for kind in (MessageAction, DisplayAction) for action in kind}
_BY_LETTER = {entry.letter: _BY_NAME[entry.name] for entry in all_entries() if entry.letter and entry.name in _BY_NAME}
LETTERS = {action: letter for letter, action in _BY_LETTER.items()}
"""The key of each action that has one: an upper-case letter or `DELETE_KEY`."""
DELETE_KEY = "Del"


def action_of_letter(letter: str) -> MessageAction | DisplayAction | None:
    """Return the action of an upper-case letter or `DELETE_KEY`, None if there is none."""
    return _BY_LETTER.get(letter)


def action_of_key(event: QKeyEvent) -> MessageAction | DisplayAction | None:
    """Return the action of a key pressed in a message, None if there is none."""
    if event.matches(QKeySequence.StandardKey.Copy):
        return MessageAction.COPY
    return action_of_letter(DELETE_KEY if event.key() == Qt.Key.Key_Delete else event.text().upper())


def row_actions(message: Message, *, can_continue: bool, is_last: bool) -> list[MessageAction]:
    """Return the actions that a message on the page offers below it."""
    if message.role == "system":
        return [MessageAction.EDIT]
    if message.role == "note":
        return [MessageAction.EDIT, MessageAction.FORK, MessageAction.COPY]
    if message.role == "file":
        return [MessageAction.COPY]
    if message.role == "user" and not is_last:
        return [MessageAction.EDIT, MessageAction.FORK, MessageAction.COPY]
    if message.role == "user" or not can_continue:
        return [MessageAction.EDIT, MessageAction.REGENERATE, MessageAction.FORK, MessageAction.COPY]
    return list(ROW_ACTIONS)
