"""Exports conversations as plain text, with unchanged messages."""

from __future__ import annotations

from collections.abc import Iterator

from app.model.exports.captions import (
    branch_title,
    ending,
    heading,
    is_folded,
    marks,
    shown_sections,
    split_note,
    statistics,
    text_of,
    title,
)
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Piece
from app.model.message import Message, is_part


def plain_text(excerpt: Excerpt, options: Options) -> Iterator[Piece]:
    """Yield a text, one message at a time."""
    name = title(excerpt)
    yield Piece(f"{name}\n{'=' * len(name)}\n")
    for number, section in enumerate(shown_sections(excerpt, options), 1):
        if number > 1:
            line = branch_title(excerpt, section, number)
            yield Piece(f"\n\n{line}\n{'=' * len(line)}\n")
        for message in section.messages:
            head = heading(message)
            figures = statistics(message) if options.statistics else ""
            above = [f"[{head}]" if head else ""] if is_part(message) else [head, "-" * len(head)]
            lines = [*filter(None, (*above, marks(message), figures)), _text(message, options)]
            if ended := ending(message):
                lines += ["", f"[{ended}]"]
            yield Piece("\n" + "\n".join(lines) + "\n", 1)


def _text(message: Message, options: Options) -> str:
    if not is_folded(message):
        return text_of(message, options)
    note = split_note(message)
    return f"[file: {note.file_name}]" if note.file_address else note.text
