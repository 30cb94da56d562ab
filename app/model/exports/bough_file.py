"""Exports `.bough` files: complete conversations as readable JSON, described in docs/bough-file.md.

Each message is a line, sorted by age. Each conversation is complete: messages that it shares with another conversation,
such as a fork, are in both, with the same ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from app.model.exports.excerpt import Excerpt
from app.model.exports.files import Piece

FORMAT = "bough"
VERSION = 1


def bough_file(excerpts: Iterable[Excerpt]) -> Iterator[Piece]:
    """Yield a file, one message at a time."""
    yield Piece(f'{{"format": "{FORMAT}", "version": {VERSION}, "conversations": [')
    with_projects: set[str] = set()
    for number, excerpt in enumerate(excerpts):
        yield Piece(",\n" if number else "\n")
        head = _encoded(
            {
                **msgspec.to_builtins(excerpt.conversation),
                **_project(excerpt, with_projects),
                **({} if excerpt.origin is None else {"origin": excerpt.origin}),
                "choices": sorted(excerpt.choices.items()),
            }
        )
        yield Piece(f'{head[:-1]},"messages":[')
        for index, message in enumerate(excerpt.messages):
            yield Piece((",\n" if index else "\n") + _encoded(message), 1)
        yield Piece("\n]}")
    yield Piece("\n]}\n")


def _project(excerpt: Excerpt, written: set[str]) -> dict[str, Any]:
    """Return the project of a conversation's folder as a field; empty if an earlier conversation has this project."""
    folder = excerpt.conversation.folder
    if excerpt.project is None or folder in written:
        return {}
    written.add(folder)
    return {"project": excerpt.project}


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()
