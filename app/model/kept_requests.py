"""Stores requests of other programs as conversations: a request continues the tree that contains its history.

Each turn is found by a key, which is the hash of everything up to this turn. Its messages form a chain with consecutive
ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from app.model.conversation_table import ConversationTable
from app.model.database import Database
from app.model.generation_settings import GenerationSettings
from app.model.message import Message, MessageId, Record, Role, State
from app.model.message_table import MessageTable
from app.model.preparations import Preparations, Prepared
from app.model.tree import Choices

_TURNS_AT_ONCE, _CHARS_AT_ONCE = 40, 50_000
_FIND = """
SELECT key, above_id, first_id, last_id, conversation_id FROM kept_turn
WHERE key IN (SELECT value FROM json_each(?))
AND conversation_id IN (SELECT id FROM conversation WHERE trashed_ms IS NULL)
AND NOT EXISTS (SELECT 1 FROM message WHERE id BETWEEN first_id AND last_id AND pruned_ms IS NOT NULL)
"""


class NewMessage(NamedTuple):
    """A message that is not stored yet."""

    role: Role
    text: str
    state: State = "complete"
    record: Record | None = None


class KeptTurn(Struct, frozen=True):
    """A turn as a chain of messages. `key` is the same for the same turn after the same history."""

    key: str
    messages: Sequence[NewMessage]


class KeptRequest(Struct, frozen=True, kw_only=True):
    """A request and its answers. `history` begins with the system prompt, which may be empty."""

    history: Sequence[KeptTurn]
    answers: Sequence[KeptTurn]
    name: str
    folder: str
    model: str
    generation: GenerationSettings
    """The request's settings, for answers that the user generates in the same conversation."""
    is_rest: bool = False
    """Whether this is the rest of a request whose beginning has just been stored: its last turn is the first here."""


class Kept(NamedTuple):
    """Where a request was stored."""

    conversation_id: int
    messages: Sequence[Message]
    """The new messages, parents first."""
    choices: Choices
    """The choices with which the conversation shows the new messages."""
    rest: KeptRequest | None = None
    """The values that are not stored yet; None if all of them are."""


class _Turn(NamedTuple):
    above_id: MessageId
    first_id: MessageId
    last_id: MessageId
    conversation_id: int


