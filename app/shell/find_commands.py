"""`bough search` and `bough list`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.model.search import Hit
from app.model.search_words import understood
from app.model.store import Store
from app.shell.terminal import one_line, say, say_json

_MAX_HITS = 100


def search(store: Store, words: Sequence[str], *, as_json: bool) -> int:
    """Print what has these words; return the exit code."""
    # The shell has taken the quotes away from what was meant as one.
    asked = understood(" ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words))
    hits = store.search(asked.words, asked.filters, limit=_MAX_HITS)
    if as_json:
        say_json([_hit(hit) for hit in hits])
    else:
        for hit in hits:
            version = f" · version {hit.version} of {hit.num_versions}" if hit.num_versions > 1 else ""
            say(one_line(f"{hit.conversation.name} · {hit.message.role}{version} · {hit.excerpt}"))
    return 0


def _hit(hit: Hit) -> dict[str, Any]:
    """As docs/shell.md has it."""
    message = hit.message
    return {
        "conversation_id": hit.conversation.id,
        "conversation": hit.conversation.name,
        "message_id": message.id,
        "path": hit.path,
        "version": hit.version,
        "num_versions": hit.num_versions,
        "role": message.role,
        "model": None if message.record is None else message.record.model,
        "created_ms": message.created_ms,
        "starred_ms": message.starred_ms,
        "pinned_ms": message.pinned_ms,
        "excerpt": hit.excerpt,
        "marks": hit.marks,
        "text": message.text,
    }


def list_conversations(store: Store, *, as_json: bool) -> int:
    """Print them all; return the exit code."""
    conversations = store.conversations()
    if as_json:
        say_json(conversations)
    else:
        for conversation in conversations:
            say(f"{conversation.id}\t{one_line(conversation.name)}")
    return 0
