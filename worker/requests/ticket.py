"""A request's place in the line, and its end where it is cancelled there; it knows nothing of how it is answered."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from msgspec import UNSET

from worker.protocol import Choice, Finished, Generate, RequestId, Timing, Usage


@dataclass
class Ticket:
    """A request's place in the line. It is cancelled from outside, which is looked at between two steps."""

    request_id: RequestId
    asked: float = field(default_factory=time.perf_counter)
    num_choices: int = 1
    """How many answers there are by now: hooks may fork more."""
    is_cancelled: bool = False
    cancelled_choices: set[int] = field(default_factory=set[int])

    def waited_ms(self, until: float | None = None) -> float:
        """Return for how long it has stood in line, or stood there `until` its turn came."""
        return ((time.perf_counter() if until is None else until) - self.asked) * 1e3

    def cancel(self, choice: int | None = None) -> None:
        """Say that an answer, or all of the request, is wanted no more. Nobody can mean one that is not there yet."""
        if choice is None:
            self.is_cancelled = True
        elif choice < self.num_choices:
            self.cancelled_choices.add(choice)

    def is_choice_cancelled(self, choice: int) -> bool:
        """Return whether this answer, or all of the request, is wanted no more."""
        return self.is_cancelled or choice in self.cancelled_choices


def cancelled_unbegun(command: Generate, ticket: Ticket) -> Finished:
    """The end of a request that was cancelled while it waited."""
    given = command.continuation.token_ids if command.continuation is not None else UNSET
    choices = [
        Choice(
            text="",
            token_ids=[],
            num_recut=0,
            # Where no seed was asked for, none was drawn.
            seed=(command.sampling.seed or 0) + number,
            reason="cancelled",
            turn_token_ids=[] if given is UNSET else given,
        )
        for number in range(command.n)
    ]
    timing = Timing(queue_ms=ticket.waited_ms())
    return Finished(request_id=command.request_id, choices=choices, usage=Usage(), timing=timing)
