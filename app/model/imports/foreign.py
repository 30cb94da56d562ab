"""A common form for conversations of other programs, and its conversion to Bough's. Independent of the programs.

Tool calls, tool results, other roles and pictures become notes, which keep their position, are labelled by their first
line, and are not sent to a model. Those of one message are its parts, as its texts are. Nothing is left out.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from msgspec import Struct, field, structs

from app.model.grafts import Graft
from app.model.message import MAX_MS, Message, MessageId, Record, Role, State
from app.model.notes import note
from app.model.sources import Source, number_of, of_content
from app.model.text import clean
from app.model.titles import name_from
from worker.sentence import Sentence, SentenceError

ForeignRole = Literal["system", "user", "assistant", "note", "file"]


class UnreadableError(SentenceError):
    """A conversation can't be imported; the sentence says why."""


class Piece(NamedTuple):
    """A part of a message: of its role, or a note."""

    role: ForeignRole
    text: str


class ForeignMessage(Struct, kw_only=True):
    """A message of another program. `parent` is the `id` of its parent, or None at the top."""

    id: str
    parent: str | None
    role: ForeignRole
    text: str
    created_ms: int | None = None
    model: str = ""
    state: State = "complete"
    error: str = ""
    """Why an answer failed or was interrupted; empty if it is not known."""
    name: str = ""
    """The name of the branch that begins here."""
    starred_ms: int | None = None
    pinned_ms: int | None = None
    is_part: bool = False
    """Whether it is a part of its parent, which has the same author."""
    pieces: list[Piece] = field(default_factory=list[Piece])
    """The parts of the message in their order, if it has several; `text` is then ignored."""
    notes: list[str] = field(default_factory=list[str])
    """Notes that follow the message, each with a label as its first line."""


class ForeignConversation(Struct, kw_only=True):
    """A conversation of another program. `current` is the end of the branch that was shown."""

    name: str
    messages: list[ForeignMessage]
    id: str = ""
    """Its id in its program; empty if the file has none."""
    has_message_ids: bool = True
    """Whether the messages' ids are their program's. Otherwise they are known by their places and texts."""
    is_in_order: bool = False
    """Whether the messages are sorted, siblings oldest first. Otherwise they are sorted by their times."""
    is_part: bool = False
    """Whether this is a branch of a conversation that has a file of its own. That file has the name and the visible
    branch."""
    current: str | None = None
    created_ms: int | None = None
    updated_ms: int | None = None
    is_pinned: bool = False
    is_archived: bool = False
    folder: str = ""
    """Its folder, with slashes."""
    default_model: str = ""
    """The model that it asks; empty if the file does not name one."""
    remarks: Counter[Sentence] = field(default_factory=Counter[Sentence])
    """The kinds of changes to the messages, and how often each was made."""


def join_answers(messages: list[ForeignMessage]) -> None:
    """Mark the results of tools and the texts that follow an answer as its parts, unless they have other versions."""
    num_below = Counter(message.parent for message in messages)
    by_id = {message.id: message for message in messages}
    for message in messages:
        above = by_id.get(message.parent or "")
        follows = above is not None and above.role in {"assistant", "note"} and num_below[message.parent] == 1
        message.is_part = follows and message.role in {"assistant", "note"}


