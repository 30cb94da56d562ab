"""`bough search`, `bough list`, and conversations by name for the other commands."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from app.model.local_paths import name_of, shareable_conversation
from app.model.message import Conversation
from app.model.search import Hit
from app.model.search_filters import NoDayError, split_query
from app.model.store import Store
from app.shell.terminal import FailedError, print_error, print_fields, print_json, print_line, run_to_end

_MAX_HITS = 100


def search(store: Store, words: Sequence[str], *, as_json: bool) -> int:
    """Print the messages that contain the words; return the exit code."""
    # The shell removed the quotes around a phrase.
    try:
        query = split_query(" ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words))
    except NoDayError as error:
        raise FailedError(str(error)) from error
    if not store.search.is_complete and not store.why_read_only:
        run_to_end(_renewed(store), lambda _: "The search index is still being written.")
    hits = store.search.find(query.words, query.filters, limit=_MAX_HITS)
    if not store.search.is_complete:
        print_error("The search index is not complete, so some old or long messages are not found.")
    if as_json:
        print_json([_hit(hit, store) for hit in hits])
    else:
        for hit in hits:
            version = f" · version {hit.version} of {hit.num_versions}" if hit.num_versions > 1 else ""
            print_line(" ".join(f"{hit.conversation.name} · {hit.message.role}{version} · {hit.excerpt}".split()))
    return 0


def _renewed(store: Store) -> Generator[None]:
    """Write the rest of the search index, step by step."""
    while not store.search.renew_slice():
        yield


def _hit(hit: Hit, store: Store) -> dict[str, Any]:
    """Return a hit in the JSON form that docs/shell.md describes."""
    message = hit.message
    return {
        "conversation_id": hit.conversation.id,
        "conversation": hit.conversation.name,
        "message_id": message.id,
        "path": store.search.line(message.id),
        "version": hit.version,
        "num_versions": hit.num_versions,
        "role": message.role,
        "model": None if message.record is None else name_of(message.record.model),
        "created_ms": message.created_ms,
        "starred_ms": message.starred_ms,
        "pinned_ms": message.pinned_ms,
        "excerpt": hit.excerpt,
        "marks": hit.marks,
        "text": message.text,
    }


def list_conversations(store: Store, *, as_json: bool) -> int:
    """Print all conversations; return the exit code."""
    conversations = store.conversations.all()
    if as_json:
        print_json([shareable_conversation(conversation) for conversation in conversations])
    else:
        for conversation in conversations:
            print_fields(str(conversation.id), conversation.name)
    return 0


def conversations_named(store: Store, names: Sequence[str] | None) -> tuple[list[Conversation], list[str]]:
    """Return the conversations with these names or ids, and the names for which there is none.

    If `names` is None, return all conversations.
    """
    conversations = sorted(store.conversations.all(), key=lambda conversation: conversation.id)
    if names is None:
        return conversations, []
    found: dict[int, Conversation] = {}
    missing: list[str] = []
    for name in names:
        matches = [conversation for conversation in conversations if conversation.name == name]
        matches = matches or [conversation for conversation in conversations if str(conversation.id) == name]
        found |= {conversation.id: conversation for conversation in matches}
        if not matches:
            missing.append(name)
    return list(found.values()), missing
