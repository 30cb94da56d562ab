"""Conversations as Markdown documents; characters arrive as they are, and Bough reads them back.

A branch is the conversation's name, then each message under a heading that names its role. Where that can be
misread (a text has such headings of its own, leaves a fence open, begins with empty lines) or says too little (there
are several branches), comments stand before the headings, which no reader of Markdown shows:

    <!-- bough {"format":"bough-markdown","version":1,"name":"Trip plans"} -->
    <!-- bough {"id":3,"parent":null,"role":"user","lines":2} -->
    ## You

    the text

`lines`: how many lines stand between the comment and the text. `closed`: how many characters behind the text are not
its own, but close what it left open. Where a text says `<!-- bough `, all comments say `bough-2`, and so on.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.model.exports.captions import (
    ROLES,
    branch_title,
    heading,
    one_line,
    statistics,
    text_of,
    title,
    told_sections,
)
from app.model.exports.excerpt import Excerpt, Options, Section
from app.model.exports.files import Piece
from app.model.message import Message, MessageId

FORMAT = "bough-markdown"
VERSION = 1
HEADING = re.compile(rf"## (?P<role>{'|'.join(ROLES.values())})(?: · (?P<model>.*) · (?P<when>[^·]*))?")
"""A line that begins a message, where there are no comments."""

_RAW_TAGS = ("script", "pre", "style", "textarea")
_HTML_ENDS = (">", "?>", "-->", "]]>")
"""What ends HTML that no empty line ends."""


def to_markdown(name: str, path: Iterable[Message]) -> str:
    """Return one branch as a document without comments, for the clipboard.

    What a message left open (a fence, a comment) is closed, so that what follows is not swallowed by it.
    """
    parts = [f"# {one_line(name) or 'Conversation'}"]
    for message in path:
        if message.role == "root" or (message.role == "system" and not message.text.strip()):
            continue
        parts += [f"## {heading(message)}", closed(message.text.strip("\n"))]
    return "\n\n".join(parts) + "\n"


def markdown(excerpt: Excerpt, options: Options) -> Iterator[Piece]:
    """Yield a document, a message at a time."""
    sections = told_sections(excerpt, options)
    texts = [text_of(message, options) for section in sections for message in section.messages]
    if len(sections) <= 1 and not options.statistics and _is_plain(sections, texts):
        yield Piece(f"# {title(excerpt)}\n")
        for message in itertools.chain.from_iterable(section.messages for section in sections):
            yield Piece(f"\n## {heading(message)}\n\n{text_of(message, options)}\n", 1)
        return
    told = {message.id for section in sections for message in section.messages}
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
            ended = closed(text)
            mark: dict[str, object] = {
                "id": message.id,
                "parent": _told_above(message, excerpt, told),
                "role": message.role,
                "ms": message.created_ms,
                "model": message.record.model if message.record is not None else "",
                "lines": len(head),
                "closed": len(ended) - len(text),
            }
            head_text = "\n".join(head)
            yield Piece(f"\n{_mark(key, mark)}{head_text}\n{ended}\n", 1)


def _told_above(message: Message, excerpt: Excerpt, told: set[MessageId]) -> MessageId | None:
    above = message.parent_id
    while above is not None and above not in told:
        above = excerpt.tree[above].parent_id if above in excerpt.tree else None
    return above


def _is_plain(sections: list[Section], texts: list[str]) -> bool:
    """Whether a document without comments is read back as it was."""
    return all(message.role in ROLES for section in sections for message in section.messages) and all(
        text
        and not text.startswith("\n")
        and not text.endswith("\n")
        and "\r" not in text
        and not any(HEADING.fullmatch(line) for line in text.split("\n"))
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
    """Return the text, ended such that a heading after it is one."""
    swallowing = _swallowing(text)
    if swallowing is None:
        return text
    return next((closed for end in _ends(swallowing) if _swallowing(closed := f"{text}\n{end}") is None), text)


def _swallowing(text: str) -> Token | None:
    """Return the block at the end of the text that would take in what follows."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable("inline")
    last = parser.parse(f"{text}\n\n## what follows")[-1]
    return last if last.type in {"fence", "html_block"} else None


def _ends(block: Token) -> Iterator[str]:
    yield from (f"</{tag}>" for tag in _RAW_TAGS if f"<{tag}" in block.content.lower())
    yield from (block.markup, *_HTML_ENDS)
