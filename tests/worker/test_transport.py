"""The worker as a child process: sending never blocks, the death of either side is noticed, nothing hangs at exit."""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.driver import PATIENCE_S, ROOT, StdioWorker
from tests.forking import WorkerProgram
from tests.long import in_long_runs
from worker.process import WorkerClient, WorkerExitedError
from worker.protocol import (
    CacheStats,
    Cancel,
    Chunk,
    Done,
    Event,
    Failed,
    Finished,
    Generate,
    LoadModel,
    ModelLoaded,
    Shutdown,
    Tokenize,
    Tokenized,
)


@pytest.fixture
def client() -> Iterator[WorkerClient]:
    client = WorkerClient()
    yield client
    client.kill()


@pytest.fixture
def loaded(client: WorkerClient, endless_model: Path) -> WorkerClient:
    client.send(LoadModel(request_id="load", model=str(endless_model)))
    wait_for(client, "load", ModelLoaded)
    return client


def wait_for(client: WorkerClient, request_id: str, kind: type[Event]) -> Event:
    while True:
        event = client.receive()
        if event.request_id == request_id and isinstance(event, kind):
            return event


def wait_for_death(client: WorkerClient) -> list[Event]:
    """Receive until the pipe ends; return the events before that."""
    events: list[Event] = []
    try:
        while True:
            events.append(client.receive())
    except WorkerExitedError:
        return events


def pid_of(client: WorkerClient) -> int:
    assert client.pid is not None
    return client.pid


def has_ended(pid: int) -> bool:
    """Wait for the end of a process that is not our child, or whose parent does not wait for it."""
    if hasattr(os, "pidfd_open"):
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        try:
            return bool(select.select([descriptor], [], [], PATIENCE_S)[0])
        finally:
            os.close(descriptor)
    try:
        psutil.Process(pid).wait(PATIENCE_S)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


# --- the worker's death ----------------------------------------------------------------------------------------


def test_a_killed_idle_worker_ends_its_events(loaded: WorkerClient):
    os.kill(pid_of(loaded), signal.SIGKILL)
    assert wait_for_death(loaded) == []
    assert loaded.kill() == -signal.SIGKILL


def test_a_killed_busy_worker_ends_its_events_and_all_of_them_are_read(loaded: WorkerClient):
    loaded.send(Generate(request_id="busy", text="Hello"))
    wait_for(loaded, "busy", Chunk)
    os.kill(pid_of(loaded), signal.SIGKILL)
    assert all(isinstance(event, Chunk) for event in wait_for_death(loaded))
    assert loaded.kill() == -signal.SIGKILL


def test_a_worker_killed_while_it_loads_ends_its_events(client: WorkerClient):
    client.send(LoadModel(request_id="load", model="guide"))
    os.kill(pid_of(client), signal.SIGKILL)
    wait_for_death(client)


def test_a_waiting_thread_notices_that_another_one_killed_the_worker(loaded: WorkerClient):
    noticed: queue.SimpleQueue[type[Exception]] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                loaded.receive()
        except WorkerExitedError as error:
            noticed.put(type(error))

    listener = threading.Thread(target=listen)
    listener.start()
    loaded.kill()
    assert noticed.get(timeout=PATIENCE_S) is WorkerExitedError
    listener.join()


def test_methods_of_a_dead_workers_client_still_work(loaded: WorkerClient):
    loaded.kill()
    loaded.send(CacheStats(request_id="lost"))
    assert loaded.poll(0)
    with pytest.raises(WorkerExitedError):
        loaded.receive()
    loaded.stop()
    assert loaded.kill() == -signal.SIGKILL


# --- stopping ------------------------------------------------------------------------------------------------


def test_shutdown_is_done_last_and_the_exit_code_is_0(loaded: WorkerClient):
    loaded.send(Generate(request_id="busy", text="Hello"))
    wait_for(loaded, "busy", Chunk)
    loaded.send(Generate(request_id="waiting", text="Hello"))
    loaded.send(Shutdown(request_id="end"))
    events = wait_for_death(loaded)
    ends = [event for event in events if isinstance(event, Finished | Done | Failed)]
    assert sorted(str(event.request_id) for event in ends) == ["busy", "end", "waiting"]
    assert events[-1] == Done(request_id="end")
    assert loaded.kill() == 0


