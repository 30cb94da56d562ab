"""The queue of requests and answers that wait for one model.

A group holds answers of one request that continue the same tokens. Answers that were started and must wait again, for
memory or because a hook changed their tokens, come before requests that were not started.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass

from worker.protocol import Event, Generate, RequestId
from worker.requests.request import Request, Ticket, cancelled_unbegun


@dataclass
class SequenceGroup:
    """Answers of one request whose sequence waits to be processed, or is being processed."""

    request: Request
    choices: list[int]
    sequence: list[int]
    """The tokens to process: the prompt, and the tokens that the answers already have."""

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
        self.requests: OrderedDict[Ticket, Generate] = OrderedDict()
        """The requests that were not started, in their order."""
        self._cancelled: list[Ticket] = []
        self.groups: deque[SequenceGroup] = deque()

    def __bool__(self) -> bool:
        return bool(self.requests or self.groups)

    def add(self, command: Generate, ticket: Ticket) -> None:
        """Append a request. `drop_cancelled` looks only at requests whose tickets report a `cancel`."""
        self.requests[ticket] = command
        ticket.on_cancel = self._cancelled.append
        if ticket.is_cancelled:
            self._cancelled.append(ticket)

    def drop_cancelled(self) -> Iterator[Event]:
        """Remove all cancelled requests and answers. Yield the events that end them."""
        while self._cancelled:
            ticket = self._cancelled.pop()
            if ticket in self.requests and ticket.are_all_cancelled:
                yield cancelled_unbegun(self.requests.pop(ticket), ticket)
        for group in list(self.groups):
            yield from group.drop_cancelled()
            if not group.choices:
                self.groups.remove(group)

    def drop(self, request: Request) -> None:
        """Remove all answers of a started request."""
        self.groups = deque(group for group in self.groups if group.request is not request)

    def clear(self) -> set[RequestId]:
        """Remove everything. Return the ids of its requests."""
        waiting = {ticket.request_id for ticket in self.requests}
        waiting |= {group.request.request_id for group in self.groups}
        self.requests.clear()
        self.groups.clear()
        return waiting
