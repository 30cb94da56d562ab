"""Tokens are saved to disk when the worker is idle, before it ends, and before another model is loaded."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import pytest

from tests.driver import StdioWorker
from worker.cache.eviction import Saving
from worker.inbox import EndOfInput, Inbox, Incoming
from worker.protocol import (
    CacheStats,
    CacheStatsReport,
    Command,
    Done,
    Event,
    Finished,
    Generate,
    LoadModel,
    ModelLoaded,
    Shutdown,
)
from worker.server import Server

PROMPT: dict[str, Any] = {"token_ids": list(range(40, 140))}


class IdleInbox(Inbox):
    """An inbox whose next command only comes when the server has nothing else to do and waits without a limit."""

    def __init__(self, commands: list[Command]) -> None:
        super().__init__()
        self.commands = commands
        self.num_waits = 0

    def get(self, timeout_s: float | None = None) -> Incoming:
        if timeout_s is not None:
            self.num_waits += 1
            raise queue.Empty
        return self.commands.pop(0) if self.commands else EndOfInput()

    def __len__(self) -> int:
        return 0


def test_tokens_are_on_disk_after_an_idle_moment(random_llama: Path, tmp_path: Path):
    inbox = IdleInbox(
        [
            LoadModel(request_id="load", model=str(random_llama)),
            Generate(request_id="asked", max_tokens=5, **PROMPT),
            CacheStats(request_id="stats"),
            Generate(request_id="again", max_tokens=9, **PROMPT),
            CacheStats(request_id="stats again"),
        ]
    )
    events: list[Event] = []
    Server(inbox, events.append, tmp_path).run()
    first, second = (event for event in events if isinstance(event, CacheStatsReport))
    assert first.disk_tokens == first.tokens > 100
    # The branch grows: only the new part is written.
    assert second.disk_tokens == second.tokens == first.tokens + 4
    files = [path.stat().st_size for path in tmp_path.rglob("*.safetensors")]
    assert len(files) == 2
    assert second.disk_bytes == sum(files)
    assert inbox.num_waits > 0


class BusyInbox(IdleInbox):
    """An inbox that sends a request whenever the server waits with a limit."""

    def __init__(self, commands: list[Command]) -> None:
        super().__init__(commands)
        self.num_asked = 0

    def get(self, timeout_s: float | None = None) -> Incoming:
        if timeout_s:
            self.num_asked += 1
            assert self.num_asked < 1_000_000
            return CacheStats(request_id=self.num_asked)
        return super().get(timeout_s)


def test_steady_requests_do_not_prevent_saving(random_llama: Path, tmp_path: Path):
    inbox = BusyInbox(
        [
            LoadModel(request_id="load", model=str(random_llama)),
            Generate(request_id="asked", max_tokens=5, **PROMPT),
            CacheStats(request_id="stats"),
        ]
    )
    events: list[Event] = []
    Server(inbox, events.append, tmp_path).run()
    last = [event for event in events if isinstance(event, CacheStatsReport)][-1]
    assert (last.request_id, last.disk_tokens) == ("stats", last.tokens)
    assert inbox.num_asked > 0


def test_a_failed_save_does_not_stop_the_worker(
    random_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(_: Saving) -> bool:
        raise RuntimeError("[malloc] on purpose")

    monkeypatch.setattr(Saving, "save_some", broken)
    inbox = IdleInbox(
        [
            LoadModel(request_id="load", model=str(random_llama)),
            Generate(request_id="asked", max_tokens=2, **PROMPT),
            LoadModel(request_id="another", model="guide"),
            Shutdown(request_id="end"),
        ]
    )
    events: list[Event] = []
    Server(inbox, events.append, tmp_path).run()
    ends = {event.request_id: type(event) for event in events}
    assert ends == {"load": ModelLoaded, "asked": Finished, "another": ModelLoaded, "end": Done}
    assert caplog.messages
    assert all("on purpose" in message for message in caplog.messages)
    caplog.clear()


def test_all_tokens_are_found_again_after_an_orderly_end(random_llama: Path, tmp_path: Path):
    with StdioWorker(tmp_path) as worker:
        worker.load(random_llama)
        asked = worker.result("generate", max_tokens=8, **PROMPT)
        assert worker.close_input() == 0
    with StdioWorker(tmp_path) as worker:
        worker.load(random_llama)
        again = worker.result("generate", max_tokens=8, **PROMPT)
        assert again["usage"]["prefilled_tokens"] == 1
        assert again["choices"][0]["token_ids"] == asked["choices"][0]["token_ids"]
        shutdown = worker.send("shutdown")
        assert worker.events_until_end(shutdown)[-1]["type"] == "done"
        assert worker.process.wait() == 0


def test_the_tokens_of_a_model_are_kept_while_another_one_is_loaded(random_llama: Path, tmp_path: Path):
    commands: list[Command] = [
        LoadModel(request_id=1, model=str(random_llama)),
        Generate(request_id=2, max_tokens=5, **PROMPT),
        LoadModel(request_id=3, model="guide"),
        LoadModel(request_id=4, model=str(random_llama)),
        Generate(request_id=5, max_tokens=5, **PROMPT),
    ]
    events: list[Event] = []
    # One at a time: a load that directly follows another replaces it.
    Server(IdleInbox(commands), events.append, tmp_path).run()
    finished = [event for event in events if isinstance(event, Finished)]
    assert [event.usage.prefilled_tokens for event in finished] == [100, 1]
    assert finished[0].choices[0].token_ids == finished[1].choices[0].token_ids