class KeptRequests:
    """The kept requests of one store. Methods raise `StoreError`."""

    def __init__(
        self,
        database: Database,
        messages: MessageTable,
        conversations: ConversationTable,
        preparations: Preparations,
    ) -> None:
        self._database = database
        self._messages = messages
        self._conversations = conversations
        self._preparations = preparations

    def conversation_of(self, request: KeptRequest) -> tuple[int, MessageId] | None:
        """Return the conversation that a request continues, and the message below which the request differs.

        None if the request would begin a new conversation.
        """
        known = self._known(request.history)
        return (known[-1].conversation_id, known[-1].last_id) if known else None

    def keep(self, request: KeptRequest, *, is_chosen: bool = True, is_whole: bool = True) -> Kept:
        """Store the turns that are not stored yet, and the answers. `is_chosen`: the conversation shows them.

        Unless `is_whole`, store only as many turns as take a short time; the caller keeps the rest, too.
        """
        with self._database.durably():
            known = self._known(request.history)
            if not known:
                root = self._messages.insert(None, "root", "")
                conversation_id = self._conversations.insert(request.name, root.id, request.model).id
                self._conversations.set(conversation_id, "folder", request.folder)
                self._preparations.put(conversation_id, Prepared(generation=request.generation))
                system = request.history[0].messages[0]
                added = [root, self._messages.insert(root.id, system.role, system.text, record=system.record)]
                self._conversations.choose(conversation_id, {root.id: added[-1].id})
                above_id, is_chosen = added[-1].id, True
            else:
                conversation_id, above_id = known[-1].conversation_id, known[-1].last_id
                added = self._with_ids_of_calls(known[-1], request.history[len(known)])
            choices: dict[MessageId, MessageId | None] = {}
            is_new = not known or request.is_rest
            is_chosen = is_chosen or request.is_rest
            turns = request.history[len(known) + 1 :]
            num_turns = len(turns) if is_whole else _num_at_once(turns)
            for turn in turns[:num_turns]:
                if not is_new:
                    self._conversations.pin_other_views(above_id, conversation_id if is_chosen else None)
                added += self._add(turn, above_id, conversation_id, choices, is_chosen=is_chosen, replaces=True)
                above_id, is_chosen, is_new = added[-1].id, True, True
            if num_turns < len(turns):
                # The last stored turn is the place where the rest belongs.
                history = [request.history[0], *turns[num_turns - 1 :]]
                rest = structs.replace(request, history=history, is_rest=True)
                return Kept(conversation_id, added, choices, rest)
            # The first answer is shown, unless the user looks at another one.
            for number, turn in enumerate(request.answers):
                if not is_new:
                    self._conversations.pin_other_views(above_id, conversation_id if is_chosen and not number else None)
                added += self._add(
                    turn, above_id, conversation_id, choices, is_chosen=is_chosen and not number, replaces=False
                )
            self._conversations.mark_used(conversation_id, above_id)
            return Kept(conversation_id, added, choices)

    def _with_ids_of_calls(self, known: _Turn, turn: KeptTurn) -> list[Message]:
        """Give the tool calls of a stored answer the ids that its client uses. Return the changed messages."""
        if not any(record is not None and record.sent is not None and record.sent.call for *_, record in turn.messages):
            return []
        changed: list[Message] = []
        for message_id, (*_, record) in zip(range(known.first_id, known.last_id + 1), turn.messages, strict=False):
            message = self._messages.get(message_id)
            if record is not None and record.sent is not None and record.sent.call and record != message.record:
                changed.append(structs.replace(message, record=record))
        self._messages.write(changed)
        return changed

    def _add(
        self,
        turn: KeptTurn,
        above_id: MessageId,
        conversation_id: int,
        choices: dict[MessageId, MessageId | None],
        *,
        is_chosen: bool,
        replaces: bool,
    ) -> list[Message]:
        """Add a turn below a message, and add the choices that show it to `choices`. Return the new messages.

        Other conversations that show the message must be pinned before, unless it is new: they can't show a new one.
        `replaces`: the turn is found by its key from now on, even if another turn had this key.
        """
        added: list[Message] = []
        parent_id = above_id
        for role, text, state, record in turn.messages:
            message = self._messages.insert(parent_id, role, text, state, record)
            if is_chosen:
                self._conversations.choose(conversation_id, {parent_id: message.id})
                choices[parent_id] = message.id
            added.append(message)
            parent_id, is_chosen = message.id, True
        if replaces or not self._is_there(turn, above_id):
            self._database.write(
                "INSERT OR REPLACE INTO kept_turn VALUES (?, ?, ?, ?, ?)",
                (turn.key, above_id, added[0].id, added[-1].id, conversation_id),
            )
        return added

    def _is_there(self, turn: KeptTurn, above_id: MessageId) -> bool:
        """Return whether the same turn with the same tokens is stored below a message, so that it can be continued."""
        found = self._found([turn]).get(turn.key)
        if found is None or found.above_id != above_id:
            return False
        one, other = self._messages.get(found.first_id).record, turn.messages[0].record
        return one is not None and other is not None and (one.token_ids, one.sent) == (other.token_ids, other.sent)

    def _known(self, history: Sequence[KeptTurn]) -> list[_Turn]:
        """Return the stored turns after the system prompt, up to the first that is not stored.

        Many conversations have equal system prompts, but each has a message of its own.
        """
        found = self._found(history[1:])
        known: list[_Turn] = []
        for turn in history[1:]:
            one = found.get(turn.key)
            if one is None or (known and one.above_id != known[-1].last_id):
                break
            known.append(one)
        return known

    def _found(self, turns: Iterable[KeptTurn]) -> dict[str, _Turn]:
        rows = self._database.rows(_FIND, (json.dumps([turn.key for turn in turns]),))
        return {row[0]: _Turn(*row[1:]) for row in rows}


def _num_at_once(turns: Sequence[KeptTurn]) -> int:
    """Return how many of the first turns are stored in one transaction: at least one, if there is any."""
    num_chars = 0
    for number, turn in enumerate(turns[:_TURNS_AT_ONCE]):
        num_chars += sum(len(message.text) for message in turn.messages)
        if number and num_chars > _CHARS_AT_ONCE:
            return number
    return min(len(turns), _TURNS_AT_ONCE)
