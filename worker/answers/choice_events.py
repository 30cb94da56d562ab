"""The events of one choice under hooks: chunks, retractions and forks.

Text that is taken back before it was sent needs no retraction.
"""

from __future__ import annotations

from worker.answers.writing import TakenBack, Writing
from worker.protocol import Event, Forked, RequestId, Retract


class ChoiceEvents:
    """Collects the text of one choice that can be shown, and makes its events in order."""

    def __init__(self, request_id: RequestId, choice: int, writing: Writing) -> None:
        self.choice = choice
        self._request_id: RequestId = request_id
        self._writing = writing
        self._text = ""
        """Text that can be shown and was not sent yet."""

    def fork(self, choice: int, writing: Writing) -> ChoiceEvents:
        """Return the events of a fork. All text must have been sent before."""
        return ChoiceEvents(self._request_id, choice, writing)

    def add(self, text: str) -> None:
        """Add text that can be shown now."""
        self._text += text

    def pending(self) -> list[Event]:
        """Return the event for all text and tokens since the last call, if there is one."""
        chunk = self._writing.chunk(self._request_id, self.choice, self._text)
        self._text = ""
        return [] if chunk is None else [chunk]

    def retracted(self, back: TakenBack) -> list[Event]:
        """Return the event that takes back text and tokens that were sent, if there are any."""
        num_pending = min(len(self._text), back.num_chars)
        self._text = self._text[: len(self._text) - num_pending]
        num_chars = back.num_chars - num_pending
        if not (num_chars or back.num_sent or back.num_given_chars):
            return []
        return [
            Retract(
                request_id=self._request_id,
                choice=self.choice,
                num_chars=num_chars,
                num_tokens=back.num_sent,
                num_given_chars=back.num_given_chars,
            )
        ]

    def forked(self, choice: int) -> Event:
        """Return the event for a new fork. All text must have been sent before."""
        return Forked(
            request_id=self._request_id,
            choice=choice,
            parent=self.choice,
            num_chars=self._writing.num_shown,
            num_tokens=self._writing.num_sent,
        )
