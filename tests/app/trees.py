"""Trees in one line: `"u1-a1-u2 | a1-u3"`, where a1 has two children; u is a question, a an answer, s a system prompt.

A branch that begins with a known label continues from there; any other begins below the system prompt. The root and the
first system prompt are not written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.model.message import Message, MessageId, Role
from app.model.store import Store

_ROLES: dict[str, Role] = {"u": "user", "a": "assistant", "s": "system"}


@dataclass(frozen=True)
class Planted:
    """A conversation from such a line; a message's text is its label."""

    conversation_id: int
    ids: dict[str, MessageId]


def plant(store: Store, line: str) -> Planted:
    """Store a conversation with this tree. The branch written last is the chosen one."""
    branches = [branch.strip().split("-") for branch in line.split("|")]
    first = branches[0][0]
    conversation, question = store.create_conversation("planted", "", first)
    assert question.parent_id is not None
    ids = {first: question.id}
    for labels in branches:
        parent_id = question.parent_id
        for label in labels:
            if label not in ids:
                ids[label] = store.add(conversation.id, parent_id, _ROLES[label[0]], label).id
            else:
                store.conversations.choose(conversation.id, {parent_id: ids[label]})
            parent_id = ids[label]
    return Planted(conversation.id, ids)


def drawn(messages: Iterable[Message]) -> str:
    """Return messages as such a line, the oldest branch first; texts are the labels."""
    known = {message.id: message for message in messages if message.role != "root" and message.text}
    children: dict[MessageId | None, list[Message]] = {}
    for message in sorted(known.values(), key=lambda message: message.id):
        parent_id = message.parent_id if message.parent_id in known else None
        children.setdefault(parent_id, []).append(message)
    branches: list[str] = []
    waiting = [[message] for message in reversed(children.get(None, []))]
    while waiting:
        line = waiting.pop()
        while below := children.get(line[-1].id, []):
            waiting += [[line[-1], other] for other in reversed(below[1:])]
            line.append(below[0])
        branches.append("-".join(message.text for message in line))
    return " | ".join(branches)


def labels(path: Iterable[Message]) -> str:
    """Return one branch as such a line, without root and empty system prompt."""
    return "-".join(message.text for message in path if message.role != "root" and message.text)
