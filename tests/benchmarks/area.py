"""An area of the benchmarks, measured in a process of its own."""

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
"""An area that sends no row for this long hangs."""


def rows_of(area: str) -> Iterator[Row]:
    """The rows of an area, measured in a process of its own, and one more if that fails."""
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
                is_done = row is None or row["failure"] is not None
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
    """Send an area's rows, and None at the end. The process may crash after that: nothing is lost then."""
    preload()
    try:
        for row in importlib.import_module(f"tests.benchmarks.{area}").rows():
            sender.send(row)
        sender.send(None)
    except Exception as error:  # noqa: BLE001 whatever it is, the other areas are measured
        traceback.print_exc()
        sender.send(failed(area, f"{type(error).__name__}: {error}"))
