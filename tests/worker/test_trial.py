"""The process for work that may hang, crash or take all memory (1.5 s of CPU)."""

from __future__ import annotations

import itertools
import multiprocessing
import operator
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.driver import ROOT
from worker.trial import (
    Budget,
    CrashedError,
    Limits,
    RaisedError,
    StoppedError,
    TooLargeError,
    TooMuchMemoryError,
    TooSlowError,
    TrialError,
    TrialProcess,
)

_ENOUGH = Limits(seconds=60.0, memory_bytes=256 << 20, result_bytes=1 << 20)
_LITTLE = Limits(seconds=0.5, memory_bytes=64 << 20, result_bytes=1000)


@pytest.fixture(scope="module")
def process() -> Iterator[TrialProcess]:
    process = TrialProcess()
    yield process
    process.close()


def test_a_value_comes_back_from_another_process(process: TrialProcess) -> None:
    assert process.run(_ENOUGH, os.getpid) == process.pid != os.getpid()
    assert process.run(_ENOUGH, sorted, [3, 1, 2], reverse=True) == [3, 2, 1]
    # More than a pipe holds, in both directions.
    assert process.run(_ENOUGH, operator.getitem, "ä" * 1_000_000, slice(500_000)) == "ä" * 500_000


@pytest.mark.parametrize(
    ("error", "function", "arguments"),
    [
        (TooSlowError, time.sleep, (60,)),
        (TooSlowError, operator.pow, (10, 10**9)),  # never lets another thread run
        (TooMuchMemoryError, operator.mul, ("x", 10**9)),
        (TooLargeError, operator.mul, ("x", 10**6)),
        (CrashedError, os.abort, ()),
        (CrashedError, os._exit, (0,)),
        (RaisedError, int, ("no number",)),
        (RaisedError, sys.exit, (3,)),
        (RaisedError, complex, (1, 2)),  # no plain data
        (RaisedError, operator.attrgetter("__len__"), ([],)),  # can't be pickled
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_every_failure_is_its_own_exception(
    process: TrialProcess, error: type[TrialError], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    # Only a call that never ends may meet the limit of time, on whichever machine.
    limits = _LITTLE if error is TooSlowError else replace(_LITTLE, seconds=_ENOUGH.seconds)
    with pytest.raises(error):
        process.run(limits, function, *arguments)
    assert process.run(_ENOUGH, operator.add, 1, 2) == 3


def test_the_steps_of_a_generator_come_before_its_result(process: TrialProcess) -> None:
    taken: list[object] = []
    assert process.run_steps(_ENOUGH, taken.append, _steps, "x" * 100_000) == "end"
    assert taken == [1, "x" * 100_000]
    with pytest.raises(RaisedError, match="is no plain data"):
        process.run_steps(_ENOUGH, taken.append, _steps, Path())
    assert process.run(_ENOUGH, operator.add, 1, 2) == 3


def _steps(last: object) -> Generator[object, None, str]:
    yield 1
    yield last
    return "end"


def test_the_caller_may_stop_between_two_steps() -> None:
    taken: list[object] = []
    process = TrialProcess(meanwhile=lambda: len(taken) < 3)
    with pytest.raises(StoppedError):
        process.run_steps(_ENOUGH, taken.append, _endless)
    assert taken[:3] == [0, 1, 2]
    process.close()


def _endless() -> Generator[int]:
    yield from itertools.count()


def test_an_exception_names_itself_and_its_bases(process: TrialProcess) -> None:
    with pytest.raises(RaisedError, match="invalid literal for int") as raised:
        process.run(_ENOUGH, int, "no number")
    assert raised.value.names == ("ValueError", "Exception", "BaseException", "object")


def test_the_signal_of_a_crash_is_reported(process: TrialProcess) -> None:
    with pytest.raises(CrashedError) as raised:
        process.run(_ENOUGH, os.abort)
    assert raised.value.exit_code == -signal.SIGABRT


def test_a_process_that_died_between_two_calls_is_replaced(process: TrialProcess) -> None:
    process.run(_ENOUGH, operator.add, 1, 2)
    pid = process.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert process.run(_ENOUGH, operator.add, 1, 2) == 3


def test_the_caller_may_stop_waiting_for_a_call() -> None:
    answers = iter([True, True, False])
    process = TrialProcess(meanwhile=lambda: next(answers, True))
    with pytest.raises(StoppedError):
        process.run(_ENOUGH, time.sleep, 60)
    process.close()


def test_the_process_inherits_no_other_file_than_its_pipes() -> None:
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    fresh = TrialProcess()
    fresh.run(_ENOUGH, operator.add, 1, 2)
    os.close(write_end)
    assert os.read(read_end, 1) == b""
    os.close(read_end)
    fresh.close()


def _hang(report: Connection, function: Callable[..., Any], *arguments: Any) -> None:
    process = TrialProcess()
    process.run(_ENOUGH, operator.add, 1, 2)
    report.send(process.pid)
    process.run(_ENOUGH, function, *arguments)


@pytest.mark.parametrize(("function", "arguments"), [(time.sleep, (60,)), (operator.pow, (10, 10**9))], ids=str)
def test_the_process_ends_with_its_caller(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The caller may be a daemon, as the worker is, and may be killed at any time."""
    context = multiprocessing.get_context("spawn")
    reports, report = context.Pipe(duplex=False)
    caller = context.Process(target=_hang, args=(report, function, *arguments), daemon=True)
    caller.start()
    pid: int = reports.recv()
    trial = psutil.Process(pid)
    caller.kill()
    caller.join()
    psutil.wait_procs([trial], timeout=500)
    assert not trial.is_running()


@pytest.mark.parametrize("module", ["app.__main__", "worker.__main__"])
def test_a_bundled_program_can_be_the_process(module: str) -> None:
    code = f"import sys; sys.frozen = True; from {module} import main; main()"
    calls, results = os.pipe(), os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", code, "--bough-trial", str(calls[0]), str(results[1]), str(os.getpid())],
        pass_fds=(calls[0], results[1]),
        cwd=ROOT,
    ) as program:
        os.close(calls[0])
        os.close(results[1])
        assert os.read(results[0], 1) == b"s"  # it is ready
        os.close(calls[1])
        assert program.wait(_ENOUGH.seconds) == 0
    os.close(results[0])


def test_calls_that_share_a_budget_take_no_more_together(process: TrialProcess) -> None:
    budget = Budget(_ENOUGH.seconds)
    with process.sharing(budget):
        assert process.run(_ENOUGH, abs, -1) == 1
        assert budget.left_s < _ENOUGH.seconds
        budget.left_s = 0.5
        with pytest.raises(TooSlowError):
            process.run(_ENOUGH, time.sleep, 60)
        assert budget.left_s <= 0
        other = process.another(())
        for each in (process, other):
            with pytest.raises(TooSlowError):
                each.run(_ENOUGH, abs, -1)
        assert other.pid is None
    assert process.run(_ENOUGH, abs, -1) == 1
