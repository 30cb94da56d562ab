"""What waits to be answered with one model, in order; it reads and draws nothing.

Requests wait for their turn. A group are answers of one request that go on from the same tokens; those that were begun
and must wait again, for memory or for what hooks have made of them, come before requests that were not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from worker.protocol import Event, Generate, RequestId
from worker.requests.request import Request
from worker.requests.ticket import Ticket, cancelled_unbegun


@dataclass
class SequenceGroup:
    """Answers of one request that wait to be begun, or that are being begun."""

    request: Request
    choices: list[int]
    sequence: list[int]
    """What is to be read: the prompt, and what such an answer has already said."""

    def drop_cancelled(self) -> Iterator[Event]:
        """Leave out the answers that are wanted no more; yield their ends."""
        for choice in [each for each in self.choices if self.request.ticket.is_choice_cancelled(each)]:
            held_back = self.request.end(choice, "cancelled")
            if held_back is not None:
                yield held_back
            event = self.request.ended(choice)
            self.choices.remove(choice)
            yield event


class Line:
    """The requests and groups that wait."""

    def __init__(self) -> None:
        self.requests: deque[tuple[Generate, Ticket]] = deque()
        """Those whose turn has not come."""
        self.groups: deque[SequenceGroup] = deque()

    def __bool__(self) -> bool:
        return bool(self.requests or self.groups)

    def drop_cancelled(self) -> Iterator[Event]:
        """Leave out what is wanted no more; yield the ends of it."""
        for entry in [entry for entry in self.requests if entry[1].is_cancelled]:
            self.requests.remove(entry)
            yield cancelled_unbegun(*entry)
        for group in list(self.groups):
            yield from group.drop_cancelled()
            if not group.choices:
                self.groups.remove(group)

    def drop(self, request: Request) -> None:
        """Leave out all answers of a request whose turn has come."""
        self.groups = deque(group for group in self.groups if group.request is not request)

    def clear(self) -> set[RequestId]:
        """Leave out everything; return whose it was."""
        waiting = {command.request_id for command, _ in self.requests}
        waiting |= {group.request.request_id for group in self.groups}
        self.requests.clear()
        self.groups.clear()
        return waiting
