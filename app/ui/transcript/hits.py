"""Search hits in the messages of a conversation, ignoring case. Independent of Qt.

The source text of each message is searched. If the page does not show a hit (because it hides Markdown syntax), the
nearest visible hit is highlighted; if there is none, the page only scrolls to the message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice

from app.model.message import Message, MessageId


def num_occurrences(text: str, folded_query: str) -> int:
    """Return the number of occurrences of a case-folded query; they do not overlap."""
    return text.casefold().count(folded_query) if folded_query else 0


def occurrences(text: str, folded_query: str, first: int = 0, number: int | None = None) -> list[tuple[int, int]]:
    """Return the start and end (in characters) of occurrences of a case-folded query; they do not overlap.

    `first` is the index of the first occurrence to return, `number` how many to return; None means all from there on.
    A text may have a million occurrences.
    """
    if not folded_query:
        return []
    folded = text.casefold()
    matches = re.finditer(re.escape(folded_query), folded)
    found = [match.span() for match in islice(matches, first, None if number is None else first + number)]
    if len(folded) == len(text) or not found:
        return found
    # Some characters become several when folded: ß becomes ss.
    ends = list(accumulate(len(character.casefold()) for character in text))
    return [(bisect_right(ends, start), bisect_right(ends, end - 1) + 1) for start, end in found]


class Hits:
    """The hits of a query on the visible branch, numbered from 0, and the messages with hits on other branches."""

    def __init__(self) -> None:
        self._query = ""
        self._folded: dict[MessageId, tuple[str, str]] = {}
        """Each text with its folded form, so that it is not folded again at each key press."""
        self._counts: list[tuple[MessageId, int]] = []
        """The messages of the visible branch that have hits, each with the number of its hits."""
        self._starts: list[int] = [0]
        """The number of the first hit in each of these messages; the total at the end."""
        self._elsewhere: list[MessageId] = []
        self._num_elsewhere = 0

    @property
    def query(self) -> str:
        """The query, case-folded."""
        return self._query

    def search(self, query: str, branch: Iterable[Message], others: Iterable[Message]) -> None:
        """Count the hits on the visible branch, and in the messages of other branches."""
        self._query = query.casefold()
        self._counts = [(message.id, count) for message in branch if (count := self._count(message))]
        self._starts = [0, *accumulate(count for _, count in self._counts)]
        elsewhere = [(message.id, count) for message in others if (count := self._count(message))]
        self._elsewhere = [message_id for message_id, _ in elsewhere]
        self._num_elsewhere = sum(count for _, count in elsewhere)

    def clear(self) -> None:
        self.search("", (), ())
        self._folded.clear()

    @property
    def num_hits(self) -> int:
        """The number of hits on the visible branch."""
        return self._starts[-1]

    @property
    def num_elsewhere(self) -> int:
        """The number of hits on other branches."""
        return self._num_elsewhere

    @property
    def message_ids(self) -> list[MessageId]:
        """All messages with hits, on any branch."""
        return [*(message_id for message_id, _ in self._counts), *self._elsewhere]

    def hit(self, number: int) -> tuple[MessageId, int]:
        """Return the message of a hit, and the hit's index among the hits in that message."""
        index = bisect_right(self._starts, number) - 1
        return self._counts[index][0], number - self._starts[index]

    def first_from(self, message_ids: Sequence[MessageId], start: int) -> int:
        """Return the number of the first hit in `message_ids[start:]`; 0, the first of all, if there is none."""
        indices = {message_id: index for index, message_id in enumerate(message_ids)}
        following = (index for index, (found, _) in enumerate(self._counts) if indices.get(found, -1) >= start)
        return self._starts[next(following, 0)]

    def first_in(self, message_id: MessageId) -> int | None:
        """Return the number of the first hit in a message; None if the message has no hit."""
        indices = (index for index, (found, _) in enumerate(self._counts) if found == message_id)
        return next((self._starts[index] for index in indices), None)

    def next_elsewhere(self, after: MessageId) -> MessageId | None:
        """Return the message with hits on another branch that follows `after` by age.

        After the newest such message comes the oldest. None means that there is none.
        """
        newer = (message_id for message_id in sorted(self._elsewhere) if message_id > after)
        return next(newer, min(self._elsewhere, default=None))

    def _count(self, message: Message) -> int:
        if not self._query or message.role == "root":
            return 0
        known = self._folded.get(message.id)
        if known is None or known[0] is not message.text:
            text = message.text.partition("\n")[0] if message.role in {"note", "file"} else message.text
            known = self._folded[message.id] = message.text, text.casefold()
        return known[1].count(self._query)
