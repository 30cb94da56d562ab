"""`.bough`: conversations as they are, nothing lost; JSON that is read by eye. docs/bough-file.md describes it.

One message a line, in the order of their making. What an earlier conversation of the file has told (forks share their
past) is not told again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from app.model.exports.part import Part
from app.model.exports.writing import Piece
from app.model.message import MessageId

FORMAT = "bough"
VERSION = 1


def bough_file(parts: Iterable[Part]) -> Iterator[Piece]:
    """Yield a file, a message at a time."""
    told: set[MessageId] = set()
    yield Piece(f'{{"format": "{FORMAT}", "version": {VERSION}, "conversations": [')
    for number, part in enumerate(parts):
        yield Piece(",\n" if number else "\n")
        head = _encoded(
            {
                **msgspec.to_builtins(part.conversation),
                "choices": sorted(part.choices.items()),
            }
        )
        yield Piece(f'{head[:-1]},"messages":[')
        is_first = True
        for message in part.messages:
            if message.id not in told:
                told.add(message.id)
                yield Piece(("\n" if is_first else ",\n") + _encoded(message))
                is_first = False
            yield Piece("", 1)
        yield Piece("\n]}")
    yield Piece("\n]}\n")


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()
