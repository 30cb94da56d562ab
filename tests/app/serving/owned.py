"""An owner of a worker and a server process in the tests' own process, whose events tests can wait for."""

from __future__ import annotations

import http.client
import json
import queue
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from typing_extensions import override

from app.serving.headless import Gone, HeadlessOwner, Loaded, News, NotLoaded
from app.serving.messages import Listening, NotListening, ServedModel, ServerSettings, digest
from app.serving.relay import Exchange
from tests.app.serving.running import KEY
from tests.driver import PATIENCE_S
from tests.later import openai
from worker.protocol import Event

_T = TypeVar("_T")


class Owned(HeadlessOwner):
    """An owner that keeps the worker's events. Use it as a context."""

    def __init__(
        self,
        model: Path | str,
        *,
        models: Sequence[ServedModel] = (),
        allows_load: bool = False,
        **settings: Any,
    ) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.seen: list[News] = []
        given = ServerSettings(key_digest=digest(KEY), port=0, **settings)
        super().__init__(given, str(model), lambda: models, allows_load=allows_load)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @override
    def _take(self, event: Event) -> None:
        super()._take(event)
        self.events.put(event)

    @property
    def worker_pid(self) -> int | None:
        return self._client.pid

    def event(self, kind: type[_T], is_it: Callable[[_T], bool] = lambda _: True) -> _T:
        """Wait for an event of the worker."""
        while True:
            event = self.events.get(timeout=PATIENCE_S)
            if isinstance(event, kind) and is_it(event):
                return event

    def wait(self, kind: type[_T]) -> _T:
        """Wait for news."""
        for news in self.seen:
            if isinstance(news, kind):
                return news
        while True:
            news = self.news.get(timeout=PATIENCE_S)
            self.seen.append(news)
            if isinstance(news, kind):
                return news
            assert not isinstance(news, NotLoaded | NotListening | Gone), news

    def exchange(self) -> Exchange:
        """Wait for the next answered request."""
        while True:
            news = self.news.get(timeout=PATIENCE_S)
            if isinstance(news, Exchange):
                return news
            self.seen.append(news)

    @property
    def address(self) -> tuple[str, int]:
        found = self.wait(Listening)
        return found.host, found.port

    def ready(self) -> Self:
        """Wait for the model and the server, in the order in which they come."""
        self.wait(Loaded)
        self.wait(Listening)
        return self

    def openai(self) -> openai.OpenAI:
        """Return the official client, which does not try again by itself."""
        host, port = self.address
        return openai.OpenAI(base_url=f"http://{host}:{port}/v1", api_key=KEY, max_retries=0, timeout=float(PATIENCE_S))

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(*self.address, timeout=PATIENCE_S)

    def request(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], dict[str, Any]]:
        """Send a request; return the status, the headers and the value of the reply."""
        connection = self.connection()
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            sent = {"Authorization": f"Bearer {KEY}"} | {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request(method, path, data, {name: text for name, text in sent.items() if text})
            reply = connection.getresponse()
            text = reply.read()
            return reply.status, {name.lower(): each for name, each in reply.getheaders()}, json.loads(text or b"{}")
        finally:
            connection.close()

    def endless(self, client: openai.OpenAI) -> Any:
        """Return a stream that does not end by itself, after its first text. The model must be the talker."""
        stream = client.completions.create(
            model=self.status.model.id, prompt="a", max_tokens=900_000, stream=True, temperature=0
        )
        for chunk in stream:
            if chunk.choices[0].text:
                return stream
        raise AssertionError("the stream ended")
