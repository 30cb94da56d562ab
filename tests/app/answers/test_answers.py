"""Streaming answers: each piece of text goes into its own message and soon into the store, despite all failures."""

from __future__ import annotations

import sqlite3

import pytest
from msgspec import UNSET, structs
from PySide6.QtCore import Qt

from app.answers.answer_stream import Reading
from app.answers.prompt import generate, turns
from app.answers.saving import SAVE_INTERVAL_MS
from app.model.message import Alternative as Kept
from app.model.message import Constraint, HookRecord, Message, Record
from app.model.store import Store
from app.model.unsent import Unsent
from tests.app.desk import Desk
from tests.app.trees import labels
from worker.protocol import Alternative, Choice, Chunk, Finished, HookUse, Timing, Token, Usage
from worker.protocol import Constraint as AskedConstraint
from worker.protocol import Message as Turn

pytestmark = pytest.mark.usefixtures("nothing_leaks")


def _connection(desk: Desk) -> sqlite3.Connection:
    """The store's own connection, to fill its disk."""
    return desk.store._database._connection  # pyright: ignore[reportPrivateUsage]


def _pass_the_time(desk: Desk) -> None:
    """Let the time between two batches pass."""
    timer = desk.answers.saving._timer  # pyright: ignore[reportPrivateUsage]
    assert timer.isActive()
    timer.timeout.emit()


def _read_again(desk: Desk, message: Message) -> Message:
    """Return what another program finds, or this one after a kill."""
    other = Store(desk.path)
    assert desk.controller.shown.conversation is not None
    messages = {found.id: found for found in other.messages.shown_by(desk.controller.shown.conversation.id)}
    other.close()
    return messages[message.id]


# --- into the store ------------------------------------------------------------------------------------------


def test_streamed_text_is_stored_in_batches_at_most_a_quarter_of_a_second_apart(desk: Desk) -> None:
    timer = desk.answers.saving._timer  # pyright: ignore[reportPrivateUsage]
    assert not timer.isActive()
    desk.controller.send("u1")
    answer = desk.controller.shown.path[-1]
    assert timer.timerType() is Qt.TimerType.PreciseTimer
    assert timer.interval() == SAVE_INTERVAL_MS
    # A step of the window may take 50 ms, and then the text is written.
    assert SAVE_INTERVAL_MS + 50 + 50 <= 250
    said: list[str] = []
    _connection(desk).set_trace_callback(said.append)
    for piece in ("one ", "two ", "three "):
        desk.link.chunk(desk.link.asked[-1], piece)
    assert said == []
    assert _read_again(desk, answer).text == ""
    _pass_the_time(desk)
    assert said.count("COMMIT") == 1
    assert _read_again(desk, answer).text == "one two three "
    # Nothing is left to write, so nothing wakes up for it.
    assert not timer.isActive()
    desk.link.finished(desk.link.asked[-1], "one two three four")
    stored = _read_again(desk, answer)
    assert (stored.text, stored.state) == ("one two three four", "complete")
    assert not timer.isActive()


def test_a_flood_of_events_is_stored_though_no_timer_fires(desk: Desk) -> None:
    desk.controller.send("u1")
    answer = desk.controller.shown.path[-1]
    stored: list[str] = []
    for number in range(8):
        desk.link.chunk(desk.link.asked[-1], f"{number} ")
        stored.append(_read_again(desk, answer).text)
        desk.clock.seconds += 0.0625
    assert stored == [*[""] * 3, *["0 1 2 3 "] * 4, "0 1 2 3 4 5 6 7 "]


def test_another_question_does_not_delay_the_next_batch(desk: Desk) -> None:
    timer = desk.answers.saving._timer  # pyright: ignore[reportPrivateUsage]
    desk.controller.send("u1")
    desk.link.chunk(desk.link.asked[-1], "a")
    timer_id = timer.timerId()
    assert timer.isActive()
    desk.controller.shown.new_conversation()
    desk.controller.send("u2")
    assert timer.timerId() == timer_id


