"""A branch as a Markdown document; characters arrive as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from app.model.message import Message

_HEADINGS = {"system": "System", "user": "You", "assistant": "Answer"}
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def to_markdown(name: str, path: Iterable[Message]) -> str:
    """Return a document: the conversation's name, then each message under a heading that names its role.

    A fence that an answer left open is closed, so that what follows is not swallowed by it.
    """
    parts = [f"# {name.strip() or 'Conversation'}"]
    for message in path:
        if message.role == "root" or (message.role == "system" and not message.text.strip()):
            continue
        parts += [f"## {_heading(message)}", message.text.strip("\n") + _closing_fence(message.text)]
    return "\n\n".join(parts) + "\n"


def _heading(message: Message) -> str:
    heading = _HEADINGS.get(message.role, message.role.capitalize())
    if message.role == "assistant" and message.record is not None and message.record.model:
        when = datetime.fromtimestamp(message.created_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
        heading += f" · {message.record.model} · {when}"
    return heading


def _closing_fence(text: str) -> str:
    opened = ""
    for found in _FENCE.finditer(text):
        fence = found.group(1)
        if not opened:
            opened = fence
        elif fence[0] == opened[0] and len(fence) >= len(opened):
            opened = ""
    return f"\n{opened}" if opened else ""
