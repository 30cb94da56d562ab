"""Exports conversations as Markdown documents with unchanged texts, which Bough can import.

A document is the conversation's name, then each message under a heading that names its role. If this is ambiguous (a
text contains such headings, leaves a fence open, or begins with empty lines) or there are several branches, comments
precede the headings; Markdown readers do not show them:

    <!-- bough {"format":"bough-markdown","version":1,"name":"Trip plans"} -->
    <!-- bough {"id":3,"parent":null,"role":"user","lines":2} -->
    ## You

    the text

`lines` is the number of lines between the comment and the text. `closed` is the number of characters that were added
after the text to close what it left open. If a text contains `<!-- bough `, all comments say `bough-2`, and so on.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

import msgspec

from app.model.exports.captions import (
    ROLES,
    branch_title,
    heading,
    one_line,
    shown_sections,
    split_note,
    statistics,
    text_of,
    title,
)
from app.model.exports.excerpt import Excerpt, Options, Section
from app.model.exports.files import Piece
from app.model.exports.open_block import end_of_open_block
from app.model.message import Message, MessageId

FORMAT = "bough-markdown"
VERSION = 1
HEADING = re.compile(rf"## (?P<role>{'|'.join(ROLES.values())})(?: · (?P<model>.*) · (?P<when>[^·]*))?")
"""The heading of a message in a document without comments."""


def to_markdown(name: str, path: Iterable[Message]) -> str:
    """Return one branch as a document without comments, for the clipboard; open fences and HTML are closed."""
    parts = [f"# {one_line(name) or 'Conversation'}"]
    for message in path:
        if message.role == "root" or (message.role == "system" and not message.text.strip()):
            continue
        text = message.text if message.role != "file" else split_note(message).text
        parts += [f"## {heading(message)}", closed(text.strip("\n"))]
    return "\n\n".join(parts) + "\n"


def markdown(excerpt: Excerpt, options: Options) -> Iterator[Piece]:
    """Yield a document, one message at a time."""
    sections = shown_sections(excerpt, options)
    texts = [text_of(message, options) for section in sections for message in section.messages]
    if len(sections) <= 1 and not options.statistics and _is_plain(sections, texts):
        yield Piece(f"# {title(excerpt)}\n")
        for message in itertools.chain.from_iterable(section.messages for section in sections):
            yield Piece(f"\n## {heading(message)}\n\n{text_of(message, options)}\n", 1)
        return
    exported = {message.id for section in sections for message in section.messages}
    key = next(key for key in _keys() if not any(f"<!-- {key} " in text for text in texts))
    yield Piece(_mark(key, {"format": FORMAT, "version": VERSION, "name": excerpt.conversation.name}))
    yield Piece(f"# {title(excerpt)}\n")
    for number, section in enumerate(sections, 1):
        for message in section.messages:
            text = text_of(message, options)
            head = [f"## {heading(message)}", ""]
            if number > 1 and message is section.messages[0]:
                head[:0] = [f"# {branch_title(excerpt, section, number)}", ""]
            if options.statistics and (figures := statistics(message)):
                head += [f"*{figures}*", ""]
            closed_text = closed(text)
            mark: dict[str, object] = {
                "id": message.id,
                "parent": _nearest_parent(message, excerpt, exported),
                "role": message.role,
                "ms": message.created_ms,
                "model": message.record.model if message.record is not None else "",
                "lines": len(head),
                "closed": len(closed_text) - len(text),
            }
            head_text = "\n".join(head)
            yield Piece(f"\n{_mark(key, mark)}{head_text}\n{closed_text}\n", 1)


def _nearest_parent(message: Message, excerpt: Excerpt, exported: set[MessageId]) -> MessageId | None:
    parent_id = message.parent_id
    while parent_id is not None and parent_id not in exported:
        parent_id = excerpt.tree[parent_id].parent_id if parent_id in excerpt.tree else None
    return parent_id


def _is_plain(sections: list[Section], texts: list[str]) -> bool:
    """Return whether a document without comments can be imported unchanged."""
    return all(message.role in ROLES for section in sections for message in section.messages) and all(
        text
        and not text.startswith("\n")
        and not text.endswith("\n")
        and "\r" not in text
        and not ("## " in text and any(HEADING.fullmatch(line) for line in text.split("\n")))
        and closed(text) == text
        for text in texts
    )


def _keys() -> Iterator[str]:
    yield "bough"
    yield from (f"bough-{number}" for number in itertools.count(2))


def _mark(key: str, values: dict[str, object]) -> str:
    # A comment ends at the first -->.
    return f"<!-- {key} {msgspec.json.encode(values).decode().replace('>', chr(92) + 'u003e')} -->\n"


def closed(text: str) -> str:
    """Return the text, with an open fence or HTML block closed, so that a heading can follow."""
    end = end_of_open_block(text)
    return text if end is None else f"{text}\n{end}"
