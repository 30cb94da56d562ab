"""Imports a file of a test, and draws the conversation that it became."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.model.exports.excerpt import Excerpt, whole_tree
from app.model.store import Store
from tests.app.model.exports.excerpts import import_all


def lines(values: Sequence[Any]) -> str:
    """Return values as JSON Lines."""
    return "\n".join(map(json.dumps, values))


def imported(store: Store, path: Path, content: str | bytes) -> Excerpt:
    """Write a file with one conversation, import it, and import it again, which changes nothing."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    summary = import_all(store, path)
    assert summary.problems == []
    (conversation_id,) = summary.conversation_ids
    # The same file has nothing new.
    again = import_all(store, path)
    assert (again.num_conversations, len(again.twins)) == (0, 1)
    return whole_tree(store, conversation_id)


def drawn(excerpt: Excerpt) -> list[str]:
    """Return each message as `parent's index < own index role: text`, without the root and an empty system prompt."""
    indices = {message.id: index for index, message in enumerate(excerpt.messages)}
    return [
        f"{'' if message.parent_id is None else indices[message.parent_id]}<{index} {message.role}: {message.text}"
        for index, message in enumerate(excerpt.messages)
        if message.role != "root" and (message.role != "system" or message.text)
    ]
