"""What is told of one choice under its hooks: its text as it becomes safe, what is taken back, its forks.

It decides nothing. Text that is taken back before it was told is taken back from nobody.
"""

from __future__ import annotations

from worker.answers.writing import TakenBack, Writing
from worker.protocol import Event, Forked, RequestId, Retract


class Telling:
    """The events of one choice, in the order in which things happen."""

    def __init__(self, request_id: RequestId, choice: int, writing: Writing) -> None:
        self.choice = choice
        self._request_id: RequestId = request_id
        self._writing = writing
        self._text = ""
        """What is safe to show and was not told yet."""

    def fork(self, choice: int, writing: Writing) -> Telling:
        """Return what tells of a fork; all else was told."""
        return Telling(self._request_id, choice, writing)

    def add(self, text: str) -> None:
        """Note text that is safe to show now."""
        self._text += text

    def told(self) -> list[Event]:
        """Return what there is to tell."""
        chunk = self._writing.chunk(self._request_id, self.choice, self._text)
        self._text = ""
        return [] if chunk is None else [chunk]

    def taken_back(self, back: TakenBack) -> list[Event]:
        """Return what tells that so much does not stand any more."""
        num_pending = min(len(self._text), back.num_chars)
        self._text = self._text[: len(self._text) - num_pending]
        num_chars = back.num_chars - num_pending
        if not (num_chars or back.num_told or back.num_given_chars):
            return []
        return [
            Retract(
                request_id=self._request_id,
                choice=self.choice,
                num_chars=num_chars,
                num_tokens=back.num_told,
                num_given_chars=back.num_given_chars,
            )
        ]

    def forked(self, choice: int) -> Event:
        """Return what tells that there is a fork; all else was told."""
        return Forked(
            request_id=self._request_id,
            choice=choice,
            parent=self.choice,
            num_chars=self._writing.num_shown,
            num_tokens=self._writing.num_told,
        )
