"""An open conversation: its tree and its choices. Changes are written to the store first."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator, Iterable, Sequence

from app.model.history import UNSET, History, Step, chosen
from app.model.message import Conversation, Message, MessageId, Record, Role, State
from app.model.store import Store
from app.model.tree import Choices, Tree


class OpenConversation:
    """One conversation with its visible branch. Methods that change it raise `StoreError`."""

    def __init__(self, store: Store, conversation: Conversation, history: History | None = None) -> None:
        """`history` has the steps from the last time that the conversation was open; None means no steps."""
        self._store = store
        self.conversation = conversation
        self.history = History() if history is None else history
        self._tree = Tree(store.messages.shown_by(conversation.id), conversation.root_id)
        self._choices = store.conversations.choices(conversation.id)
        store.messages.note_lost(self._tree, self._choices)
        self._path: list[Message] | None = None
        """The visible branch; None until it is needed after a change."""
        self._step: Step | None = None
        """The step that is being recorded."""

    @property
    def path(self) -> list[Message]:
        """The visible branch, from the root down. Callers must not change it."""
        if self._path is None:
            self._path = self._tree.path(self._choices)
        return self._path

    @property
    def leaf(self) -> Message:
        return self.path[-1]

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._tree

    def message(self, message_id: MessageId) -> Message:
        """Return a message of the conversation. Raises `KeyError`."""
        return self._tree[message_id]

    def siblings(self, message_id: MessageId) -> Sequence[MessageId]:
        """Return all versions of a message, including itself, oldest first."""
        return self._tree.siblings(message_id)

    def parts(self, message_id: MessageId) -> list[Message]:
        """Return all parts of the message to which a part belongs, in their order."""
        return self._tree.parts(message_id)

    def num_messages(self, message_ids: Iterable[MessageId]) -> int:
        """Return how many of these messages are not parts of others."""
        return sum(not self._tree.is_inner(message_id) for message_id in message_ids)

    def is_leaf(self, message_id: MessageId) -> bool:
        """Return whether a message has no children and no other conversation shares it."""
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
        """Add a message and choose it."""
        self._widen_to(parent_id)
        message = self._store.add(self.conversation.id, parent_id, role, text, state=state, record=record)
        if self._step is not None:
            self._step.choices.setdefault(parent_id, chosen(self._choices, parent_id))
            self._step.hide.append(message.id)
        self._put(message)
        self._take_choices({parent_id: message.id})
        return message

    def begin_version(self, message_id: MessageId) -> MessageId:
        """Begin another version of a message with copies of its parts above this one; return the parent of the next."""
        parts = self._tree.parts(message_id)
        parent_id = parts[0].parent_id
        assert parent_id is not None
        for part in itertools.takewhile(lambda part: part.id != message_id, parts):
            parent_id = self.add(parent_id, part.role, part.text, state=part.state, record=part.record).id
        return parent_id

    def add_question(
        self, parent_id: MessageId, text: str, files: Sequence[str], project_files: Sequence[str] = ()
    ) -> Message:
        """Add a question below its files, and choose it; return the question.

        `project_files` are the files of the project, which are above the question's own files.
        """
        self._widen_to(parent_id)
        added = self._store.add_question(self.conversation.id, parent_id, text, files, project_files)
        if self._step is not None:
            # Hiding the topmost message hides all.
            self._step.choices.setdefault(parent_id, chosen(self._choices, parent_id))
            self._step.hide.append(added[0].id)
        for message in added:
            self._put(message)
            assert message.parent_id is not None
            self._take_choices({message.parent_id: message.id})
        return added[-1]

    def count_as_added(self, question: Message) -> None:
        """Add the first question of the conversation to the current step, so that undoing it removes it."""
        assert self._step is not None
        line = self.lineage(question.id)
        message = next(message for message in line if message.role not in {"root", "system"})
        assert message.parent_id is not None
        self._step.choices[message.parent_id] = UNSET
        self._step.hide.append(message.id)

    def change(self, message: Message) -> None:
        """Change the text, state or record of a message."""
        self._remember(message.id)
        self._store.update(message)
        self._put(message)

    def set_text(self, message_id: MessageId, text: str) -> None:
        """Replace the text of a message; the messages below it stay."""
        self._remember(message_id)
        self._put(self._store.set_text(message_id, text))

    def put(self, message: Message) -> None:
        """Update the tree with a message that was stored elsewhere."""
        self._put(message)

    def take(self, messages: Sequence[Message], choices: Choices) -> None:
        """Update the tree with messages that were stored elsewhere, and show those that were chosen there."""
        for message in messages:
            self._tree.put(message)
        self._take_choices(choices)

    def take_added(self, message_ids: Sequence[MessageId]) -> None:
        """Update the tree with messages that another program has added below it, oldest first.

        The visible branch stays, but may grow at its end.
        """
        shown = {upper.id: lower.id for upper, lower in itertools.pairwise(self.path)}
        chosen_there = self._store.conversations.choices(self.conversation.id)
        messages = [self._store.messages.get(message_id) for message_id in message_ids]
        parents = {message.parent_id for message in messages if message.parent_id is not None}
        there = {parent_id: chosen_there[parent_id] for parent_id in parents & chosen_there.keys()}
        self.take(messages, there | {parent_id: shown[parent_id] for parent_id in parents & shown.keys()})

    def read(self) -> None:
        """Read the whole conversation from the store again, because it was changed elsewhere. Raises `KeyError`."""
        self._read()

    def choose(self, message_id: MessageId) -> None:
        """Show a message instead of its siblings."""
        parent_id = self._tree[message_id].parent_id
        if parent_id is not None:
            self._store.conversations.choose(self.conversation.id, {parent_id: message_id})
            self._take_choices({parent_id: message_id})

    def read_name(self) -> None:
        """Update the name of the conversation from the store, unless it is in the trash."""
        with contextlib.suppress(KeyError):
            self.conversation = self._store.conversations.get(self.conversation.id)

    def star(self, message_id: MessageId, *, is_starred: bool) -> None:
        self._remember(message_id)
        self._put(self._store.messages.star(message_id, is_starred=is_starred))

    def pin_branch(self, message_id: MessageId, *, is_pinned: bool) -> None:
        self._remember(message_id)
        self._put(self._store.messages.pin_branch(message_id, is_pinned=is_pinned))

    def name_branch(self, message_id: MessageId, name: str) -> None:
        """Name the branch that begins at a message; an empty name removes the name."""
        self._remember(message_id)
        self._put(self._store.messages.name_branch(message_id, name))

    def prune(self, message_ids: Sequence[MessageId]) -> None:
        """Hide siblings and everything below them, and show the nearest sibling before them."""
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
        """Return the ids of a message and everything below it."""
        return self._tree.below(message_id)

    @property
    def tree(self) -> Tree:
        """All branches. Callers must not change it."""
        return self._tree

    @property
    def pinned(self) -> list[Message]:
        """The messages at which branches are pinned, in the order of pinning."""
        found = ((message.pinned_ms, message.id) for message in self._tree.messages if message.pinned_ms is not None)
        return [self._tree[message_id] for _, message_id in sorted(found)]

    def branch_through(self, message_id: MessageId) -> list[Message]:
        """Return the branch through a message that `go_to` would show."""
        line = [message.id for message in self._tree.lineage(message_id)]
        return self._tree.path({**self._choices, **dict(itertools.pairwise(line))})

    @property
    def choices(self) -> Choices:
        """The chosen child of each message. Callers must not change it."""
        return self._choices

    # --- undo and redo -------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def step(self, name: str) -> Generator[None]:
        """Record all changes inside as one step to undo."""
        step = self._step = Step(name, self.conversation.root_id)
        try:
            yield
        finally:
            # After a failure, the changes before it can be undone, too.
            self._step = None
            if not step.is_empty:
                self.history.add(step)

    def undo(self) -> MessageId | None:
        """Undo the last step; return the id of a changed message, which is now visible, or None if there is no step."""
        step = self.history.to_undo
        if step is None:
            return None
        redo = self._put_back(step)
        self.history.undone(redo)
        return self._reveal(step)

    def redo(self) -> MessageId | None:
        """Redo the last undone step. Returns the same as `undo`."""
        step = self.history.to_redo
        if step is None:
            return None
        undo = self._put_back(step)
        self.history.redone(undo)
        return self._reveal(step)

    def go_to(self, message_id: MessageId) -> None:
        """Show the branch through a message."""
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
        """Restore the tree as it was before a step; return the opposite step."""
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
        """Read the whole conversation from the store again."""
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

    def _reveal(self, step: Step) -> MessageId:
        """Make a message that a step changed visible; return its id."""
        changed = [*step.show, *(message.id for message in step.messages)]
        around = [child if isinstance(child, int) else parent for parent, child in step.choices.items()]
        place = next((found for found in (*changed, *around) if found in self._tree), self._tree.root_id)
        self.go_to(place)
        return place

    def _widen_to(self, parent_id: MessageId) -> None:
        """If a message is above the root, make it the root, so that its children are branches of this conversation."""
        line = [message.id for message in self._tree.lineage(self._tree.root_id)]
        if parent_id not in line[:-1]:
            return
        chosen = dict(itertools.pairwise(line[line.index(parent_id) :]))
        self._store.conversations.widen(self.conversation.id, parent_id, chosen)
        self.conversation = self._store.conversations.get(self.conversation.id)
        self._tree = Tree(self._store.messages.shown_by(self.conversation.id), parent_id)
        self._take_choices(chosen)
