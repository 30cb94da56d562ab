"""Answers run again beside a window: asked of the worker between other things, and told in a notice."""

from __future__ import annotations

import pytest

from app.model.message import Message
from tests.app.desk import Desk
from worker.protocol import Chunk, Generate, Token, Tokenize, Tokenized

pytestmark = pytest.mark.usefixtures("nothing_leaks")


def _written(desk: Desk, text: str = "ab") -> Message:
    desk.controller.send("u1")
    request = desk.link.asked[-1]
    _say(desk, request, text)
    desk.link.finished(request, text, turn=[1, 2], new=[1, 2])
    return desk.controller.path[-1]


def _say(desk: Desk, request: Generate, text: str, *ids: int) -> None:
    tokens = [Token(id=token_id) for token_id in ids or (1, 2)]
    desk.link.say(Chunk(request_id=request.request_id, choice=0, text=text, tokens=tokens))


def _spelled(desk: Desk, text: str = "ab") -> Generate:
    """Answer what the ids say; return the request that draws them again."""
    asked = desk.link.commands[-1]
    assert isinstance(asked, Tokenize)
    assert asked.token_ids == [1, 2]
    desk.link.say(Tokenized(request_id=asked.request_id, token_ids=[1, 2], pieces=list(text), text=text))
    return desk.link.asked[-1]


def test_an_answer_is_run_again_and_its_outcome_is_told(desk: Desk) -> None:
    answer = _written(desk)
    assert desk.controller.can_replay(answer.id)
    desk.controller.replay(answer.id)
    assert desk.program.replays.message_id == answer.id
    request = _spelled(desk)
    assert (request.sampling.seed, request.continuation) == (5, None)
    # What others write meanwhile is no matter.
    desk.controller.regenerate(answer.id)
    _say(desk, desk.link.asked[-1], "xy", 8, 9)
    _say(desk, request, "ab")
    desk.link.finished(request, "ab", turn=[1, 2], new=[1, 2])
    assert (desk.notices[-1].text, desk.notices[-1].kind) == (
        "It matched: 2 of 2 tokens were drawn again.",
        "information",
    )
    assert desk.program.replays.message_id is None
    assert desk.stored(answer) == answer


def test_another_token_is_told_with_its_place(desk: Desk) -> None:
    answer = _written(desk)
    desk.controller.replay(answer.id)
    request = _spelled(desk)
    _say(desk, request, "aX", 1, 9)
    assert [cancel.target for cancel in desk.link.cancelled] == [request.request_id]
    desk.link.finished(request, "aX", "cancelled", turn=[1, 9], new=[1, 9])
    notice = desk.notices[-1]
    assert notice.kind == "warning"
    assert notice.text.startswith("It did not match from token 2 on: 1 of 2 was drawn otherwise.")


def test_one_waits_for_the_other_and_a_death_ends_both(desk: Desk) -> None:
    answer = _written(desk)
    desk.controller.replay(answer.id)
    desk.controller.replay(answer.id)
    assert len([command for command in desk.link.commands if isinstance(command, Tokenize)]) == 1
    request = _spelled(desk)
    _say(desk, request, "ab")
    desk.link.finished(request, "ab", turn=[1, 2], new=[1, 2])
    assert len([command for command in desk.link.commands if isinstance(command, Tokenize)]) == 2
    desk.link.die()
    assert desk.program.replays.message_id is None
    assert any(notice.text == "It could not be run again. It was stopped." for notice in desk.notices)


def test_what_can_not_be_run_again_says_why(desk: Desk) -> None:
    answer = _written(desk)
    desk.program.load_model("/another")
    desk.controller.replay(answer.id)
    assert desk.notices[-1].text == "No model is ready. Wait until one is."
    desk.link.loaded()
    desk.controller.replay(answer.id)
    assert desk.notices[-1].text == "guide wrote this answer. Open that model, then replay it."
    desk.controller.replace(answer.id, "edited")
    assert not desk.controller.can_replay(answer.id)
    assert not [command for command in desk.link.commands if isinstance(command, Tokenize)]
