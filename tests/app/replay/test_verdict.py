"""The sentences of a replay's result."""

from __future__ import annotations

import pytest

from app.model.message import Earlier, HookRecord, MessageId, Record, Sampling
from app.replay.verdict import Difference, Verdict, changes, rounding, sentences, undrawn
from worker.protocol import ModelLoaded
from worker.sentence import Sentence

_LOADED = ModelLoaded(
    request_id="a",
    model="m",
    architecture="llama",
    num_parameters=1,
    context_length=1,
    vocab_size=1,
    weights_bytes=1,
    kv_bytes_per_token=1,
    cache_kind="trimmable",
    identity="same",
    versions={"mlx": "2", "new": "1"},
)
_RECORD = Record(model_identity="same", versions={"mlx": "2"})
_GREEDY = Record(sampling=Sampling(temperature=0.0))
_SAMPLED = Record(sampling=Sampling(temperature=1.0))


@pytest.mark.parametrize(
    ("record", "begins"),
    [
        (_RECORD, []),
        (Record(), ["The weights that generated the answer are unknown."]),
        (Record(model_identity="other", versions={"mlx": "1"}), ["Other library versions: mlx 1 → 2."]),
        (Record(model_identity="other"), ["The weights, the configuration or the type of device is different"]),
        (Record(model_identity="same", kv_bits=4), ["The cache has full precision now and had 4 bits before."]),
        (
            Record(
                model_identity="same",
                hook_records=(HookRecord(name="slow", is_off=True), HookRecord(name="quick")),
                earlier=(Earlier(end=7, seed=1, sampling=Sampling(), has_forked=True),),
            ),
            ["The hook “slow” was turned off", "A hook forked the answer after token 7."],
        ),
    ],
)
def test_changes_since_an_answer(record: Record, begins: list[str]):
    found = [str(sentence) for sentence in changes(record, _LOADED, None)]
    assert len(found) == len(begins)
    assert all(text.startswith(begin) for text, begin in zip(found, begins, strict=True)), found


def test_tokens_that_were_not_sampled():
    assert undrawn(Record(origins="ssfd")) == []
    found = [str(sentence) for sentence in undrawn(Record(origins="shhrggg"))]
    assert [text.split(" of its")[0] for text in found] == ["2", "1", "3"]


@pytest.mark.parametrize(
    ("difference", "record", "words"),
    [
        (Difference(place=0, stored_id=1, drawn_id=2), _SAMPLED, "Everything in the record is unchanged. Models round"),
        (
            Difference(place=0, stored_id=1, drawn_id=2, stored_logprob=-1.0, recorded_logprob=-2.0),
            _SAMPLED,
            "was -2.000 and is -1.000 now. This computer or a library computes differently.",
        ),
        (
            Difference(place=0, stored_id=1, drawn_id=2, stored_logprob=-1.0, drawn_logprob=-1.01),
            _GREEDY,
            "almost equally likely (within 0.0100). Models round",
        ),
        (
            Difference(place=0, stored_id=1, drawn_id=2, stored_logprob=-1.0, drawn_logprob=-3.0),
            _GREEDY,
            "Everything in the record is unchanged. Models round",
        ),
    ],
)
def test_explanations_of_a_difference(difference: Difference, record: Record, words: str):
    assert words in str(rounding(difference, record))


_DIFFERENCE = Difference(place=2, stored_id=1, drawn_id=None, stored_text="a", stored_logprob=0.0)


@pytest.mark.parametrize(
    ("verdict", "first"),
    [
        (Verdict(message_id=MessageId(1), model="m", matched=True), "It ended as before."),
        (Verdict(message_id=MessageId(1), model="m", matched=False), "None of its tokens could be sampled again."),
        (
            Verdict(message_id=MessageId(1), model="m", matched=False, error=Sentence("It is gone.")),
            "The answer could not be run again. It is gone.",
        ),
        (
            Verdict(message_id=MessageId(1), model="m", matched=True, num_tokens=9, num_compared=8),
            "The answer matched: 8 of 9 tokens were sampled again.",
        ),
    ],
)
def test_the_outcome_is_the_first_sentence(verdict: Verdict, first: str):
    assert str(sentences(verdict)[0]) == first


def test_the_first_difference_is_named():
    verdict = Verdict(
        message_id=MessageId(1),
        model="m",
        matched=False,
        num_compared=4,
        is_text_spelled=False,
        differences=(_DIFFERENCE,),
        remarks=(Sentence("A remark."),),
    )
    assert [str(sentence) for sentence in sentences(verdict)] == [
        "The answer differs from token 3 on: 1 of 4 tokens are different.",
        "Its stored tokens do not spell its text.",
        'The token was "a" (100.00% likely) and is the end of the answer now.',
        "A remark.",
    ]
