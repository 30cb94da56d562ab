"""What the tree says of a message: who said it, its first words, and what going there would cost."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from app.costs import Cost
from app.model.message import Message, MessageId

_NUM_READ = 400
"""So much of a text is looked at for its first words."""
_NUM_SAID = 80
"""So much of a text is said in a name: whoever walks past many hears many names."""
_MARKS = "#>*-_`~ \t\r\n"
"""What Markdown puts before words."""


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
    """Return how a message begins, on one line: no marks of Markdown before it, nothing of what was thought."""
    text = message.text
    if text.startswith("<think>"):
        thought, _, said = text.partition("</think>")
        text = said or thought.removeprefix("<think>")
    words = " ".join(text[:_NUM_READ].lstrip(_MARKS).split())
    if words:
        return words
    if message.role == "system":
        return QCoreApplication.translate("Tree", "No system prompt")
    if message.state == "streaming":
        return QCoreApplication.translate("Tree", "Being written")
    return QCoreApplication.translate("Tree", "Nothing yet")


def version_in_words(message_id: MessageId, siblings: Sequence[MessageId]) -> str:
    """Return which of its siblings a message is; empty where it has none."""
    if len(siblings) < 2:
        return ""
    text = QCoreApplication.translate("Tree", "version {number} of {count}")
    return text.format(number=list(siblings).index(message_id) + 1, count=len(siblings))


def name_in_words(message: Message, siblings: Sequence[MessageId]) -> str:
    """Return everything about a message that its dot, its star and its words show, as one line."""
    starred = QCoreApplication.translate("Tree", "starred") if message.starred_ms is not None else ""
    parts = (role_in_words(message), version_in_words(message.id, siblings), message.name, starred)
    return f"{', '.join(part for part in parts if part)}: {_shortened(first_words(message))}"


def fold_in_words(num_folded: int) -> str:
    """Return what stands for siblings that are not shown."""
    if num_folded == 1:
        return QCoreApplication.translate("Tree", "1 more version")
    return QCoreApplication.translate("Tree", "{count} more versions", None, num_folded).format(count=num_folded)


def cost_in_words(cost: Cost | None) -> str:
    """Return what going to a message would cost, as far as that is known."""
    if cost is None:
        return QCoreApplication.translate("Tree", "Its cost is not known yet")
    kept = QCoreApplication.translate("Tree", "{count} kept").format(count=f"{cost.num_kept:,}")
    # One token is read of whatever is kept whole.
    if cost.num_read <= 1:
        return " · ".join((QCoreApplication.translate("Tree", "nothing to read"), kept))
    num_read = cost.num_read
    read = QCoreApplication.translate("Tree", "would read {count} tokens", "", num_read)
    parts = [read.format(count=f"{cost.num_read:,}")]
    if cost.seconds is not None:
        parts.append(_seconds_in_words(cost.seconds))
    if cost.num_kept:
        parts.append(kept)
    return " · ".join(parts)


def tier_in_words(cost: Cost | None) -> str:
    """Return where a branch is kept."""
    match None if cost is None else cost.tier:
        case "warm":
            return QCoreApplication.translate("Tree", "kept in memory")
        case "disk":
            return QCoreApplication.translate("Tree", "kept on disk")
        case "cold":
            return QCoreApplication.translate("Tree", "not kept")
        case None:
            return ""


def _seconds_in_words(seconds: float) -> str:
    if seconds < 0.05:
        return QCoreApplication.translate("Tree", "no time")
    if seconds < 99.5:
        about = f"{seconds:.1f}" if seconds < 9.95 else f"{seconds:.0f}"
        return QCoreApplication.translate("Tree", "about {seconds} s").format(seconds=about)
    return QCoreApplication.translate("Tree", "about {minutes} min").format(minutes=f"{seconds / 60:,.0f}")


def here() -> str:
    """Return the mark of the end of the visible branch."""
    return QCoreApplication.translate("Tree", "here")


def _shortened(words: str) -> str:
    if len(words) <= _NUM_SAID:
        return words
    whole, _, _ = words[:_NUM_SAID].rpartition(" ")
    return f"{whole or words[:_NUM_SAID]}…"