def test_a_killed_program_leaves_the_stored_text_and_nothing_streaming(desk: Desk) -> None:
    desk.controller.send("u1")
    answer = desk.controller.shown.path[-1]
    desk.link.chunk(desk.link.asked[-1], "half ")
    _pass_the_time(desk)
    desk.store.close()
    again = Desk(desk.folder)
    again.controller.shown.open_conversation(1)
    found = again.controller.shown.path[-1]
    assert (found.id, found.text, found.state) == (answer.id, "half ", "stopped")
    assert found.record is not None
    assert found.record.error == "Bough ended."
    again.controller.continue_answer(found.id)
    assert again.link.asked[-1].continuation is not None
    again.close()


def test_a_second_program_leaves_the_answers_of_the_first_alone(desk: Desk) -> None:
    desk.controller.send("u1")
    answer = desk.controller.shown.path[-1]
    desk.link.chunk(desk.link.asked[-1], "half ")
    second = Desk(desk.folder)
    assert _read_again(desk, answer).state == "streaming"
    second.close()
    desk.link.finished(desk.link.asked[-1], "half and whole")
    stored = _read_again(desk, answer)
    assert (stored.text, stored.state, stored.record and stored.record.error) == ("half and whole", "complete", None)


# --- a store that can't be written ---------------------------------------------------------------------------


def _fill_disk(desk: Desk) -> None:
    (num_pages,) = _connection(desk).execute("PRAGMA page_count").fetchone()
    _connection(desk).execute(f"PRAGMA max_page_count = {num_pages}")


def _free_disk(desk: Desk) -> None:
    _connection(desk).execute("PRAGMA max_page_count = 1000000")


_LONG = "many words " * 2000


def test_a_disk_that_fills_while_an_answer_streams_is_reported_once_and_nothing_is_lost(desk: Desk) -> None:
    desk.controller.send("u1")
    answer = desk.controller.shown.path[-1]
    _fill_disk(desk)
    for _ in range(3):
        desk.link.chunk(desk.link.asked[-1], _LONG)
        _pass_the_time(desk)
    assert [notice.kind for notice in desk.notices] == ["danger"]
    assert desk.notices[0].text.startswith("The disk is full, so ")
    assert desk.notices[0].text.endswith("New text stays on the screen and is saved as soon as possible.")
    assert desk.controller.shown.path[-1].text == _LONG * 3

    desk.link.finished(desk.link.asked[-1], _LONG * 3)
    ended = desk.controller.shown.path[-1]
    assert (ended.text, ended.state) == (_LONG * 3, "complete")
    assert _read_again(desk, answer).state == "streaming"
    desk.controller.shown.new_conversation()
    desk.controller.shown.open_conversation(1)
    assert desk.controller.shown.path[-1] == ended
    desk.controller.send("u2")
    assert [turn.content for turn in desk.link.asked[-1].messages or []] == ["u1", _LONG * 3, "u2"]

    _free_disk(desk)
    _pass_the_time(desk)
    assert desk.notices[-1].text == "Everything is saved again."
    assert _read_again(desk, answer) == ended
    desk.link.chunk(desk.link.asked[-1], "a2")
    _pass_the_time(desk)
    assert desk.stored(desk.controller.shown.path[-1]).text == "a2"


