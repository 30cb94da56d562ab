"""`bough serve` as a process of its own, and its clients."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.driver import PATIENCE_S, ROOT
from tests.later import openai

KEY = "key-of-the-tests"


class Bough:
    """A running `bough serve`."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        model: Path | str = "guide",
        key: str | None = KEY,
        before: Sequence[str] = (),
    ) -> None:
        """`key`: None lets Bough make one. `before`: a command that starts the one that follows it."""
        environment = {**os.environ, "BOUGH_API_KEY": key or "", "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen(
            [
                *(*before, sys.executable, "-m", "app", "serve", "--data-dir", str(folder)),
                *("--model", str(model), *(arguments or ("--port", "0"))),
            ],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        """The lines of standard output."""
        self.errors: list[str] = []
        self._errors_arrived: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._arrived: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.wait()

    def line(self, pattern: str) -> str:
        """Wait for a line of standard output; return the part that the pattern's group matches."""
        while True:
            for line in self.lines:
                found = re.search(pattern, line)
                if found:
                    return found[1]
            line = self._arrived.get(timeout=PATIENCE_S)
            if line is None:
                raise EOFError("bough serve ended: " + "\n".join(self.errors))
            self.lines.append(line)

    def error_line(self) -> str:
        """Wait for a line of standard error."""
        return self._errors_arrived.get(timeout=PATIENCE_S)

    @property
    def url(self) -> str:
        return self.line(r"listens at (http://\S+)/v1")

    def wait_until_ready(self) -> str:
        """Wait for the model; return its id."""
        return self.line("The model “(.*)” is ready")

    def openai(self, key: str = KEY) -> openai.OpenAI:
        """Return the official client, which does not try again by itself."""
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=PATIENCE_S)

    def end(self, number: int = signal.SIGTERM) -> int:
        """End the process by a signal; return its exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the process to end; return its exit code."""
        try:
            code = self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._arrived.put(line.rstrip("\n"))
        self._arrived.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line.rstrip("\n"))
            self._errors_arrived.put(self.errors[-1])
