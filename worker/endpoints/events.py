"""Server-sent events: parses the bytes of a reply into JSON objects.

Their size is limited, whatever the server sends.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias, cast

from worker.errors import EndpointError
from worker.sentence import Sentence

MAX_EVENT_BYTES = 8 << 20
"""The longest event that is read. One token with twenty alternatives has about two thousand bytes."""

Object: TypeAlias = dict[str, Any]


class EventReader:
    """Collects the bytes of a reply, and returns the events that are complete."""

    def __init__(self, name: str) -> None:
        """`name` is the server's name in sentences."""
        self._name = name
        self._rest = bytearray()
        """The bytes of an unfinished line."""
        self._num_searched = 0
        """The bytes at the beginning of `_rest` that hold no line break."""
        self._data: list[bytes] = []
        """The data lines of an unfinished event."""
        self._num_bytes = 0
        self.is_done = False
        """Whether the server has announced the end of the reply."""

    def take(self, data: bytes) -> list[Object]:
        """Add bytes of the reply. Return the events that they complete. Raises `EndpointError`."""
        self._rest += data
        found: list[Object] = []
        while not self.is_done and (line := self._line()) is not None:
            found += self._take_line(line)
        if len(self._rest) + self._num_bytes > MAX_EVENT_BYTES:
            raise EndpointError(
                Sentence(
                    "{server} sent more than {limit_bytes} without an end, so Bough stopped reading. The text so "
                    "far is kept. Check the server, then ask again.",
                    server=self._name,
                    limit_bytes=MAX_EVENT_BYTES,
                )
            )
        return found

    def finish(self) -> list[Object]:
        """Return the last event, if no empty line has ended it. Raises `EndpointError`."""
        line, self._rest = bytes(self._rest), bytearray()
        return [] if self.is_done else [*self._take_line(line), *self._take_line(b"")]

    def _line(self) -> bytes | None:
        """Return the next line without its end; None if it is not complete."""
        ends = [at for mark in b"\n\r" if (at := self._rest.find(mark, self._num_searched)) >= 0]
        end = min(ends, default=-1)
        if end < 0 or (self._rest[end] == 0x0D and end + 1 == len(self._rest)):
            # After a return, a line feed of the same line end may follow.
            self._num_searched = len(self._rest) if end < 0 else end
            return None
        line = bytes(self._rest[:end])
        length = 2 if self._rest[end : end + 2] == b"\r\n" else 1
        del self._rest[: end + length]
        self._num_searched = 0
        return line

    def _take_line(self, line: bytes) -> list[Object]:
        if line.startswith(b"data:"):
            self._data.append(line[5:])
            self._num_bytes += len(line)
            return []
        if line or not self._data:
            # Comments and the other fields contain no part of an answer.
            return []
        data, self._data, self._num_bytes = b"\n".join(self._data).strip(), [], 0
        if data == b"[DONE]":
            self.is_done = True
            return []
        return [object_of(data, self._name)] if data else []


def object_of(data: bytes, name: str) -> Object:
    """Return a JSON object. Raises `EndpointError`."""
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise EndpointError(
            Sentence(
                "{server} sent something other than a JSON object: {text}. The text so far is kept. Check the "
                "address, which usually ends in /v1.",
                server=name,
                text=excerpt(data.decode("utf-8", "replace")),
            )
        )
    return cast("Object", value)


def excerpt(text: str) -> str:
    """Return the beginning of a server's text on one line."""
    words = " ".join(text[:1000].split())
    return f"“{words[:200]}…”" if len(words) > 200 else f"“{words}”"