def test_a_stopped_worker_leaves_no_thread_behind(loaded: WorkerClient):
    others = set(threading.enumerate())
    second = WorkerClient()
    second.send(CacheStats(request_id="one"))
    assert isinstance(second.receive(), Failed)
    assert set(threading.enumerate()) - others
    second.stop()
    assert set(threading.enumerate()) - others == set()


def test_stop_ends_an_idle_and_a_busy_worker_in_good_order(endless_model: Path):
    for is_busy in (False, True):
        client = WorkerClient()
        client.send(LoadModel(request_id="load", model=str(endless_model)))
        wait_for(client, "load", ModelLoaded)
        if is_busy:
            client.send(Generate(request_id="busy", text="Hello"))
            wait_for(client, "busy", Chunk)
        client.stop(timeout_s=PATIENCE_S)
        assert client.kill() == 0


def test_a_worker_that_cannot_stop_is_killed(loaded: WorkerClient):
    os.kill(pid_of(loaded), signal.SIGSTOP)
    loaded.stop(timeout_s=0.01)
    assert loaded.kill() == -signal.SIGKILL


# --- large and many messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("num_chars", [10_000_000, *in_long_runs([300_000])])
def test_large_commands_to_a_worker_that_reads_nothing_do_not_block_the_sender(client: WorkerClient, num_chars: int):
    client.send(CacheStats(request_id="up"))
    client.receive()
    # A stopped process reads nothing at all: if a command waited for it, this test would never end.
    os.kill(pid_of(client), signal.SIGSTOP)
    for number in range(3):
        client.send(Generate(request_id=f"{number}", text="<" * num_chars))
    assert not client.poll(0)
    os.kill(pid_of(client), signal.SIGCONT)
    answers = [client.receive() for _ in range(3)]
    assert [answer.request_id for answer in answers] == ["0", "1", "2"]
    assert all(isinstance(answer, Failed) and answer.kind == "model_not_loaded" for answer in answers)


def test_a_large_command_is_seen_by_a_busy_worker(loaded: WorkerClient):
    loaded.send(Generate(request_id="busy", text="Hello"))
    wait_for(loaded, "busy", Chunk)
    loaded.send(Tokenize(request_id="large", text="Hello there " * 30_000))
    tokenized = wait_for(loaded, "large", Tokenized)
    assert isinstance(tokenized, Tokenized)
    assert "".join(tokenized.pieces) == "Hello there " * 30_000
    loaded.send(Cancel(request_id="cancel", target="busy"))
    wait_for(loaded, "busy", Finished)


def test_thousands_of_commands_sent_from_several_threads_are_all_answered(loaded: WorkerClient):
    def send(name: str) -> None:
        for number in range(500):
            loaded.send(Tokenize(request_id=f"{name}{number}", text="Hello"))

    senders = [threading.Thread(target=send, args=(name,)) for name in "abcd"]
    for sender in senders:
        sender.start()
    answered = {loaded.receive().request_id for _ in range(2000)}
    assert answered == {f"{name}{number}" for name in "abcd" for number in range(500)}
    for sender in senders:
        sender.join()


# --- the app's end ---------------------------------------------------------------------------------------------

PARENT = """\
import sys
sys.path.insert(0, {root!r})
from worker.process import WorkerClient
from worker.protocol import *

if __name__ == "__main__":
    client = WorkerClient()
    print(client.pid, flush=True)
    {doing}
    print("ready", flush=True)
    {ending}
"""

DOING = {
    "starts": "pass",
    "is idle": "client.send(CacheStats(request_id=1)); client.receive()",
    "loads": "client.send(LoadModel(request_id=1, model={model!r}))\n    client.receive()",
    "answers": (
        "client.send(LoadModel(request_id=1, model={model!r})); client.send(Generate(request_id=2, text='Hello'))\n"
        "    while not isinstance(client.receive(), Chunk): pass"
    ),
    "reads a long prompt": (
        "client.send(LoadModel(request_id=1, model={model!r}))\n"
        "    client.send(Generate(request_id=2, token_ids=[50] * 900_000))\n"
        "    while not isinstance(client.receive(), PrefillProgress): pass"
    ),
    "writes to nobody": (
        # Events that the app does not read fill the pipe, and the worker waits in the middle of one.
        "client.send(LoadModel(request_id=1, model={model!r})); client.send(Generate(request_id=2, text='Hello'))\n"
        "    while not isinstance(client.receive(), Chunk): pass\n"
        "    client.send(Tokenize(request_id=3, text='Hello' * 100_000))\n"
        "    client.poll(60)"
    ),
    "leaves much unread": (
        "import os, signal\n"
        "    client.send(CacheStats(request_id=1)); client.receive()\n"
        "    os.kill(client.pid, signal.SIGSTOP)\n"
        "    client.send(Generate(request_id=2, text='x' * 10_000_000))\n"
        "    os.kill(client.pid, signal.{signal})"
    ),
}


