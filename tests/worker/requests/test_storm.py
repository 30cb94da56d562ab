"""Hundreds of commands of all kinds at once over both transports: each ends exactly once, and the worker survives."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver import TERMINAL, StdioWorker
from tests.long import in_long_runs
from worker.encoding import command_from_json, to_json
from worker.process import WorkerClient
from worker.protocol import Failed, Shutdown

NUM_COMMANDS = 240
NUM_COMMANDS_LONG = 500

BAD_FIELDS: list[dict[str, Any]] = [
    {"type": "nonsense"},
    {"type": "generate"},
    {"type": "generate", "text": 5},
    {"type": "generate", "text": "a", "stop": [""]},
    {"type": "generate", "text": "a", "n": 0},
    {"type": "generate", "text": "a", "colour": "green"},
    {"type": "generate", "token_ids": [10**6]},
    {"type": "generate", "token_ids": []},
    {"type": "plan", "prompts": [{"text": "a", "token_ids": [1]}]},
    {"type": "load_model", "model": "/nowhere/at/all"},
    {"type": "load_model", "model": "guide", "draft_model": "guide"},
    {"type": "validate", "constraint": {"kind": "regex", "value": "a"}},
    {},
]
# Lines without a readable id: each gets one `failed` without an id.
GARBAGE = [
    b"nonsense",
    b"{",
    b"[]",
    b'{"type": "generate", "text": "a"}',
    b"\xff\xfe",
    b'{"request_id": 1.5}',
    b"[" * 5000,
]


def commands(dice: random.Random, models: list[str]) -> Iterator[dict[str, Any]]:
    """Yield commands without end. Their ids are new except for a few that repeat an earlier one."""
    sent: list[str | int] = [0]
    while True:
        request_id: str | int = f"c{len(sent)}" if dice.random() < 0.7 else len(sent)
        if dice.random() < 0.03:
            request_id = dice.choice(sent)
        sent.append(request_id)
        kind = dice.random()
        if kind < 0.3:
            command: dict[str, Any] = {
                "type": "generate",
                "max_tokens": dice.randint(1, 12),
                "top_logprobs": dice.choice([0, 0, 2]),
                "sampling": {"temperature": dice.choice([0, 1]), "seed": dice.randrange(1000)},
                "stop": dice.choice([[], ["a"], ["ab", "\n"]]),
                "n": dice.choice([1, 1, 1, 2, 5]),
            }
            if dice.random() < 0.5:
                content = dice.choice(["Hi", "<|im_end|>", "x" * 700])
                command["messages"] = [{"role": "user", "content": content}]
            else:
                command["text"] = dice.choice(["Hello", "Hello there ", "\x00", "é" * 50])
            if dice.random() < 0.2:
                command["continuation"] = dice.choice([{"text": "Well, th"}, {"token_ids": [5, 6]}, {"text": ""}])
        elif kind < 0.55:
            command = {"type": "cancel", "target": dice.choice([*sent[-8:], "nobody"])}
            if dice.random() < 0.2:
                command["choice"] = dice.randint(0, 2)
        elif kind < 0.65:
            command = {"type": "tokenize", "text": "Hello there"}
        elif kind < 0.72:
            command = {"type": "plan", "prompts": [{"text": "Hello"}, {"token_ids": [1, 2, 3]}]}
        elif kind < 0.79:
            command = {"type": "cache_stats"}
        elif kind < 0.87:
            command = {"type": "load_model", "model": dice.choice(models)}
        elif kind < 0.89:
            command = {"type": "unload_model"}
        else:
            command = dict(dice.choice(BAD_FIELDS))
        yield {"request_id": request_id, **command}


@pytest.mark.parametrize(
    ("seed", "num_commands"), [(0, NUM_COMMANDS), *in_long_runs((seed, NUM_COMMANDS_LONG) for seed in range(2))]
)
def test_after_a_storm_of_lines_each_command_has_ended_once(
    stdio_worker: StdioWorker, random_llama: Path, seed: int, num_commands: int
):
    dice = random.Random(seed)
    stream = commands(dice, [str(random_llama), "guide"])
    expected: Counter[Any] = Counter()
    stdio_worker.load(random_llama)
    for _ in range(num_commands // 20):
        lines: list[bytes] = []
        for _ in range(20):
            if dice.random() < 0.1:
                lines.append(dice.choice([b"", b"  ", b"\r"]))  # not a command, so there is no reply
            if dice.random() < 0.1:
                lines.append(dice.choice(GARBAGE))
                expected[None] += 1
            command = next(stream)
            expected[command["request_id"]] += 1
            lines.append(json.dumps(command).encode())
        stdio_worker.send_line(b"\n".join(lines))
        if dice.random() < 0.3:
            stdio_worker.next_event()
    # More than may wait at once.
    for request_id in expected:
        stdio_worker.events_until_end(request_id)
    stdio_worker.load(random_llama)
    assert stdio_worker.result("generate", text="Hello", max_tokens=3)["type"] == "finished"
    shutdown = stdio_worker.send("shutdown")
    while stdio_worker.next_event() != {"type": "done", "request_id": shutdown}:
        pass
    assert stdio_worker.process.wait() == 0
    ended = Counter(event["request_id"] for event in stdio_worker.events if event["type"] in TERMINAL)
    assert {request_id: ended[request_id] for request_id in expected} == expected
    assert not [line for line in stdio_worker.errors if "Traceback" in line]
    assert not [event for event in stdio_worker.events if event.get("kind") == "internal"]


def test_after_a_storm_of_frames_each_command_has_ended_once(random_llama: Path):
    dice = random.Random(9)
    expected: Counter[Any] = Counter()
    client = WorkerClient()
    try:
        for command in commands(dice, [str(random_llama), "guide"]):
            read = command_from_json(json.dumps(command).encode())
            if not isinstance(read, Failed):
                client.send(read)
                expected[read.request_id] += 1
            if expected.total() == NUM_COMMANDS:
                break
        client.send(Shutdown(request_id="end"))
        expected["end"] += 1
        ended: Counter[Any] = Counter()
        while not ended["end"]:
            event = json.loads(to_json(client.receive()))
            assert event.get("kind") != "internal"
            ended[event["request_id"]] += event["type"] in TERMINAL
        assert +ended == expected
    finally:
        client.kill()
