"""Random protocol lines: valid commands, changed as JSON or byte by byte, to a worker over standard input.

Each line with an id that can be read must get exactly one terminal event with this id, every other line a `failed` with
a null id, and the worker must never die.
"""

from __future__ import annotations

import json
import queue
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.attacks.figures import Figures
from tests.attacks.mutations import changed_bytes, changed_json
from tests.attacks.victim import LIMIT_S, Victim
from tests.driver import TERMINAL, Event
from tests.models import byte_level_tokenizer, write_random_llama

_BATCH = 100
_CONTEXT_LENGTH = 96
_MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello there"},
    {"role": "assistant", "content": "Hello", "token_ids": [40, 300]},
    {"role": "user", "content": "Why?"},
]
_CONSTRAINTS: list[dict[str, Any]] = [
    {"kind": "regex", "value": "(yes|no)+[a-z]{1,4}", "covers": "new"},
    {"kind": "choice", "value": ["one", "two", "three"]},
    {"kind": "json_schema", "value": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
    {"kind": "lark", "value": 'start: "a" b\nb: /[0-9]+/', "covers": "turn"},
]
_COMMANDS: list[dict[str, Any]] = [
    {"type": "generate", "text": "Hello", "max_tokens": 2},
    {"type": "generate", "token_ids": [5, 9, 70], "max_tokens": 2, "n": 2, "sampling": {"temperature": 1.0, "seed": 5}},
    {"type": "generate", "messages": _MESSAGES, "max_tokens": 3, "template_options": {"enable_thinking": True}},
    {
        "type": "generate",
        "messages": _MESSAGES[1:],
        "max_tokens": 4,
        "stop": ["ab", "\n"],
        "top_logprobs": 3,
        "sampling": {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "repetition_penalty": 1.1},
        "continuation": {"text": "Hel", "known_ids": [40]},
        "overflow": "drop_oldest",
    },
    {
        "type": "generate",
        "text": "Hi",
        "max_tokens": 4,
        "hooks": ["no_repeats"],
        "max_resample_count": 2,
        "hook_options": {"no_repeats": {"length": 3}},
        "draft": "tree",
        "continuation": {"token_ids": [40, 41]},
    },
    {"type": "generate", "text": "Say", "max_tokens": 4, "constraint": _CONSTRAINTS[0]},
    {
        "type": "generate",
        "text": "Say",
        "segments": [{"constraint": _CONSTRAINTS[1], "max_tokens": 3}, {"stop": ["x"]}],
    },
    *({"type": "validate", "constraint": each} for each in _CONSTRAINTS),
    {"type": "tokenize", "text": "Füße 😀 <|im_end|>", "counts_only": False},
    {"type": "tokenize", "messages": _MESSAGES, "counts_only": True},
    {"type": "plan", "prompts": [{"text": "a"}, {"messages": _MESSAGES}], "continuation": {"text": "b"}},
    {"type": "plan", "messages": _MESSAGES, "paths": [[0, 1], [0, 1, 2, 3]], "template_options": {}},
    {"type": "cancel", "target": "0-1", "choice": 0},
    {"type": "cancel", "target": 7},
    {"type": "cache_stats"},
    {"type": "list_hooks"},
    {"type": "unload_model"},
    {"type": "load_model", "model": "guide", "cache": {"limit_bytes": 10**6, "disk_limit_bytes": 0, "kv_bits": None}},
    {"type": "load_model", "model": "/nowhere", "draft_model": "guide"},
]


def write_small_model(folder: Path) -> Path:
    """Write a model with a short context, so that no answer is long."""
    write_random_llama(folder, byte_level_tokenizer(), hidden_size=32)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": _CONTEXT_LENGTH}))
    return folder


def fuzz_protocol(model: Path, num_lines: int, seed: int, *, first: int = 0) -> Figures:
    """Send lines to workers that load `model` before each batch. A fault ends a worker.

    `first`: the number of the first batch, to repeat a part of a run.
    """
    figures = Figures()
    batch, end = first, first + -(-num_lines // _BATCH)
    while batch < end:
        with Victim() as victim:
            fault = None
            while batch < end and fault is None:
                fault = _send_batch(victim, model, random.Random(f"{seed} {batch}"), batch, figures)
                if fault is not None:
                    figures.blame(f"seed {seed}, batch {batch}: {fault}")
                batch += 1
    return figures


def lines_of(batch: int, draw: random.Random) -> list[bytes]:
    """Return the lines of a batch."""
    return [_line(draw, f"{batch}-{number}") for number in range(_BATCH)]


def _line(draw: random.Random, request_id: str) -> bytes:
    template = draw.choices(_COMMANDS, [1 if "_model" in each["type"] else 10 for each in _COMMANDS])[0]
    command: Any = {**template, "request_id": draw.choice((request_id, request_id, request_id, "same", 7))}
    for _ in range(draw.choice((0, 0, 1, 1, 1, 2))):
        command, _ = changed_json(draw, command)
    line = json.dumps(command, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
    for _ in range(draw.choice((0, 0, 0, 0, 1, 3))):
        line, _ = changed_bytes(draw, line)
    line = line.replace(b"\n", b" ")
    # A shutdown would be obeyed, and a blank line gets no answer.
    return b"?" if line.isspace() or not line or b"shutdown" in line else line


def _send_batch(victim: Victim, model: Path, draw: random.Random, batch: int, figures: Figures) -> str | None:
    """Send a batch and wait for its terminal events. Return the fault; None if there is none."""
    lines = lines_of(batch, draw)
    victim.reset_peak()
    began_at = time.monotonic()
    sent = [f"load {batch}", *(None for _ in lines), f"end {batch}"]
    try:
        victim.send("load_model", model=str(model), request_id=sent[0])
        for line in lines:
            victim.send_line(line)
        ended: list[Event] = []
        while len(ended) < len(lines) + 1:
            _take(victim, ended, began_at)
        victim.send("cache_stats", request_id=sent[-1])
        while not any(event["request_id"] == sent[-1] for event in ended):
            _take(victim, ended, began_at)
    except _FaultError as error:
        return f"{error}; waiting: {_waiting(lines, error.ended)}"
    except BrokenPipeError:
        return "the worker died: " + "\n".join(victim.errors[-15:])
    counts = Counter(event["request_id"] for event in ended)
    expected = Counter([sent[0], sent[-1], *(_id_in(line) for line in lines)])
    if counts != expected:
        return f"events too many: {counts - expected}, missing: {expected - counts}"
    for event in ended:
        if event["request_id"] is None and event["type"] != "failed":
            return f"no id: {event}"
        figures.ends[event.get("kind", event["type"])] += 1
        if event.get("kind") == "internal":
            figures.blame(f"internal, batch {batch}: {event} of {_line_with(lines, event['request_id'])!r}")
    figures.add("batch", time.monotonic() - began_at, victim.peak_bytes / 1e6, f"batch {batch}")
    figures.num_rounds += len(lines) - 1
    return None


class _FaultError(Exception):
    def __init__(self, what: str, ended: list[Event]) -> None:
        super().__init__(what)
        self.ended = ended


def _take(victim: Victim, ended: list[Event], began_at: float) -> None:
    try:
        event = victim.arrived.get(timeout=max(0.0, began_at + LIMIT_S - time.monotonic()))
    except queue.Empty:
        raise _FaultError("stuck", ended) from None
    if event is None:
        raise _FaultError("the worker died: " + "\n".join(victim.errors[-15:]), ended)
    if event["type"] in TERMINAL:
        ended.append(event)


def _waiting(lines: list[bytes], ended: list[Event]) -> list[bytes]:
    """Return the first lines without an answer."""
    ids = {event["request_id"] for event in ended}
    return [line[:1500] for line in lines if _id_in(line) not in ids][:3]


def _line_with(lines: list[bytes], request_id: object) -> bytes:
    return b" | ".join(line[:1500] for line in lines if _id_in(line) == request_id)


def _id_in(line: bytes) -> object:
    """Return the id that the answer must have, as any JSON parser finds it; None if there is none."""
    try:
        message = json.loads(line.decode("utf-8", "surrogateescape"), strict=False)
        request_id = message.get("request_id") if isinstance(message, dict) else None
        if isinstance(request_id, str):
            request_id.encode()
            return request_id
    except (ValueError, RecursionError):
        return None
    is_int = isinstance(request_id, int) and not isinstance(request_id, bool) and -(2**63) <= request_id < 2**63
    return request_id if is_int else None