def grafted(conversation: ForeignConversation, now_ms: int, program: str = "") -> Graft:
    """Return a conversation as Bough's, with the same branches. Raises `UnreadableError` if it has no messages.

    `program`: its program's name; if empty, it will not be recognised when it is imported again.

    Every message is included once. A message whose parent is missing moves to the top, and cycles are cut.
    """
    if not conversation.messages:
        raise UnreadableError(Sentence("it has no messages"))
    times_known = [_ms(message.created_ms, now_ms) for message in conversation.messages if message.created_ms]
    created_ms = _ms(conversation.created_ms, min(times_known, default=now_ms))
    messages = [Message(id=1, parent_id=None, role="root", text="", created_ms=created_ms)]
    ids: dict[int, MessageId] = {}
    """For each foreign message, by its index: the last message that was made from it. Its children follow this
    message."""
    keys = {1: number_of("root")}
    times: Counter[str] = Counter()
    system_id: MessageId | None = None
    choices: dict[MessageId, MessageId | None] = {}
    parents, order = _ordered(conversation)
    for index in order:
        theirs = conversation.messages[index]
        parent = parents[index]
        when_ms = _ms(theirs.created_ms, messages[ids[parent] - 1].created_ms if parent is not None else created_ms)
        role: Role = theirs.role
        text = clean(theirs.text)
        if parent is not None:
            parent_id = ids[parent]
            if role == "system":
                # Only the first message of a branch can be a system prompt.
                role, text = "note", note("System", text)
        elif role == "system":
            parent_id = 1
        else:
            if system_id is None:
                system_id = len(messages) + 1
                messages.append(Message(id=system_id, parent_id=1, role="system", text="", created_ms=created_ms))
                keys[system_id] = number_of("system")
            parent_id = system_id
        record = Record(model=clean(theirs.model), error=clean(theirs.error) or None)
        made: list[tuple[Role, str, State, Record]] = [
            (piece_role, clean(piece_text), "complete", record if piece_role == "assistant" else Record())
            for piece_role, piece_text in theirs.pieces or [Piece(role, text)]
        ]
        end = max((number for number, piece in enumerate(made) if piece[0] == theirs.role), default=len(made) - 1)
        # An answer may consist of tool calls only.
        made[end] = (*made[end][:2], theirs.state, record)
        made.extend(("note", clean(words), "complete", Record()) for words in theirs.notes)
        name = theirs.id if conversation.has_message_ids else f"{keys[parent_id]} {role} {text}"
        times[name] += 1
        for number, (made_role, made_text, state, made_record) in enumerate(made):
            message_id = len(messages) + 1
            keys[message_id] = number_of(name, str(times[name]), str(number))
            is_first = not number
            if not is_first or (theirs.is_part and parent is not None):
                made_record = structs.replace(made_record, is_part=True)
            messages.append(
                Message(
                    id=message_id,
                    parent_id=parent_id,
                    role=made_role,
                    text=made_text,
                    state=state,
                    created_ms=when_ms,
                    record=None if made_record == Record() else made_record,
                    name=clean(theirs.name) if is_first else "",
                    starred_ms=_valid_ms(theirs.starred_ms) if is_first else None,
                    pinned_ms=_valid_ms(theirs.pinned_ms) if is_first else None,
                )
            )
            parent_id = message_id
        ids[index] = parent_id
    by_id = {message.id: message for message in messages}
    current = _index(conversation, conversation.current)
    child = None if current is None else ids[current]
    while child is not None and (above := by_id[child].parent_id) is not None:
        choices[above] = child
        child = above
    updated_ms = _ms(conversation.updated_ms, max(message.created_ms for message in messages))
    source = None
    if program and conversation.id:
        source = Source(program, clean(conversation.id))
    elif program:
        source = of_content(program, _content(conversation))
    first = next((message.text for message in messages if message.role == "user"), "")
    return Graft(
        name=" ".join(clean(conversation.name).split()) or name_from(first) or "Imported conversation",
        messages=messages,
        root_id=1,
        choices=choices,
        created_ms=created_ms,
        updated_ms=updated_ms,
        pinned_ms=updated_ms if conversation.is_pinned else None,
        archived_ms=updated_ms if conversation.is_archived else None,
        folder="/".join(" ".join(part.split()) for part in clean(conversation.folder).split("/") if part.strip()),
        model=clean(conversation.default_model),
        source=source,
        is_part=conversation.is_part,
        keys=keys,
    )


def _content(conversation: ForeignConversation) -> Iterator[str]:
    """Yield all texts and times of a conversation."""
    yield conversation.name
    yield str((conversation.created_ms, conversation.updated_ms, conversation.current))
    yield str((conversation.is_pinned, conversation.is_archived, conversation.folder, conversation.default_model))
    for message in conversation.messages:
        yield str((message.id, message.parent, message.role, message.created_ms, message.model, message.state))
        yield str((message.error, message.name, message.starred_ms, message.pinned_ms))
        yield message.text
        yield from itertools.chain.from_iterable(message.pieces)
        yield from message.notes


def _ms(found: int | None, default: int) -> int:
    valid = _valid_ms(found)
    return default if valid is None else valid


def _valid_ms(found: int | None) -> int | None:
    return found if found is not None and 0 <= found <= MAX_MS else None


def _index(conversation: ForeignConversation, message_id: str | None) -> int | None:
    indices = (index for index, message in enumerate(conversation.messages) if message.id == message_id)
    return None if message_id is None else next(indices, None)


def _ordered(conversation: ForeignConversation) -> tuple[list[int | None], list[int]]:
    """Return the index of each message's parent, and all indices sorted: parents first, then by time."""
    messages = conversation.messages
    indices: dict[str, int] = {}
    for index, message in enumerate(messages):
        if message.id in indices:
            conversation.remarks[Sentence("messages with the id of another message")] += 1
        indices.setdefault(message.id, index)
    parents: list[int | None] = [None] * len(messages)
    for index, message in enumerate(messages):
        parent = None if message.parent is None else indices.get(message.parent)
        if message.parent is not None and parent is None:
            conversation.remarks[Sentence("messages whose parent is not in the file, moved to the top")] += 1
        parents[index] = parent if parent != index else None
    for index in _cycles(parents):
        parents[index] = None
        conversation.remarks[Sentence("circular links between messages, cut")] += 1
    # Equal times leave the messages in the order of the file.
    times_ms = [0 if conversation.is_in_order else message.created_ms or 0 for message in messages]
    children: list[list[int]] = [[] for _ in messages]
    pending: list[tuple[int, int]] = []
    for index, parent in enumerate(parents):
        if parent is None:
            pending.append((times_ms[index], index))
        else:
            children[parent].append(index)
    heapq.heapify(pending)
    order: list[int] = []
    while pending:
        when_ms, index = heapq.heappop(pending)
        order.append(index)
        for child in children[index]:
            # No message is older than its parent.
            heapq.heappush(pending, (max(times_ms[child], when_ms), child))
    return parents, order


def _cycles(parents: list[int | None]) -> Iterable[int]:
    """Return one index of each cycle."""
    # 0: not seen; 1: in the current chain of parents; 2: done.
    state = bytearray(len(parents))
    found: list[int] = []
    for start in range(len(parents)):
        line: list[int] = []
        index: int | None = start
        while index is not None and not state[index]:
            state[index] = 1
            line.append(index)
            index = parents[index]
        if index is not None and state[index] == 1:
            found.append(index)
        for seen in line:
            state[seen] = 2
    return found
