"""One conversation as it is open: its tree and its choices, changed in the store first and then here; no window."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence

from app.model.message import Conversation, Message, MessageId, Record, Role, State
from app.model.store import Store
from app.model.tree import Tree


class OpenConversation:
    """What a person sees of one conversation, and how it grows. Methods that change it raise `StoreError`."""

    def __init__(self, store: Store, conversation: Conversation) -> None:
        self._store = store
        self.conversation = conversation
        self._tree = Tree(store.messages(conversation.id), conversation.root_id)
        self._choices = store.choices(conversation.id)

    @property
    def path(self) -> list[Message]:
        """The visible branch, from the root down."""
        return self._tree.path(self._choices)

    @property
    def leaf(self) -> Message:
        return self.path[-1]

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._tree

    def message(self, message_id: MessageId) -> Message:
        """Return a message that the conversation reaches. Raises `KeyError`."""
        return self._tree[message_id]

    def siblings(self, message_id: MessageId) -> Sequence[MessageId]:
        """Return the versions of a message, itself among them, oldest first."""
        return self._tree.siblings(message_id)

    def is_leaf(self, message_id: MessageId) -> bool:
        """Whether nothing stands below a message, and nothing beside this conversation depends on it."""
        return not self._tree.children(message_id) and message_id != self._tree.root_id

    def lineage(self, message_id: MessageId) -> list[Message]:
        """Return a message and all above it, from the root down."""
        return self._tree.lineage(message_id)

    def add(
        self,
        parent_id: MessageId,
        role: Role,
        text: str,
        *,
        state: State = "complete",
        record: Record | None = None,
    ) -> Message:
        """Add a message and show it."""
        self._widen_to(parent_id)
        message = self._store.add(self.conversation.id, parent_id, role, text, state=state, record=record)
        self._tree.put(message)
        self._choices[parent_id] = message.id
        return message

    def put(self, message: Message) -> None:
        """Take in a message as the store has it now."""
        if message.id in self._tree:
            self._tree.put(message)

    def choose(self, message_id: MessageId) -> None:
        """Show a message instead of its siblings."""
        parent_id = self._tree[message_id].parent_id
        if parent_id is not None:
            self._store.choose(self.conversation.id, {parent_id: message_id})
            self._choices[parent_id] = message_id

    def read_name(self) -> None:
        """Take in what the conversation is called now; one that lies in the trash keeps the name it had."""
        with contextlib.suppress(KeyError):
            self.conversation = self._store.conversation(self.conversation.id)

    def _widen_to(self, parent_id: MessageId) -> None:
        """Make sure that children of this message are this conversation's own branches."""
        line = [message.id for message in self._tree.lineage(self._tree.root_id)]
        if parent_id not in line[:-1]:
            return
        chosen = dict(itertools.pairwise(line[line.index(parent_id) :]))
        self._store.widen(self.conversation.id, parent_id, chosen)
        self.conversation = self._store.conversation(self.conversation.id)
        self._tree = Tree(self._store.messages(self.conversation.id), parent_id)
        self._choices |= chosen
