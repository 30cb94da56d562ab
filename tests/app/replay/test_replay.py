"""Replaying answers with a real worker: unchanged answers match, and differences are reported with their reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from app.answers.prompt import broken_off
from app.model.message import Constraint, Earlier, HookRecord, Message, Record, Sampling
from app.replay.batch_replay import Progress, ReplayRequest, replay_answers
from app.replay.replay import Replay, why_not_replayable
from app.replay.verdict import Verdict, sentences
from tests.app.writer import Writer
from worker.sentence import verbatim


def _replayed(writer: Writer, message: Message, kv_bits: int | None = None) -> Verdict:
    assert why_not_replayable(message) is None
    replay = Replay(message, writer.prompt, writer.loaded, kv_bits)
    writer.client.send(replay.start())
    while replay.verdict is None:
        for command in replay.take(writer.client.receive()):
            writer.client.send(command)
    return replay.verdict


_FORKING_HOOK = """
from worker.decision import Decision

class Hook:
    def __call__(self, step):
        if step.phase == "after" and step.position in {2, 5} and step.visit == 0:
            return [Decision(), Decision()]
"""


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    hooks = tmp_path_factory.mktemp("hooks")
    (hooks / "two_ways.py").write_text(_FORKING_HOOK, encoding="utf-8")
    writer = Writer(hooks)
    yield writer
    writer.client.stop()


def _record(message: Message) -> Record:
    assert message.record is not None
    return message.record


@pytest.mark.parametrize(
    "record",
    [
        Record(sampling=Sampling(temperature=0.0)),
        Record(sampling=Sampling(temperature=3.0, top_p=0.9, max_tokens=30), seed=7),
        Record(sampling=Sampling(temperature=3.0, max_tokens=9), seed=8),
        Record(sampling=Sampling(temperature=0.0, stop=("ra",))),
        Record(sampling=Sampling(temperature=0.0, stop=("th",))),
        Record(
            sampling=Sampling(temperature=1.0), seed=9, constraint=Constraint(kind="regex", value="(a|bb){2,9} end")
        ),
        Record(sampling=Sampling(temperature=1.5), seed=3, hooks=("no_repeats",), draft="off"),
        Record(sampling=Sampling(temperature=0.9), seed=4, draft="tree", top_logprobs=2),
    ],
    ids=["greedy", "drawn", "cut", "stopped at once", "stopped", "constrained", "hooked", "drafted"],
)
def test_an_unchanged_answer_matches(writer: Writer, record: Record) -> None:
    answer = writer.write(record)
    verdict = _replayed(writer, answer)
    assert (verdict.differences, verdict.error, verdict.reasons) == ((), None, ())
    assert verdict.matched
    assert verdict.is_text_spelled
    assert verdict.num_tokens == len(_record(answer).token_ids)
    assert verdict.num_compared == verdict.num_tokens - _record(answer).origins.count("r")
    assert sentences(verdict)[0].startswith(("The answer matched", "It ended as before"))


def test_each_part_of_a_continued_answer_uses_its_own_seed(writer: Writer) -> None:
    hot = Sampling(temperature=3.0, max_tokens=12)
    first_part = writer.write(Record(sampling=hot, seed=5))
    part = Earlier(end=len(_record(first_part).token_ids), seed=5, sampling=hot)
    record = structs.replace(_record(first_part), earlier=(part,), sampling=structs.replace(hot, max_tokens=6), seed=6)
    whole = writer.write(record, first_part)
    verdict = _replayed(writer, whole)
    assert verdict.matched
    assert verdict.num_compared == len(_record(whole).token_ids)
    # With the seed of the other part, the first part differs, but not the second.
    other = structs.replace(whole, record=structs.replace(_record(whole), earlier=(structs.replace(part, seed=6),)))
    differences = _replayed(writer, other).differences
    assert differences
    assert max(difference.place for difference in differences) < part.end


def test_an_answer_forked_by_a_hook_uses_the_seeds_of_its_parts(writer: Writer) -> None:
    hot = Sampling(temperature=3.0, max_tokens=12)
    answers = writer.write_forked(Record(sampling=hot, seed=5, hooks=("two_ways",)))
    assert len({answer.text for answer in answers}) == len(answers) == 4
    assert sorted([part.end for part in _record(answer).earlier] for answer in answers) == [[], [3], [3, 6], [6]]
    for answer in answers:
        verdict = _replayed(writer, answer)
        assert verdict.matched
        assert verdict.num_compared == 12
        assert len(verdict.reasons) == len(_record(answer).earlier)
        assert all("A hook forked the answer after token" in reason for reason in verdict.reasons)
    whole = next(answer for answer in answers if len(_record(answer).earlier) == 2)
    # Each part has its own seed. Without them the answer differs.
    assert len({_record(answer).seed for answer in answers}) == 4
    bare = structs.replace(whole, record=structs.replace(_record(whole), earlier=()))
    assert not _replayed(writer, bare).matched


def test_an_interrupted_answer_matches_up_to_its_end(writer: Writer) -> None:
    answer = writer.write(Record(sampling=Sampling(temperature=1.0), seed=5))
    ids = _record(answer).token_ids[:6]
    record = structs.replace(_record(answer), token_ids=ids, origins="s" * 6, token_chars=())
    cut = structs.replace(answer, text=answer.text[:9], record=record)
    verdict = _replayed(writer, broken_off(cut, "stopped", verbatim("It was killed.")))
    assert (verdict.matched, verdict.num_compared) == (True, 6)


def test_every_token_that_was_not_sampled_is_reported(writer: Writer) -> None:
    answer = writer.write(Record(sampling=Sampling(temperature=0.0), top_logprobs=1))
    ids = list(_record(answer).token_ids)
    assert ids[2] != ids[5]
    ids[2] = ids[5]
    changed = structs.replace(answer, record=structs.replace(_record(answer), token_ids=tuple(ids)))
    verdict = _replayed(writer, changed)
    assert not verdict.matched
    assert verdict.is_text_spelled is False
    first = verdict.differences[0]
    assert (first.place, first.stored_id, first.drawn_id) == (2, ids[5], _record(answer).token_ids[2])
    assert first.drawn_text
    assert verdict.num_compared == len(ids) or len(verdict.differences) == 16
    lines = sentences(verdict)
    assert lines[0].startswith("The answer differs from token 3 on: ")
    assert "Its stored tokens do not spell its text." in lines
    assert lines[2].startswith("The token was ")


def test_an_answer_with_a_damaged_record_cannot_be_replayed(writer: Writer) -> None:
    answer = writer.write(Record(sampling=Sampling(temperature=0.0)))
    for origins in (_record(answer).origins[:1], _record(answer).origins + "s"):
        damaged = structs.replace(answer, record=structs.replace(_record(answer), origins=origins))
        assert "is damaged" in (why_not_replayable(damaged) or "")


def test_a_different_end_is_reported(writer: Writer) -> None:
    answer = writer.write(Record(sampling=Sampling(temperature=0.0)))
    record = _record(answer)
    assert record.reason == "eos"
    shorter = structs.replace(record, token_ids=record.token_ids[:-2], origins=record.origins[:-2])
    (difference,) = _replayed(writer, structs.replace(answer, record=shorter)).differences
    assert (difference.place, difference.stored_id) == (len(shorter.token_ids), None)
    longer = structs.replace(record, token_ids=(*record.token_ids, 70), origins=record.origins + "s")
    differences = _replayed(writer, structs.replace(answer, record=longer)).differences
    assert (differences[0].place, differences[0].drawn_id) == (len(record.token_ids), None)


def test_possible_reasons_for_a_difference_are_reported(writer: Writer) -> None:
    answer = writer.write(Record(sampling=Sampling(temperature=3.0, max_tokens=12), seed=5))
    record = _record(answer)

    def reasons(message: Message, kv_bits: int | None = None) -> str:
        return " ".join(sentences(_replayed(writer, message, kv_bits)))

    def changed(**fields: object) -> Message:
        return structs.replace(answer, record=structs.replace(record, **fields))

    assert "Other library versions: mlx 0.1 → " in reasons(changed(versions={**record.versions, "mlx": "0.1"}))
    assert "The weights, the configuration or the type of device is different." in reasons(
        changed(model_identity="another")
    )
    assert "are unknown" in reasons(changed(model_identity=""))
    assert "The cache has full precision now and had 4 bits before" in reasons(changed(kv_bits=4))
    assert record.chunk_tokens == 512
    assert "in chunks of 512 tokens now and was read in chunks of 7 before" in reasons(changed(chunk_tokens=7))
    # Neither an unknown size nor one that the prompt does not fill is a reason.
    for number in (0, 5000):
        assert "chunks" not in reasons(changed(chunk_tokens=number))
    slow = (HookRecord(name="slow", is_off=True),)
    assert "The hook “slow” was turned off during the answer" in reasons(changed(hook_records=slow))
    gone = reasons(changed(hooks=("no such hook",)))
    assert "The answer matched" in gone
    assert "can't be used as before" in gone
    assert "The seed of the tokens 1 to" in reasons(changed(seed=None))
    healed = changed(origins="h" + record.origins[1:])
    assert "1 of its tokens complete the given text" in reasons(healed)
    # Only the seed has changed, so no reason is known.
    other = reasons(changed(seed=6))
    assert "Everything in the record is unchanged." in other
    # The question has changed.
    before = writer.prompt
    writer.prompt = [*before[:1], structs.replace(before[1], text="What is a very thick and old branch?")]
    assert "a message above the answer, the chat template, or its options have changed" in reasons(answer)
    writer.prompt = before


def test_replays_run_in_their_own_worker(writer: Writer, tmp_path: Path) -> None:
    answer = writer.write(Record(sampling=Sampling(temperature=1.0), seed=5))
    imported = structs.replace(answer, id=4, record=Record(model="guide"))
    nowhere = structs.replace(answer, id=5, record=structs.replace(_record(answer), model=str(tmp_path / "none")))
    steps = list(replay_answers([ReplayRequest(one, writer.prompt) for one in (imported, answer, nowhere)]))
    verdicts = {step.message_id: step for step in steps if isinstance(step, Verdict)}
    assert {number: verdict.matched for number, verdict in verdicts.items()} == {3: True, 4: False, 5: False}
    assert "are unknown" in (verdicts[4].error or "")
    assert str(tmp_path / "none") in (verdicts[5].error or "")
    assert any(isinstance(step, Progress) and step.answer == 2 for step in steps)
