"""What of a conversation is exported: a branch, a selection, or its whole tree; it knows no format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from app.model.message import Conversation, Message, MessageId
from app.model.store import Store
from app.model.tree import Choices, Tree

Scheme: TypeAlias = Literal["light", "dark", "both"]


class Options(Struct, frozen=True, kw_only=True):
    """What a reader is to see. Formats that bring a conversation back (`.bough`) leave nothing out."""

    reasoning: bool = True
    system_prompts: bool = True
    statistics: bool = False
    """The model's settings, seed, tokens and times of each answer."""
    scheme: Scheme = "both"
    """Colours; `both` follows the reader's system, where the format can."""


class Section(NamedTuple):
    """A stretch of messages, each the parent of the next one; `parent_id`: what the first of them answers."""

    parent_id: MessageId | None
    messages: list[Message]


class Excerpt:
    """Messages of one conversation, parents first. Each is exported once, however many branches it is part of."""

    def __init__(
        self, conversation: Conversation, messages: Collection[Message], choices: Choices, path: Sequence[Message]
    ) -> None:
        """`messages`: some of the conversation's; one whose parent is not among them stands at the top.

        `path`: those of them that the conversation shows, from the top down.
        """
        self.conversation = conversation
        self.messages = sorted(messages, key=lambda message: message.id)
        self.choices = choices
        self.tree = Tree(self.messages, conversation.root_id)
        self.path = [message for message in path if message.role != "root"]
        """The branch that the conversation shows, as far as it is exported, without its root."""

    @cached_property
    def tops(self) -> list[MessageId]:
        """The messages without a parent here."""
        return [message.id for message in self.messages if message.parent_id not in self.tree]

    @cached_property
    def leaves(self) -> list[MessageId]:
        """The ends of all branches, oldest first."""
        return [message.id for message in self.messages if not self.tree.children(message.id)]

    def sections(self) -> Iterator[Section]:
        """Yield the branch that is shown, then what parts from it, and so on; each message once, the root never."""
        shown = {message.id for message in self.path}
        told: set[MessageId] = set()
        # What is shown goes first; the others as they were made.
        waiting = sorted(self.tops, key=lambda top: (self._shows_below(top, shown), -top))
        while waiting:
            current = waiting.pop()
            line = [self.tree[current]]
            told.add(current)
            while children := [child for child in self.tree.children(current) if child not in told]:
                current = next((child for child in children if child in shown), children[-1])
                told.add(current)
                line.append(self.tree[current])
            # Pushed from the lowest up, so that what parts first is told first, the older before the younger.
            for message in reversed(line):
                waiting += [child for child in reversed(self.tree.children(message.id)) if child not in told]
            if said := [message for message in line if message.role != "root"]:
                yield Section(self._parent_of(said[0]), said)

    def _shows_below(self, top: MessageId, shown: set[MessageId]) -> bool:
        return top in shown or any(child in shown for child in self.tree.children(top))

    def _parent_of(self, message: Message) -> MessageId | None:
        parent_id = message.parent_id
        if parent_id is None or parent_id not in self.tree or self.tree[parent_id].role == "root":
            return None
        return parent_id


def whole_tree(store: Store, conversation_id: int) -> Excerpt:
    """Return all of a conversation. Raises `KeyError`."""
    conversation = store.conversations.get(conversation_id)
    messages, choices = store.messages.shown_by(conversation_id), store.conversations.choices(conversation_id)
    return Excerpt(conversation, messages, choices, Tree(messages, conversation.root_id).path(choices))


def branch(store: Store, conversation_id: int, leaf_id: MessageId | None = None) -> Excerpt:
    """Return the branch that ends in `leaf_id`, else the one that the conversation shows. Raises `KeyError`."""
    whole = whole_tree(store, conversation_id)
    line = whole.tree.path(whole.choices) if leaf_id is None else whole.tree.lineage(whole.tree[leaf_id].id)
    return _under_its_top(whole, line, line)


def selection(store: Store, conversation_id: int, message_ids: Collection[MessageId]) -> Excerpt:
    """Return some messages; the parent of each is the next one above it that is among them."""
    whole = whole_tree(store, conversation_id)
    chosen = set(message_ids) | {message.id for message in whole.messages if message.role == "root"}
    nearest: dict[MessageId | None, MessageId | None] = {None: None}
    kept: dict[MessageId, Message] = {}
    for message in whole.messages:
        parent_id = nearest.get(message.parent_id)
        nearest[message.id] = message.id if message.id in chosen else parent_id
        if message.id in chosen:
            kept[message.id] = msgspec.structs.replace(message, parent_id=parent_id)
    path = [kept[message.id] for message in whole.path if message.id in kept]
    return _under_its_top(whole, list(kept.values()), path)


def _under_its_top(whole: Excerpt, messages: Collection[Message], path: Sequence[Message]) -> Excerpt:
    """Let the conversation begin at its topmost message, and choose what of its branch is there."""
    root_id = min((message.id for message in messages), default=whole.conversation.root_id)
    conversation = msgspec.structs.replace(whole.conversation, root_id=root_id)
    choices = {message.parent_id: message.id for message in path if message.parent_id is not None}
    return Excerpt(conversation, messages, choices, path)
