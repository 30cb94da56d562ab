"""Answers run again one after the other in a worker of their own, which keeps nothing on disk; no window."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from app.model.message import Message
from app.replay.replay import Replay, refused
from app.replay.verdict import Verdict
from worker.client import WorkerClient, WorkerExitedError
from worker.protocol import CacheOptions, Failed, LoadModel, ModelLoaded

_REFUSED_BITS = "`cache.kv_bits`"


class Progress(NamedTuple):
    """How far it is."""

    answer: int
    """Which, from 1."""
    of: int
    done: float
    """Of this one, 0…1."""


class Asked(NamedTuple):
    """An answer, and the messages before it."""

    answer: Message
    prompt: Sequence[Message]


def run_again(
    asked: Sequence[Asked], *, model: str | None = None, hooks_folder: Path | None = None
) -> Iterator[Progress | Verdict]:
    """Yield how far it is and the verdict of each; `model`: which one is to draw, if not the one that wrote it."""
    runs: list[tuple[int, Asked]] = []
    for number, one in enumerate(asked, 1):
        why_not = refused(one.answer)
        if why_not is None:
            runs.append((number, one))
        else:
            yield _not_run(one.answer, why_not)
    if not runs:
        return
    client = WorkerClient(hooks_folder=hooks_folder)
    try:
        for (name, kv_bits), group in itertools.groupby(runs, lambda run: _kind(run[1].answer, model)):
            loaded, kv_bits, why_not = _load(client, name, kv_bits)
            for number, one in group:
                if loaded is None:
                    yield _not_run(one.answer, why_not)
                else:
                    yield from _one(client, one, loaded, kv_bits, number, len(asked))
    except WorkerExitedError:
        yield _not_run(runs[-1][1].answer, "The worker that runs the model died.")
    finally:
        client.stop()


def _one(
    client: WorkerClient, one: Asked, loaded: ModelLoaded, kv_bits: int | None, number: int, num_all: int
) -> Iterator[Progress | Verdict]:
    replay = Replay(one.answer, one.prompt, loaded, kv_bits)
    client.send(replay.start())
    while replay.verdict is None:
        yield Progress(number, num_all, replay.done)
        for command in replay.take(client.receive()):
            client.send(command)
    yield replay.verdict


def _kind(message: Message, model: str | None) -> tuple[str, int | None]:
    record = message.record
    assert record is not None
    return model or record.model, record.kv_bits


def _load(client: WorkerClient, name: str, kv_bits: int | None) -> tuple[ModelLoaded | None, int | None, str]:
    """Load a model as it was when it wrote; return it, how it keeps what it reads, and why it can't be loaded."""
    if not name:
        return None, None, "Which model wrote it is not known; name one with --model."
    bits = kv_bits if kv_bits == 4 or kv_bits == 8 else None
    request_id = f"load {name} {bits}"
    client.send(LoadModel(request_id=request_id, model=name, cache=CacheOptions(disk_limit_bytes=0, kv_bits=bits)))
    while True:
        match client.receive():
            case ModelLoaded(request_id=found) as loaded if found == request_id:
                return loaded, bits, ""
            case Failed(request_id=found) as failed if found == request_id:
                if bits is not None and _REFUSED_BITS in failed.message:
                    return _load(client, name, None)
                return None, None, failed.message
            case _:
                pass


def _not_run(message: Message, why_not: str) -> Verdict:
    model = "" if message.record is None else message.record.model
    return Verdict(message_id=message.id, model=model, matched=False, error=why_not)
