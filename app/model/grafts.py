"""Inserts imported conversations into the store's tables as a whole, and removes them again. Independent of files.

A graft is an imported conversation, with the ids of its file. An empty store keeps the ids. Otherwise the same number
is added to all ids of one file, so that conversations still share the same messages.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from app.model.database import Database
from app.model.message import Conversation, Message, MessageId
from app.model.project import Project
from app.model.projects import add_project
from app.model.queries import CONVERSATION_COLUMNS, conversations_in, encoded, visible
from app.model.search_index import indexed
from app.model.trash import Trash
from app.model.tree import Choices
from worker.sentence import Sentence, SentenceError

_MAX_ID = 2**53
"""The largest integer that all programs can read."""
_MAX_MS = 253_402_300_799_000
"""The end of the year 9999."""
MAX_CANDIDATES = 50

_INSERT = (
    "INSERT INTO message "
    "(id, parent_id, role, text, indexed, state, created_ms, record, model, name, starred_ms, pinned_ms) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
# The first question of each conversation (or a fork's root message), and the first answer below this message.
_OPENINGS = """
SELECT conversation.id, coalesce(question.text, root.text), answer.text
FROM conversation
JOIN message AS root ON root.id = root_id
LEFT JOIN message AS question ON question.id = (
    SELECT min(lower.id) FROM message AS upper JOIN message AS lower ON lower.parent_id = upper.id
    WHERE upper.parent_id = root_id
)
LEFT JOIN message AS answer ON answer.id = (SELECT min(id) FROM message WHERE parent_id = question.id)
WHERE trashed_ms IS NULL
"""


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
    id: int | None = None
    """The wanted id, used if it is free; None means any id."""


class Grafts:
    """Imports into one store. Methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._openings: dict[bytes, list[int]] | None = None
        self._projects: dict[int, str] = {}
        """The folders that became projects, by the imported conversations that caused it."""

    def offset(self) -> int:
        """Return the number to add to the ids of a new file so that all of them are free."""
        rows = self._database.rows("SELECT seq FROM sqlite_sequence WHERE name = 'message'")
        if not self._database.rows("SELECT 1 FROM message LIMIT 1"):
            return 0
        return rows[0][0]

    def add(self, grafts: Sequence[Graft], offset: int | None = None) -> list[int]:
        """Add conversations, all or none. Return their ids. `offset`: None means that they share no messages."""
        with self._database.durably():
            added = [self._add(graft, offset) for graft in grafts]
        for graft, conversation_id in zip(grafts, added, strict=True):
            self._known_openings().setdefault(opening(graft), []).append(conversation_id)
        return added

    def twin(self, graft: Graft) -> Conversation | None:
        """Return a conversation in the store that contains all messages of this one; None if there is none."""
        candidates = self._known_openings().get(opening(graft), [])
        if not candidates:
            return None
        theirs = set(prints(graft.messages))
        for conversation_id in candidates[-MAX_CANDIDATES:]:
            rows = self._database.rows(
                visible("id = ? AND trashed_ms IS NULL")
                + "SELECT id, parent_id, role, text FROM message WHERE id IN (SELECT id FROM reached) ORDER BY id",
                (conversation_id,),
            )
            ours = (Message(id=row[0], parent_id=row[1], role=row[2], text=row[3]) for row in rows)
            if theirs <= set(prints(ours)):
                found = self._database.rows(
                    f"SELECT {CONVERSATION_COLUMNS} FROM conversation WHERE id = ?", (conversation_id,)
                )
                for conversation in conversations_in(found):
                    return conversation
        return None

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
        self._openings = None

    def move_to_trash(self, conversation_ids: Sequence[int]) -> None:
        """Move imported conversations to the trash, which needs little disk space."""
        with self._database.durably():
            self._database.write(
                "UPDATE conversation SET trashed_ms = ? WHERE id IN (SELECT value FROM json_each(?))",
                (time.time_ns() // 1_000_000, json.dumps(list(conversation_ids))),
            )
        self._openings = None

    # --- inside --------------------------------------------------------------------------------------------

    def _add(self, graft: Graft, offset: int | None) -> int:
        if offset is not None and self._can_move(graft, offset):
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
            f"INSERT INTO conversation ({CONVERSATION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._free_conversation_id(graft.id),
                graft.name,
                moved[graft.root_id],
                graft.created_ms,
                graft.updated_ms,
                graft.pinned_ms,
                graft.folder,
                graft.archived_ms,
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
        return conversation_id

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

    def _known_openings(self) -> dict[bytes, list[int]]:
        if self._openings is None:
            self._openings = {}
            for conversation_id, question, answer in self._database.rows(_OPENINGS):
                self._openings.setdefault(_digest(question or "", answer or ""), []).append(conversation_id)
        return self._openings


def prints(messages: Iterator[Message] | Sequence[Message]) -> Iterator[bytes]:
    """Yield for each message a digest of it and all messages above it, independent of ids. Parents must come first."""
    seen: dict[MessageId | None, bytes] = {None: b""}
    times: dict[bytes, int] = {}
    for message in messages:
        found = _digest(seen.get(message.parent_id, b"").hex(), message.role, message.text)
        # Siblings may have the same text.
        times[found] = times.get(found, 0) + 1
        seen[message.id] = _digest(found.hex(), str(times[found]))
        yield seen[message.id]


def opening(graft: Graft) -> bytes:
    """Return a digest of a conversation's beginning, the same as for the rows of `_OPENINGS`."""
    uppers: set[MessageId] = set()
    root = question = answer = ""
    question_id: MessageId | None = None
    for message in graft.messages:
        if message.id == graft.root_id:
            root = message.text
        elif message.parent_id == graft.root_id:
            uppers.add(message.id)
        elif question_id is None and message.parent_id in uppers:
            question_id, question = message.id, message.text
        elif question_id is not None and message.parent_id == question_id:
            answer = message.text
            break
    return _digest(root if question_id is None else question, answer)


def _digest(*parts: str) -> bytes:
    # Imported here because it loads OpenSSL, which the start does not need.
    from hashlib import blake2b

    digest = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def _row(message: Message, moved: dict[MessageId, MessageId]) -> tuple[object, ...]:
    # An answer that was streaming when it was exported will never end here.
    state = "stopped" if message.state == "streaming" else message.state
    record = message.record
    return (
        moved[message.id],
        None if message.parent_id is None else moved[message.parent_id],
        message.role,
        message.text,
        indexed(message.text),
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
    return all(ms is None or 0 <= ms <= _MAX_MS for ms in found)
