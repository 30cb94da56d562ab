"""A conversation as another program left it, and how it becomes one of ours; it knows no program.

What is no turn of ours (a tool's call or result, another role's words, a picture) becomes a note: a message that is
kept in its place, labelled by its first line, and not read by a model. Nothing that is there is left out.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct, field

from app.model.grafts import Graft
from app.model.message import Message, MessageId, Record, Role, State
from app.model.typed_text import clean, name_from
from worker.sentence import Sentence, SentenceError

_MAX_MS = 253_402_300_799_000
"""The end of the year 9999."""

ForeignRole = Literal["system", "user", "assistant", "note"]


class BrokenError(SentenceError):
    """A conversation can't be imported; the sentence says why."""


class ForeignMessage(Struct, kw_only=True):
    """One message. `parent` is another one's `id`; None stands at the top."""

    id: str
    parent: str | None
    role: ForeignRole
    text: str
    created_ms: int | None = None
    model: str = ""
    state: State = "complete"
    notes: list[str] = field(default_factory=list[str])
    """What belongs to the message and is no text of it, each with a label as its first line."""


class ForeignConversation(Struct, kw_only=True):
    """One conversation. `current`: the end of the branch that was shown."""

    name: str
    messages: list[ForeignMessage]
    current: str | None = None
    created_ms: int | None = None
    updated_ms: int | None = None
    remarks: Counter[Sentence] = field(default_factory=Counter[Sentence])
    """What is not as it was, and how often: for the report."""


def note(label: str, text: str) -> str:
    """Return a note's text."""
    return f"{' '.join(label.split())}\n\n{text}" if text else " ".join(label.split())


def fenced(text: str, language: str = "") -> str:
    """Return text as a block of code, whatever fences are in it."""
    mark = "```"
    while mark in text:
        mark += "`"
    return f"{mark}{language}\n{text}\n{mark}"


def grafted(conversation: ForeignConversation, now_ms: int) -> Graft:
    """Return a conversation of ours with the same branches. Raises `BrokenError` where there is no message.

    Whatever the links say, every message is in it once: a parent that is missing is the top, a circle is cut open.
    """
    if not conversation.messages:
        raise BrokenError(Sentence("it has no messages"))
    created_ms = _ms(conversation.created_ms, now_ms)
    messages = [Message(id=1, parent_id=None, role="root", text="", created_ms=created_ms)]
    ids: dict[int, MessageId] = {}
    """Of the foreign messages, by their places: what stands below one stands below this."""
    system_id: MessageId | None = None
    choices: dict[MessageId, MessageId | None] = {}
    parents, order = _ordered(conversation)
    for place in order:
        theirs = conversation.messages[place]
        parent = parents[place]
        when_ms = _ms(theirs.created_ms, messages[ids[parent] - 1].created_ms if parent is not None else created_ms)
        role: Role = theirs.role
        text = clean(theirs.text)
        if parent is not None:
            parent_id = ids[parent]
            if role == "system":
                # Only the first message of a branch can be one.
                role, text = "note", note("System", text)
        elif role == "system":
            parent_id = 1
        else:
            if system_id is None:
                system_id = len(messages) + 1
                messages.append(Message(id=system_id, parent_id=1, role="system", text="", created_ms=created_ms))
            parent_id = system_id
        record = Record(model=clean(theirs.model)) if role == "assistant" and theirs.model else None
        said: list[tuple[Role, str, State, Record | None]] = [(role, text, theirs.state, record)]
        said.extend(("note", clean(words), "complete", None) for words in theirs.notes)
        for said_role, said_text, state, said_record in said:
            message_id = len(messages) + 1
            messages.append(
                Message(
                    id=message_id,
                    parent_id=parent_id,
                    role=said_role,
                    text=said_text,
                    state=state,
                    created_ms=when_ms,
                    record=said_record,
                )
            )
            parent_id = message_id
        ids[place] = parent_id
    by_id = {message.id: message for message in messages}
    current = _place(conversation, conversation.current)
    below = None if current is None else ids[current]
    while below is not None and (above := by_id[below].parent_id) is not None:
        choices[above] = below
        below = above
    first = next((message.text for message in messages if message.role == "user"), "")
    return Graft(
        name=" ".join(clean(conversation.name).split()) or name_from(first) or "Imported conversation",
        messages=messages,
        root_id=1,
        choices=choices,
        created_ms=created_ms,
        updated_ms=_ms(conversation.updated_ms, max(message.created_ms for message in messages)),
    )


def _ms(found: int | None, otherwise: int) -> int:
    return found if found is not None and 0 <= found <= _MAX_MS else otherwise


def _place(conversation: ForeignConversation, message_id: str | None) -> int | None:
    places = (place for place, message in enumerate(conversation.messages) if message.id == message_id)
    return None if message_id is None else next(places, None)


def _ordered(conversation: ForeignConversation) -> tuple[list[int | None], list[int]]:
    """Return the parents' places, and the places in an order in which parents come first, else the older first."""
    messages = conversation.messages
    places: dict[str, int] = {}
    for place, message in enumerate(messages):
        if message.id in places:
            conversation.remarks[Sentence("messages with the id of another message")] += 1
        places.setdefault(message.id, place)
    parents: list[int | None] = [None] * len(messages)
    for place, message in enumerate(messages):
        parent = None if message.parent is None else places.get(message.parent)
        if message.parent is not None and parent is None:
            conversation.remarks[Sentence("messages whose parent is not in the file, moved to the top")] += 1
        parents[place] = parent if parent != place else None
    for place in _circles(parents):
        parents[place] = None
        conversation.remarks[Sentence("circular links between messages, cut")] += 1
    children: list[list[int]] = [[] for _ in messages]
    waiting: list[tuple[int, int]] = []
    for place, parent in enumerate(parents):
        if parent is None:
            waiting.append((messages[place].created_ms or 0, place))
        else:
            children[parent].append(place)
    heapq.heapify(waiting)
    order: list[int] = []
    while waiting:
        when_ms, place = heapq.heappop(waiting)
        order.append(place)
        for child in children[place]:
            # None is older than what it answers.
            heapq.heappush(waiting, (max(messages[child].created_ms or 0, when_ms), child))
    return parents, order


def _circles(parents: list[int | None]) -> Iterable[int]:
    """Return one place of each circle."""
    state = bytearray(len(parents))
    cut: list[int] = []
    for start in range(len(parents)):
        line: list[int] = []
        place: int | None = start
        while place is not None and not state[place]:
            state[place] = 1
            line.append(place)
            place = parents[place]
        if place is not None and state[place] == 1:
            cut.append(place)
        for seen in line:
            state[seen] = 2
    return cut
