"""What the tree says of a message: who said it, its first words, which version it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from app.costs.prompt_cost import Cost
from app.model.message import Message, MessageId
from app.model.thoughts import split_thought
from app.ui.parts.cost_text import cost_text

_NUM_READ = 400
"""So much of a text is looked at for its first words."""
_NUM_SAID = 80
"""So much of a text is said in a name: whoever walks past many hears many names."""
_MARKS = "#>*-_`~ \t\r\n"
"""What Markdown puts before words."""
_IN_TEXT = re.compile(r"\*\*|`")
"""What it puts around them, as far as it is hardly ever meant itself."""


def role_in_words(message: Message) -> str:
    match message.role:
        case "user":
            return QCoreApplication.translate("Tree", "You")
        case "assistant":
            return QCoreApplication.translate("Tree", "Answer")
        case "system":
            return QCoreApplication.translate("Tree", "System prompt")
        case "note":
            return QCoreApplication.translate("Tree", "Note")
        case "root":
            return QCoreApplication.translate("Tree", "Beginning")


def first_words(message: Message) -> str:
    """Return how a message begins, on one line: no marks of Markdown, nothing of what was thought."""
    text = message.text
    thought = split_thought(text) if message.role == "assistant" else None
    if thought is not None:
        text = text[thought.answer_start :] or thought.text
    words = " ".join(_IN_TEXT.sub("", text[:_NUM_READ].lstrip(_MARKS)).split())
    if words:
        return words
    if message.role == "system":
        return QCoreApplication.translate("Tree", "No system prompt")
    if message.state == "streaming":
        return QCoreApplication.translate("Tree", "Being written")
    return QCoreApplication.translate("Tree", "No text")


def called(message: Message) -> str:
    """Return what a branch is called that begins at a message, else the first words."""
    return message.name or first_words(message)


def version_in_words(message_id: MessageId, siblings: Sequence[MessageId]) -> str:
    """Return which of its siblings a message is; empty where it has none."""
    if len(siblings) < 2:
        return ""
    text = QCoreApplication.translate("Tree", "version {number} of {count}")
    return text.format(number=list(siblings).index(message_id) + 1, count=len(siblings))


def name_in_words(message: Message, siblings: Sequence[MessageId]) -> str:
    """Return everything about a message that its dot, its marks and its words show, as one line."""
    starred = QCoreApplication.translate("Tree", "starred") if message.starred_ms is not None else ""
    pinned = QCoreApplication.translate("Tree", "pinned") if message.pinned_ms is not None else ""
    parts = (role_in_words(message), version_in_words(message.id, siblings), message.name, starred, pinned)
    return f"{', '.join(part for part in parts if part)}: {shortened(first_words(message))}"


def cost_of_going_to(message: Message, cost: Cost | None) -> str:
    """Say what going to a message costs; above the first words of a conversation that is nothing, and no question."""
    if cost is None and message.role == "system" and not message.text:
        return QCoreApplication.translate("Tree", "Nothing to read")
    return cost_text(cost)


def fold_in_words(num_folded: int) -> str:
    """Return what stands for siblings that are not shown."""
    if num_folded == 1:
        return QCoreApplication.translate("Tree", "1 more version")
    return QCoreApplication.translate("Tree", "{count} more versions").format(count=num_folded)


def here() -> str:
    """Return the mark of the end of the visible branch."""
    return QCoreApplication.translate("Tree", "here")


def shortened(words: str) -> str:
    """Return words for where many are too many."""
    if len(words) <= _NUM_SAID:
        return words
    whole, _, _ = words[:_NUM_SAID].rpartition(" ")
    return f"{whole or words[:_NUM_SAID]}…"
