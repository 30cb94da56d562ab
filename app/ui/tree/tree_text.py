"""Short texts about messages for the tree: role, first words, version, and the text for screen readers."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from app.costs.worker_queries import Cost
from app.model.message import Message, MessageId
from app.model.text import plain_words
from app.model.thoughts import thought_of
from app.ui.parts.cost_text import cost_text
from app.ui.parts.labels import beginning

_MAX_CHARS = 400
"""Only this many characters of a message are searched for its first words."""
_MAX_SHORT_CHARS = 80
"""The length of shortened texts in characters. Screen readers read short texts quickly."""


def role_text(message: Message) -> str:
    match message.role:
        case "user":
            return QCoreApplication.translate("Tree", "You")
        case "assistant":
            return QCoreApplication.translate("Tree", "Answer")
        case "system":
            return QCoreApplication.translate("Tree", "System prompt")
        case "note":
            return QCoreApplication.translate("Tree", "Note")
        case "file":
            return QCoreApplication.translate("Tree", "File")
        case "root":
            return QCoreApplication.translate("Tree", "Beginning")


def first_words(message: Message) -> str:
    """Return the beginning of a message on one line, without Markdown marks and without the thought."""
    text, thought = message.text, thought_of(message)
    if thought is not None:
        text = text[thought.answer_start :] or thought.text
    if words := plain_words(text[:_MAX_CHARS]):
        return words
    if message.role == "system":
        return QCoreApplication.translate("Tree", "No system prompt")
    if message.state == "streaming":
        return QCoreApplication.translate("Tree", "Being written")
    return QCoreApplication.translate("Tree", "No text")


def branch_text(message: Message) -> str:
    """Return the name of the branch that begins at a message, or its first words."""
    return beginning(message.name) or first_words(message)


def version_text(message_id: MessageId, siblings: Sequence[MessageId]) -> str:
    """Return “version 2 of 3”, or an empty text for a message without siblings."""
    if len(siblings) < 2:
        return ""
    text = QCoreApplication.translate("Tree", "version {number} of {count}")
    return text.format(number=list(siblings).index(message_id) + 1, count=len(siblings))


def accessible_text(message: Message, siblings: Sequence[MessageId]) -> str:
    """Return one line for screen readers with everything that the drawing shows about a message."""
    starred = QCoreApplication.translate("Tree", "starred") if message.starred_ms is not None else ""
    pinned = QCoreApplication.translate("Tree", "pinned") if message.pinned_ms is not None else ""
    details = (role_text(message), version_text(message.id, siblings), beginning(message.name), starred, pinned)
    return f"{', '.join(detail for detail in details if detail)}: {shortened(first_words(message))}"


def going_cost_text(message: Message, cost: Cost | None) -> str:
    """Return the cost of going to a message; an empty system prompt costs nothing."""
    if cost is None and message.role == "system" and not message.text:
        return QCoreApplication.translate("Tree", "Nothing to read")
    if cost is None:
        return "…"
    return cost_text(cost)


def fold_text(num_folded: int) -> str:
    """Return the text for siblings that are folded away."""
    if num_folded == 1:
        return QCoreApplication.translate("Tree", "1 more version")
    return QCoreApplication.translate("Tree", "{count} more versions").format(count=num_folded)


def here_text() -> str:
    """Return the label of the end of the visible branch."""
    return QCoreApplication.translate("Tree", "here")


def shortened(text: str) -> str:
    """Return a text cut at a space, with an ellipsis if it is long."""
    if len(text) <= _MAX_SHORT_CHARS:
        return text
    whole, _, _ = text[:_MAX_SHORT_CHARS].rpartition(" ")
    return f"{whole or text[:_MAX_SHORT_CHARS]}…"
