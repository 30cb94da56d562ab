"""Conversations on disk, in SQLite; it gives messages their ids and knows no window and no worker.

Messages form one forest with parent links only. A conversation reaches the messages below its root and the line
above it; a message goes when no conversation reaches it. What a person wrote is on the disk when `add` returns;
streamed text is written in batches and survives a crash of the program, if not of the machine. While several
programs have a store open, messages are added and none are taken away. A message that can't be read is set aside: it
is shown as such and left as it is, and all others are read.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import msgspec

from app.model.database import DamagedError, Database, SearchIndexError, StoreError
from app.model.grafts import Grafts
from app.model.history import Step, Unset
from app.model.message import Conversation, Drawn, Message, MessageId, Record, Role, State, without_tokens
from app.model.pieces import Grown, Pieces
from app.model.preparations import Preparations
from app.model.presence import Presence
from app.model.reach import in_sight
from app.model.rows import COLUMNS, CONVERSATION_COLUMNS, conversations_in, encoded, message_in, unreadable
from app.model.search import NO_FILTERS, Filters, Hit, Search
from app.model.trash import Trash
from app.model.tree import Choices, Tree
from app.model.words import indexed

P = ParamSpec("P")
R = TypeVar("R")

_PATIENCE_MS = 1000
"""How long another program may write; the window stands still meanwhile."""

TRASH_KEPT_MS = 30 * 24 * 3600 * 1000
"""So long what was thrown away can be taken back, if nobody empties the trash."""

_CONVERSATION = f"SELECT {CONVERSATION_COLUMNS} FROM conversation"
_CONVERSATION_ORDER = "ORDER BY archived_ms IS NOT NULL, pinned_ms IS NULL, updated_ms DESC, id DESC"

# Conversations other than ?2 that could choose below ?1 and have not (or chose what was pruned since) keep what they
# show there: the newest, or nothing.
_PIN_OTHERS = """
WITH RECURSIVE line (id) AS (
    SELECT ?1
    UNION SELECT message.parent_id FROM message JOIN line USING (id) WHERE message.parent_id IS NOT NULL
)
INSERT INTO choice
SELECT conversation.id, ?1, (SELECT max(id) FROM message WHERE parent_id = ?1 AND pruned_ms IS NULL)
FROM conversation JOIN line ON line.id = root_id WHERE conversation.id IS NOT ?2
ON CONFLICT (conversation_id, parent_id) DO UPDATE SET child_id = excluded.child_id
WHERE child_id IN (SELECT id FROM message WHERE parent_id = ?1 AND pruned_ms IS NOT NULL)
"""

# What is written in is no trash, even if another program threw it away.
_BRING_TO_SIGHT = """
WITH RECURSIVE
root (id) AS (SELECT root_id FROM conversation WHERE id = ?2),
line (id) AS (
    SELECT ?1
    UNION SELECT message.parent_id FROM message JOIN line USING (id)
    WHERE message.parent_id IS NOT NULL AND message.id NOT IN (SELECT id FROM root)
)
UPDATE message SET pruned_ms = NULL
WHERE pruned_ms > 0 AND id IN (SELECT id FROM line) AND id NOT IN (SELECT id FROM root)
"""

_REBUILD = "INSERT INTO message_text (message_text) VALUES ('rebuild')"

_CHOOSE = (
    "INSERT INTO choice VALUES (?, ?, ?) ON CONFLICT (conversation_id, parent_id) DO UPDATE SET child_id = "
    "excluded.child_id"
)


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
        self._troubles: list[str] = []
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
        self._search = Search(self._database)
        self._pieces = Pieces(self._database)
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
        troubles, self._troubles = self._troubles, []
        return troubles

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
            self._database.write(_PIN_OTHERS, (parent_id, conversation_id if is_chosen else None))
            message = self._add(parent_id, role, text, state, record)
            if is_chosen:
                self._choose(conversation_id, {parent_id: message.id})
            self._database.write(_BRING_TO_SIGHT, (parent_id, conversation_id))
            self._database.write(
                "UPDATE conversation SET updated_ms = ?, trashed_ms = NULL WHERE id = ?", (_now_ms(), conversation_id)
            )
            return message

    @_mending
    def update(self, *messages: Message) -> None:
        """Write the text, state and record of messages anew; they are on the disk when this returns."""
        with self._database.durably():
            self._update(messages)

    @_mending
    def put_back(self, conversation_id: int, step: Step) -> None:
        """Make the tree again what it was before a step; on the disk when this returns."""
        with self._database.durably():
            for message_ids, pruned_ms in ((step.hide, _now_ms()), (step.show, None)):
                self._database.write_many(
                    "UPDATE message SET pruned_ms = ? WHERE id = ? AND pruned_ms IS NOT 0",
                    [(pruned_ms, message_id) for message_id in message_ids],
                )
            self._update(step.messages)
            self._database.write_many(
                "UPDATE message SET name = ?, starred_ms = ? WHERE id = ?",
                [(message.name, message.starred_ms, message.id) for message in step.messages],
            )
            self._choose(
                conversation_id,
                {parent: child for parent, child in step.choices.items() if not isinstance(child, Unset)},
            )
            self._database.write_many(
                "DELETE FROM choice WHERE conversation_id = ? AND parent_id = ?",
                [(conversation_id, parent) for parent, child in step.choices.items() if isinstance(child, Unset)],
            )
            self._database.write("UPDATE conversation SET root_id = ? WHERE id = ?", (step.root_id, conversation_id))

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
        pruned_ms = _now_ms() if is_pruned else None
        with self._database.durably():
            self._database.write_many(
                "UPDATE message SET pruned_ms = ? WHERE id = ? AND (pruned_ms IS NULL) = ? AND pruned_ms IS NOT 0",
                [(pruned_ms, message_id, is_pruned) for message_id in message_ids],
            )

    def append_texts(
        self, texts: Mapping[MessageId, str], drawn: Mapping[MessageId, Sequence[Drawn]] | None = None
    ) -> None:
        """Write what has streamed into messages since the last time, and of which tokens it is, where that is known."""
        self._pieces.append(texts, drawn or {})

    def messages(self, conversation_id: int) -> list[Message]:
        """Return every message that the conversation shows in one of its branches, in the order of their making."""
        reached = in_sight("id = ?") + "SELECT {} FROM message WHERE id IN (SELECT id FROM reached)"
        pieces = self._pieces.read()
        try:
            rows = self._database.rows(f"{reached.format(COLUMNS)} ORDER BY id", (conversation_id,))
            return [self._read(row, pieces) for row in rows]
        except DamagedError:
            # The links alone, from an index of theirs; then each message by itself.
            rows = self._database.rows(
                reached.format("id, parent_id").replace(
                    "FROM message WHERE", "FROM message INDEXED BY message_parent WHERE"
                ),
                (conversation_id,),
            )
            links = {row[0]: row[1] if isinstance(row[1], int) else None for row in rows}
            return [self._read_alone(message_id, links[message_id], pieces) for message_id in sorted(links)]

    def lineage(self, message_id: MessageId) -> list[Message]:
        """Return a message and all above it, the topmost first; nothing where there is no such message."""
        rows = self._database.rows(
            "WITH RECURSIVE line (id) AS (SELECT ? UNION SELECT parent_id FROM message JOIN line USING (id)) "
            f"SELECT {COLUMNS} FROM message WHERE id IN (SELECT id FROM line)",
            (message_id,),
        )
        pieces = self._pieces.read()
        return Tree((self._read(row, pieces) for row in rows), message_id).lineage(message_id)

    def message(self, message_id: MessageId) -> Message:
        """Return one message. Raises `KeyError`."""
        pieces = self._pieces.read()
        for row in self._database.rows(f"SELECT {COLUMNS} FROM message WHERE id = ?", (message_id,)):
            return self._read(row, pieces)
        raise KeyError(message_id)

    def star(self, message_id: MessageId, *, is_starred: bool = True) -> Message:
        """Mark a message, or take its mark away; return it. Raises `KeyError`."""
        with self._database.durably():
            starred_ms = _now_ms() if is_starred else None
            self._database.write("UPDATE message SET starred_ms = ? WHERE id = ?", (starred_ms, message_id))
        return self.message(message_id)

    def name_branch(self, message_id: MessageId, name: str) -> Message:
        """Call the branch that begins at this message something, or nothing; return it. Raises `KeyError`."""
        with self._database.durably():
            self._database.write("UPDATE message SET name = ? WHERE id = ?", (name, message_id))
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
        try:
            with self._database.transaction():
                self._database.write(_REBUILD)
        except (SearchIndexError, DamagedError):
            with self._database.transaction():
                # What an empty index consists of: without that, FTS5 does not even begin again.
                for table in ("data", "idx", "docsize"):
                    self._database.write(f"DELETE FROM message_text_{table}")
                self._database.write("INSERT INTO message_text_data VALUES (1, x''), (10, x'00000000000000')")
                self._database.write(_REBUILD)

    def interrupt_streaming(self, error: str) -> int:
        """Mark answers that a program which was killed left streaming; return how many."""
        rows = self._database.rows(f"SELECT {COLUMNS} FROM message WHERE state = 'streaming'")
        pieces = self._pieces.read()
        messages = [self._read(row, pieces) for row in rows]
        if messages:
            self.update(*(_interrupted(message, error) for message in messages))
        return len(messages)

    # --- conversations -------------------------------------------------------------------------------------

    @_mending
    def create_conversation(self, name: str, system_prompt: str, first_text: str) -> tuple[Conversation, Message]:
        """Add a conversation with its system prompt and first question; return it and the question."""
        with self._database.durably():
            root = self._add(None, "root", "")
            system = self._add(root.id, "system", system_prompt)
            first = self._add(system.id, "user", first_text)
            conversation = self._add_conversation(name, root.id)
            self._choose(conversation.id, {root.id: system.id, system.id: first.id})
            return conversation, first

    def fork_conversation(self, name: str, message_id: MessageId) -> Conversation:
        """Add a conversation that shares everything up to a message and ends there; nothing is copied."""
        with self._database.durably():
            conversation = self._add_conversation(name, message_id)
            self._choose(conversation.id, {message_id: None})
            return conversation

    def conversations(self) -> list[Conversation]:
        """Return the conversations that are not thrown away: those pinned, the last used first, those put away."""
        return self._conversations("trashed_ms IS NULL")

    def trashed_conversations(self) -> list[Conversation]:
        """Return what was thrown away and can be taken back, the last used first."""
        return self._conversations("trashed_ms IS NOT NULL")

    def _conversations(self, where: str) -> list[Conversation]:
        rows = self._database.rows(f"{_CONVERSATION} WHERE {where} {_CONVERSATION_ORDER}")
        return conversations_in(rows)

    def conversation(self, conversation_id: int) -> Conversation:
        """Return a conversation that is not thrown away. Raises `KeyError`."""
        rows = self._database.rows(f"{_CONVERSATION} WHERE trashed_ms IS NULL AND id = ?", (conversation_id,))
        for conversation in conversations_in(rows):
            return conversation
        raise KeyError(conversation_id)

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
        rows = self._database.rows("SELECT DISTINCT folder FROM conversation WHERE trashed_ms IS NULL AND folder <> ''")
        return sorted(row[0] for row in rows if isinstance(row[0], str))

    def widen(self, conversation_id: int, root_id: MessageId, child_ids: Choices) -> None:
        """Let the conversation begin further up, so that a branch there becomes its own; `child_ids`: the way down."""
        with self._database.transaction():
            self._choose(conversation_id, child_ids)
            self._database.write("UPDATE conversation SET root_id = ? WHERE id = ?", (root_id, conversation_id))

    def choices(self, conversation_id: int) -> dict[MessageId, MessageId | None]:
        """Return the chosen child of each message, as `app.model.tree.Choices` has it."""
        rows = self._database.rows(
            "SELECT parent_id, child_id FROM choice WHERE conversation_id = ?", (conversation_id,)
        )
        return {parent_id: child_id for parent_id, child_id in rows}  # noqa: C416 (keeps the types)

    def choose(self, conversation_id: int, child_ids: Choices) -> None:
        """Remember the chosen children, by their parents."""
        with self._database.transaction():
            self._choose(conversation_id, child_ids)

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
            return self._empty_trash(2**63 - 1)

    def delete_for_good(self, conversation_ids: Iterable[int], branch_ids: Iterable[MessageId] = ()) -> int:
        """Delete of what lies in the trash these conversations and pruned branches; else as `empty_trash`."""
        conversations, branches = set(conversation_ids), set(branch_ids)
        with self._alone_to_delete():
            return self._delete(
                [found for found in self._thrown_before(2**63 - 1) if found in conversations],
                [found for found in self._pruned_before(2**63 - 1) if found in branches],
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
        return self._delete(self._thrown_before(before_ms), self._pruned_before(before_ms))

    @_mending
    def _delete(self, conversation_ids: Sequence[int], branch_ids: Sequence[MessageId]) -> int:
        if not conversation_ids and not branch_ids:
            return 0
        with self._database.durably():
            return self.thrown.delete(conversation_ids, branch_ids)

    def _thrown_before(self, before_ms: int) -> list[int]:
        return [row[0] for row in self._database.rows("SELECT id FROM conversation WHERE trashed_ms < ?", (before_ms,))]

    def _pruned_before(self, before_ms: int) -> list[MessageId]:
        rows = self._database.rows("SELECT id FROM message WHERE pruned_ms > 0 AND pruned_ms < ?", (before_ms,))
        return [row[0] for row in rows]

    # --- inside --------------------------------------------------------------------------------------------

    def _update(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._database.write(
                "UPDATE message SET text = ?, indexed = ?, state = ?, record = ?, model = ? WHERE id = ?",
                (
                    message.text,
                    indexed(message.text),
                    message.state,
                    encoded(message.record),
                    message.record and message.record.model,
                    message.id,
                ),
            )
            self._database.write("DELETE FROM piece WHERE message_id = ?", (message.id,))

    def _add(
        self,
        parent_id: MessageId | None,
        role: Role,
        text: str,
        state: State = "complete",
        record: Record | None = None,
    ) -> Message:
        now_ms = _now_ms()
        message_id = self._database.write(
            "INSERT INTO message (parent_id, role, text, indexed, state, created_ms, record, model) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (parent_id, role, text, indexed(text), state, now_ms, encoded(record), record and record.model),
        )
        return Message(
            id=message_id, parent_id=parent_id, role=role, text=text, state=state, created_ms=now_ms, record=record
        )

    def _add_conversation(self, name: str, root_id: MessageId) -> Conversation:
        now_ms = _now_ms()
        conversation_id = self._database.write(
            "INSERT INTO conversation (name, root_id, created_ms, updated_ms) VALUES (?, ?, ?, ?)",
            (name, root_id, now_ms, now_ms),
        )
        return Conversation(id=conversation_id, name=name, root_id=root_id, created_ms=now_ms, updated_ms=now_ms)

    def _choose(self, conversation_id: int, child_ids: Choices) -> None:
        rows = [(conversation_id, parent_id, child_id) for parent_id, child_id in child_ids.items()]
        self._database.write_many(_CHOOSE, rows)

    def _set(
        self,
        conversation_id: int,
        column: Literal["name", "folder", "trashed_ms", "pinned_ms", "archived_ms"],
        value: str | int | None,
    ) -> None:
        with self._database.durably():
            self._database.write(f"UPDATE conversation SET {column} = ? WHERE id = ?", (value, conversation_id))

    def _read(self, row: tuple[Any, ...], pieces: Mapping[MessageId, Grown]) -> Message:
        message, trouble = message_in(row)
        if trouble:
            self._troubles.append(trouble)
        if message.id in pieces:
            message = pieces[message.id].onto(message)
        return message

    def _read_alone(
        self, message_id: MessageId, parent_id: MessageId | None, pieces: Mapping[MessageId, Grown]
    ) -> Message:
        with contextlib.suppress(DamagedError):
            for row in self._database.rows(f"SELECT {COLUMNS} FROM message WHERE id = ?", (message_id,)):
                return self._read(row, pieces)
        message, trouble = unreadable(message_id, parent_id)
        self._troubles.append(trouble)
        return message


def _interrupted(message: Message, error: str) -> Message:
    record = msgspec.structs.replace(message.record or Record(), error=error, reason=None, stop=None)
    return msgspec.structs.replace(message, state="stopped", record=record)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
