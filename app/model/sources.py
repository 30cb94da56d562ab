"""Recognises imported conversations that the store already has, and finds what is new in them.

A conversation is identified by the program of its file and its id in that program, and each of its messages by a key,
which is a number made from the message's id there. A file without ids is identified by a digest of all its content.
Conversations in Bough's own files have an id that is the same in all stores, and their messages are identified by their
places and times.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct, field

from app.model.database import Database
from app.model.message import Message, MessageId
from app.model.queries import COLUMNS, message_in, with_pruned
from app.model.text import clean

if TYPE_CHECKING:
    from app.model.grafts import Graft

OURS = ""
"""The program of conversations in Bough's own files."""
_CONTENT = "#"
"""Keys that begin with this are digests of a conversation's content."""


class Source(Struct, frozen=True, order=True):
    """A conversation's program, and its key there."""

    program: str
    key: str

    @property
    def is_content(self) -> bool:
        """Whether the key is a digest of the whole content, because the file has no ids."""
        return self.key.startswith(_CONTENT)


def new_uid() -> str:
    """Return a new id of a conversation, different from all others."""
    return os.urandom(8).hex()


def of_content(program: str, parts: Iterable[str]) -> Source:
    """Return the source of a conversation without an id."""
    return Source(program, f"{_CONTENT}{_digits(number_of(*map(clean, parts)))}")


