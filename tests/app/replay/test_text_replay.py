"""An answer of a server is compared by its text, and the verdict says why it differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from app.model.message import Earlier, Message, Record, Sampling
from app.replay.replay import why_not_replayable
from app.replay.text_replay import TextReplay, why_text_is_not_comparable
from app.replay.verdict import Verdict, sentences
from worker.protocol import Cancel, Choice, Chunk, Failed, Finished, Generate, Timing, Usage

_TEXT = "Once upon a time there was a tree."


def _answer(text: str = _TEXT, **fields: Any) -> Message:
    record = Record(model="endpoint:0451cafe/small", seed=7, reason="eos", **fields)
    return Message(id=3, parent_id=2, role="assistant", text=text, record=record)


def _replayed(message: Message, *answers: str) -> tuple[Verdict, Sequence[Generate]]:
    """Let a server answer in these ways, one after another. Return the verdict and the questions."""
    prompt = [Message(id=1, parent_id=None, role="root", text=""), Message(id=2, parent_id=1, role="user", text="Tell")]
    replay = TextReplay(message, prompt)
    asked = [replay.start()]
    for text in answers:
        request = asked[-1]
        assert isinstance(request, Generate)
        commands = []
        for at in range(0, len(text), 5):
            commands += replay.take(Chunk(request_id=request.request_id, choice=0, text=text[at : at + 5], tokens=[]))
            if commands:
                break
        assert all(isinstance(each, Cancel) and each.target == request.request_id for each in commands)
        choice = Choice(text=text, token_ids=[], num_recut=0, seed=7, reason="eos")
        end = Finished(request_id=request.request_id, choices=[choice], usage=Usage(), timing=Timing())
        asked += replay.take(end)
    assert replay.verdict is not None
    return replay.verdict, [each for each in asked if isinstance(each, Generate)]


def test_the_same_text_matches() -> None:
    verdict, asked = _replayed(_answer(), _TEXT)
    assert verdict.matched
    assert [str(line) for line in sentences(verdict)] == [
        f"The server wrote the same answer again, all {len(_TEXT)} characters.",
        "Only the text was compared, because the tokens of a server are not known.",
    ]
    assert asked[0].sampling.seed == 7
    assert asked[0].continuation is None


@pytest.mark.parametrize("length", [0, 5, len(_TEXT) - 1])
@pytest.mark.parametrize("rest", ["", "x" * 500])
def test_a_server_that_keeps_to_seeds_has_changed(length: int, rest: str) -> None:
    new = _TEXT[:length] + rest
    verdict, asked = _replayed(_answer(), new, new)
    assert not verdict.matched
    assert [question.sampling.seed for question in asked] == [7, 7]
    said = [str(line) for line in sentences(verdict)]
    assert said[0] == f"The server wrote another answer. The first {length} of {len(_TEXT)} characters are the same."
    assert "have changed" in said[1]


def test_a_server_that_does_not_keep_to_seeds_is_named_as_such() -> None:
    verdict, _ = _replayed(_answer(), "Once there was", "Once upon another")
    assert "does not keep to seeds" in str(sentences(verdict)[1])
    assert str(sentences(verdict)[2]) == f"It was “{_TEXT[5:45]}…” and is “there was…” now."


@pytest.mark.parametrize("state", ["stopped", "cut", "failed"])
def test_the_beginning_of_a_broken_answer_is_compared(state: Any) -> None:
    message = _answer(_TEXT[:12])
    record = Record(model=message.record.model if message.record else "", seed=7)
    broken = Message(id=3, parent_id=2, role="assistant", text=_TEXT[:12], state=state, record=record)
    assert _replayed(broken, _TEXT)[0].matched
    assert not _replayed(broken, "Once", "Once")[0].matched


def test_a_failure_is_the_verdict() -> None:
    replay = TextReplay(_answer(), [])
    command = replay.start()
    replay.take(Failed(request_id=command.request_id, kind="endpoint_failed", message="It is gone."))
    assert replay.verdict is not None
    assert str(sentences(replay.verdict)[0]) == "The answer could not be run again. It is gone."


def test_a_continued_answer_and_one_without_a_seed_are_not_compared() -> None:
    assert why_text_is_not_comparable(_answer()) is None
    earlier = (Earlier(end=0, seed=7, sampling=Sampling()),)
    assert "continues a given text" in str(why_text_is_not_comparable(_answer(earlier=earlier)))
    assert "seed" in str(why_text_is_not_comparable(Message(id=3, parent_id=2, role="assistant", text="x")))
    # Without a window, no server is asked.
    assert "in the window" in str(why_not_replayable(_answer()))