def test_an_answer_continued_before_its_end_was_stored_is_stored_with_its_continuation(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.link.chunk(desk.link.asked[-1], _LONG)
    _fill_disk(desk)
    desk.link.finished(desk.link.asked[-1], _LONG, "cancelled")
    answer = desk.controller.shown.path[-1]
    assert answer.state == "stopped"
    desk.controller.continue_answer(answer.id)
    assert len(desk.link.asked) == 1
    _free_disk(desk)
    desk.controller.continue_answer(answer.id)
    desk.link.chunk(desk.link.asked[-1], "and more")
    _pass_the_time(desk)
    stored = _read_again(desk, answer)
    assert (stored.text, stored.state) == (_LONG + "and more", "streaming")


@pytest.mark.parametrize("text", ["u1 " * 10_000])
def test_a_message_that_cannot_be_stored_is_given_back_and_nothing_is_asked(desk: Desk, text: str) -> None:
    _fill_disk(desk)
    desk.controller.send(text)
    assert (desk.unsent, desk.link.asked) == ([text], [])
    assert desk.controller.shown.conversation is None
    assert desk.notices[-1].text.startswith("The disk is full")
    _free_disk(desk)
    desk.ask("u1", "a1")
    _fill_disk(desk)
    desk.controller.send(text)
    desk.controller.edit(desk.by_text("u1").id, text)
    assert desk.unsent == [text] * 3
    assert labels(desk.controller.shown.path) == "u1-a1"
    _free_disk(desk)
    desk.ask(text, "a2")
    assert labels(desk.controller.shown.path) == f"u1-a1-{text}-a2"


def test_another_program_that_writes_for_long_is_reported_and_everything_works_afterwards(desk: Desk) -> None:
    desk.ask("u1", "a0")
    desk.controller.regenerate(desk.by_text("u1").id)
    desk.answer("a1")
    other = sqlite3.connect(desk.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = desk.by_text("a1")
    for act in (
        lambda: desk.controller.send("u2"),
        lambda: desk.controller.edit(answer.id, "a2"),
        lambda: desk.controller.regenerate(answer.id),
        lambda: desk.controller.fork(answer.id),
        lambda: desk.program.conversations.rename(1, "Another"),
        lambda: desk.program.conversations.delete(1),
    ):
        num_told = len(desk.notices)
        act()
        assert desk.notices[num_told].text.startswith("Another program is writing to")
    assert desk.controller.shown.choose_sibling(answer.id, -1) == answer.id
    assert labels(desk.controller.shown.path) == "u1-a1"
    other.execute("ROLLBACK")
    other.close()
    assert [conversation.name for conversation in desk.program.conversations.all] == ["u1"]
    desk.ask("u2", "a2")
    assert labels(desk.controller.shown.path) == "u1-a1-u2-a2"


# --- several at once -----------------------------------------------------------------------------------------


def test_each_answer_lands_in_its_own_message_whatever_is_on_screen(desk: Desk) -> None:
    desk.controller.send("u1")
    first = desk.link.asked[-1]
    desk.link.chunk(first, "a")
    desk.controller.shown.new_conversation()
    desk.controller.send("u2")
    second = desk.link.asked[-1]
    desk.link.chunk(second, "b")
    desk.link.chunk(first, "1")
    assert labels(desk.controller.shown.path) == "u2-b"
    desk.controller.shown.open_conversation(1)
    assert labels(desk.controller.shown.path) == "u1-a1"
    desk.link.finished(second, "b2")
    desk.link.chunk(first, "!")
    assert labels(desk.controller.shown.path) == "u1-a1!"
    desk.controller.shown.open_conversation(2)
    assert labels(desk.controller.shown.path) == "u2-b2"
    desk.link.finished(first, "a1!?")
    desk.controller.shown.open_conversation(1)
    assert labels(desk.controller.shown.path) == "u1-a1!?"
    assert desk.controller.shown.streaming_message is None


def test_a_question_below_a_growing_answer_waits_for_its_end(desk: Desk) -> None:
    desk.controller.send("u1")
    first = desk.link.asked[-1]
    desk.link.chunk(first, "half")
    desk.controller.send("u2")
    assert desk.link.asked == [first]
    waiting = desk.controller.shown.path[-1]
    assert desk.controller.shown.is_streaming(waiting.id)
    assert [message.text for message in desk.controller.shown.path] == ["", "u1", "half", "u2", ""]
    desk.link.finished(first, "half and whole", turn=(4, 5))
    assert desk.link.asked[-1].messages == [
        Turn(role="user", content="u1"),
        Turn(role="assistant", content="half and whole", token_ids=[4, 5]),
        Turn(role="user", content="u2"),
    ]
    desk.answer("a2")
    assert labels(desk.controller.shown.path) == "u1-half and whole-u2-a2"


def test_a_waiting_answer_is_stopped_at_once_and_never_requested(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.controller.send("u2")
    waiting = desk.controller.shown.path[-1]
    desk.answers.stop(waiting.id)
    assert not desk.controller.shown.is_streaming(waiting.id)
    desk.answers.stop(waiting.id)
    desk.link.finished(desk.link.asked[0], "a1")
    assert len(desk.link.asked) == 1
    assert desk.stored(waiting).state == "stopped"


def test_stopping_everything_sends_nothing_that_waited(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.controller.send("u2")
    desk.controller.send("u3")
    desk.answers.stop_all()
    desk.link.finished(desk.link.asked[0], "a", "cancelled")
    assert len(desk.link.asked) == 1
    assert [message.state for message in desk.controller.shown.path if message.role == "assistant"] == ["stopped"] * 3


def test_deleting_a_conversation_stops_only_its_answers_on_every_branch(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.controller.regenerate(desk.by_text("u1").id)
    mine = [request.request_id for request in desk.link.asked]
    desk.controller.fork(desk.by_text("u1").id)
    desk.controller.regenerate(desk.by_text("u1").id)
    desk.program.conversations.delete(1)
    assert sorted(str(cancel.target) for cancel in desk.link.cancelled) == mine
    for request in desk.link.asked:
        desk.link.finished(request, "a1", "cancelled" if request.request_id in mine else "eos")
    assert labels(desk.controller.shown.path) == "u1-a1"
    desk.controller.undo_delete(1)
    assert labels(desk.controller.shown.path) == "u1-a1"
    assert desk.controller.shown.path[-1].state == "stopped"


def test_an_answer_stopped_while_its_prompt_was_read_has_no_time_of_a_first_word(desk: Desk) -> None:
    desk.controller.send("u1")
    timing = Timing(queue_ms=290.0, prefill_ms=8_000.0)
    choice = Choice(text="", token_ids=[], num_recut=0, seed=3, reason="cancelled", turn_token_ids=[])
    usage = Usage(prompt_tokens=107_462, prefilled_tokens=1_536)
    request_id = desk.link.asked[-1].request_id
    desk.link.say(Finished(request_id=request_id, choices=[choice], usage=usage, timing=timing))
    record = desk.controller.shown.path[-1].record
    assert record is not None
    assert (record.figures.queue_ms, record.figures.first_word_ms) == (290.0, 0.0)


def test_a_deleted_conversation_restored_while_its_answer_ends_has_all_of_it(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.link.chunk(desk.link.asked[0], "half")
    desk.program.conversations.delete(1)
    desk.controller.undo_delete(1)
    assert labels(desk.controller.shown.path) == "u1-half"
    desk.link.finished(desk.link.asked[0], "half and more", "cancelled")
    assert labels(desk.controller.shown.path) == "u1-half and more"


# --- ends ----------------------------------------------------------------------------------------------------


def test_events_after_the_end_of_an_answer_change_nothing(desk: Desk) -> None:
    answer = desk.ask("u1", "a1")
    request = desk.link.asked[-1]
    desk.link.chunk(request, "late")
    desk.link.reading(request, 1, 2, 0)
    desk.link.finished(request, "other")
    desk.link.failed(request)
    desk.link.say(Chunk(request_id=None, choice=0, text="nobody's", tokens=[]))
    desk.link.say(Chunk(request_id="answer-999", choice=0, text="nobody's", tokens=[]))
    assert desk.controller.shown.path[-1] == answer
    assert desk.stored(answer) == answer


def test_the_late_end_of_a_dead_worker_changes_nothing(desk: Desk) -> None:
    desk.controller.send("u1")
    request = desk.link.asked[-1]
    desk.link.chunk(request, "half")
    desk.link.die()
    ended = desk.controller.shown.path[-1]
    desk.link.chunk(request, " late")
    desk.link.finished(request, "half and whole")
    assert desk.controller.shown.path[-1] == ended
    assert (ended.text, ended.state) == ("half", "stopped")
    assert ended.record is not None
    assert "SIGKILL" in str(ended.record.error)
    assert desk.stored(ended) == ended


def test_a_failed_answer_keeps_its_text_and_says_why(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.link.chunk(desk.link.asked[-1], "half")
    desk.link.failed(desk.link.asked[-1], "There is not enough memory for this.")
    ended = desk.controller.shown.path[-1]
    assert (ended.text, ended.state) == ("half", "failed")
    assert ended.record is not None
    assert ended.record.error == "There is not enough memory for this."
    assert desk.controller.shown.can_continue(ended)
    assert desk.stored(ended) == ended


def test_without_a_worker_a_question_is_kept_and_the_answer_says_so(desk: Desk) -> None:
    desk.link.stop()
    desk.controller.send("u1")
    desk.controller.send("u2")
    assert [message.text for message in desk.controller.shown.path] == ["", "u1", "", "u2", ""]
    for answer in (message for message in desk.controller.shown.path if message.role == "assistant"):
        assert answer.state == "failed"
        assert answer.record is not None
        assert str(answer.record.error).startswith("There is no answer because no model is running.")


def test_growing_text_is_joined_only_when_it_is_read(desk: Desk) -> None:
    desk.controller.send("u1")
    answer = desk.controller.shown.path[-1]
    pieces = desk.answers._streams[answer.id]._new  # pyright: ignore[reportPrivateUsage]
    pieces.clear()
    for number in range(1000):
        desk.link.chunk(desk.link.asked[-1], f"{number} ")
    assert len(pieces) == 1000
    text = desk.controller.shown.path[-1].text
    assert text == "".join(f"{number} " for number in range(1000))
    assert len(pieces) == 1
    assert desk.controller.shown.path[-1].text == text


def test_signals_report_what_happens_to_which_message(desk: Desk) -> None:
    heard: list[tuple[object, ...]] = []

    def hear(*what: object) -> None:
        heard.append(what)

    desk.controller.shown.text_appended.connect(hear)
    desk.controller.shown.reading.connect(hear)
    desk.controller.shown.message_changed.connect(hear)
    desk.controller.send("u1")
    answer = desk.controller.shown.path[-1]
    request = desk.link.asked[-1]
    desk.link.reading(request, 5, 10, 4)
    desk.link.chunk(request, "a")
    desk.link.chunk(request, "")
    desk.link.finished(request, "a")
    assert heard == [(answer.id, Reading(5, 10, 4)), (answer.id, "a"), (answer.id,)]


def test_turns_leave_out_empty_answers() -> None:
    path = [
        Message(id=1, parent_id=None, role="root", text=""),
        Message(id=2, parent_id=1, role="system", text=" \n"),
        Message(id=3, parent_id=2, role="user", text="u1"),
        Message(id=4, parent_id=3, role="assistant", text=""),
        Message(id=5, parent_id=4, role="user", text="u2"),
        Message(id=6, parent_id=5, role="assistant", text=" ", record=Record(token_ids=(1,))),
    ]
    assert turns(path) == [
        Turn(role="user", content="u1\n\nu2"),
        Turn(role="assistant", content=" ", token_ids=[1]),
    ]


# --- longer than the context ---------------------------------------------------------------------------------


def test_each_request_and_record_says_what_to_do_when_the_context_is_full(desk: Desk) -> None:
    first = desk.ask("u1", "a1")
    desk.program.set_overflow("drop_oldest")
    second = desk.ask("u2", "a2")
    assert [request.overflow for request in desk.link.asked] == ["fail", "drop_oldest"]
    assert [desk.stored(message).record.overflow for message in (first, second)] == ["fail", "drop_oldest"]  # pyright: ignore[reportOptionalMemberAccess]
    desk.controller.regenerate(first.id)
    assert desk.link.asked[-1].overflow == "drop_oldest"


def test_dropped_messages_are_counted_as_the_user_sees_them(desk: Desk) -> None:
    desk.controller.preparation.set_unsent(Unsent(system_prompt="Be brief."))
    desk.ask("u1", "a1")
    desk.controller.send("u2")
    desk.link.failed(desk.link.asked[-1])
    # The model reads u2 and u3 as one turn, without the answer that never came.
    desk.ask("u3", "a3")
    desk.controller.send("u4")
    request = desk.link.asked[-1]
    assert isinstance(request.messages, list)
    assert [turn.content for turn in request.messages] == ["Be brief.", "u1", "a1", "u2\n\nu3", "a3", "u4"]
    for num_turns, num_messages in ((0, 0), (2, 2), (4, 5)):
        choice = Choice(text="a", token_ids=[], num_recut=0, seed=5, reason="eos")
        usage = Usage(prompt_tokens=10, dropped_messages=num_turns)
        desk.link.say(Finished(request_id=request.request_id, choices=[choice], usage=usage, timing=Timing()))
        answer = desk.controller.shown.path[-1]
        assert answer.record is not None
        assert answer.record.figures.left_out_messages == num_messages
        assert desk.stored(answer) == answer
        desk.controller.regenerate(answer.id)
        request = desk.link.asked[-1]


# --- the record ----------------------------------------------------------------------------------------------


def test_the_record_names_the_model_and_the_facts_about_each_token(desk: Desk) -> None:
    desk.controller.send("u1")
    (request,) = desk.link.asked
    drawn = [
        Token(
            id=7,
            logprob=-0.5,
            top=[Alternative(id=7, text="on", logprob=-0.5), Alternative(id=8, text="off", logprob=None)],
        ),
        Token(id=8, logprob=-0.25, origin="forced"),
        Token(id=9, logprob=-1.0),
        # The end of the turn is not text.
        Token(id=2, logprob=-2.0),
    ]
    desk.link.say(Chunk(request_id=request.request_id, choice=0, text="one two", tokens=drawn))
    # The last token was cut.
    choice = Choice(
        text="one tw", token_ids=[7, 8, 5], num_recut=1, seed=3, reason="stop", stop="o", turn_token_ids=[7, 8, 5]
    )
    usage = Usage(prompt_tokens=10, generated_tokens=4, forced_tokens=1)
    timing = Timing(queue_ms=1.0, prefill_ms=2.0, ttft_ms=3.0, decode_tokens_per_s=4.0)
    hooks = [
        HookUse(choice=number, name="slow", calls=4 - number, total_ms=9.0, longest_ms=5.0, is_off=True)
        for number in (0, 1)
    ]
    desk.link.say(Finished(request_id=request.request_id, choices=[choice], usage=usage, timing=timing, hooks=hooks))
    answer = desk.controller.shown.path[-1]
    record = answer.record
    assert record is not None
    assert (record.model, record.model_identity, record.versions) == ("guide", "a hash", {"mlx": "1"})
    assert (record.token_ids, record.origins) == ((7, 8, 5), "sfr")
    assert record.logprobs == (-0.5, -0.25, None)
    assert record.alternatives[0] == (Kept(7, "on", -0.5), Kept(8, "off", None))
    assert (record.seed, record.reason, record.stop) == (3, "stop", "o")
    assert record.hook_records == (HookRecord(name="slow", calls=4, total_ms=9.0, longest_ms=5.0, is_off=True),)
    figures = record.figures
    assert (figures.forced_tokens, figures.queue_ms, figures.prefill_ms, figures.first_word_ms) == (1, 1.0, 2.0, 4.0)
    assert answer.created_ms <= record.ended_ms
    assert desk.stored(answer) == answer


def test_the_part_before_a_continuation_keeps_its_facts(desk: Desk) -> None:
    desk.controller.send("u1")
    first = desk.link.asked[-1]
    desk.link.say(Chunk(request_id=first.request_id, choice=0, text="ab", tokens=[Token(id=1), Token(id=2)]))
    desk.link.finished(first, "ab", reason="length", turn=[1, 2], new=[1, 2])
    desk.controller.continue_answer(desk.controller.shown.path[-1].id)
    second = desk.link.asked[-1]
    desk.link.say(Chunk(request_id=second.request_id, choice=0, text="c", tokens=[Token(id=3, origin="forced")]))
    desk.link.finished(second, "c", turn=[1, 2, 3], new=[3])
    record = desk.controller.shown.path[-1].record
    assert record is not None
    assert (record.token_ids, record.origins) == ((1, 2, 3), "ssf")


def test_the_settings_of_an_answer_reach_the_worker(desk: Desk) -> None:
    constraint = Constraint(kind="regex", value="[ab]+")
    record = Record(
        constraint=constraint,
        top_logprobs=3,
        hooks=("no_repeats",),
        hook_options={"no_repeats": {"length": 4}},
        draft="off",
        template_options={"enable_thinking": False},
    )
    message = Message(id=1, parent_id=None, role="assistant", text="", record=record)
    asked = generate("answer-1", message, [])
    assert asked.constraint == AskedConstraint(kind="regex", value="[ab]+", covers="turn")
    assert asked.top_logprobs == 3
    assert (asked.hooks, asked.hook_options) == (["no_repeats"], {"no_repeats": {"length": 4}})
    assert asked.draft == "off"
    assert asked.template_options == {"enable_thinking": False}
    assert generate("answer-2", structs.replace(message, record=None), []).template_options is UNSET
