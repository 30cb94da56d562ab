"""Compares requests: which turns of one are in another, and which part has changed.

Clients do not return answers exactly as they received them: they trim white space, leave out reasoning, write the
arguments of calls in another order and with other spaces, and use ids of their own. Messages with only such differences
count as the same.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from app.serving.messages import Client, Compared
from worker.protocol import Message, Tool
from worker.tools.turn_parts import same_json

_MAX_REQUESTS = 64
"""A new request is compared with this many earlier ones."""

_encoder = msgspec.json.Encoder(order="deterministic")


def digest_of(message: Message) -> bytes:
    """Return a hash that is equal for messages that count as the same."""
    if message.role != "assistant":
        return _hash(message.role, message.content)
    calls = [(call.name, same_json(call.arguments)) for call in message.tool_calls]
    return _hash(message.role, message.content.strip(), _encoder.encode(calls).decode())


def digest_of_tools(tools: Sequence[Tool]) -> bytes:
    """Return a hash of a request's tools."""
    return _hash(_encoder.encode(tools).decode())


def chained(start: bytes, digests: Sequence[bytes]) -> list[bytes]:
    """Return for each of `digests` a hash of `start` and all digests up to it."""
    chain: list[bytes] = []
    for digest in digests:
        start = hashlib.sha256(start + digest).digest()
        chain.append(start)
    return chain


def _hash(*texts: str) -> bytes:
    found = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        found.update(len(data).to_bytes(8, "big"))
        found.update(data)
    return found.digest()


class _Seen(NamedTuple):
    """An earlier request."""

    client: Client
    model: str
    tools: bytes
    digests: Sequence[bytes]
    """The hashes of its messages, without its answer."""
    num_tokens: list[int]
    """How many tokens its prompt had; empty until that is known."""

    @property
    def id(self) -> tuple[Client, str]:
        return self.client, self.model


class Requests:
    """The last requests, with which new ones are compared."""

    def __init__(self) -> None:
        self._seen: deque[_Seen] = deque(maxlen=_MAX_REQUESTS)

    def compare(
        self, client: Client, model: str, tools: Sequence[Tool], messages: Sequence[Message]
    ) -> tuple[Compared, Callable[[int], None]]:
        """Compare a request with the most similar earlier one of the same client, and keep it for later comparisons.

        The caller must call the returned function with the number of the prompt's tokens, once it is known.
        """
        new = _Seen(client, model, digest_of_tools(tools), [digest_of(message) for message in messages], [])
        alike = [(_num_same(new, old), old) for old in reversed(self._seen) if old.id == new.id]
        self._seen.append(new)
        # Among equally similar requests, the last one counts.
        num_same, nearest = max(alike, key=lambda each: each[0], default=(0, None))
        compared = Compared() if nearest is None or num_same == 0 else _compared(new, nearest, messages)
        return compared, new.num_tokens.append


def _num_same(new: _Seen, old: _Seen) -> int:
    """Return how many messages two requests have in common at the same places."""
    return sum(mine == theirs for mine, theirs in zip(new.digests, old.digests, strict=False))


def _compared(new: _Seen, old: _Seen, messages: Sequence[Message]) -> Compared:
    if new.tools != old.tools:
        return Compared(is_known=True, changed="tools")
    for number, (mine, theirs) in enumerate(zip(new.digests, old.digests, strict=False)):
        if mine != theirs:
            role = messages[number].role
            changed = "system text" if role == "system" else f"message {number + 1} ({role})"
            return Compared(is_known=True, changed=changed)
    is_longer = len(new.digests) >= len(old.digests)
    return Compared(is_known=True, num_known_tokens=old.num_tokens[0] if is_longer and old.num_tokens else 0)
