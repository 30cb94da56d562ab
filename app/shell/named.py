"""Conversations by the names that were typed."""

from __future__ import annotations

from collections.abc import Sequence

from app.model.message import Conversation
from app.model.store import Store


def named(store: Store, names: Sequence[str] | None) -> tuple[list[Conversation], list[str]]:
    """Return the conversations that are meant, and the names that are nobody's."""
    there = sorted(store.conversations(), key=lambda conversation: conversation.id)
    if names is None:
        return there, []
    found: dict[int, Conversation] = {}
    missing: list[str] = []
    for name in names:
        meant = [conversation for conversation in there if conversation.name == name]
        meant = meant or [conversation for conversation in there if str(conversation.id) == name]
        found |= {conversation.id: conversation for conversation in meant}
        if not meant:
            missing.append(name)
    return list(found.values()), missing
