"""Conversations on disk, in SQLite; it gives messages their ids and knows no window and no worker.

Messages form one forest with parent links only. A conversation reaches the messages below its root and the line
above it; a message goes when no conversation reaches it. What a person wrote is on the disk when `add` returns;
streamed text is written in batches and survives a crash of the program, if not of the machine. While several
programs have a store open, messages are added and none are taken away.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Concatenate, Literal, ParamSpec, TypeVar

import msgspec

from app.model.conversation_table import ConversationTable
from app.model.database import DamagedError, Database, SearchIndexError, StoreError
from app.model.grafts import Grafts
from app.model.history import Step, Unset
from app.model.message import Conversation, Drawn, Message, MessageId, Record, Role, State, without_tokens
from app.model.message_table import MessageTable
from app.model.preparations import Preparations
from app.model.presence import Presence
from app.model.search import NO_FILTERS, Filters, Hit, Search
from app.model.trash import Trash
from app.model.tree import Choices

P = ParamSpec("P")
R = TypeVar("R")

_PATIENCE_MS = 1000
"""How long another program may write; the window stands still meanwhile."""

TRASH_KEPT_MS = 30 * 24 * 3600 * 1000
"""So long what was thrown away can be taken back, if nobody empties the trash."""
_EVER = 2**63 - 1


def _mending(method: Callable[Concatenate[Store, P], R]) -> Callable[Concatenate[Store, P], R]:
    """Let a change not fail because of the search index, which can be made again."""

    @functools.wraps(method)
    def change(store: Store, *arguments: P.args, **named: P.kwargs) -> R:
        try:
            return method(store, *arguments, **named)
        except SearchIndexError:
            store.rebuild_search()
            return method(store, *arguments, **named)

    return change


class Store:
    """One database of conversations. Every method raises `StoreError` where the file can't be used."""

    def __init__(self, path: Path, *, patience_ms: int = _PATIENCE_MS, read_only_because: str | None = None) -> None:
        """Open the database at `path`, made anew where there is none.

        `read_only_because`: why that failed; then what can be read of it is opened, and nothing raises.
        """
        self.path = path
        self._presence: Presence | None = None
        if read_only_because is not None:
            self._database = Database.open_read_only(path, read_only_because)
        else:
            self._database = Database.open(path, patience_ms)
            try:
                self._presence = Presence(path.with_suffix(".lock"))
            except OSError as error:
                self._database.close()
                raise StoreError(
                    f"{error.filename} can't be written ({error.strerror}). Nothing was changed. "
                    "See that you may write to its folder, or name another one with --data-dir."
                ) from error
        self._messages = MessageTable(self._database)
        self._conversations = ConversationTable(self._database)
        self._search = Search(self._database)
        self.grafts = Grafts(self._database)
        """Whole conversations from elsewhere."""
        self.thrown = Trash(self._database)
        """What lies in the trash."""
        self.preparations = Preparations(self._database)
        """What was written and not sent."""

    def close(self) -> None:
        self._database.close()
        if self._presence is not None:
            self._presence.close()

    @property
    def why_read_only(self) -> str:
        """Why nothing can be changed; empty where it can."""
        return self._database.why_read_only

    def take_troubles(self) -> list[str]:
        """Return what could not be read since the last time, as sentences."""
        return self._messages.take_troubles()

    def clean_up(self, interrupted: str) -> bool:
        """End what a killed program left streaming, and empty the trash of what lay there long; whether that was done.

        Another program that has the store open may stream, and take back from the trash: then nothing is done.
        """
        if self._presence is None:
            return False
        with self._presence.alone() as is_alone:
            if is_alone:
                self.interrupt_streaming(interrupted)
                self._empty_trash(_now_ms() - TRASH_KEPT_MS)
        return is_alone

    # --- messages ------------------------------------------------------------------------------------------

    @_mending
    def add(
        self,
        conversation_id: int,
        parent_id: MessageId,
        role: Role,
        text: str,
        *,
        state: State = "complete",
        record: Record | None = None,
        is_chosen: bool = True,
    ) -> Message:
        """Add a message, chosen in this conversation, if at all; it is on the disk when this returns."""
        with self._database.durably():
            self._conversations.let_others_stay(parent_id, conversation_id if is_chosen else None)
            message = self._messages.insert(parent_id, role, text, state, record)
            if is_chosen:
                self._conversations.choose(conversation_id, {parent_id: message.id})
            self._conversations.was_used(conversation_id, parent_id)
            return message

    @_mending
    def update(self, *messages: Message) -> None:
        """Write the text, state and record of messages anew; they are on the disk when this returns."""
        with self._database.durably():
            self._messages.write(messages)

    @_mending
    def put_back(self, conversation_id: int, step: Step) -> None:
        """Make the tree again what it was before a step; on the disk when this returns."""
        with self._database.durably():
            self._messages.prune(step.hide, _now_ms())
            self._messages.prune(step.show, None)
            self._messages.write(step.messages)
            for message in step.messages:
                self._messages.set(message.id, "name", message.name)
                self._messages.set(message.id, "starred_ms", message.starred_ms)
                self._messages.set(message.id, "pinned_ms", message.pinned_ms)
            chosen = {parent: child for parent, child in step.choices.items() if not isinstance(child, Unset)}
            # The trash may have been emptied since.
            there = self._messages.present({step.root_id, *chosen, *(child for child in chosen.values() if child)})
            self._conversations.choose(
                conversation_id,
                {up: down for up, down in chosen.items() if up in there and (down is None or down in there)},
            )
            self._conversations.forget_choices(conversation_id, step.choices.keys() - chosen.keys())
            if step.root_id in there:
                self._conversations.set(conversation_id, "root_id", step.root_id)

    @_mending
    def set_text(self, message_id: MessageId, text: str) -> Message:
        """Write another text in a message's place and return it; what is known of its old one's tokens goes.

        Raises `KeyError`.
        """
        before = self.message(message_id)
        record = None if before.record is None else without_tokens(before.record)
        message = msgspec.structs.replace(before, text=text, record=record)
        self.update(message)
        return message

    def prune(self, message_ids: Iterable[MessageId], *, is_pruned: bool = True) -> None:
        """Take messages and all that stands below them out of sight, or let them be seen again.

        They go for good as the trash does. A conversation that begins further down keeps what it shows.
        """
        with self._database.durably():
            self._messages.prune(message_ids, _now_ms() if is_pruned else None)

    def append_texts(
        self, texts: Mapping[MessageId, str], drawn: Mapping[MessageId, Sequence[Drawn]] | None = None
    ) -> None:
        """Write what has streamed into messages since the last time, and of which tokens it is, where that is known."""
        self._messages.append(texts, drawn or {})

    def messages(self, conversation_id: int) -> list[Message]:
        """Return every message that the conversation shows in one of its branches, in the order of their making."""
        return self._messages.shown_by(conversation_id)

    def lineage(self, message_id: MessageId) -> list[Message]:
        """Return a message and all above it, the topmost first; nothing where there is no such message."""
        return self._messages.lineage(message_id)

    def message(self, message_id: MessageId) -> Message:
        """Return one message. Raises `KeyError`."""
        return self._messages.one(message_id)

    def star(self, message_id: MessageId, *, is_starred: bool = True) -> Message:
        """Mark a message, or take its mark away; return it. Raises `KeyError`."""
        with self._database.durably():
            self._messages.set(message_id, "starred_ms", _now_ms() if is_starred else None)
        return self.message(message_id)

    def pin_branch(self, message_id: MessageId, *, is_pinned: bool = True) -> Message:
        """Pin the branch that goes through a message there, or take the pin away; return it. Raises `KeyError`."""
        with self._database.durably():
            self._messages.set(message_id, "pinned_ms", _now_ms() if is_pinned else None)
        return self.message(message_id)

    def name_branch(self, message_id: MessageId, name: str) -> Message:
        """Call the branch that begins at this message something, or nothing; return it. Raises `KeyError`."""
        with self._database.durably():
            self._messages.set(message_id, "name", name)
        return self.message(message_id)

    def search(self, typed: str, filters: Filters = NO_FILTERS, *, limit: int = 20) -> list[Hit]:
        """Return the messages of all branches that answer what is typed, the best first."""
        try:
            return self._search.find(typed, filters, limit)
        except (SearchIndexError, DamagedError):
            # SQLite does not always say that it is the index alone.
            self.rebuild_search()
            return self._search.find(typed, filters, limit)

    def rebuild_search(self) -> None:
        """Make the search index again, from the messages."""
        self._search.rebuild()

    def interrupt_streaming(self, error: str) -> int:
        """Mark answers that a program which was killed left streaming; return how many."""
        messages = self._messages.streaming()
        if messages:
            self.update(*(_interrupted(message, error) for message in messages))
        return len(messages)

    # --- conversations -------------------------------------------------------------------------------------

    @_mending
    def create_conversation(self, name: str, system_prompt: str, first_text: str) -> tuple[Conversation, Message]:
        """Add a conversation with its system prompt and first question; return it and the question."""
        with self._database.durably():
            root = self._messages.insert(None, "root", "")
            system = self._messages.insert(root.id, "system", system_prompt)
            first = self._messages.insert(system.id, "user", first_text)
            conversation = self._conversations.insert(name, root.id)
            self._conversations.choose(conversation.id, {root.id: system.id, system.id: first.id})
            return conversation, first

    def fork_conversation(self, name: str, message_id: MessageId) -> Conversation:
        """Add a conversation that shares everything up to a message and ends there; nothing is copied."""
        with self._database.durably():
            conversation = self._conversations.insert(name, message_id)
            self._conversations.choose(conversation.id, {message_id: None})
            return conversation

    def conversations(self) -> list[Conversation]:
        """Return the conversations that are not thrown away: those pinned, the last used first, those put away."""
        return self._conversations.all()

    def trashed_conversations(self) -> list[Conversation]:
        """Return what was thrown away and can be taken back, the last used first."""
        return self._conversations.all(is_trashed=True)

    def conversation(self, conversation_id: int) -> Conversation:
        """Return a conversation that is not thrown away. Raises `KeyError`."""
        return self._conversations.one(conversation_id)

    def rename(self, conversation_id: int, name: str) -> None:
        self._set(conversation_id, "name", name)

    def pin(self, conversation_id: int, *, is_pinned: bool = True) -> None:
        """Keep a conversation at the top of the list."""
        self._set(conversation_id, "pinned_ms", _now_ms() if is_pinned else None)

    def archive(self, conversation_id: int, *, is_archived: bool = True) -> None:
        """Put a conversation out of the way, or take it out again."""
        self._set(conversation_id, "archived_ms", _now_ms() if is_archived else None)

    def put_into_folder(self, conversation_id: int, folder: str) -> None:
        """Lay a conversation into a folder, which is there as long as anything lies in it; empty: into none."""
        self._set(conversation_id, "folder", folder)

    def folders(self) -> list[str]:
        """Return the folders that anything lies in which is not thrown away."""
        return self._conversations.folders()

    def widen(self, conversation_id: int, root_id: MessageId, child_ids: Choices) -> None:
        """Let the conversation begin further up, so that a branch there becomes its own; `child_ids`: the way down."""
        with self._database.transaction():
            self._conversations.choose(conversation_id, child_ids)
            self._conversations.set(conversation_id, "root_id", root_id)

    def choices(self, conversation_id: int) -> dict[MessageId, MessageId | None]:
        """Return the chosen child of each message, as `app.model.tree.Choices` has it."""
        return self._conversations.choices(conversation_id)

    def choose(self, conversation_id: int, child_ids: Choices) -> None:
        """Remember the chosen children, by their parents."""
        with self._database.transaction():
            self._conversations.choose(conversation_id, child_ids)

    def trash(self, conversation_id: int) -> None:
        """Throw a conversation away; it can be taken back until the trash is emptied."""
        self._set(conversation_id, "trashed_ms", _now_ms())

    def restore(self, conversation_id: int) -> None:
        """Take a conversation back from the trash."""
        self._set(conversation_id, "trashed_ms", None)

    def empty_trash(self) -> int:
        """Delete what was thrown away and every message that no other conversation reaches; return their number.

        Where they are many they are out of sight at once and deleted behind; what is left of them in the search index,
        the log, the backups and of what models read goes next (`Upkeep`). Another program may show and take back what
        lies there, so where one has the store open this raises.
        """
        with self._alone_to_delete():
            return self._empty_trash(_EVER)

    def delete_for_good(self, conversation_ids: Iterable[int], branch_ids: Iterable[MessageId] = ()) -> int:
        """Delete of what lies in the trash these conversations and pruned branches; else as `empty_trash`."""
        conversations, branches = set(conversation_ids), set(branch_ids)
        with self._alone_to_delete():
            return self._delete(
                [found for found in self.thrown.conversations_before(_EVER) if found in conversations],
                [found for found in self.thrown.branches_before(_EVER) if found in branches],
            )

    @contextlib.contextmanager
    def _alone_to_delete(self) -> Generator[None]:
        with contextlib.nullcontext(True) if self._presence is None else self._presence.alone() as is_alone:
            if not is_alone:
                raise StoreError(
                    "Another Bough has these conversations open, so nothing was deleted. "
                    "Close it, then empty the trash again."
                )
            yield

    def _empty_trash(self, before_ms: int) -> int:
        return self._delete(self.thrown.conversations_before(before_ms), self.thrown.branches_before(before_ms))

    @_mending
    def _delete(self, conversation_ids: Sequence[int], branch_ids: Sequence[MessageId]) -> int:
        if not conversation_ids and not branch_ids:
            return 0
        with self._database.durably():
            return self.thrown.delete(conversation_ids, branch_ids)

    # --- inside --------------------------------------------------------------------------------------------

    def _set(
        self,
        conversation_id: int,
        column: Literal["name", "folder", "trashed_ms", "pinned_ms", "archived_ms"],
        value: str | int | None,
    ) -> None:
        with self._database.durably():
            self._conversations.set(conversation_id, column, value)


def _interrupted(message: Message, error: str) -> Message:
    record = msgspec.structs.replace(message.record or Record(), error=error, reason=None, stop=None)
    return msgspec.structs.replace(message, state="stopped", record=record)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
