"""Writes answers: as events while they grow, or as a whole. The base class for all APIs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Sequence
from typing import Any

from app.serving.growing import AllEnded, Delta, Ended, Reading, Step, Waiting
from app.serving.replies import Events, Reply


class Writer(ABC):
    """Writes the answers to a request in the form of an API."""

    def __init__(self, *, is_stream: bool) -> None:
        self.is_stream = is_stream
        self.events = Events(is_kept=is_stream)
        """The events that are not sent yet."""

    @abstractmethod
    def take(self, delta: Delta) -> None:
        """Write the next parts of an answer."""

    @abstractmethod
    def end(self, ended: Ended) -> None:
        """Write the end of an answer."""

    @abstractmethod
    def end_all(self, end: AllEnded) -> None:
        """Write the end of the answers to a prompt."""

    @abstractmethod
    def whole(self) -> dict[str, Any]:
        """Return the reply as a whole."""

    def read(self, reading: Reading, *, is_latest: bool) -> None:
        """Report that the model processes the prompt. `is_latest`: no later step has come yet."""
        if is_latest and reading.done < reading.total:
            self.events.comment(f"reading {reading.done} of {reading.total} tokens")

    def wait(self) -> None:
        """Write a sign of life."""
        self.events.comment("waiting")

    async def write(self, steps: AsyncIterable[Sequence[Step]], reply: Reply) -> None:
        """Write the steps as they come; steps that come together are sent together. Raises `ProblemError`."""
        async for some in steps:
            for step in some:
                match step:
                    case Reading():
                        self.read(step, is_latest=step is some[-1])
                    case Delta():
                        self.take(step)
                    case Ended():
                        self.end(step)
                    case Waiting():
                        self.wait()
                    case AllEnded():
                        self.end_all(step)
            await self.send(reply)

    async def send(self, reply: Reply) -> None:
        """Send the events that are not sent yet."""
        if events := self.events.taken():
            await reply.send(events)

    async def finish(self, reply: Reply) -> None:
        """End the stream, or send the whole reply."""
        if self.is_stream:
            await self.send(reply)
            await reply.end()
        else:
            await reply.whole(self.whole())
