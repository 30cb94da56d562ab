"""A driver of `python -m worker --stdio`, written like another program's: JSON lines, without Bough's own code."""

from __future__ import annotations

import contextlib
import itertools
import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tests.forking import WorkerProgram, can_fork

ROOT = Path(__file__).parent.parent
TERMINAL = {
    *("model_loaded", "finished", "planned", "validated", "tokenized", "cache_stats", "hooks_listed", "done", "failed")
}
PATIENCE_S = 200

Event = dict[str, Any]


class StdioWorker:
    """A worker process. Every event is kept in `events`; waiting for one never sleeps."""

    def __init__(
        self, cache_folder: Path | None = None, arguments: Sequence[str] = (), *, is_forked: bool = True
    ) -> None:
        """`cache_folder` is for the disk cache; None means a temporary folder.

        `arguments` are further arguments of the command line. If not `is_forked`, the worker is a program of its own.
        """
        self._own_folder = tempfile.TemporaryDirectory(prefix="bough-cache-")
        arguments = ["--stdio", "--cache-folder", str(cache_folder or self._own_folder.name), *arguments]
        self.process = WorkerProgram(arguments, ROOT) if is_forked and can_fork() else _started(arguments)
        self.events: list[Event] = []
        self.errors: list[str] = []
        """The lines of standard error."""
        self.arrived: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._ids = itertools.count(1)
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        self._own_folder.cleanup()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, command: str, **fields: Any) -> str:
        """Send a command. Return its id."""
        request_id = fields.pop("request_id", None) or f"r{next(self._ids)}"
        self.send_line(json.dumps({"type": command, "request_id": request_id, **fields}).encode())
        return request_id

    def next_event(self) -> Event:
        """Wait for the next event of any request."""
        event = self.arrived.get(timeout=PATIENCE_S)
        if event is None:
            raise EOFError("The worker closed its output: " + "\n".join(self.errors[-20:]))
        self.events.append(event)
        return event

    def wait_for(self, request_id: str, kind: str) -> Event:
        """Wait for the next event of this type for a request. It must come before the request's end."""
        while True:
            event = self.next_event()
            if event["request_id"] == request_id:
                if event["type"] == kind:
                    return event
                assert event["type"] not in TERMINAL, event

    def events_until_end(self, request_id: str | None) -> list[Event]:
        """Wait for a request's terminal event. Return all events of the request."""
        seen = [event for event in self.events if event["request_id"] == request_id]
        while not any(event["type"] in TERMINAL for event in seen):
            event = self.next_event()
            if event["request_id"] == request_id:
                seen.append(event)
        return seen

    def ask(self, command: str, **fields: Any) -> list[Event]:
        """Send a command and wait for its end. Return its events."""
        return self.events_until_end(self.send(command, **fields))

    def result(self, command: str, **fields: Any) -> Event:
        """Send a command. Return its terminal event."""
        return self.ask(command, **fields)[-1]

    def load(self, model: Path | str, **cache: Any) -> Event:
        event = self.result("load_model", model=str(model), cache=cache)
        assert event["type"] == "model_loaded", event
        return event

    def close_input(self) -> int:
        """Close the input and read all output. Return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=PATIENCE_S)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.arrived.put(json.loads(line))
        self.arrived.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line.decode("utf-8", "replace").rstrip())


def _started(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "worker", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def shown_text(events: list[Event], choice: int = 0) -> str:
    """Return the streamed text of one choice, without what was taken back."""
    text = ""
    for event in events:
        if event["type"] == "chunk" and event["choice"] == choice:
            text += event["text"]
        elif event["type"] == "retract" and event["choice"] == choice:
            text = text[: len(text) - event["num_chars"]]
    return text
