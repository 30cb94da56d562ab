"""Inserts imported conversations into the store's tables as a whole, and removes them again. Independent of files.

A graft is an imported conversation, with the ids of its file. An empty store keeps the ids. Otherwise the same number
is added to all ids of one file, so that conversations still share the same messages.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from app.model.conversation_table import PIN_OTHER_VIEWS
from app.model.database import Database
from app.model.message import MAX_MS, Message, MessageId, is_part
from app.model.message_table import UPDATE_TEXT
from app.model.project import Project
from app.model.projects import add_project
from app.model.queries import CONVERSATION_COLUMNS, encoded
from app.model.search_index import at_once
from app.model.sources import OURS, Known, News, Origin, Source, Sources, keys_of, new_uid, news_of
from app.model.trash import Trash
from app.model.tree import Choices
from worker.sentence import Sentence, SentenceError

_MAX_ID = 2**53
"""The largest integer that all programs can read."""

_GREW_INSIDE = Sentence("messages that have an answer here and more parts in the file, left unchanged")

_INSERT = (
    "INSERT INTO message "
    "(id, parent_id, role, text, indexed, signs, state, created_ms, record, model, name, starred_ms, pinned_ms) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class Graft(Struct, frozen=True, kw_only=True):
    """A conversation to import. Parents come before their children, siblings oldest first."""

    name: str
    messages: list[Message]
    root_id: MessageId
    choices: Choices
    created_ms: int
    updated_ms: int
    pinned_ms: int | None = None
    folder: str = ""
    archived_ms: int | None = None
    project: Project | None = None
    """The project of its folder. Ignored if the folder already is a project."""
    model: str = ""
    id: int | None = None
    """The wanted id, used if it is free; None means any id."""
    source: Source | None = None
    """Where the conversation comes from. None means that it is a copy, which later imports do not recognise."""
    is_part: bool = False
    """Whether this is a branch of a conversation that has a file of its own. That file has the name and the visible
    branch."""
    origin: Origin | None = None
    """The conversation of another program from which a conversation in one of Bough's own files was imported."""
    keys: Mapping[MessageId, int] | None = None
    """The keys by which the messages are recognised. None means that they are recognised by their places and times."""


