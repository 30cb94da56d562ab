"""Where a text stands in the messages of a conversation, whatever its case; no widget.

What is looked through is what was written. Where a page shows it otherwise (the signs of Markdown are gone there), a
hit is lit at the nearest place, or its message alone is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from app.model.message import Message, MessageId

_NOT_READ = ("root",)


def occurrences(text: str, folded_wanted: str) -> list[tuple[int, int]]:
    """Return from and to which character of `text` something stands, case folded; none within another."""
    if not folded_wanted:
        return []
    folded = text.casefold()
    found: list[tuple[int, int]] = []
    start = folded.find(folded_wanted)
    while start >= 0:
        found.append((start, start + len(folded_wanted)))
        start = folded.find(folded_wanted, start + len(folded_wanted))
    if len(folded) == len(text) or not found:
        return found
    # Some characters are several when folded: ß is ss.
    ends = list(accumulate(len(character.casefold()) for character in text))
    return [(bisect_right(ends, start), bisect_right(ends, end - 1) + 1) for start, end in found]


class Finding:
    """Counts the hits of what is typed, in the branch that is shown and in the others."""

    def __init__(self) -> None:
        self._wanted = ""
        self._folded: dict[MessageId, tuple[str, str]] = {}
        """Texts with their folded forms: each is folded once, not at each key."""
        self._numbers: list[tuple[MessageId, int]] = []
        self._before: list[int] = [0]
        """How many hits there are before each of these messages, and in all."""
        self._elsewhere: list[MessageId] = []
        self._num_elsewhere = 0

    @property
    def wanted(self) -> str:
        """What is looked for, case folded."""
        return self._wanted

    def look_for(self, text: str, shown: Iterable[Message], others: Iterable[Message]) -> None:
        """Count what is typed in the messages shown, and in those of other branches."""
        self._wanted = text.casefold()
        self._numbers = [(message.id, number) for message in shown if (number := self._number(message))]
        self._before = [0, *accumulate(number for _, number in self._numbers)]
        elsewhere = [(message.id, number) for message in others if (number := self._number(message))]
        self._elsewhere = [message_id for message_id, _ in elsewhere]
        self._num_elsewhere = sum(number for _, number in elsewhere)

    def forget(self) -> None:
        """Nothing is looked for any more."""
        self.look_for("", (), ())
        self._folded.clear()

    @property
    def num_hits(self) -> int:
        """In the branch that is shown."""
        return self._before[-1]

    @property
    def num_elsewhere(self) -> int:
        return self._num_elsewhere

    @property
    def message_ids(self) -> list[MessageId]:
        """All messages in which something was found, on this branch and on others."""
        return [*(message_id for message_id, _ in self._numbers), *self._elsewhere]

    def hit(self, number: int) -> tuple[MessageId, int]:
        """Return in which message a hit stands, and how many of its hits are before it."""
        index = bisect_right(self._before, number) - 1
        return self._numbers[index][0], number - self._before[index]

    def number_from(self, message_ids: Sequence[MessageId], start: int) -> int:
        """Return the first hit in a message of the branch from `start` on, or the first of all."""
        places = {message_id: place for place, message_id in enumerate(message_ids)}
        following = (index for index, (found, _) in enumerate(self._numbers) if places.get(found, -1) >= start)
        return self._before[next(following, 0)]

    def first_of(self, message_id: MessageId) -> int | None:
        """Return the first hit in a message."""
        indexes = (index for index, (found, _) in enumerate(self._numbers) if found == message_id)
        return next((self._before[index] for index in indexes), None)

    def next_elsewhere(self, after: MessageId) -> MessageId | None:
        """Return a message on another branch that has hits: the next one that was made, or the first of all."""
        later = (message_id for message_id in sorted(self._elsewhere) if message_id > after)
        return next(later, min(self._elsewhere, default=None))

    def _number(self, message: Message) -> int:
        if not self._wanted or message.role in _NOT_READ:
            return 0
        known = self._folded.get(message.id)
        if known is None or known[0] is not message.text:
            text = message.text.partition("\n")[0] if message.role == "note" else message.text
            known = self._folded[message.id] = message.text, text.casefold()
        return known[1].count(self._wanted)
