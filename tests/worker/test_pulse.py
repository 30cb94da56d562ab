"""The worker's pulse: what it reports and when, and that nothing which reads or does not read it can block it."""

from __future__ import annotations

import contextlib
import os
import signal
from multiprocessing.connection import Connection

import pytest
from msgspec import msgpack

from worker.events import Heartbeat
from worker.process import WorkerClient, WorkerSilentError, heart
from worker.pulse import Pulse


def test_a_new_activity_is_reported_at_once_and_the_outer_one_resumes_after_an_inner_one() -> None:
    sent: list[Heartbeat] = []
    pulse = Pulse(sent.append)
    pulse.enter("reading", done=512, total=1000)
    (first,) = sent
    assert (first.activity, first.done, first.total) == ("reading", 512, 1000)
    outer = pulse.step
    with pulse.during("template"):
        assert pulse.step.activity == "template"
        # Two reports within a tenth of a second would be too many while tokens stream.
        assert len(sent) == 1
    assert pulse.step is outer


def test_the_end_of_a_fast_start_is_reported_at_once() -> None:
    sent: list[Heartbeat] = []
    pulse = Pulse(sent.append, lambda: 100.0)
    pulse.beat()
    # If the process were stopped from here on, the app would wait for a start that is over.
    pulse.enter("loading")
    pulse.enter("idle")
    assert [beat.activity for beat in sent] == ["starting", "loading"]


def test_the_longest_time_of_an_activity_is_its_usual_one() -> None:
    sent: list[Heartbeat] = []
    now_s = 100.0
    pulse = Pulse(sent.append, lambda: now_s)
    for took_s in (2, 7, 3):
        pulse.enter("decoding")
        for _ in range(took_s):
            now_s += 1
            pulse.beat()
    # The process is stopped for an hour, which is not usual.
    now_s += 3600
    pulse.enter("hook", "slow one")
    now_s += 5
    pulse.enter("decoding")
    now_s += 1
    pulse.beat()
    assert sent[-1] == Heartbeat("decoding", lasted_s=1.0, usual_s=7.0, detail="", done=0, total=0)


def test_a_pipe_that_nobody_reads_blocks_no_heartbeat_and_holds_only_whole_ones() -> None:
    read_end, write_end = os.pipe()
    reader, writer = Connection(read_end, writable=False), Connection(write_end, readable=False)
    for number in range(2000):
        # Each is a report, as the thread makes them.
        Pulse(heart(writer)).enter("hook", f"{number} " + "😀" * 100)
    writer.close()
    beats: list[Heartbeat] = []
    with contextlib.suppress(EOFError):
        while True:
            data = reader.recv_bytes()
            assert len(data) < 500
            beats.append(msgpack.decode(data, type=Heartbeat))
    assert 100 < len(beats) < 2000
    assert [int(beat.detail.split()[0]) for beat in beats] == list(range(len(beats)))
    reader.close()


def test_a_stopped_worker_is_silent_and_one_that_is_idle_is_not() -> None:
    client = WorkerClient()
    try:
        while client.heartbeat is None or client.heartbeat.activity != "idle":
            client.poll(0.1)
        before = client.heartbeat
        while client.heartbeat is before:
            assert not client.poll(0.1)
        assert client.pid is not None
        os.kill(client.pid, signal.SIGSTOP)
        with pytest.raises(WorkerSilentError):
            client.receive_unless_silent(1.0)
        os.kill(client.pid, signal.SIGCONT)
        before = client.heartbeat
        while client.heartbeat is before:
            client.poll(0.1)
    finally:
        client.stop()
