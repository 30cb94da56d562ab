"""Real answers are kept: on disk over a restart, and in a record from which they are run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import structs

from app.model.message import Record, Sampling
from app.replay.batch_replay import ReplayRequest, replay_answers
from app.replay.verdict import Verdict
from tests.app.writer import Writer
from tests.driver import StdioWorker
from tests.real.conftest import asked
from tests.real.questions import QUESTIONS


def _answered(worker: StdioWorker, question: str) -> tuple[dict[str, Any], list[Any]]:
    """Return an answer's usage, and all data of its tokens including log-probabilities."""
    events = worker.ask("generate", messages=asked(question), max_tokens=4, top_logprobs=5)
    tokens = [token for event in events if event["type"] == "chunk" for token in event["tokens"]]
    return events[-1]["usage"], tokens


def test_after_a_restart_answers_come_from_disk_bit_for_bit(unpacked: Path, tmp_path: Path):
    questions = QUESTIONS[20:24]
    with StdioWorker(tmp_path) as worker:
        # Without memory for other branches, all are written to disk and read from there.
        worker.load(unpacked, limit_bytes=0)
        for question in questions:
            _answered(worker, question)
        first = [_answered(worker, question) for question in questions]
        assert worker.close_input() == 0
    with StdioWorker(tmp_path) as worker:
        worker.load(unpacked, limit_bytes=0)
        assert worker.result("cache_stats")["tokens"] == 0
        for question, (usage, tokens) in zip(questions, first, strict=True):
            (plan,) = worker.result("plan", prompts=[{"messages": asked(question)}])["plans"]
            assert plan["tier"] == "disk"
            now, again = _answered(worker, question)
            assert now["cached_tokens"] == usage["prompt_tokens"] - 1
            assert again == tokens


def test_answers_run_again_from_their_records_match(unpacked: Path):
    writer = Writer(model=str(unpacked))
    try:
        records = [
            Record(sampling=Sampling(temperature=0.0, max_tokens=16)),
            Record(sampling=Sampling(temperature=0.8, top_p=0.95, max_tokens=16), seed=7),
            Record(sampling=Sampling(temperature=1.0, max_tokens=16), seed=3, hooks=("no_repeats",), draft="off"),
        ]
        answers = [writer.write(record) for record in records]
    finally:
        writer.client.stop()
    requests = [
        ReplayRequest(structs.replace(answer, id=3 + number), writer.prompt) for number, answer in enumerate(answers)
    ]
    verdicts = [step for step in replay_answers(requests) if isinstance(step, Verdict)]
    assert [(verdict.matched, verdict.error, verdict.differences) for verdict in verdicts] == [(True, None, ())] * 3
    assert all(verdict.num_compared == verdict.num_tokens > 8 for verdict in verdicts)
