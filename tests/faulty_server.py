"""The part that the tests' HTTP servers share: which requests came, and which of them fail."""

from __future__ import annotations

import queue
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Generic, Protocol, TypeVar

from typing_extensions import override


class Received(Protocol):
    """A request that a server received."""

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...


_Request = TypeVar("_Request", bound=Received)
_Fault = TypeVar("_Fault")


class FaultyServer(Generic[_Request, _Fault]):
    """The requests of a server, in the order in which they came, and the faults that wait for more of them."""

    def __init__(self) -> None:
        self.requests: list[_Request] = []
        self.arrived: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        """The same requests, for tests that wait for one."""
        self._faults: list[tuple[re.Pattern[str], _Fault]] = []
        self._lock = threading.Lock()

    def fail(self, pattern: str, fault: _Fault, *, times: int = 1) -> None:
        """Let the next requests whose "METHOD /path" contains a pattern fail."""
        self._faults += [(re.compile(pattern), fault)] * times

    def forget_faults(self) -> None:
        self._faults.clear()

    def requests_of(self, pattern: str) -> list[_Request]:
        """Return the requests whose "METHOD /path" contains a pattern."""
        with self._lock:
            return [request for request in self.requests if re.search(pattern, f"{request.method} {request.path}")]

    def note(self, request: _Request) -> _Fault | None:
        """Note a request, and return the fault that it meets."""
        with self._lock:
            self.requests.append(request)
            self.arrived.put(request)
            for number, (pattern, fault) in enumerate(self._faults):
                if pattern.search(f"{request.method} {request.path}"):
                    del self._faults[number]
                    return fault
        return None


class Listener(ThreadingHTTPServer):
    """A port of this machine, whose requests are answered in threads."""

    daemon_threads = True
    request_queue_size = 64

    @override
    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that end in the middle of a request are part of the tests."""


class SilentHandler(BaseHTTPRequestHandler):
    """Answers requests, writes no log, and sends all bytes at once."""

    protocol_version = "HTTP/1.1"
    wbufsize = 0
    disable_nagle_algorithm = True

    def do_HEAD(self) -> None:
        self.serve()

    def do_GET(self) -> None:
        self.serve()

    def do_POST(self) -> None:
        self.serve()

    def serve(self) -> None:
        """Answer a request with any method."""
        raise NotImplementedError

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass
