"""The beginning of an answer that continues from inside another one, without a model."""

from __future__ import annotations

from app.conversation import token_forks
from app.model.message import Alternative, Constraint, Earlier, Figures, HookRecord, Message, Record, Sampling


def _message(chars: tuple[int, ...], text: str, alternatives: tuple[tuple[Alternative, ...], ...] = ()) -> Message:
    record = Record(
        model="guide",
        token_ids=tuple(range(10, 10 + len(chars))),
        token_chars=chars,
        origins="s" * len(chars),
        logprobs=tuple(-0.5 for _ in chars),
        alternatives=alternatives,
        earlier=(Earlier(end=2, seed=1, sampling=Sampling()),),
        reason="eos",
        hook_records=(HookRecord(name="a"),),
        figures=Figures(new_tokens=3),
        ended_ms=5,
    )
    return Message(id=1, parent_id=0, role="assistant", text=text, record=record)


def test_another_token_follows_those_before_it() -> None:
    others = ((Alternative(11, " b", -0.5), Alternative(99, " z!", -1.0)),) * 3
    begun = token_forks.at_token(_message((1, 2, 2), "a b c", others), 1, 99)
    assert begun is not None
    assert begun.text == "a z!"
    record = begun.record
    assert record.token_ids == (10, 99)
    assert record.token_chars == (1, 3)
    assert record.origins == "sc"
    assert record.logprobs == (-0.5, -1.0)
    assert len(record.alternatives) == 2
    assert record.earlier[0].end == 1
    assert (record.reason, record.ended_ms, record.hook_records, record.figures) == (None, 0, (), Figures())


def test_the_end_as_a_token_makes_a_complete_answer() -> None:
    others = ((Alternative(2, "", -1.0),),) * 3
    begun = token_forks.at_token(_message((1, 2, 2), "a b c", others), 2, 2)
    assert begun is not None
    assert begun.is_whole
    assert begun.text == "a b"
    assert begun.record.token_ids == (10, 11)


def test_the_first_bytes_of_a_character_are_shown_once_the_others_are_there() -> None:
    others = ((Alternative(50, "\ufffd", -1.0),),) * 3
    begun = token_forks.at_token(_message((1, 2, 2), "a b c", others), 1, 50)
    assert begun is not None
    assert begun.text == "a"
    assert begun.record.token_ids == (10, 50)
    assert sum(begun.record.token_chars) == 1


def test_no_token_can_be_chosen_inside_a_character() -> None:
    others = ((Alternative(50, "\ufffd", -1.0),),) * 3
    assert token_forks.at_token(_message((1, 0, 1), "a京", others), 2, 50) is None
    assert token_forks.at_token(_message((1, 0, 1), "a京", others), 5, 50) is None
    assert token_forks.at_token(_message((1, 0, 1), "a京", others), 1, 77) is None


def test_the_text_of_a_continued_answer_keeps_its_whole_tokens() -> None:
    message = _message((1, 2, 2), "a b c")
    begun = token_forks.known_tokens("a b ", None, [message])
    assert begun.token_ids == (10, 11)
    assert (begun.reason, begun.ended_ms, begun.figures) == (None, 0, Figures())
    assert token_forks.known_tokens("other", None, [message]).token_ids == ()
    assert token_forks.known_tokens("a b", None, []).token_ids == ()


def test_the_tokens_come_from_the_version_that_shares_most_and_the_format_from_the_answer() -> None:
    short, long = _message((1, 2), "a b"), _message((1, 2, 2), "a b d")
    own = Record(model="other", token_ids=(7,), constraint=Constraint(kind="regex", value="a.*"))
    begun = token_forks.known_tokens("a b d!", own, [short, long])
    assert begun.token_ids == (10, 11, 12)
    assert begun.constraint == own.constraint
    assert token_forks.known_tokens("z", own, [short, long]) == Record(model="other", constraint=own.constraint)
