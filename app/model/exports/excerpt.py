"""The part of a conversation that is exported: a branch, a selection, or its whole tree. Independent of the format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from app.model.local_paths import folders_of, shareable, shareable_conversation, shareable_project
from app.model.message import Conversation, Message, MessageId
from app.model.project import Project
from app.model.sources import Origin
from app.model.store import Store
from app.model.tree import Choices, Tree
from worker.sentence import Sentence

Scheme: TypeAlias = Literal["light", "dark", "both"]
RecordKind: TypeAlias = Literal["chat", "completion", "preference"]
"""The lines of a folder for training. `chat`: branches; `completion`: branches whose last answer is separate;
`preference`: the shown answer and another one to the same question."""


class Options(Struct, frozen=True, kw_only=True):
    """Options of an export; `.bough` ignores them, since it leaves nothing out."""

    reasoning: bool = True
    system_prompts: bool = True
    statistics: bool = False
    """Whether answers have a line with their settings, seed, token counts and times."""
    scheme: Scheme = "both"
    """The colours of HTML; `both` follows the reader's system."""
    records: RecordKind = "chat"
    language: str = ""
    """The user's language as a tag (BCP 47), which most texts have; empty means English."""


class Section(NamedTuple):
    """Messages of which each is the parent of the next; `parent_id` is the parent of the first."""

    parent_id: MessageId | None
    messages: list[Message]


class Excerpt:
    """The messages of one conversation that are exported. A message in several branches is exported once.

    No format gets a folder of this computer: models, hooks and files have their names alone (see `local_paths`).
    """

    def __init__(
        self,
        conversation: Conversation,
        messages: Collection[Message],
        choices: Choices,
        path: Sequence[Message],
        project: Project | None = None,
        problems: Sequence[Sentence] = (),
        origin: Origin | None = None,
    ) -> None:
        """`messages` without a parent among them are at the top. `path`: the visible messages, from the top.

        `project` is that of the conversation's folder; None if the folder is not a project. `problems` say what is
        missing in the whole conversation because the store is damaged.
        """
        self.conversation = shareable_conversation(conversation)
        self.project = None if project is None else shareable_project(project)
        self.origin = origin
        """Where the conversation comes from; None if it was not imported from another program's file."""
        self.problems = tuple(problems)
        models = {message.record.model for message in messages if message.record is not None}
        folders = folders_of({conversation.model, *models})
        self.messages = [shareable(message, folders) for message in sorted(messages, key=lambda message: message.id)]
        self.choices = choices
        self.tree = Tree(self.messages, conversation.root_id)
        self.path = [self.tree[message.id] for message in path if message.role != "root"]
        """The exported messages of the visible branch, without the root."""

    @property
    def gaps(self) -> Sentence | None:
        """A sentence that the excerpt may lack messages because the store is damaged; None if nothing is damaged."""
        if not self.problems:
            return None
        name, problem, num_more = self.conversation.name, self.problems[0], len(self.problems) - 1
        if num_more:
            return Sentence(
                "The export of “{name}” may have gaps. {problem} Other messages with similar problems: {num_more}.",
                name=name,
                problem=problem,
                num_more=num_more,
            )
        return Sentence("The export of “{name}” may have gaps. {problem}", name=name, problem=problem)

    @cached_property
    def tops(self) -> list[MessageId]:
        """The messages whose parents are not exported."""
        return [message.id for message in self.messages if message.parent_id not in self.tree]

    @cached_property
    def leaves(self) -> list[MessageId]:
        """The ends of all branches, oldest first."""
        return [message.id for message in self.messages if not self.tree.children(message.id)]

    def sections(self) -> Iterator[Section]:
        """Yield the visible branch, then the branches that fork from it, and so on. Each message is in one section."""
        shown = {message.id for message in self.path}
        done: set[MessageId] = set()
        # The visible branch comes first, then the others by age.
        pending = sorted(self.tops, key=lambda top: (self._leads_to(top, shown), -top))
        while pending:
            current = pending.pop()
            line = [self.tree[current]]
            done.add(current)
            while children := [child for child in self.tree.children(current) if child not in done]:
                current = next((child for child in children if child in shown), children[-1])
                done.add(current)
                line.append(self.tree[current])
            # Pushed from the lowest fork up, so that the highest fork comes next, and its older branch first.
            for message in reversed(line):
                pending += [child for child in reversed(self.tree.children(message.id)) if child not in done]
            if section := [message for message in line if message.role != "root"]:
                yield Section(self._parent_of(section[0]), section)

    def _leads_to(self, top: MessageId, shown: set[MessageId]) -> bool:
        return top in shown or any(child in shown for child in self.tree.children(top))

    def _parent_of(self, message: Message) -> MessageId | None:
        parent_id = message.parent_id
        if parent_id is None or parent_id not in self.tree or self.tree[parent_id].role == "root":
            return None
        return parent_id


def whole_tree(store: Store, conversation_id: int) -> Excerpt:
    """Return a whole conversation. Raises `KeyError`."""
    conversation = store.conversations.get(conversation_id)
    messages, choices = store.messages.shown_by(conversation_id), store.conversations.choices(conversation_id)
    project = store.projects.get(conversation.folder)
    tree = Tree(messages, conversation.root_id)
    store.messages.note_lost(tree, choices)
    origin = store.grafts.sources.origin(conversation_id, tree)
    return Excerpt(conversation, messages, choices, tree.path(choices), project, store.messages.take_problems(), origin)


def branch(store: Store, conversation_id: int, leaf_id: MessageId | None = None) -> Excerpt:
    """Return the branch that ends at `leaf_id`, or the visible branch. Raises `KeyError`."""
    whole = whole_tree(store, conversation_id)
    line = whole.tree.path(whole.choices) if leaf_id is None else whole.tree.lineage(whole.tree[leaf_id].id)
    return _at_top(whole, line, line)


def selection(store: Store, conversation_id: int, message_ids: Collection[MessageId]) -> Excerpt:
    """Return selected messages. The parent of each is its nearest selected ancestor. Raises `KeyError`."""
    whole = whole_tree(store, conversation_id)
    chosen = set(message_ids) | {message.id for message in whole.messages if message.role == "root"}
    nearest: dict[MessageId | None, MessageId | None] = {None: None}
    kept: dict[MessageId, Message] = {}
    for message in whole.messages:
        parent_id = nearest.get(message.parent_id)
        nearest[message.id] = message.id if message.id in chosen else parent_id
        if message.id in chosen:
            kept[message.id] = _below(message, parent_id)
    path = [kept[message.id] for message in whole.path if message.id in kept]
    return _at_top(whole, list(kept.values()), path)


def _below(message: Message, parent_id: MessageId | None) -> Message:
    """Return a copy of a message with another parent, of which it is not a part."""
    record = message.record
    if parent_id != message.parent_id and record is not None and record.is_part:
        record = msgspec.structs.replace(record, is_part=False)
    return msgspec.structs.replace(message, parent_id=parent_id, record=record)


def _at_top(whole: Excerpt, messages: Collection[Message], path: Sequence[Message]) -> Excerpt:
    """Return an excerpt whose root is its first message, with the choices that show `path`."""
    root_id = min((message.id for message in messages), default=whole.conversation.root_id)
    conversation = msgspec.structs.replace(whole.conversation, root_id=root_id)
    choices = {message.parent_id: message.id for message in path if message.parent_id is not None}
    origin = whole.origin and whole.origin.among({message.id for message in messages})
    return Excerpt(conversation, messages, choices, path, whole.project, whole.problems, origin)
