"""The table of messages, and the table of what streams into them.

Streamed text is appended to a table of its own, so that a long message is not written again with each token. Reading
tolerates damage: a message that can't be read is replaced by one that says so. Its row is not changed, and all other
rows are read.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from app.model.database import DamagedError, Database
from app.model.flushing import Flusher
from app.model.message import Message, MessageId, Record, Role, SampledToken, State, with_sampled, without_tokens
from app.model.queries import COLUMNS, encoded, message_in, unreadable, visible
from app.model.search_index import MAX_CHARS_AT_ONCE, WAITING, at_once
from app.model.tree import Choices, Tree
from worker.sentence import Sentence

_NO_TOKENS: Mapping[MessageId, Sequence[SampledToken]] = {}

_HAS_WAITED = f"length(text) > {MAX_CHARS_AT_ONCE} OR indexed = '{WAITING}'"
UPDATE_TEXT = (
    f"UPDATE message SET text = ?1, indexed = iif({_HAS_WAITED}, '{WAITING}', ?2), "
    f"signs = iif({_HAS_WAITED}, NULL, ?3), state = ?4, record = ?5, model = ?6 WHERE id = ?7"
)
"""Takes text, form and signs for the search index, state, record, model, id. A long text leaves the index later."""

_tokens_decoder = msgspec.json.Decoder(tuple[SampledToken, ...])


class StreamedText(Struct):
    """The text and tokens that were appended to a message."""

    text: str = ""
    sampled: tuple[SampledToken, ...] | None = ()
    """The appended tokens; None means that not all tokens of the text are known."""

    def append_to(self, message: Message) -> Message:
        """Return the stored message with this text and these tokens appended."""
        record = message.record
        if record is not None:
            is_known = self.sampled is not None and (record.num_tokens or not message.text)
            record = with_sampled(record, self.sampled or ()) if is_known else without_tokens(record)
        return msgspec.structs.replace(message, text=message.text + self.text, record=record)


class MessageTable:
    """The messages of one store. Every method raises `StoreError` if the file can't be used."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._problems: list[Sentence] = []
        self.flusher: Flusher | None = None
        """Tracks the changed messages until they are on the disk."""
        self.on_waiting: Callable[[], None] | None = None
        """Called after a long text was written, which must still be added to the search index. None means that `Upkeep`
        finds it in its next round."""

    def take_problems(self) -> list[Sentence]:
        """Return sentences about messages that could not be read since the last call."""
        problems, self._problems = self._problems, []
        return problems

    def note_lost(self, tree: Tree, choices: Choices) -> None:
        """Add a problem if damaged parent links keep messages of a conversation from being shown."""
        line = tree.lineage(tree.root_id)
        if line and line[0].parent_id is None and not self._has_lost(tree, choices):
            return
        self._problems.append(
            Sentence(
                "Some messages of this conversation can't be shown, because this part of the file is damaged: it does "
                "not say correctly which message they follow. They are kept. To see them, restore a backup under "
                "File, Backups."
            )
        )

    def _has_lost(self, tree: Tree, choices: Choices) -> bool:
        """Return whether a message that was once shown does not lead to a root.

        A pruned message does lead to one, because a message is never deleted before the messages below it.
        """
        hidden = {message_id for pair in choices.items() for message_id in pair if message_id not in tree}
        try:
            parents: dict[MessageId, MessageId | None] = dict(
                self._database.rows(
                    "WITH RECURSIVE line (id) AS (SELECT value FROM json_each(?) "
                    "UNION SELECT parent_id FROM message JOIN line USING (id)) "
                    "SELECT id, parent_id FROM message WHERE id IN (SELECT id FROM line)",
                    (json.dumps(sorted(message_id for message_id in hidden if message_id is not None)),),
                )
            )
        except DamagedError:
            # Each unreadable message has a problem of its own.
            return False
        return not parents.keys() <= _leading_to_roots(parents)

    # --- reading -------------------------------------------------------------------------------------------

    def shown_by(self, conversation_id: int) -> list[Message]:
        """Return all messages in any visible branch of a conversation, oldest first."""
        reached = visible("id = ?") + "SELECT {} FROM message WHERE id IN (SELECT id FROM reached)"
        streamed = self._streamed()
        try:
            rows = self._database.each(f"{reached.format(COLUMNS)} ORDER BY id", (conversation_id,))
            return [self._read(row, streamed) for row in rows]
        except DamagedError:
            # Read only the links, which have an index of their own; then each message by itself.
            rows = self._database.rows(
                reached.format("id, parent_id").replace(
                    "FROM message WHERE", "FROM message INDEXED BY message_parent WHERE"
                ),
                (conversation_id,),
            )
            links = {row[0]: row[1] if isinstance(row[1], int) else None for row in rows}
            return [self._read_alone(message_id, links[message_id], streamed) for message_id in sorted(links)]

    def lineage(self, message_id: MessageId) -> list[Message]:
        """Return a message and all above it, topmost first; an empty list if there is no such message."""
        rows = self._database.rows(
            "WITH RECURSIVE line (id) AS (SELECT ? UNION SELECT parent_id FROM message JOIN line USING (id)) "
            f"SELECT {COLUMNS} FROM message WHERE id IN (SELECT id FROM line)",
            (message_id,),
        )
        streamed = self._streamed()
        return Tree((self._read(row, streamed) for row in rows), message_id).lineage(message_id)

    def get(self, message_id: MessageId) -> Message:
        """Return one message. Raises `KeyError`."""
        streamed = self._streamed()
        for row in self._database.rows(f"SELECT {COLUMNS} FROM message WHERE id = ?", (message_id,)):
            return self._read(row, streamed)
        raise KeyError(message_id)

    def existing(self, message_ids: Iterable[MessageId]) -> set[MessageId]:
        """Return the ids that exist."""
        given = json.dumps(sorted(message_ids))
        rows = self._database.rows("SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?))", (given,))
        return {row[0] for row in rows}

    @property
    def newest(self) -> MessageId:
        """The id of the newest message; 0 if there is none."""
        return self._database.rows("SELECT coalesce(max(id), 0) FROM message")[0][0]

    def added_since(self, newest: MessageId) -> list[tuple[MessageId, MessageId | None, bool]]:
        """Return id and parent of each message that is newer than `newest`, oldest first, and whether it streams.

        Hidden messages are left out.
        """
        rows = self._database.rows(
            "SELECT id, parent_id, state = 'streaming' FROM message WHERE id > ? AND pruned_ms IS NULL ORDER BY id",
            (newest,),
        )
        return [(message_id, parent_id, bool(streams)) for message_id, parent_id, streams in rows]

    def streaming(self) -> list[Message]:
        """Return the messages whose state is `streaming`."""
        rows = self._database.rows(f"SELECT {COLUMNS} FROM message WHERE state = 'streaming'")
        streamed = self._streamed()
        return [self._read(row, streamed) for row in rows]

    # --- changing ------------------------------------------------------------------------------------------

    def append(
        self, texts: Mapping[MessageId, str], sampled: Mapping[MessageId, Sequence[SampledToken]] = _NO_TOKENS
    ) -> None:
        """Append streamed text to messages, and its tokens as far as they are known."""
        with self._database.transaction():
            self._database.write_many(
                "INSERT INTO piece (message_id, text, tokens) SELECT id, ?, ? FROM message WHERE id = ?",
                [
                    (text, msgspec.json.encode(sampled[message_id]) if message_id in sampled else None, message_id)
                    for message_id, text in texts.items()
                ],
            )

    def prune(self, message_ids: Iterable[MessageId], *, is_pruned: bool = True) -> None:
        """Hide messages with everything below them, or show them again.

        Emptying the trash deletes hidden messages. A conversation whose root is below a hidden message still shows it.
        Messages that are already hidden keep the time of hiding; messages that are being deleted are not changed.
        """
        pruned_ms = _now_ms() if is_pruned else None
        with self._database.durably():
            self._database.write_many(
                "UPDATE message SET pruned_ms = ? WHERE id = ? AND (pruned_ms IS NULL) = ? AND pruned_ms IS NOT 0",
                [(pruned_ms, message_id, is_pruned) for message_id in message_ids],
            )

    def star(self, message_id: MessageId, *, is_starred: bool = True) -> Message:
        """Star a message or remove its star; return it. Raises `KeyError`."""
        return self._changed(message_id, "starred_ms", _now_ms() if is_starred else None)

    def pin_branch(self, message_id: MessageId, *, is_pinned: bool = True) -> Message:
        """Pin the branch through a message at this message, or remove the pin; return it. Raises `KeyError`."""
        return self._changed(message_id, "pinned_ms", _now_ms() if is_pinned else None)

    def name_branch(self, message_id: MessageId, name: str) -> Message:
        """Name the branch that begins at a message; return the message. Raises `KeyError`."""
        return self._changed(message_id, "name", name)

    # --- parts of larger changes, to be called in a transaction --------------------------------------------

    def insert(
        self,
        parent_id: MessageId | None,
        role: Role,
        text: str,
        state: State = "complete",
        record: Record | None = None,
    ) -> Message:
        now_ms = _now_ms()
        message_id = self._database.write(
            "INSERT INTO message (parent_id, role, text, indexed, signs, state, created_ms, record, model) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                parent_id,
                role,
                text,
                *_for_index(text, state),
                state,
                now_ms,
                encoded(record),
                record and record.model,
            ),
        )
        self._note(message_id, text)
        return Message(
            id=message_id, parent_id=parent_id, role=role, text=text, state=state, created_ms=now_ms, record=record
        )

    def write(self, messages: Iterable[Message]) -> None:
        """Write text, state and record of messages."""
        for message in messages:
            self._database.write(
                UPDATE_TEXT,
                (
                    message.text,
                    *_for_index(message.text, message.state),
                    message.state,
                    encoded(message.record),
                    message.record and message.record.model,
                    message.id,
                ),
            )
            self._database.write("DELETE FROM piece WHERE message_id = ?", (message.id,))
            self._note(message.id, message.text)

    def set(
        self, message_id: MessageId, column: Literal["name", "starred_ms", "pinned_ms"], value: str | int | None
    ) -> None:
        self._database.write(f"UPDATE message SET {column} = ? WHERE id = ?", (value, message_id))

    # --- inside --------------------------------------------------------------------------------------------

    def _note(self, message_id: MessageId, text: str) -> None:
        if self.flusher is not None:
            self.flusher.note(message_id)
        if self.on_waiting is not None and len(text) > MAX_CHARS_AT_ONCE:
            self._database.afterwards(self.on_waiting)

    def _streamed(self) -> dict[MessageId, StreamedText]:
        """Return the text and tokens appended to each message since it was last written as a whole."""
        found: dict[MessageId, StreamedText] = {}
        for message_id, text, tokens in self._database.rows("SELECT message_id, text, tokens FROM piece ORDER BY id"):
            grown = found.setdefault(message_id, StreamedText())
            more = _tokens(tokens)
            # A damaged row may have any type.
            grown.text += text if isinstance(text, str) else ""
            grown.sampled = None if grown.sampled is None or more is None else grown.sampled + more
        return found

    def _changed(
        self, message_id: MessageId, column: Literal["name", "starred_ms", "pinned_ms"], value: str | int | None
    ) -> Message:
        with self._database.durably():
            self.set(message_id, column, value)
        return self.get(message_id)

    def _read(self, row: tuple[Any, ...], streamed: Mapping[MessageId, StreamedText]) -> Message:
        message, problem = message_in(row)
        if problem:
            self._problems.append(problem)
        if message.id in streamed:
            message = streamed[message.id].append_to(message)
        return message

    def _read_alone(
        self, message_id: MessageId, parent_id: MessageId | None, streamed: Mapping[MessageId, StreamedText]
    ) -> Message:
        with contextlib.suppress(DamagedError):
            for row in self._database.rows(f"SELECT {COLUMNS} FROM message WHERE id = ?", (message_id,)):
                return self._read(row, streamed)
        message, problem = unreadable(message_id, parent_id)
        self._problems.append(problem)
        return message


def _leading_to_roots(parents: Mapping[MessageId, MessageId | None]) -> set[MessageId]:
    """Return the messages from which the parents lead to a message without a parent."""
    children: dict[MessageId | None, list[MessageId]] = {}
    for message_id, parent_id in parents.items():
        children.setdefault(parent_id, []).append(message_id)
    found = list(children.get(None, ()))
    for message_id in found:
        found += children.get(message_id, ())
    return set(found)


def _for_index(text: str, state: State) -> tuple[str | None, str | None]:
    """Return the form and the signs of a text for the search index, which has no text that still streams."""
    return (None, None) if state == "streaming" else at_once(text)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _tokens(tokens: object) -> tuple[SampledToken, ...] | None:
    try:
        return _tokens_decoder.decode(tokens) if isinstance(tokens, bytes) else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
