"""Finds out what a model of a server can do, by short answers to a fixed question. Doubt means that it can't."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from worker.endpoints.answer import Answer
from worker.endpoints.body import with_given
from worker.endpoints.server import Server
from worker.errors import EndpointError
from worker.values import ContinuedBy, ServerFacts

_MAX_S = 10.0
"""How long all tries may take together. A load is not held up for longer."""
_WAYS: Sequence[ContinuedBy] = ("fields", "fields_without_thinking", "message", "prefix")
REFUSED = frozenset({400, 404, 405, 415, 422, 500, 501})
"""Statuses with which servers refuse a request that has fields that they don't have."""
_LOGPROBS = {"logprobs": True, "top_logprobs": 2}


class _Tried(NamedTuple):
    """The beginning of an answer; None if the server refused the request."""

    text: str | None
    has_logprobs: bool = False


async def find_out(server: Server, model: str, version: str) -> ServerFacts:
    """Return what a model can do, as far as that is known after a few seconds.

    If it may be more, the facts have no version, so that the next load finds them out again.
    """
    facts = _Facts(server, model)
    try:
        async with asyncio.timeout(_MAX_S):
            await facts.find_out()
    except TimeoutError:
        facts.is_certain = False
    return ServerFacts(version if facts.is_certain else "", facts.way, facts.keeps_end, facts.has_logprobs)


class _Facts:
    def __init__(self, server: Server, model: str) -> None:
        self._server = server
        self._model = model
        self.way: ContinuedBy = ""
        self.keeps_end = self.has_logprobs = False
        self.is_certain = True
        """Whether the server has accepted or refused each request, so that none failed for another reason."""

    async def find_out(self) -> None:
        """Most servers show both with the first try: that they continue an answer, and log-probabilities."""
        first = await self._try(" ", "fields", _LOGPROBS)
        self.has_logprobs = first.has_logprobs
        self.way = await self._way(first)
        if first.text is None and not self.has_logprobs:
            self.has_logprobs = (await self._try(" ", None, _LOGPROBS)).has_logprobs
        if self.way:
            # If the line end were left out, the answer would begin with it.
            self.keeps_end = _goes_on((await self._try("\n", self.way, {}, end="\n")).text, "")

    async def _way(self, first: _Tried) -> ContinuedBy:
        """Return how the server is asked to continue an answer; empty if it does not do it in any way."""
        if _goes_on(first.text, " "):
            return "fields"
        if first.text is None and _goes_on((await self._try(" ", "fields", {})).text, " "):
            # It refused the log-probabilities.
            return "fields"
        for way in _WAYS[1:]:
            if _goes_on((await self._try(" ", way, {})).text, " "):
                return way
        return ""

    async def _try(self, between: str, way: ContinuedBy | None, fields: Mapping[str, Any], end: str = "") -> _Tried:
        """Let the model count on from 6. `between` stands between the numbers. Without a `way`, it begins itself."""
        what = "a space between the numbers" if between == " " else "each number on a line of its own"
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "user", "content": f"Count from 1 to 12, with {what}."}],
            "max_tokens": 6,
            "temperature": 0,
            "stream": True,
            **fields,
        }
        if way is not None:
            body = with_given(body, between.join("123456") + end, way)
        answer, text = Answer(self._server.name, (), 0, wants_tokens=True), ""
        events = self._server.events(body, is_trial=True)
        try:
            async for event in events:
                text += answer.take(event)
            text += answer.end("eos")
        except EndpointError as error:
            self.is_certain = self.is_certain and error.status in REFUSED
            return _Tried(None)
        finally:
            await events.aclose()
        return _Tried(text, any(token.top for token in answer.take_tokens()))


def _goes_on(text: str | None, between: str) -> bool:
    """Return whether an answer counts on. Servers that ignore the beginning write a new turn, which has no space."""
    return text is not None and text.startswith(f"{between}7")