class Grafts:
    """Imports into one store. Methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.sources = Sources(database)
        """Finds the conversations of files that the store already has."""
        self._projects: dict[int, str] = {}
        """The folders that became projects, by the imported conversations that caused it."""

    def offset(self) -> int:
        """Return the number to add to the ids of a new file so that all of them are free."""
        rows = self._database.rows("SELECT seq FROM sqlite_sequence WHERE name = 'message'")
        if not self._database.rows("SELECT 1 FROM message LIMIT 1"):
            return 0
        return rows[0][0]

    def add(self, grafts: Sequence[Graft], offset: int | None = None) -> list[int]:
        """Add conversations, all or none.

        Return their ids. `offset` is added to the messages' ids; None means that the conversations share no messages.
        """
        with self._database.durably():
            return [self._add(graft, offset) for graft in grafts]

    def update(self, grafts: Sequence[Graft]) -> Counter[Sentence]:
        """Add everything new to conversations that the store already has, all or nothing.

        Return remarks about what was kept.

        Messages, names and places that the user has changed or deleted stay as they are.
        """
        remarks: Counter[Sentence] = Counter()
        with self._database.durably():
            for graft in grafts:
                # An earlier graft in the list may be an older version of the same conversation.
                known = self.sources.known(graft)
                if known is not None and known.conversation_id is not None:
                    self._update(graft, known, known.conversation_id, remarks)
        return remarks

    def take_out(self, conversation_ids: Sequence[int]) -> None:
        """Remove imported conversations, with every message that no other conversation reaches."""
        given = json.dumps(list(conversation_ids))
        with self._database.durably():
            doomed = Trash(self._database).doomed(conversation_ids, ())
            erased = [(message_id,) for message_id in sorted(doomed)]
            self._database.write_many("INSERT INTO erased (message_id) VALUES (?)", erased)
            self._database.write_many(
                "INSERT INTO erased (conversation_id) VALUES (?)", [(found,) for found in conversation_ids]
            )
            self._database.write("DELETE FROM conversation WHERE id IN (SELECT value FROM json_each(?))", (given,))
            folders = [(self._projects[found],) for found in conversation_ids if found in self._projects]
            self._database.write_many("DELETE FROM project WHERE folder = ?", folders)
            self._database.write_many("DELETE FROM message WHERE id = ?", erased)

    def move_to_trash(self, conversation_ids: Sequence[int]) -> None:
        """Move imported conversations to the trash, which needs little disk space."""
        with self._database.durably():
            self._database.write(
                "UPDATE conversation SET trashed_ms = ? WHERE id IN (SELECT value FROM json_each(?))",
                (time.time_ns() // 1_000_000, json.dumps(list(conversation_ids))),
            )

    # --- inside --------------------------------------------------------------------------------------------

    def _add(self, graft: Graft, offset: int | None) -> int:
        # Conversations of other programs share no messages: equal ids mean nothing.
        if offset is not None and graft.keys is None and self._can_move(graft, offset):
            moved = {message.id: message.id + offset for message in graft.messages}
        else:
            last = self._database.rows("SELECT seq FROM sqlite_sequence WHERE name = 'message'")
            first = (last[0][0] if last else 0) + 1
            moved = {message.id: first + number for number, message in enumerate(graft.messages)}
        shared = self._shared(graft, moved)
        self._database.write_many(
            _INSERT, (_row(message, moved) for message in graft.messages if message.id not in shared)
        )
        conversation_id = self._database.write(
            f"INSERT INTO conversation ({CONVERSATION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._free_conversation_id(graft.id),
                graft.name,
                moved[graft.root_id],
                graft.created_ms,
                graft.updated_ms,
                graft.pinned_ms,
                graft.folder,
                graft.archived_ms,
                graft.model,
                graft.source.key if graft.source is not None and graft.source.program == OURS else new_uid(),
            ),
        )
        choices = [
            (conversation_id, moved[parent_id], None if child_id is None else moved[child_id])
            for parent_id, child_id in graft.choices.items()
            if parent_id in moved and (child_id is None or child_id in moved)
        ]
        self._database.write_many("INSERT INTO choice VALUES (?, ?, ?)", choices)
        if graft.project is not None and graft.folder and add_project(self._database, graft.folder, graft.project):
            self._projects[conversation_id] = graft.folder
        self.sources.remember(graft, conversation_id, moved)
        if graft.origin is not None and graft.source is not None:
            self.sources.adopt(graft.origin, conversation_id, moved)
        return conversation_id

    def _update(self, graft: Graft, known: Known, conversation_id: int, remarks: Counter[Sentence]) -> None:
        news = news_of(graft, known)
        if news.num_below_deleted:
            remarks[Sentence("new messages below messages that you deleted, left out")] += news.num_below_deleted
        if not news:
            return
        keys = keys_of(graft)
        ids = {
            message.id: found for message in graft.messages if (found := known.ids.get(keys[message.id])) is not None
        }
        base = self._branch_shown(known)
        first = _first_parts(graft)
        answered = self._new_parts_of_answered(news, ids)
        left = {first[message_id] for message_id in answered}
        if left:
            remarks[_GREW_INSIDE] += len(left)
        for parent_id in {ids[message.parent_id] for message in news.messages if message.parent_id in ids}:
            # All other conversations continue to show the same messages. This one grows at its end.
            is_end = not self._database.rows("SELECT 1 FROM message WHERE parent_id = ? LIMIT 1", (parent_id,))
            self._database.write(PIN_OTHER_VIEWS, (parent_id, conversation_id if is_end else None))
        for message in news.messages:
            parent_id = None if message.parent_id is None else ids[message.parent_id]
            if message.id in answered and parent_id is not None:
                # The messages below it in the file are below its last part here.
                ids[message.id] = parent_id
                continue
            ids[message.id] = self._database.write(_INSERT, (None, parent_id, *_row(message, {})[2:]))
        self._change([message for message in news.changed if first[message.id] not in left], known, keys, remarks)
        if not graft.is_part:
            self._choose(graft, conversation_id, ids, base)
        self._merge_head(graft, known, conversation_id)
        self.sources.remember(graft, conversation_id, ids, known.head if graft.is_part else None)
        if graft.origin is not None:
            self.sources.adopt(graft.origin, conversation_id, ids)

    def _new_parts_of_answered(self, news: News, ids: Mapping[MessageId, MessageId]) -> set[MessageId]:
        """Return the new parts of messages that already have an answer here.

        They would have to come between the message and its answer, but ids grow from a message to those below it.
        """
        found: set[MessageId] = set()
        for message in news.messages:
            above = message.parent_id
            if above is not None and is_part(message):
                sql = "SELECT 1 FROM message WHERE parent_id = ? LIMIT 1"
                if above in found or (above in ids and self._database.rows(sql, (ids[above],))):
                    found.add(message.id)
        return found

    def _branch_shown(self, known: Known) -> set[MessageId]:
        """Return the messages of the branch that was shown in the file that was last imported."""
        current = None if known.head is None or known.head.current is None else known.ids.get(known.head.current)
        rows = self._database.rows(
            "WITH RECURSIVE line (id) AS (SELECT ? UNION SELECT parent_id FROM message JOIN line USING (id)) "
            "SELECT id FROM line WHERE id IS NOT NULL",
            (current,),
        )
        return {row[0] for row in rows}

    def _change(
        self, messages: Sequence[Message], known: Known, keys: Mapping[MessageId, int], remarks: Counter[Sentence]
    ) -> None:
        """Write the messages whose text has changed in the file, except those that the user has changed, too."""
        ids = {message.id: found for message in messages if (found := known.ids[keys[message.id]]) is not None}
        now = self.sources.texts(list(ids.values()))
        for message in messages:
            message_id = ids.get(message.id)
            if message_id is not None and now.get(message_id) == known.digests[keys[message.id]]:
                (_, _, _, text, words, marks, state, _, record, model, *_) = _row(message, {})
                self._database.write(UPDATE_TEXT, (text, words, marks, state, record, model, message_id))
                # Parts may have come before the first part of a message.
                self._database.write(
                    "UPDATE message SET role = ? WHERE id = ? AND role <> ?", (message.role, message_id, message.role)
                )
            else:
                remarks[Sentence("messages that changed both in the file and here, kept as they are here")] += 1

    def _choose(
        self, graft: Graft, conversation_id: int, ids: Mapping[MessageId, MessageId], base: set[MessageId]
    ) -> None:
        """Show the file's branch where the user has not chosen another one."""
        rows = self._database.rows(
            "SELECT parent_id, child_id FROM choice WHERE conversation_id = ?", (conversation_id,)
        )
        ours: dict[MessageId, MessageId | None] = dict(rows)
        self._database.write_many(
            "INSERT OR REPLACE INTO choice VALUES (?, ?, ?)",
            [
                (conversation_id, ids[parent_id], ids[child_id])
                for parent_id, child_id in graft.choices.items()
                if parent_id in ids
                and child_id is not None
                and child_id in ids
                and ids[child_id] != ids[parent_id]
                and ((chosen := ours.get(ids[parent_id])) is None or chosen in base)
            ],
        )

    def _merge_head(self, graft: Graft, known: Known, conversation_id: int) -> None:
        """Take over the file's name and place of a conversation where the user has not changed them."""
        self._database.write(
            "UPDATE conversation SET updated_ms = max(updated_ms, ?) WHERE id = ?", (graft.updated_ms, conversation_id)
        )
        if known.head is None or graft.is_part:
            return
        for column in ("name", "folder", "pinned_ms", "archived_ms"):
            self._database.write(
                f"UPDATE conversation SET {column} = ? WHERE id = ? AND {column} IS ?",
                (getattr(graft, column), conversation_id, getattr(known.head, column)),
            )

    def _can_move(self, graft: Graft, offset: int) -> bool:
        """Return whether adding `offset` to all ids keeps parents before children, and gives only free ids."""
        if not all(
            0 < message.id <= _MAX_ID - offset and (message.parent_id is None or message.parent_id < message.id)
            for message in graft.messages
        ):
            return False
        moved = {message.id + offset: message for message in graft.messages}
        for message_id, parent_id, role, text in self._present(moved):
            theirs = moved[message_id]
            above = None if theirs.parent_id is None else theirs.parent_id + offset
            if (parent_id, role, text) != (above, theirs.role, theirs.text):
                return False
        return True

    def _shared(self, graft: Graft, moved: dict[MessageId, MessageId]) -> set[MessageId]:
        """Return the ids of messages that another graft of the same file has already added."""
        theirs = {new: old for old, new in moved.items()}
        present = {row[0] for row in self._present(theirs)}
        return {theirs[message_id] for message_id in present} if graft.messages else set()

    def _present(self, message_ids: dict[MessageId, Message] | dict[MessageId, MessageId]) -> list[tuple[int, ...]]:
        return self._database.rows(
            "SELECT id, parent_id, role, text FROM message WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(message_ids)),),
        )

    def _free_conversation_id(self, wanted: int | None) -> int | None:
        if wanted is None or not 0 < wanted <= _MAX_ID:
            return None
        return None if self._database.rows("SELECT 1 FROM conversation WHERE id = ?", (wanted,)) else wanted


def _first_parts(graft: Graft) -> dict[MessageId, MessageId]:
    """Return the first part of the message to which each part belongs, by their ids."""
    first: dict[MessageId, MessageId] = {}
    for message in graft.messages:
        above = message.parent_id
        first[message.id] = first[above] if is_part(message) and above is not None and above in first else message.id
    return first


def _row(message: Message, moved: dict[MessageId, MessageId]) -> tuple[object, ...]:
    # An answer that was streaming when it was exported will never end here.
    state = "stopped" if message.state == "streaming" else message.state
    record = message.record
    return (
        moved.get(message.id),
        None if message.parent_id is None else moved.get(message.parent_id),
        message.role,
        message.text,
        *at_once(message.text),
        state,
        message.created_ms,
        encoded(record),
        None if record is None else record.model,
        message.name,
        message.starred_ms,
        message.pinned_ms,
    )


class GraftError(SentenceError):
    """A conversation is not consistent; the sentence says why."""


def checked(graft: Graft) -> Graft:
    """Return the graft unchanged if its links are valid; otherwise raise `GraftError`.

    Each parent must come before its children, and only the first message has no parent.
    """
    seen: set[MessageId] = set()
    for message in graft.messages:
        if message.id in seen:
            raise GraftError(Sentence("two messages have the id {id}", id=str(message.id)))
        if message.parent_id is not None and message.parent_id not in seen:
            raise GraftError(Sentence("message {id} comes before its parent", id=str(message.id)))
        if message.parent_id is None and seen:
            raise GraftError(Sentence("message {id} has no parent", id=str(message.id)))
        seen.add(message.id)
        if not _are_times(message.created_ms, message.starred_ms, message.pinned_ms):
            raise GraftError(Sentence("message {id} has an invalid time", id=str(message.id)))
    if not _are_times(graft.created_ms, graft.updated_ms, graft.pinned_ms, graft.archived_ms):
        raise GraftError(Sentence("it has an invalid time"))
    if graft.root_id not in seen:
        raise GraftError(Sentence("its first message is missing"))
    parents = {message.id: message.parent_id for message in graft.messages}
    choices = {
        parent: child
        for parent, child in graft.choices.items()
        if parent in seen and (child is None or parents.get(child) == parent)
    }
    return structs.replace(graft, choices=choices)


def _are_times(*found: int | None) -> bool:
    return all(ms is None or 0 <= ms <= MAX_MS for ms in found)
