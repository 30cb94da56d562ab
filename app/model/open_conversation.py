"""One conversation as it is open: its tree and its choices, changed in the store first and then here; no window."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator, Sequence

from app.model.history import UNSET, History, Step, chosen
from app.model.message import Conversation, Message, MessageId, Record, Role, State
from app.model.store import Store
from app.model.tree import Choices, Tree


class OpenConversation:
    """What a person sees of one conversation, and how it grows. Methods that change it raise `StoreError`."""

    def __init__(self, store: Store, conversation: Conversation, history: History | None = None) -> None:
        """`history`: what was done in it while it was open before."""
        self._store = store
        self.conversation = conversation
        self.history = History() if history is None else history
        self._tree = Tree(store.messages.shown_by(conversation.id), conversation.root_id)
        self._choices = store.conversations.choices(conversation.id)
        self._path: list[Message] | None = None
        """The visible branch, once somebody has asked for it since it changed."""
        self._step: Step | None = None
        """What is being done now, as what will undo it."""

    @property
    def path(self) -> list[Message]:
        """The visible branch, from the root down; to be read, never changed."""
        if self._path is None:
            self._path = self._tree.path(self._choices)
        return self._path

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
        if self._step is not None:
            self._step.choices.setdefault(parent_id, chosen(self._choices, parent_id))
            self._step.hide.append(message.id)
        self._put(message)
        self._take_choices({parent_id: message.id})
        return message

    def count_as_added(self, message: Message) -> None:
        """Let a message that the conversation began with be taken back with the present step."""
        assert self._step is not None
        assert message.parent_id is not None
        self._step.choices[message.parent_id] = UNSET
        self._step.hide.append(message.id)

    def change(self, message: Message) -> None:
        """Put another text, state or record in a message's place."""
        self._remember(message.id)
        self._store.update(message)
        self._put(message)

    def set_text(self, message_id: MessageId, text: str) -> None:
        """Put another text in a message's place; what stands below it stays."""
        self._remember(message_id)
        self._put(self._store.set_text(message_id, text))

    def put(self, message: Message) -> None:
        """Take in a message as the store has it now."""
        self._put(message)

    def choose(self, message_id: MessageId) -> None:
        """Show a message instead of its siblings."""
        parent_id = self._tree[message_id].parent_id
        if parent_id is not None:
            self._store.conversations.choose(self.conversation.id, {parent_id: message_id})
            self._take_choices({parent_id: message_id})

    def read_name(self) -> None:
        """Take in what the conversation is called now; one that lies in the trash keeps the name it had."""
        with contextlib.suppress(KeyError):
            self.conversation = self._store.conversations.get(self.conversation.id)

    def star(self, message_id: MessageId, *, is_starred: bool) -> None:
        self._remember(message_id)
        self._put(self._store.messages.star(message_id, is_starred=is_starred))

    def pin_branch(self, message_id: MessageId, *, is_pinned: bool) -> None:
        self._remember(message_id)
        self._put(self._store.messages.pin_branch(message_id, is_pinned=is_pinned))

    def name_branch(self, message_id: MessageId, name: str) -> None:
        """Call the branch that begins at a message something; an empty name is none."""
        self._remember(message_id)
        self._put(self._store.messages.name_branch(message_id, name))

    def prune(self, message_ids: Sequence[MessageId]) -> None:
        """Take siblings and all that stands below them out of sight; the nearest one before them is shown instead."""
        parent_id = self._tree[message_ids[0]].parent_id
        assert parent_id is not None
        siblings = self._tree.siblings(message_ids[0])
        kept = [sibling for sibling in siblings if sibling not in message_ids]
        was_chosen = chosen(self._choices, parent_id)
        self._store.messages.prune(message_ids)
        if self._step is not None:
            self._step.show += message_ids
        self._read()
        if kept and was_chosen in message_ids:
            before = [sibling for sibling in kept if sibling < min(message_ids)]
            if self._step is not None:
                self._step.choices.setdefault(parent_id, was_chosen)
            self.choose(before[-1] if before else kept[0])

    def below(self, message_id: MessageId) -> list[MessageId]:
        """Return a message and all that stands below it."""
        return self._tree.below(message_id)

    @property
    def tree(self) -> Tree:
        """All branches; to be read, never changed."""
        return self._tree

    @property
    def pinned(self) -> list[Message]:
        """The messages at which branches are pinned, in the order in which they were."""
        found = ((message.pinned_ms, message.id) for message in self._tree.messages if message.pinned_ms is not None)
        return [self._tree[message_id] for _, message_id in sorted(found)]

    def branch_through(self, message_id: MessageId) -> list[Message]:
        """Return the branch that a message lies on, as going there would show it."""
        line = [message.id for message in self._tree.lineage(message_id)]
        return self._tree.path({**self._choices, **dict(itertools.pairwise(line))})

    @property
    def choices(self) -> Choices:
        """The chosen child of each message; to be read, never changed."""
        return self._choices

    # --- to and fro ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def step(self, name: str) -> Generator[None]:
        """Remember what changes meanwhile as one thing that can be undone."""
        step = self._step = Step(name, self.conversation.root_id)
        try:
            yield
        finally:
            # What was done before it failed can be undone, too.
            self._step = None
            if not step.is_empty:
                self.history.add(step)

    def undo(self) -> MessageId | None:
        """Take back what was done last, and show the place; return it, if there was anything."""
        step = self.history.to_undo
        if step is None:
            return None
        redo = self._put_back(step)
        self.history.undone(redo)
        return self._show_place_of(step)

    def redo(self) -> MessageId | None:
        """Do again what was undone last, and show the place; return it, if there was anything."""
        step = self.history.to_redo
        if step is None:
            return None
        undo = self._put_back(step)
        self.history.redone(undo)
        return self._show_place_of(step)

    def go_to(self, message_id: MessageId) -> None:
        """Show the branch that a message lies on."""
        line = [message.id for message in self._tree.lineage(message_id)]
        wanted = {upper: lower for upper, lower in itertools.pairwise(line) if self._choices.get(upper) != lower}
        visible = {message.id for message in self.path}
        if not visible.issuperset(line):
            self._store.conversations.choose(self.conversation.id, wanted)
            self._take_choices(wanted)

    def _remember(self, message_id: MessageId) -> None:
        if self._step is not None and all(message.id != message_id for message in self._step.messages):
            self._step.messages.append(self._tree[message_id])

    def _put_back(self, step: Step) -> Step:
        """Make the tree what it was before a step; return the step back from there."""
        back = Step(
            step.name,
            self.conversation.root_id,
            hide=step.show,
            show=step.hide,
            messages=[self._store.messages.get(message.id) for message in step.messages],
            choices={parent_id: chosen(self._choices, parent_id) for parent_id in step.choices},
        )
        self._store.put_back(self.conversation.id, step)
        self._read()
        return back

    def _read(self) -> None:
        """Take in what the store has now."""
        self.conversation = self._store.conversations.get(self.conversation.id)
        self._tree = Tree(self._store.messages.shown_by(self.conversation.id), self.conversation.root_id)
        self._choices = self._store.conversations.choices(self.conversation.id)
        self._path = None

    def _put(self, message: Message) -> None:
        self._tree.put(message)
        self._path = None

    def _take_choices(self, choices: Choices) -> None:
        self._choices |= choices
        self._path = None

    def _show_place_of(self, step: Step) -> MessageId:
        """Let the place be visible where a step changed something; return it."""
        changed = [*step.show, *(message.id for message in step.messages)]
        around = [child if isinstance(child, int) else parent for parent, child in step.choices.items()]
        place = next((found for found in (*changed, *around) if found in self._tree), self._tree.root_id)
        self.go_to(place)
        return place

    def _widen_to(self, parent_id: MessageId) -> None:
        """Make sure that children of this message are this conversation's own branches."""
        line = [message.id for message in self._tree.lineage(self._tree.root_id)]
        if parent_id not in line[:-1]:
            return
        chosen = dict(itertools.pairwise(line[line.index(parent_id) :]))
        self._store.conversations.widen(self.conversation.id, parent_id, chosen)
        self.conversation = self._store.conversations.get(self.conversation.id)
        self._tree = Tree(self._store.messages.shown_by(self.conversation.id), parent_id)
        self._take_choices(chosen)
