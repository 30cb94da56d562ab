"""Several answers of one request, and effects of hooks: text taken back, and forks."""

from __future__ import annotations

import pytest

from tests.app.desk import Desk
from worker.protocol import Answered, Chunk, Forked, Retract, Token

pytestmark = pytest.mark.usefixtures("nothing_leaks")


def _ids(desk: Desk) -> list[int]:
    return list(desk.controller.shown.siblings(desk.controller.shown.path[-1].id))


def _texts(desk: Desk) -> list[str]:
    return [desk.controller.shown.message(message_id).text for message_id in _ids(desk)]


def _stored(desk: Desk) -> list[str]:
    desk.answers.saving.save()
    assert desk.controller.shown.conversation is not None
    messages = desk.store.messages.shown_by(desk.controller.shown.conversation.id)
    return [message.text for message in messages if message.role == "assistant"]


def test_three_answers_are_one_request_and_stream_into_siblings(desk: Desk) -> None:
    desk.ask("u1", "a1")
    desk.controller.regenerate(desk.controller.shown.path[-1].id, 3)
    request = desk.link.asked[-1]
    assert request.n == 3
    for choice, text in enumerate(("x", "yy", "zzz")):
        desk.link.chunk(request, text, choice)
    assert _texts(desk) == ["a1", "x", "yy", "zzz"]
    assert _stored(desk) == ["a1", "x", "yy", "zzz"]
    desk.link.finished_all(request, ["x", "yy", "zzz!"], "eos")
    assert _texts(desk) == ["a1", "x", "yy", "zzz!"]
    # The first of them is shown.
    assert desk.controller.shown.path[-1].text == "x"
    seeds = [record.seed for found in _ids(desk)[1:] if (record := desk.controller.shown.message(found).record)]
    assert seeds == [5, 6, 7]


def test_one_of_several_answers_is_stopped_while_the_others_continue(desk: Desk) -> None:
    desk.ask("u1", "a1")
    desk.controller.regenerate(desk.controller.shown.path[-1].id, 2)
    request = desk.link.asked[-1]
    first, second = _ids(desk)[1:]
    desk.answers.stop(second)
    assert (desk.link.cancelled[-1].target, desk.link.cancelled[-1].choice) == (request.request_id, 1)
    desk.link.say(Answered(request_id=request.request_id, choice=1, reason="cancelled"))
    assert desk.controller.shown.is_streaming(first)
    assert not desk.controller.shown.is_streaming(second)
    # Its final state is reported with the others; until then nothing says that it was interrupted.
    assert desk.controller.shown.message(second).state == "complete"
    assert not desk.controller.shown.can_continue(desk.controller.shown.message(second))
    desk.controller.stop()
    assert desk.link.cancelled[-1].choice == 0
    assert len(desk.link.cancelled) == 2


def test_text_that_is_taken_back_disappears_from_screen_and_store(desk: Desk) -> None:
    desk.controller.send("u1")
    request = desk.link.asked[-1]
    changed: list[int] = []
    desk.controller.shown.message_changed.connect(changed.append)
    tokens = [Token(id=number, logprob=None, top=[], origin="sampled") for number in range(3)]
    desk.link.say(Chunk(request_id=request.request_id, choice=0, text="abcdef", tokens=tokens))
    assert _stored(desk) == ["abcdef"]
    desk.link.say(Retract(request_id=request.request_id, choice=0, num_chars=4, num_tokens=2))
    assert changed == [desk.controller.shown.path[-1].id]
    assert _texts(desk) == ["ab"]
    assert _stored(desk) == ["ab"]
    desk.link.chunk(request, "XY")
    assert _stored(desk) == ["abXY"]
    desk.link.finished(request, "abXY")
    assert _texts(desk) == _stored(desk) == ["abXY"]


def test_a_hook_may_take_back_the_text_that_the_answer_continues(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.link.chunk(desk.link.asked[-1], "one two")
    desk.link.die()
    desk.link.loaded()
    desk.controller.continue_answer(desk.controller.shown.path[-1].id)
    request = desk.link.asked[-1]
    desk.link.chunk(request, " three")
    retract = Retract(request_id=request.request_id, choice=0, num_chars=6, num_tokens=0, num_given_chars=3)
    desk.link.say(retract)
    assert _texts(desk) == _stored(desk) == ["one "]
    desk.link.chunk(request, "four")
    assert _texts(desk) == _stored(desk) == ["one four"]
    desk.link.finished(request, "four")
    assert _texts(desk) == _stored(desk) == ["one four"]


def test_a_fork_is_a_sibling_that_shares_the_beginning(desk: Desk) -> None:
    desk.controller.send("u1")
    request = desk.link.asked[-1]
    shown = desk.controller.shown.path[-1].id
    desk.link.chunk(request, "shared")
    desk.link.say(Forked(request_id=request.request_id, choice=1, parent=0, num_chars=4, num_tokens=0))
    desk.link.chunk(request, "-first", 0)
    desk.link.chunk(request, "-second", 1)
    assert _texts(desk) == ["shared-first", "shar-second"]
    assert desk.controller.shown.path[-1].id == shown
    assert _stored(desk) == ["shared-first", "shar-second"]
    desk.link.finished_all(request, ["shared-first", "shar-second"], "eos")
    assert _stored(desk) == ["shared-first", "shar-second"]
    assert not any(desk.controller.shown.is_streaming(found) for found in _ids(desk))


def test_a_fork_is_undone_with_the_answer_beside_it(desk: Desk) -> None:
    desk.ask("u1", "a1")
    desk.controller.regenerate(desk.controller.shown.path[-1].id)
    request = desk.link.asked[-1]
    desk.link.say(Forked(request_id=request.request_id, choice=1, parent=0, num_chars=0, num_tokens=0))
    desk.link.finished_all(request, ["x", "y"], "eos")
    desk.controller.undo()
    assert _texts(desk) == _stored(desk) == ["a1"]
    desk.controller.redo()
    assert _texts(desk) == _stored(desk) == ["a1", "x", "y"]


def test_a_fork_in_another_conversation_is_shown_when_that_is_opened(desk: Desk) -> None:
    desk.controller.send("u1")
    request = desk.link.asked[-1]
    assert desk.controller.shown.conversation is not None
    first = desk.controller.shown.conversation.id
    desk.controller.shown.new_conversation()
    desk.link.chunk(request, "shared")
    desk.link.say(Forked(request_id=request.request_id, choice=1, parent=0, num_chars=6, num_tokens=0))
    desk.link.chunk(request, "!", 1)
    desk.controller.shown.open_conversation(first)
    assert _texts(desk) == ["shared", "shared!"]
    assert desk.controller.shown.path[-1].text == "shared"


def test_all_of_several_answers_are_kept_when_the_worker_dies(desk: Desk) -> None:
    desk.ask("u1", "a1")
    desk.controller.regenerate(desk.controller.shown.path[-1].id, 2)
    request = desk.link.asked[-1]
    desk.link.chunk(request, "x", 0)
    desk.link.chunk(request, "y", 1)
    desk.link.die()
    assert _texts(desk) == _stored(desk) == ["a1", "x", "y"]
    assert all(desk.controller.shown.message(found).state == "stopped" for found in _ids(desk)[1:])
