"""The messages that one conversation reaches, as a tree. Every method ends, even with orphans and cycles."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import structs

from app.model.message import Message, MessageId, is_part

Choices: TypeAlias = Mapping[MessageId, MessageId | None]
"""The chosen child of each message, by the parent's id. None means that the branch ends there despite children."""


class Tree:
    """Messages by id, with children derived from the parent links, oldest first.

    The conversation's own part begins at `root_id`. The messages above it are a shared past, without siblings.
    """

    def __init__(self, messages: Iterable[Message], root_id: MessageId) -> None:
        self.root_id = root_id
        self._messages: dict[MessageId, Message] = {}
        self._children: dict[MessageId, list[MessageId]] = {}
        for message in sorted(messages, key=lambda message: message.id):
            self.put(message)
        self._shared = frozenset(message.id for message in self.lineage(root_id)) | {root_id}
        """The root and all messages above it."""

    def __getitem__(self, message_id: MessageId) -> Message:
        return self._messages[message_id]

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._messages

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> Iterable[Message]:
        """All messages, in no particular order."""
        return self._messages.values()

    def put(self, message: Message) -> None:
        """Add a message below the root, or replace the one with its id."""
        is_new = message.id not in self._messages
        self._messages[message.id] = message
        if is_new and message.parent_id is not None:
            # An older message may arrive late, from another window.
            bisect.insort(self._children.setdefault(message.parent_id, []), message.id)

    def below(self, message_id: MessageId) -> list[MessageId]:
        """Return the ids of a message and all its descendants."""
        found = [message_id]
        seen = {message_id}
        for upper in found:
            new = [child for child in self.children(upper) if child not in seen]
            seen.update(new)
            found += new
        return found

    def children(self, message_id: MessageId) -> Sequence[MessageId]:
        """Return the ids of a message's children, oldest first."""
        return self._children.get(message_id, ())

    def siblings(self, message_id: MessageId) -> Sequence[MessageId]:
        """Return the ids of a message and its siblings, oldest first. A message of the shared past has no siblings."""
        parent_id = self._messages[message_id].parent_id
        if parent_id is None or message_id in self._shared:
            return (message_id,)
        return self.children(parent_id)

    def lineage(self, message_id: MessageId) -> list[Message]:
        """Return the messages from the topmost known ancestor down to this one."""
        line: list[Message] = []
        seen: set[MessageId] = set()
        current: MessageId | None = message_id
        while current is not None and current in self._messages and current not in seen:
            seen.add(current)
            message = self._messages[current]
            line.append(message)
            current = message.parent_id
        line.reverse()
        return line

    def is_inner(self, message_id: MessageId) -> bool:
        """Return whether a message is a part of the one above it. A message that forks inside ends where it forks."""
        message = self._messages[message_id]
        above = self._messages.get(message.parent_id or 0)
        return is_part(message) and above is not None and above.role != "root" and len(self.children(above.id)) == 1

    def first_part(self, message_id: MessageId) -> MessageId:
        """Return the first part of the message to which a part belongs; most messages are their own only part."""
        seen: set[MessageId] = set()
        while message_id not in seen and self.is_inner(message_id):
            seen.add(message_id)
            message_id = self._messages[message_id].parent_id or message_id
        return message_id

    def parts(self, message_id: MessageId) -> list[Message]:
        """Return all parts of the message to which a part belongs, in their order."""
        found = [self._messages[self.first_part(message_id)]]
        seen = {found[0].id}
        while (below := self.children(found[-1].id)) and below[0] not in seen and self.is_inner(below[0]):
            seen.add(below[0])
            found.append(self._messages[below[0]])
        return found

    def without_parts(self, choices: Choices) -> tuple[Tree, Choices]:
        """Return this tree and its choices with one node for each message, which is the first of its parts."""
        first: dict[MessageId, MessageId] = {}
        for message_id in sorted(filter(self.is_inner, self._messages)):
            above = self._messages[message_id].parent_id
            first[message_id] = first[above] if above in first else self.first_part(message_id)
        parts = {message_id for message_id, found in first.items() if found != message_id}
        if not parts:
            return self, choices
        whole = Tree(
            (
                structs.replace(message, parent_id=first.get(message.parent_id or 0, message.parent_id))
                for message in self._messages.values()
                if message.id not in parts
            ),
            first.get(self.root_id, self.root_id),
        )
        return whole, {first.get(upper, upper): lower for upper, lower in choices.items() if lower not in parts}

    def path(self, choices: Choices) -> list[Message]:
        """Return the visible branch:

        the lineage of the root, then the chosen (otherwise newest) child of each message.
        """
        line = self.lineage(self.root_id)
        seen = set(self._shared)
        current = self.root_id
        while children := [child for child in self.children(current) if child not in seen]:
            chosen = choices.get(current, children[-1])
            if chosen is None:
                break
            current = chosen if chosen in children else children[-1]
            seen.add(current)
            line.append(self._messages[current])
        return line
