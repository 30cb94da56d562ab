"""The last answered requests, without their texts: client, cost, and why tokens were processed again.

Each request is a line of a file, so the list is kept when the program ends.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from app.model.own_files import make_folder, open_own, restrict
from app.model.settings import write_atomically
from app.serving.relay import Exchange
from worker.regular_file import read_regular

_log = logging.getLogger(__name__)

MAX_REQUESTS = 200
_MAX_LINES = 1000
"""A longer file is rewritten with only the last requests."""
_MAX_BYTES = 4 << 20


class LoggedRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answered request."""

    time_ms: int
    """When the request came, in milliseconds since 1970."""
    client: str = ""
    model: str = ""
    num_read: int = 0
    """How many tokens of the prompt were processed."""
    num_kept: int = 0
    """How many tokens of the prompt were cached from earlier requests."""
    num_written: int = 0
    first_ms: float = 0.0
    """How long the first token took, in milliseconds; 0 without a token."""
    tokens_per_s: float = 0.0
    read_again: str = ""
    """Why a part of the prompt was processed again, as in `Record.read_again`."""
    dropped: tuple[str, ...] = ()
    """The user's rules that removed a part of the request."""


def logged(exchange: Exchange) -> LoggedRequest:
    usage, timing = exchange.finished.usage, exchange.finished.timing
    return LoggedRequest(
        time_ms=exchange.begun_ms,
        client=exchange.client.name,
        model=exchange.model,
        num_read=usage.prompt_tokens - usage.cached_tokens,
        num_kept=usage.cached_tokens,
        num_written=usage.generated_tokens,
        first_ms=timing.queue_ms + timing.ttft_ms if timing.ttft_ms else 0.0,
        tokens_per_s=timing.decode_tokens_per_s,
        read_again=exchange.read_again,
        dropped=tuple(exchange.dropped),
    )


class RequestLog:
    """The last `MAX_REQUESTS` requests. If the file can't be used, they are kept in memory until the program ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._requests: deque[LoggedRequest] = deque(maxlen=MAX_REQUESTS)
        self._num_lines = 0
        self._read()

    @property
    def requests(self) -> Sequence[LoggedRequest]:
        """The requests, the latest first."""
        return tuple(reversed(self._requests))

    def add(self, request: LoggedRequest) -> None:
        self._requests.append(request)
        self._num_lines += 1
        try:
            make_folder(self._path.parent)
            if self._num_lines > _MAX_LINES:
                self._shorten()
                return
            handle = open_own(str(self._path), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            with os.fdopen(handle, "ab") as file:
                file.write(msgspec.json.encode(request) + b"\n")
        except OSError as error:
            _log.warning("%s can't be written (%s). The last requests are kept until Bough ends.", self._path, error)

    def _read(self) -> None:
        restrict(self._path)
        try:
            lines = read_regular(self._path, _MAX_BYTES).splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("%s can't be read (%s).", self._path, error)
            return
        self._num_lines = len(lines)
        for line in lines[-MAX_REQUESTS:]:
            # A line may be incomplete, or from another version.
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
                self._requests.append(msgspec.json.decode(line, type=LoggedRequest))

    def _shorten(self) -> None:
        kept = b"".join(msgspec.json.encode(request) + b"\n" for request in self._requests)
        write_atomically(self._path, kept, is_own=True)
        self._num_lines = len(self._requests)
