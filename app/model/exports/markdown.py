"""Exports conversations as Markdown documents with unchanged texts, which Bough can import.

A document is the conversation's name, then each message under a heading that names its role. Comments precede the
headings; Markdown readers do not show them:

    <!-- bough {"format":"bough-markdown","version":1,"name":"Trip plans","shown":3,"created_ms":…,"updated_ms":…} -->
    <!-- bough {"id":3,"parent":null,"role":"user","ms":1700000000000,"lines":2} -->
    ## You

    the text

`shown` is the last message of the visible branch. `lines` is the number of lines between the comment and the text.
`closed` is the number of characters that were added after the text: to close what it left open, and to say how the
answer ended. `part` marks a part of the message above it, which has no heading, and is folded if it is a note.
`state`, `error`, `model`, `name`, `starred_ms` and `pinned_ms` are left out where they are usual. An empty system
prompt has only a comment. If a text contains `<!-- bough `, all comments say `bough-2`, and so on. The clipboard gets a
document without comments.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from html import escape

import msgspec

from app.model.exports.captions import (
    ROLES,
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
from app.model.exports.open_block import end_of_open_block
from app.model.message import Message, MessageId, is_part
from app.model.text import BIDI_CONTROLS, as_title
from worker.printable import printable_json

FORMAT = "bough-markdown"
VERSION = 1
HEADING = re.compile(rf"## (?P<role>{'|'.join(ROLES.values())})(?: · (?P<model>.*) · (?P<when>[^·]*))?")
"""The heading of a message in a document without comments."""

_ACTING = re.compile(f">|{BIDI_CONTROLS.pattern}")
_SPECIAL = re.compile(r"[\\`*<>\[\]~$|]|(?<![^\W_])_+|_+(?![^\W_])|#+$|&(?=#?\w+;)")


def to_markdown(name: str, path: Iterable[Message]) -> str:
    """Return one branch as a document without comments, for the clipboard; open fences and HTML are closed."""
    parts = [f"# {escaped(as_title(name)) or 'Conversation'}"]
    for message in path:
        if message.role == "root" or (message.role == "system" and not message.text.strip()):
            continue
        text = message.text if message.role != "file" else split_note(message).text
        parts += [*([] if is_part(message) else [f"## {escaped(heading(message))}"]), closed(text.strip("\n"))]
    return "\n\n".join(parts) + "\n"


def markdown(excerpt: Excerpt, options: Options) -> Iterator[Piece]:
    """Yield a document, one message at a time."""
    sections = shown_sections(excerpt, options)
    shown = {message.id for section in sections for message in section.messages}
    systems = [message for message in excerpt.messages if message.role == "system"]
    # Beside other system prompts, an empty one is needed to keep the branches below it apart.
    keeps_blank = options.system_prompts and len(systems) > 1
    blank = {message.id: message for message in systems if keeps_blank and message.id not in shown}
    texts = [text_of(message, options) for section in sections for message in section.messages]
    key = next(key for key in _keys() if not any(f"<!-- {key} " in text for text in texts))
    yield Piece(_mark(key, _head(excerpt, shown)))
    yield Piece(f"# {escaped(title(excerpt))}\n")
    for number, section in enumerate(sections, 1):
        above = blank.pop(section.messages[0].parent_id or 0, None)
        if above is not None:
            yield Piece(f"\n{_mark(key, {**_values(above, excerpt, shown), 'lines': 0})}{above.text}\n")
            shown.add(above.id)
        for message in section.messages:
            text = text_of(message, options)
            is_fold = is_part(message) and is_folded(message)
            head = [f"## {escaped(heading(message))}", ""]
            if is_part(message):
                head = ["<details>", f"<summary>{escape(heading(message))}</summary>", ""] if is_fold else [""]
            if number > 1 and message is section.messages[0]:
                head[:0] = [f"# {escaped(branch_title(excerpt, section, number))}", ""]
            if marked := marks(message):
                head += [f"*{escaped(marked)}*", ""]
            if options.statistics and (figures := statistics(message)):
                head += [f"*{escaped(figures)}*", ""]
            whole = closed(text)
            if ended := ending(message):
                whole += f"\n\n*{escaped(as_title(ended))}*"
            if is_fold:
                whole += "\n\n</details>"
            values = {**_values(message, excerpt, shown), "lines": len(head)}
            if num_added := len(whole) - len(text):
                values["closed"] = num_added
            head_text = "\n".join(head)
            yield Piece(f"\n{_mark(key, values)}{head_text}\n{whole}\n", 1)


def _head(excerpt: Excerpt, shown: set[MessageId]) -> dict[str, object]:
    conversation = excerpt.conversation
    head: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "name": conversation.name,
        "shown": next((message.id for message in reversed(excerpt.path) if message.id in shown), None),
        "created_ms": conversation.created_ms,
        "updated_ms": conversation.updated_ms,
    }
    usual = {"model": conversation.model, "folder": conversation.folder}
    return {**head, **{name: value for name, value in usual.items() if value}}


def _values(message: Message, excerpt: Excerpt, exported: set[MessageId]) -> dict[str, object]:
    """Return all of a message but its text."""
    record = message.record
    usual = {
        "state": message.state if message.state != "complete" else None,
        "error": record and record.error,
        "model": record and record.model,
        "name": message.name,
        "starred_ms": message.starred_ms,
        "pinned_ms": message.pinned_ms,
        "part": is_part(message) or None,
    }
    return {
        "id": message.id,
        "parent": _nearest_parent(message, excerpt, exported),
        "role": message.role,
        "ms": message.created_ms,
        **{name: value for name, value in usual.items() if value or value == 0},
    }


def _nearest_parent(message: Message, excerpt: Excerpt, exported: set[MessageId]) -> MessageId | None:
    parent_id = message.parent_id
    while parent_id is not None and parent_id not in exported:
        parent_id = excerpt.tree[parent_id].parent_id if parent_id in excerpt.tree else None
    return parent_id


def _keys() -> Iterator[str]:
    yield "bough"
    yield from (f"bough-{number}" for number in itertools.count(2))


def _mark(key: str, values: dict[str, object]) -> str:
    # A comment ends at the first -->, and names may contain characters that act on editors.
    encoded = printable_json(msgspec.json.encode(values)).decode()
    encoded = _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", encoded)
    return f"<!-- {key} {encoded} -->\n"


def escaped(line: str) -> str:
    """Return a line in which nothing acts as Markdown or HTML."""
    return _SPECIAL.sub(lambda found: "".join(f"\\{letter}" for letter in found[0]), line)


def unescaped(line: str) -> str:
    """Undo `escaped`."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", line)


def closed(text: str) -> str:
    """Return the text, with an open fence or HTML block closed, so that a heading can follow."""
    end = end_of_open_block(text)
    return text if end is None else f"{text}\n{end}"
