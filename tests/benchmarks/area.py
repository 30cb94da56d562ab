"""Run one area of the benchmarks in its own process."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection

from tests.benchmarks.measure import Row, failed
from worker.blas import preload

_PATIENCE_S = 3600
"""An area that sends no row for this long is taken to hang."""


def rows_of(area: str) -> Iterator[Row]:
    """Yield the rows of an area measured in its own process, and a failure row if that fails.

    Rows of an area that say what failed in it are followed by the others.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(area, sender))
    process.start()
    sender.close()
    is_done = False
    try:
        with contextlib.suppress(EOFError):
            while not is_done and receiver.poll(_PATIENCE_S):
                row: Row | None = receiver.recv()
                is_done = row is None
                if row is not None:
                    yield row
            if not is_done:
                process.kill()
        process.join()
    finally:
        process.kill()
    if not is_done:
        yield failed(area, f"its process ended with exit code {process.exitcode}")


def _measure(area: str, sender: Connection) -> None:
    """Send the rows of an area, and None at the end. A crash of the process after that loses nothing."""
    preload()
    try:
        for row in importlib.import_module(f"tests.benchmarks.{area}").rows():
            sender.send(row)
    except Exception as error:  # noqa: BLE001 whatever it is, the other areas are measured
        traceback.print_exc()
        sender.send(failed(area, f"{type(error).__name__}: {error}"))
    sender.send(None)
