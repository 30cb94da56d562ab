"""The store: all conversations in one SQLite database. It assigns the ids of messages.

Messages form one forest with parent links only. A conversation reaches the messages below its root and the line above
its root; a message that no conversation reaches is deleted. Messages that the user wrote are on the disk when `add`
returns, or soon after with `flush_in_background`. Streamed text is written in batches; it survives a crash of the
program, but perhaps not of the machine. While several programs have a store open, messages are added and none are
deleted.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from app.model.conversation_table import ConversationTable
from app.model.database import Database, SearchIndexError, StoreError
from app.model.flushing import Flusher
from app.model.grafts import Grafts
from app.model.history import Step, Unset
from app.model.kept_requests import Kept, KeptRequest, KeptRequests
from app.model.message import Conversation, Message, MessageId, Record, Role, State, with_error, without_tokens
from app.model.message_table import MessageTable
from app.model.preparations import Preparations
from app.model.presence import Presence
from app.model.projects import Projects
from app.model.search import Search
from app.model.trash import Trash
from worker.sentence import Sentence

P = ParamSpec("P")
R = TypeVar("R")

_TIMEOUT_MS = 1000
"""How long to wait while another program writes. The window is blocked during this time."""

TRASH_KEPT_MS = 30 * 24 * 3600 * 1000
"""Anything that has been in the trash for longer is deleted when the program starts."""
_END_OF_TIME_MS = 2**63 - 1
_OF_PROJECT = Record(is_of_project=True)


def _repairing_index(method: Callable[Concatenate[Store, P], R]) -> Callable[Concatenate[Store, P], R]:
    """If a change fails because the search index is damaged, begin it again and try again."""

    @functools.wraps(method)
    def change(store: Store, *arguments: P.args, **named: P.kwargs) -> R:
        try:
            return method(store, *arguments, **named)
        except SearchIndexError:
            store.search.begin_again()
            return method(store, *arguments, **named)

    return change


class Store:
    """One database of conversations. Operations on a single table are methods of the public tables.

    Every method, also of the tables, raises `StoreError` if the file can't be used.
    """

    def __init__(
        self,
        path: Path,
        *,
        patience_ms: int = _TIMEOUT_MS,
        read_only_because: Sentence | None = None,
        was_used: bool = False,
    ) -> None:
        """Open the database at `path`, or create it.

        `read_only_because`: why it could not be opened for writing. If given, everything that is readable is opened,
        and no error is raised. `was_used`: whether the database is known to have had conversations. Raises `LostError`
        if it has lost them.
        """
        self.path = path
        self._presence: Presence | None = None
        if read_only_because is not None:
            self._database = Database.open_read_only(path, read_only_because)
        else:
            self._database = Database.open(path, patience_ms, was_used=was_used)
            try:
                self._presence = Presence(path.with_suffix(".lock"))
            except OSError as error:
                self._database.close()
                raise StoreError(
                    Sentence(
                        "{file} can't be written ({error}). Nothing was changed. "
                        "Check that you may write to its folder, or choose another one with --data-dir.",
                        file=error.filename,
                        error=error.strerror,
                    )
                ) from error
        self.messages = MessageTable(self._database)
        self.conversations = ConversationTable(self._database)
        self.search = Search(self._database)
        self.grafts = Grafts(self._database)
        """Imports of whole conversations."""
        self.trash = Trash(self._database)
        self.preparations = Preparations(self._database, path.parent)
        """Drafts and generation settings of each conversation."""
        self.projects = Projects(self._database, path.parent)
        """The projects: instructions, files, model and sampling that the conversations of a folder share."""
        self.kept_requests = KeptRequests(self._database, self.messages, self.conversations, self.preparations)
        """Requests of other programs."""
        self.flusher: Flusher | None = None
        """Flushes changes to the disk in the background. None means that each change waits until it is on the disk."""

    def close(self) -> None:
        if self.flusher is not None:
            self.flusher.close()
        self._database.close()
        if self._presence is not None:
            self._presence.close()

    def flush_in_background(self) -> None:
        """Stop waiting for the disk. From now on, a change is on the disk after the flush that includes it."""
        self.flusher = self.messages.flusher = Flusher(self.path)
        self._database.flush_later = self.flusher.flush

    @property
    def has_conversations(self) -> bool:
        """Whether there is any conversation, the trash included."""
        return self._database.rows("SELECT EXISTS (SELECT 1 FROM conversation)") == [(1,)]

    @property
    def num_changes(self) -> int:
        """A number that grows with each successful write."""
        return self._database.num_changes

    @property
    def version_elsewhere(self) -> int:
        """A number that changes when another program, or another thread, has changed the store."""
        return self._database.version_elsewhere

    @property
    def why_read_only(self) -> Sentence | None:
        """Why nothing can be changed; None if the store can be changed."""
        return self._database.why_read_only

    def clean_up(self, interrupted: Sentence) -> bool:
        """End messages that a killed program left streaming, and empty the trash of everything old.

        Return whether this was done. Nothing is done while another program has the store open, because it may be
        streaming, or may restore from the trash.
        """
        if self._presence is None:
            return False
        with self._presence.alone() as is_alone:
            if is_alone:
                self.interrupt_streaming(interrupted)
                self._empty_trash(_now_ms() - TRASH_KEPT_MS)
        return is_alone

    # --- changes to messages -------------------------------------------------------------------------------

    @_repairing_index
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
        """Add a message, and choose it in this conversation if `is_chosen`. It is on the disk on return."""
        with self._database.durably():
            self.conversations.pin_other_views(parent_id, conversation_id if is_chosen else None)
            message = self.messages.insert(parent_id, role, text, state, record)
            if is_chosen:
                self.conversations.choose(conversation_id, {parent_id: message.id})
            self.conversations.mark_used(conversation_id, parent_id)
            return message

    def add_question(
        self,
        conversation_id: int,
        parent_id: MessageId,
        text: str,
        files: Sequence[str] = (),
        project_files: Sequence[str] = (),
    ) -> list[Message]:
        """Add a question below its files, and choose it; return the messages. They are on the disk on return.

        `project_files` are the files of the project, which are above the question's own files.
        """
        with self._database.durably():
            self.conversations.pin_other_views(parent_id, conversation_id)
            added = self._insert_question(conversation_id, parent_id, text, files, project_files)
            self.conversations.mark_used(conversation_id, parent_id)
            return added

    def _insert_question(
        self,
        conversation_id: int,
        parent_id: MessageId,
        text: str,
        files: Sequence[str],
        project_files: Sequence[str] = (),
    ) -> list[Message]:
        added: list[Message] = []
        turn: list[tuple[Role, str, Record | None]] = [
            *(("file", file, _OF_PROJECT) for file in project_files),
            *(("file", file, None) for file in files),
            ("user", text, None),
        ]
        for role, content, record in turn:
            added.append(self.messages.insert(parent_id, role, content, record=record))
            self.conversations.choose(conversation_id, {parent_id: added[-1].id})
            parent_id = added[-1].id
        return added

    @_repairing_index
    def update(self, *messages: Message) -> None:
        """Write the text, state and record of messages. The change is on the disk on return."""
        with self._database.durably():
            self.messages.write(messages)

    @_repairing_index
    def set_text(self, message_id: MessageId, text: str) -> Message:
        """Replace the text of a message, remove the tokens from its record, and return the new message.

        Raises `KeyError`.
        """
        before = self.messages.get(message_id)
        # A project's text that the user replaces is the user's own.
        record = (
            None
            if before.record is None
            else msgspec.structs.replace(without_tokens(before.record), is_of_project=False)
        )
        message = msgspec.structs.replace(before, text=text, record=record)
        self.update(message)
        return message

    @_repairing_index
    def put_back(self, conversation_id: int, step: Step) -> None:
        """Restore the tree to its state before a step. The change is on the disk on return."""
        with self._database.durably():
            self.messages.prune(step.hide)
            self.messages.prune(step.show, is_pruned=False)
            self.messages.write(step.messages)
            for message in step.messages:
                self.messages.set(message.id, "name", message.name)
                self.messages.set(message.id, "starred_ms", message.starred_ms)
                self.messages.set(message.id, "pinned_ms", message.pinned_ms)
            chosen = {parent: child for parent, child in step.choices.items() if not isinstance(child, Unset)}
            # Emptying the trash may have deleted some of them.
            there = self.messages.existing({step.root_id, *chosen, *(child for child in chosen.values() if child)})
            self.conversations.choose(
                conversation_id,
                {up: down for up, down in chosen.items() if up in there and (down is None or down in there)},
            )
            self.conversations.delete_choices(conversation_id, step.choices.keys() - chosen.keys())
            if step.root_id in there:
                self.conversations.set(conversation_id, "root_id", step.root_id)

    def interrupt_streaming(self, error: Sentence) -> int:
        """Mark the answers that a killed program left streaming as stopped; return how many there were."""
        messages = self.messages.streaming()
        if messages:
            self.update(*(_interrupted(message, error) for message in messages))
        return len(messages)

    # --- new conversations ---------------------------------------------------------------------------------

    @_repairing_index
    def create_conversation(
        self,
        name: str,
        system_prompt: str,
        first_text: str,
        model: str = "",
        files: Sequence[str] = (),
        *,
        folder: str = "",
        project_files: Sequence[str] | None = None,
    ) -> tuple[Conversation, Message]:
        """Add a conversation with its system prompt, first question and model; return it and the question.

        `files` are the texts of the messages of the role `file` above the question; those of its project are above
        them. `project_files`: None means that its folder is not a project.
        """
        with self._database.durably():
            root = self.messages.insert(None, "root", "")
            record = None if project_files is None else _OF_PROJECT
            system = self.messages.insert(root.id, "system", system_prompt, record=record)
            conversation = self.conversations.insert(name, root.id, model, folder)
            self.conversations.choose(conversation.id, {root.id: system.id})
            added = self._insert_question(conversation.id, system.id, first_text, files, project_files or ())
            return conversation, added[-1]

    def fork_conversation(self, name: str, message_id: MessageId, model: str = "", folder: str = "") -> Conversation:
        """Add a conversation that shares everything up to a message and ends there. Nothing is copied."""
        with self._database.durably():
            conversation = self.conversations.insert(name, message_id, model, folder)
            self.conversations.choose(conversation.id, {message_id: None})
            return conversation

    @_repairing_index
    def keep_request(self, request: KeptRequest, *, is_chosen: bool = True, is_whole: bool = True) -> Kept:
        """Store a request of another program; see `KeptRequests.keep`."""
        return self.kept_requests.keep(request, is_chosen=is_chosen, is_whole=is_whole)

    # --- deleting ------------------------------------------------------------------------------------------

    def empty_trash(self) -> int:
        """Permanently delete everything in the trash that no other conversation reaches; return the number of messages.

        Many messages are hidden at once and deleted later, by `Upkeep`. It also removes their traces from the search
        index, the log, the backups and the prompt cache. Raises `StoreError` if another program has the store open,
        because that program may show or restore what is in the trash.
        """
        with self._alone_to_delete():
            return self._empty_trash(_END_OF_TIME_MS)

    def delete_permanently(self, conversation_ids: Iterable[int], branch_ids: Iterable[MessageId] = ()) -> int:
        """Permanently delete these conversations and pruned branches, if they are in the trash; see `empty_trash`."""
        conversations, branches = set(conversation_ids), set(branch_ids)
        with self._alone_to_delete():
            return self._delete(
                [found for found in self.trash.conversations_before(_END_OF_TIME_MS) if found in conversations],
                [found for found in self.trash.branches_before(_END_OF_TIME_MS) if found in branches],
            )

    @contextlib.contextmanager
    def _alone_to_delete(self) -> Generator[None]:
        with contextlib.nullcontext(True) if self._presence is None else self._presence.alone() as is_alone:
            if not is_alone:
                raise StoreError(
                    Sentence(
                        "Another Bough has these conversations open, so nothing was deleted. "
                        "Close it, then empty the trash again."
                    )
                )
            yield

    def _empty_trash(self, before_ms: int) -> int:
        return self._delete(self.trash.conversations_before(before_ms), self.trash.branches_before(before_ms))

    @_repairing_index
    def _delete(self, conversation_ids: Sequence[int], branch_ids: Sequence[MessageId]) -> int:
        if not conversation_ids and not branch_ids:
            return 0
        with self._database.durably():
            return self.trash.delete(conversation_ids, branch_ids)


def _interrupted(message: Message, error: Sentence) -> Message:
    return msgspec.structs.replace(message, state="stopped", record=with_error(message.record, error))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
