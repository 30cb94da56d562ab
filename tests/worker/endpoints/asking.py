"""A process for endpoints, driven by the client that the app uses."""

from __future__ import annotations

import itertools
from typing import Any, Self

from tests.driver import PATIENCE_S
from worker.endpoints.process import start_client
from worker.protocol import (
    Chunk,
    Command,
    Endpoint,
    Event,
    Failed,
    Finished,
    Generate,
    LoadModel,
    Message,
    ModelLoaded,
    RequestId,
    Sampling,
    Secret,
)

_TERMINAL = frozenset({"ModelLoaded", "EndpointChecked", "Finished", "Failed", "Done", "Validated", "HooksListed"})


class Asking:
    """Sends commands and keeps all events. Use it as a context."""

    def __init__(self) -> None:
        self._client = start_client()
        self._ids = (f"ask-{number}" for number in itertools.count(1))
        self.events: list[Event] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop()

    def send(self, command: Command) -> RequestId:
        self._client.send(command)
        return command.request_id

    def next(self) -> Event:
        """Wait for the next event."""
        assert self._client.poll(PATIENCE_S)
        event = self._client.receive()
        self.events.append(event)
        return event

    def end(self, request_id: RequestId) -> Event:
        """Wait for the terminal event of a command."""
        for event in self.events:
            if event.request_id == request_id and type(event).__name__ in _TERMINAL:
                return event
        while (event := self.next()).request_id != request_id or type(event).__name__ not in _TERMINAL:
            pass
        return event

    def finished(self, request_id: RequestId) -> Finished:
        """Wait for the end of an answer, which must be no failure."""
        event = self.end(request_id)
        assert isinstance(event, Finished), event
        return event

    def load(self, url: str, model: str = "script", *, key: str | None = None, **options: Any) -> Event:
        endpoint = Endpoint(url=url, name="Test", model=model, key=None if key is None else Secret(text=key), **options)
        return self.end(
            self.send(LoadModel(request_id=next(self._ids), model=f"endpoint:x/{model}", endpoint=endpoint))
        )

    def loaded(self, url: str, **options: Any) -> None:
        event = self.load(url, **options)
        assert isinstance(event, ModelLoaded), event

    def ask(self, text: str = "Hello", **options: Any) -> RequestId:
        """Send a question."""
        options = {"sampling": Sampling(seed=7), **options}
        options.setdefault("messages", [Message(role="user", content=text)])
        return self.send(Generate(request_id=next(self._ids), **options))

    def answer(self, text: str = "Hello", **options: Any) -> Finished:
        event = self.end(self.ask(text, **options))
        assert isinstance(event, Finished), event
        return event

    def failure(self, text: str = "Hello", **options: Any) -> Failed:
        event = self.end(self.ask(text, **options))
        assert isinstance(event, Failed), event
        return event

    def shown(self, request_id: RequestId, choice: int = 0) -> str:
        """Return the text of an answer that was streamed so far."""
        return "".join(
            event.text
            for event in self.events
            if isinstance(event, Chunk) and event.request_id == request_id and event.choice == choice
        )