@pytest.fixture
def start_parent(tmp_path: Path, endless_model: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], int]]]:
    """Return a function that starts a program with a worker and returns when the worker is busy as named."""
    started: list[subprocess.Popen[str]] = []

    def start(doing: str, ending: str, **names: str) -> tuple[subprocess.Popen[str], int]:
        program = tmp_path / "parent.py"
        written = DOING[doing].format(model=str(endless_model), **names)
        program.write_text(PARENT.format(root=str(ROOT), doing=written, ending=ending))
        parent = subprocess.Popen(
            [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(parent)
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert parent.stdout.readline() == "ready\n"
        return parent, pid

    yield start
    for parent in started:
        parent.kill()
        parent.communicate()


@pytest.mark.parametrize(
    "doing",
    [
        "reads a long prompt",
        *in_long_runs(sorted(DOING.keys() - {"reads a long prompt", "leaves much unread"})),
    ],
)
def test_a_worker_ends_when_its_parent_is_killed(start_parent: Any, doing: str):
    parent, worker = start_parent(doing, "input()")
    parent.kill()
    assert has_ended(worker)


@pytest.mark.parametrize("doing", ["writes to nobody", *in_long_runs(["starts", "is idle", "answers"])])
def test_a_worker_ends_when_the_app_ends_without_stopping_it(start_parent: Any, doing: str):
    parent, worker = start_parent(doing, "")
    _, errors = parent.communicate(timeout=PATIENCE_S)
    assert parent.returncode == 0
    assert has_ended(worker)
    assert "Traceback" not in errors


def test_unread_commands_of_a_dead_worker_do_not_delay_the_apps_end(start_parent: Any):
    parent, worker = start_parent("leaves much unread", "", signal="SIGKILL")
    _, errors = parent.communicate(timeout=PATIENCE_S)
    assert parent.returncode == 0
    assert has_ended(worker)
    assert errors == ""


def test_unread_commands_of_a_killed_worker_do_not_delay_the_apps_end(start_parent: Any):
    parent, worker = start_parent("leaves much unread", "client.kill(); client.stop()", signal="SIGSTOP")
    _, errors = parent.communicate(timeout=PATIENCE_S)
    assert parent.returncode == 0
    assert has_ended(worker)
    assert errors == ""


# --- SIGTERM ---------------------------------------------------------------------------------------------------


def test_sigterm_cancels_each_request_of_the_apps_worker(loaded: WorkerClient):
    loaded.send(Generate(request_id="busy", text="Hello"))
    wait_for(loaded, "busy", Chunk)
    os.kill(pid_of(loaded), signal.SIGTERM)
    ends = [event for event in wait_for_death(loaded) if not isinstance(event, Chunk)]
    assert [(event.request_id, type(event)) for event in ends] == [("busy", Finished)]
    assert loaded.kill() == 128 + signal.SIGTERM


@pytest.mark.long
def test_a_second_sigterm_ends_the_apps_worker_at_once(loaded: WorkerClient):
    # The worker waits in the middle of an event that nobody reads, so it can't end in good order.
    loaded.send(Tokenize(request_id="long", text="Hello" * 100_000))
    assert loaded.poll(PATIENCE_S)
    process = loaded._process  # pyright: ignore[reportPrivateUsage]
    # Two signals at once are one.
    while process.is_alive():
        os.kill(pid_of(loaded), signal.SIGTERM)
        process.join(0.2)
    # After a single one it ends some seconds later, with a code of its own.
    assert loaded.kill() == -signal.SIGTERM


# --- Ctrl+C ----------------------------------------------------------------------------------------------------


def test_ctrl_c_does_not_end_the_apps_worker(loaded: WorkerClient):
    loaded.send(Generate(request_id="busy", text="Hello"))
    wait_for(loaded, "busy", Chunk)
    os.kill(pid_of(loaded), signal.SIGINT)
    loaded.send(Tokenize(request_id="still there", text="Hello"))
    assert wait_for(loaded, "still there", Tokenized)


@pytest.fixture
def not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start Python for a worker, see `tests/forking.py`."""
    monkeypatch.setattr(SpawnContext, "Process", SpawnProcess)


@pytest.mark.usefixtures("not_forked")
def test_ctrl_c_while_a_worker_starts_does_not_end_it(client: WorkerClient):
    # Python itself is still starting there.
    os.kill(pid_of(client), signal.SIGINT)
    client.send(CacheStats(request_id="asked"))
    assert wait_for(client, "asked", Failed)
    # Ctrl+C is not blocked in this process.
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_ctrl_c_ends_an_idle_headless_worker(stdio_worker: StdioWorker):
    stdio_worker.result("cache_stats")
    stdio_worker.process.send_signal(signal.SIGINT)
    assert stdio_worker.process.wait(PATIENCE_S) == 130
    with pytest.raises(EOFError):
        stdio_worker.next_event()
    assert not [line for line in stdio_worker.errors if "Traceback" in line]


def test_ctrl_c_cancels_each_request_of_a_headless_worker(stdio_worker: StdioWorker, endless_model: Path):
    stdio_worker.load(endless_model)
    running = stdio_worker.send("generate", text="Hello")
    while stdio_worker.next_event()["type"] != "chunk":
        pass
    waiting = stdio_worker.send("generate", text="Hello")
    stdio_worker.result("tokenize", text="Hello")
    stdio_worker.process.send_signal(signal.SIGINT)
    for request_id in (running, waiting):
        assert stdio_worker.events_until_end(request_id)[-1]["choices"][0]["reason"] == "cancelled"
    assert stdio_worker.process.wait(PATIENCE_S) == 130


def test_a_signal_in_the_middle_of_a_long_event_cuts_nothing(endless_model: Path, tmp_path: Path):
    worker = WorkerProgram(["--stdio", "--cache-folder", str(tmp_path)], ROOT)
    text = "Hello, tree. " * 20_000
    for command in (
        {"type": "load_model", "request_id": 1, "model": str(endless_model)},
        {"type": "tokenize", "request_id": 2, "text": text},
    ):
        worker.stdin.write(json.dumps(command).encode() + b"\n")
    worker.stdin.flush()
    while json.loads(worker.stdout.readline())["type"] != "model_loaded":
        pass
    # The pipe holds less than the event, so the worker is in the middle of it until all is read.
    beginning = worker.stdout.read(1)
    worker.send_signal(signal.SIGTERM)
    event = json.loads(beginning + worker.stdout.readline())
    assert "".join(event["pieces"]) == text
    assert worker.stdout.read() == b""
    assert worker.wait(PATIENCE_S) == 128 + signal.SIGTERM
    for stream in (worker.stdin, worker.stdout, worker.stderr):
        stream.close()


def test_a_headless_worker_whose_output_is_no_longer_read_ends(endless_model: Path, tmp_path: Path):
    worker = subprocess.Popen(
        [sys.executable, "-m", "worker", "--stdio", "--cache-folder", tmp_path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    assert worker.stderr is not None
    load = {"type": "load_model", "request_id": 1, "model": str(endless_model)}
    generate = {"type": "generate", "request_id": 2, "text": "Hello"}
    worker.stdin.write(json.dumps(load).encode() + b"\n" + json.dumps(generate).encode() + b"\n")
    worker.stdin.flush()
    worker.stdout.readline()
    worker.stdout.close()
    assert worker.wait(PATIENCE_S) == 0
    assert b"Traceback" not in worker.stderr.read()
    worker.stdin.close()
    worker.stderr.close()


@pytest.mark.parametrize("closed", ["<&- 2>&-", *in_long_runs(["<&-", "2>&-"])])
def test_a_headless_worker_without_standard_input_or_error_ends_in_good_order(closed: str):
    """A service may be started like this: a missing descriptor must not cause a hang or a crash."""
    command = f'exec "$0" -m worker --stdio {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable],
        cwd=ROOT,
        input=b'{"type": "shutdown", "request_id": 1}\n',
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (b"" if "<&-" in closed else b'{"type":"done","request_id":1}\n')
    assert b"Traceback" not in done.stderr


def test_a_headless_worker_without_an_output_reports_it():
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m worker --stdio >&-', sys.executable],
        cwd=ROOT,
        input=b"",
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == b"bough: --stdio writes its events to standard output, which is closed."
    assert b"Traceback" not in done.stderr