class Head(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a conversation as its file had them when it was last imported."""

    name: str = ""
    folder: str = ""
    pinned_ms: int | None = None
    archived_ms: int | None = None
    current: int | None = None
    """The key of the last message of the branch that was shown."""


class Origin(Struct, frozen=True, kw_only=True):
    """Where a conversation of another program comes from, as stored in a `.bough` file."""

    program: str
    key: str
    head: Head
    messages: tuple[tuple[str, str, MessageId | None], ...] = ()
    """For each message its key and its digest, both in hexadecimal digits, and its id. An id of None means that it was
    deleted."""

    def among(self, message_ids: Container[MessageId]) -> Origin:
        """Return the origin of some of the messages."""
        kept = tuple(one for one in self.messages if one[2] is not None and one[2] in message_ids)
        return msgspec.structs.replace(self, messages=kept)


class Known(Struct, kw_only=True):
    """A conversation that the store has, or that an import has found before."""

    conversation_id: int | None
    """None if it is not in the store yet."""
    name: str
    is_whole: bool = False
    """Whether all of its content is known, so that the file can't contain anything new."""
    head: Head | None = None
    """None for conversations of Bough's own files."""
    digests: dict[int, int] = field(default_factory=dict[int, int])
    """The digests of the messages as they were last imported, by the messages' keys."""
    ids: dict[int, MessageId | None] = field(default_factory=dict[int, MessageId | None])
    """The ids of messages in the store, by their keys. None means that the message was deleted there."""


class News(NamedTuple):
    """The part of a conversation that a store does not have yet."""

    messages: list[Message]
    """New messages, parents first."""
    changed: list[Message]
    """Messages whose text has changed in the file since it was last imported."""
    num_below_deleted: int
    """The number of new messages below a message that the user has deleted. They are left out."""
    is_renamed: bool
    """Whether the name, folder, pin or archiving has changed in the file since it was last imported."""

    def __bool__(self) -> bool:
        return bool(self.messages or self.changed or self.is_renamed)


class Sources:
    """Records where the conversations of one store come from. Methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, graft: Graft) -> Known | None:
        """Return what the store knows about a conversation; None if it lacks it or has it only in the trash."""
        source = graft.source
        if source is None:
            return None
        if source.program == OURS:
            rows = self._database.rows(
                "SELECT id, name FROM conversation WHERE uid = ? AND trashed_ms IS NULL ORDER BY id LIMIT 1",
                (source.key,),
            )
            return self._own(*rows[0]) if rows else None
        rows = self._database.rows(
            "SELECT conversation.id, name, head FROM source JOIN conversation ON conversation.id = conversation_id "
            "WHERE key = ? AND program = ? AND trashed_ms IS NULL ORDER BY conversation.id LIMIT 1",
            (source.key, source.program),
        )
        if not rows:
            return None
        conversation_id, name, head = rows[0]
        known = Known(conversation_id=conversation_id, name=name, is_whole=source.is_content, head=_head(head))
        for key, digest, message_id in self._database.rows(
            "SELECT key, digest, message_id FROM source_message WHERE conversation_id = ?", (conversation_id,)
        ):
            known.digests[key], known.ids[key] = digest, message_id
        return known

    def remember(
        self, graft: Graft, conversation_id: int, ids: Mapping[MessageId, MessageId], head: Head | None = None
    ) -> None:
        """Record where a conversation and some of its messages come from.

        `ids` are their ids in the store. `head` are the conversation's fields in its own file; None means that this is
        its own file.
        """
        source = graft.source
        if source is None or source.program == OURS:
            return
        keys = keys_of(graft)
        self._database.write(
            "INSERT INTO source VALUES (?, ?, ?, ?) ON CONFLICT (conversation_id) DO UPDATE SET head = excluded.head",
            (conversation_id, source.program, source.key, msgspec.json.encode(head or head_of(graft, keys)).decode()),
        )
        if source.is_content:
            return
        self._database.write_many(
            "INSERT INTO source_message VALUES (?, ?, ?, ?) ON CONFLICT (conversation_id, key) DO UPDATE "
            "SET digest = excluded.digest",
            (
                (conversation_id, keys[message.id], ids.get(message.id), digest_of(message))
                for message in graft.messages
                if message.id in ids
            ),
        )

    def origin(self, conversation_id: int, message_ids: Container[MessageId]) -> Origin | None:
        """Return where a conversation comes from; None if it was not imported.

        Messages other than `message_ids` count as deleted.
        """
        rows = self._database.rows(
            "SELECT program, key, head FROM source WHERE conversation_id = ?", (conversation_id,)
        )
        if not rows:
            return None
        program, key, head = rows[0]
        messages = self._database.rows(
            "SELECT key, digest, message_id FROM source_message WHERE conversation_id = ? ORDER BY key",
            (conversation_id,),
        )
        return Origin(
            program=program,
            key=key,
            head=_head(head),
            messages=tuple(
                (_digits(number), _digits(digest), message_id if message_id in message_ids else None)
                for number, digest, message_id in messages
            ),
        )

    def adopt(self, origin: Origin, conversation_id: int, ids: Mapping[MessageId, MessageId]) -> None:
        """Record the origin that a `.bough` file contains.

        `ids` maps the messages' ids in the file to those in the store.
        """
        self._database.write(
            "INSERT INTO source VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (conversation_id, origin.program, origin.key, msgspec.json.encode(origin.head).decode()),
        )
        # The store may have another origin for the conversation.
        self._database.write_many(
            "INSERT INTO source_message SELECT conversation_id, ?, ?, ? FROM source "
            "WHERE conversation_id = ? AND program = ? AND key = ? ON CONFLICT DO NOTHING",
            (
                (*_row(key, digest, None if found is None else ids[found]), conversation_id, origin.program, origin.key)
                for key, digest, found in origin.messages
                if found is None or found in ids
            ),
        )

    def texts(self, message_ids: Sequence[MessageId]) -> dict[MessageId, int]:
        """Return digests of messages as they are in the store."""
        rows = self._database.rows(
            f"SELECT {COLUMNS} FROM message WHERE id IN (SELECT value FROM json_each(?)) "
            "AND NOT EXISTS (SELECT 1 FROM piece WHERE message_id = message.id)",
            (json.dumps(list(message_ids)),),
        )
        return {row[0]: digest_of(message_in(row)[0]) for row in rows}

    def _own(self, conversation_id: int, name: str) -> Known:
        rows = self._database.rows(
            f"{with_pruned('id = ?')} SELECT {COLUMNS} FROM message WHERE id IN (SELECT id FROM reached) ORDER BY id",
            (conversation_id,),
        )
        messages = [message_in(row)[0] for row in rows]
        keys = place_keys(messages)
        return Known(
            conversation_id=conversation_id,
            name=name,
            digests={keys[message.id]: digest_of(message) for message in messages},
            ids={key: message_id for message_id, key in keys.items()},
        )


def news_of(graft: Graft, known: Known) -> News:
    """Return the part of a known conversation that a store does not have."""
    if known.is_whole:
        return News([], [], 0, is_renamed=False)
    keys = keys_of(graft)
    gone = {key for key, message_id in known.ids.items() if message_id is None}
    lost: set[MessageId | None] = set()
    new: list[Message] = []
    changed: list[Message] = []
    num_below_deleted = 0
    for message in graft.messages:
        key = keys[message.id]
        if key in gone:
            lost.add(message.id)
        elif key in known.digests:
            if known.head is not None and known.digests[key] != digest_of(message):
                changed.append(message)
        elif message.parent_id in lost:
            lost.add(message.id)
            num_below_deleted += 1
        else:
            new.append(message)
    head = head_of(graft, keys)
    is_renamed = known.head is not None and msgspec.structs.replace(known.head, current=head.current) != head
    return News(new, changed, num_below_deleted, is_renamed and not graft.is_part)


def head_of(graft: Graft, keys: Mapping[MessageId, int]) -> Head:
    """Return the fields of a conversation in its file."""
    current: MessageId | None = graft.root_id
    while current is not None and (below := graft.choices.get(current)) is not None:
        current = below
    return Head(
        name=graft.name,
        folder=graft.folder,
        pinned_ms=graft.pinned_ms,
        archived_ms=graft.archived_ms,
        current=keys.get(current) if current is not None else None,
    )


def keys_of(graft: Graft) -> Mapping[MessageId, int]:
    """Return the keys of a conversation's messages, by the messages' ids in the file."""
    return place_keys(graft.messages) if graft.keys is None else graft.keys


def place_keys(messages: Sequence[Message]) -> dict[MessageId, int]:
    """Return keys of messages without lasting ids, from their places in the tree, times and seeds. Parents come first.

    A message keeps its key when its text is changed.
    """
    keys: dict[MessageId | None, int] = {None: 0}
    found: dict[MessageId, int] = {}
    times: dict[tuple[int, str, int, int | None], int] = {}
    for message in messages:
        seed = None if message.record is None else message.record.seed
        place = (keys.get(message.parent_id, 0), message.role, message.created_ms, seed)
        times[place] = times.get(place, 0) + 1
        found[message.id] = keys[message.id] = number_of(*map(str, place), str(times[place]))
    return found


def digest_of(message: Message) -> int:
    """Return a digest of a message's text."""
    return number_of(message.text)


_WORD = 2**64 - 1


def number_of(*parts: str) -> int:
    """Return a digest of texts, as an integer of 64 bits with a sign."""
    # Imported here because it loads OpenSSL, which the start does not need.
    from hashlib import blake2b

    digest = blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return int.from_bytes(digest.digest(), "little", signed=True)


def _row(key: str, digest: str, message_id: MessageId | None) -> tuple[int, MessageId | None, int]:
    return _number(key), message_id, _number(digest)


def _digits(number: int) -> str:
    return f"{number & _WORD:016x}"


def _number(digits: str) -> int:
    """Return the number of up to 16 hexadecimal digits. Raises `ValueError`."""
    return int.from_bytes(int(digits, 16).to_bytes(8), signed=True)


def _head(encoded: str) -> Head:
    try:
        return msgspec.json.decode(encoded, type=Head)
    except msgspec.MsgspecError:
        return Head()
