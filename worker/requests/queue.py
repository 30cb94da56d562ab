"""The queue of requests and answers that wait for one model.

A group holds answers of one request that continue the same tokens. Answers that were started and must wait again, for
memory or because a hook changed their tokens, come before requests that were not started.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from worker.protocol import Event, Generate, RequestId
from worker.requests.request import Request, Ticket, cancelled_unbegun


@dataclass
class SequenceGroup:
    """Answers of one request that wait to be read, or are being read."""

    request: Request
    choices: list[int]
    sequence: list[int]
    """The tokens to read: the prompt, and what the answers already have."""

    def drop_cancelled(self) -> Iterator[Event]:
        """Remove the cancelled answers. Yield the events that end them."""
        for choice in [each for each in self.choices if self.request.ticket.is_choice_cancelled(each)]:
            held_back = self.request.end(choice, "cancelled")
            if held_back is not None:
                yield held_back
            event = self.request.ended(choice)
            self.choices.remove(choice)
            yield event


class Queue:
    """The waiting requests and groups."""

    def __init__(self) -> None:
        self.requests: deque[tuple[Generate, Ticket]] = deque()
        """Requests that were not started."""
        self.groups: deque[SequenceGroup] = deque()

    def __bool__(self) -> bool:
        return bool(self.requests or self.groups)

    def drop_cancelled(self) -> Iterator[Event]:
        """Remove everything that was cancelled. Yield the events that end it."""
        for entry in [entry for entry in self.requests if entry[1].is_cancelled]:
            self.requests.remove(entry)
            yield cancelled_unbegun(*entry)
        for group in list(self.groups):
            yield from group.drop_cancelled()
            if not group.choices:
                self.groups.remove(group)

    def drop(self, request: Request) -> None:
        """Remove all answers of a started request."""
        self.groups = deque(group for group in self.groups if group.request is not request)

    def clear(self) -> set[RequestId]:
        """Remove everything. Return the ids of its requests."""
        waiting = {command.request_id for command, _ in self.requests}
        waiting |= {group.request.request_id for group in self.groups}
        self.requests.clear()
        self.groups.clear()
        return waiting
