"""Starts the workers of tests by forking a process that has imported their modules.

A start with the guide model then takes 0.2 s of CPU time instead of 0.9 s. On Linux, each test process has one process
to fork, which does nothing else. A forked worker runs the same code, with pipes, signals and a confinement of its own;
it only skips Python's start and the imports. Programs that tests start (`python -m app`, `python -m worker`) start
their workers as they do for users.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing.forkserver
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess, SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any, BinaryIO, cast

from typing_extensions import override

_IS_POSSIBLE = sys.platform == "linux"
"""MLX can't be used after a fork on macOS."""
_FORKED = {"worker.process", "worker.endpoints.process", "app.serving.process", "app.catalog.download_process"}
"""The modules whose processes are forked. Others would read environment variables while they are imported."""


def _read_by_imports() -> dict[str, str]:
    """Return the environment variables that libraries read while they are imported."""
    return {name: value for name, value in os.environ.items() if name.startswith(("HF_", "OPENBLAS_", "XDG_"))}


_READ = _read_by_imports()


def can_fork() -> bool:
    """Return whether a forked worker would be as one that imports its modules now."""
    return _IS_POSSIBLE and _read_by_imports() == _READ


def fork_workers() -> None:
    """Fork every worker that this process starts from now on, instead of starting Python for it."""
    if _IS_POSSIBLE:
        # Wait for the end of the process, so that its time counts as this one's.
        atexit.register(_server()._stop)
        multiprocessing.set_forkserver_preload(["tests.worker_modules"])
        SpawnContext.Process = cast("type[SpawnProcess]", staticmethod(_process))


def server_pid() -> int | None:
    """The process that is forked; None before the first worker."""
    return _server()._forkserver_pid


def _server() -> Any:
    return multiprocessing.forkserver._forkserver  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]


def _process(*, target: Any, **arguments: Any) -> SpawnProcess | _Forked:
    if target.__module__ in _FORKED and can_fork():
        return _Forked(target=target, **arguments)
    return SpawnProcess(target=target, **arguments)


class _Forked(ForkServerProcess):
    """A process with the environment and the blocked signals of the one that starts it."""

    def __init__(self, **arguments: Any) -> None:
        multiprocessing.forkserver.ensure_running()
        super().__init__(**arguments)

    @override
    def start(self) -> None:
        self._environment = dict(os.environ)
        self._blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        super().start()

    @override
    def run(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)
        os.environ.clear()
        os.environ.update(self._environment)
        super().run()


class WorkerProgram:
    """`python -m worker` with these arguments, forked. It has the parts of `subprocess.Popen` that tests use."""

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        pipes = [os.pipe() for _ in range(3)]
        ours = pipes[0][1], pipes[1][0], pipes[2][0]
        theirs = [Connection(pipes[0][0], writable=False), *(Connection(pipe[1], readable=False) for pipe in pipes[1:])]
        self._process = _Forked(target=_run_worker, args=(list(arguments), folder, *theirs), daemon=True)
        self._process.start()
        for end in theirs:
            end.close()
        self.stdin: BinaryIO = os.fdopen(ours[0], "wb")
        self.stdout: BinaryIO = os.fdopen(ours[1], "rb")
        self.stderr: BinaryIO = os.fdopen(ours[2], "rb")
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(["worker"], timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            # It may have ended while the server that started it does not know yet.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def _run_worker(arguments: list[str], folder: Path, *ends: Connection) -> None:
    from worker.__main__ import main

    for number, end in enumerate(ends):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 (they stay open)
    os.chdir(folder)
    sys.argv = ["worker", *arguments]
    sys.exit(main(arguments))
