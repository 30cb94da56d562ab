"""A branch as a Markdown document; characters arrive as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.model.message import Message

_HEADINGS = {"system": "System", "user": "You", "assistant": "Answer"}
_RAW_TAGS = ("script", "pre", "style", "textarea")
_HTML_ENDS = (">", "?>", "-->", "]]>")
"""What ends HTML that no empty line ends."""


def to_markdown(name: str, path: Iterable[Message]) -> str:
    """Return a document: the conversation's name, then each message under a heading that names its role.

    What a message left open (a fence, a comment) is closed, so that what follows is not swallowed by it.
    """
    parts = [f"# {' '.join(name.split()) or 'Conversation'}"]
    for message in path:
        if message.role == "root" or (message.role == "system" and not message.text.strip()):
            continue
        parts += [f"## {_heading(message)}", _closed(message.text.strip("\n"))]
    return "\n\n".join(parts) + "\n"


def _heading(message: Message) -> str:
    heading = _HEADINGS.get(message.role, message.role.capitalize())
    if message.role == "assistant" and message.record is not None and message.record.model:
        when = datetime.fromtimestamp(message.created_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
        heading += f" · {message.record.model} · {when}"
    return heading


def _closed(text: str) -> str:
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
