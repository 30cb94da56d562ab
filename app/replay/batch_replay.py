"""Replay of several answers in a separate worker that caches nothing on disk. Independent of Qt."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from app.model.message import Message
from app.replay.replay import Replay, why_not_replayable
from app.replay.verdict import Verdict
from worker.process import WorkerClient, WorkerExitedError, WorkerSilentError
from worker.protocol import CacheOptions, Failed, LoadModel, ModelLoaded
from worker.sentence import Sentence, verbatim

_REFUSED_BITS = "`cache.kv_bits`"
_PATIENCE_S = 30.0
"""A worker that has been silent for this time is killed."""


class Progress(NamedTuple):
    """The progress of a batch."""

    answer: int
    """The number of the current answer, from 1."""
    of: int
    done: float
    """The fraction of the current answer that is done, from 0 to 1."""


class ReplayRequest(NamedTuple):
    """An answer to replay, and the messages before it."""

    answer: Message
    prompt: Sequence[Message]


def replay_answers(
    requests: Sequence[ReplayRequest], *, model: str | None = None, hooks_folder: Path | None = None
) -> Iterator[Progress | Verdict]:
    """Yield the progress, and a verdict for each answer. `model` replaces the model that wrote the answers."""
    runs: list[tuple[int, ReplayRequest]] = []
    for number, request in enumerate(requests, 1):
        why_not = why_not_replayable(request.answer)
        if why_not is None:
            runs.append((number, request))
        else:
            yield _not_run(request.answer, why_not)
    if not runs:
        return
    client = WorkerClient(hooks_folder=hooks_folder)
    try:
        for (name, kv_bits), group in itertools.groupby(runs, lambda run: _model_and_bits(run[1].answer, model)):
            loaded, kv_bits, why_not = _load(client, name, kv_bits)
            for number, request in group:
                if loaded is None:
                    yield _not_run(request.answer, why_not)
                else:
                    yield from _replay(client, request, loaded, kv_bits, number, len(requests))
    except WorkerExitedError:
        yield _not_run(runs[-1][1].answer, Sentence("The model process stopped."))
    except WorkerSilentError:
        why = Sentence("The model process did not respond for {num} seconds, so it was ended.", num=round(_PATIENCE_S))
        client.end()
        yield _not_run(runs[-1][1].answer, why)
    finally:
        client.stop()


def _replay(
    client: WorkerClient,
    request: ReplayRequest,
    loaded: ModelLoaded,
    kv_bits: int | None,
    number: int,
    num_requests: int,
) -> Iterator[Progress | Verdict]:
    replay = Replay(request.answer, request.prompt, loaded, kv_bits)
    client.send(replay.start())
    while replay.verdict is None:
        yield Progress(number, num_requests, replay.progress)
        for command in replay.take(client.receive_unless_silent(_PATIENCE_S)):
            client.send(command)
    yield replay.verdict


def _model_and_bits(message: Message, model: str | None) -> tuple[str, int | None]:
    record = message.record
    assert record is not None
    return model or record.model, record.kv_bits


def _load(
    client: WorkerClient, name: str, kv_bits: int | None
) -> tuple[ModelLoaded | None, int | None, Sentence | None]:
    """Load a model with the KV cache precision from the record.

    Return (model, bits, None); `bits` is None for full precision. On failure return (None, None, reason).
    """
    if not name:
        return None, None, verbatim("The model that wrote it is unknown. Name one with --model.")
    bits = kv_bits if kv_bits == 4 or kv_bits == 8 else None
    request_id = f"load {name} {bits}"
    client.send(LoadModel(request_id=request_id, model=name, cache=CacheOptions(disk_limit_bytes=0, kv_bits=bits)))
    while True:
        match client.receive_unless_silent(_PATIENCE_S):
            case ModelLoaded(request_id=found) as loaded if found == request_id:
                return loaded, bits, None
            case Failed(request_id=found) as failed if found == request_id:
                if bits is not None and _REFUSED_BITS in failed.message:
                    return _load(client, name, None)
                return None, None, failed.sentence
            case _:
                pass


def _not_run(message: Message, why_not: Sentence | None) -> Verdict:
    model = "" if message.record is None else message.record.model
    return Verdict(message_id=message.id, model=model, matched=False, error=why_not)
