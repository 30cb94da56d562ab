"""The tokens of an answer are stored with its text, so that an answer that was cut continues exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.answers.answers import Answers
from app.model.message import Alternative as Kept
from app.model.message import Earlier, Message, Record, SampledToken, Sampling
from app.model.store import Store
from tests.app.desk import Desk
from tests.app.sampling import set_sampling
from tests.app.trees import plant
from worker.protocol import Alternative, Choice, Chunk, Continuation, Finished, Generate, Retract, Timing, Token, Usage
from worker.sentence import verbatim

pytestmark = pytest.mark.usefixtures("nothing_leaks")

_FIRST = Token(id=7, logprob=-0.5, top=[Alternative(id=8, text="off", logprob=None)], num_chars=4)
_SECOND = Token(id=8, logprob=-1.5, origin="forced", num_chars=4)


def _saved(answers: Answers) -> None:
    """Let the time between two batches pass."""
    answers.saving._timer.timeout.emit()  # pyright: ignore[reportPrivateUsage]


def _after_a_kill(desk: Desk) -> Message:
    """Return what the next program finds in the store."""
    other = Store(desk.path)
    other.interrupt_streaming(verbatim("It was killed."))
    assert desk.controller.shown.conversation is not None
    message = other.messages.shown_by(desk.controller.shown.conversation.id)[-1]
    other.close()
    return message


def _say(desk: Desk, request: Generate, text: str, *tokens: Token) -> None:
    desk.link.say(Chunk(request_id=request.request_id, choice=0, text=text, tokens=list(tokens)))


def test_after_a_kill_the_tokens_of_the_stored_text_are_known(desk: Desk) -> None:
    desk.controller.send("u1")
    (request,) = desk.link.asked
    _say(desk, request, "one ", _FIRST)
    _saved(desk.answers)
    _say(desk, request, "two ", _SECOND)
    _saved(desk.answers)
    # This part is not in the store yet.
    _say(desk, request, "three", Token(id=9))
    found = _after_a_kill(desk)
    assert (found.text, found.state) == ("one two ", "stopped")
    record = found.record
    assert record is not None
    assert (record.token_ids, record.origins, record.token_chars) == ((7, 8), "sf", (4, 4))
    assert record.logprobs == (-0.5, -1.5)
    assert record.alternatives == ((Kept(8, "off", None),), ())
    assert (record.error, record.reason) == ("It was killed.", None)


def test_when_the_worker_dies_the_tokens_are_known_and_sent_to_the_next_one(desk: Desk) -> None:
    desk.controller.send("u1")
    _say(desk, desk.link.asked[-1], "one ", _FIRST, _SECOND)
    desk.link.die()
    desk.link.loaded()
    answer = desk.controller.shown.path[-1]
    assert desk.stored(answer) == answer
    desk.controller.continue_answer(answer.id)
    assert desk.link.asked[-1].continuation == Continuation(text="one ", known_ids=[7, 8])
    _say(desk, desk.link.asked[-1], "three ", Token(id=9, logprob=-2.5))
    _saved(desk.answers)
    record = _after_a_kill(desk).record
    assert record is not None
    assert (record.token_ids, record.origins, record.logprobs) == ((7, 8, 9), "sfs", (-0.5, -1.5, -2.5))


def test_tokens_that_were_taken_back_are_not_kept(desk: Desk) -> None:
    desk.controller.send("u1")
    (request,) = desk.link.asked
    _say(desk, request, "one two ", _FIRST, _SECOND)
    _saved(desk.answers)
    desk.link.say(Retract(request_id=request.request_id, choice=0, num_chars=4, num_tokens=1))
    _say(desk, request, "three", Token(id=9))
    _saved(desk.answers)
    found = _after_a_kill(desk)
    assert found.text == "one three"
    assert found.record is not None
    assert found.record.token_ids == (7, 9)


def test_after_a_healed_join_the_origin_of_each_token_is_known(desk: Desk) -> None:
    desk.controller.send("u1")
    _say(desk, desk.link.asked[-1], "one tw", Token(id=7), Token(id=6))
    desk.link.die()
    desk.link.loaded()
    desk.controller.continue_answer(desk.controller.shown.path[-1].id)
    request = desk.link.asked[-1]
    # The token at the join is another one now.
    _say(desk, request, "o three", Token(id=8, origin="healed"), Token(id=9, logprob=-0.5))
    choice = Choice(
        text="o three",
        token_ids=[5, 9],
        num_recut=0,
        seed=3,
        reason="eos",
        turn_token_ids=[7, 8, 9],
        turn_token_chars=[4, 3, 6],
    )
    desk.link.say(Finished(request_id=request.request_id, choices=[choice], usage=Usage(), timing=Timing()))
    record = desk.controller.shown.path[-1].record
    assert record is not None
    assert (record.token_ids, record.origins, record.token_chars) == ((7, 8, 9), "shs", (4, 3, 6))
    assert record.logprobs == (None, None, -0.5)


def test_if_some_tokens_of_a_text_are_unknown_none_are_stored(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite3")
    planted = plant(store, "u1")
    conversation_id, question = planted.conversation_id, planted.ids["u1"]
    record = Record(model="guide", token_ids=(1,))
    answer = store.add(conversation_id, question, "assistant", "a", state="streaming", record=record)
    store.messages.append({answer.id: "b"}, {answer.id: [SampledToken(2, "s")]})
    assert store.messages.get(answer.id).record == Record(model="guide", token_ids=(1, 2), origins="gs")
    store.messages.append({answer.id: "c"})
    found = store.messages.get(answer.id)
    assert (found.text, found.record) == ("abc", Record(model="guide"))
    store.close()


def test_the_seed_of_an_answer_is_known_before_it_ends(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.controller.regenerate(desk.controller.shown.path[-1].id, num_answers=2)
    asked = desk.link.asked[-1]
    seed = asked.sampling.seed
    assert seed is not None
    for message_id, number in zip(
        desk.controller.shown.siblings(desk.controller.shown.path[-1].id)[-2:], (0, 1), strict=True
    ):
        record = desk.stored(desk.controller.shown.message(message_id)).record
        assert record is not None
        assert record.seed == seed + number


def test_the_sampling_of_each_part_of_a_continued_answer_is_known(desk: Desk) -> None:
    set_sampling(desk.program, Sampling(temperature=0.25, seed=1))
    desk.controller.send("u1")
    request = desk.link.asked[-1]
    _say(desk, request, "ab", Token(id=1), Token(id=2))
    desk.link.finished(request, "ab", reason="length", turn=[1, 2], new=[1, 2])
    set_sampling(desk.program, Sampling(temperature=0.5))
    desk.controller.continue_answer(desk.controller.shown.path[-1].id)
    request = desk.link.asked[-1]
    assert request.sampling.seed not in {None, 1}
    _say(desk, request, "c", Token(id=3))
    desk.link.finished(request, "c", turn=[1, 2, 3], new=[3])
    record = desk.controller.shown.path[-1].record
    assert record is not None
    assert record.earlier == (Earlier(end=2, seed=5, sampling=Sampling(temperature=0.25, seed=1)),)
    assert record.sampling == Sampling(temperature=0.5)
