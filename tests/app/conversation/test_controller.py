"""Everything that a user can do with conversations, with a real store and a scripted worker."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from app.conversation.controller import Controller
from app.model.message import Message, MessageId, Sampling
from app.model.unsent import Unsent
from app.notices import Notice, UndoDelete
from tests.app.desk import Desk
from tests.app.model.stores import trashed_ids
from tests.app.sampling import set_sampling
from tests.app.trees import drawn, labels
from worker.protocol import Command, Continuation, Generate
from worker.sentence import verbatim

pytestmark = pytest.mark.usefixtures("nothing_leaks")


def _tree(desk: Desk) -> str:
    assert desk.controller.shown.conversation is not None
    return drawn(desk.store.messages.shown_by(desk.controller.shown.conversation.id))


def _open_id(desk: Desk) -> int:
    assert desk.controller.shown.conversation is not None
    return desk.controller.shown.conversation.id


def _prompt(request: Generate) -> list[tuple[str, str]]:
    assert isinstance(request.messages, list)
    return [(message.role, message.content) for message in request.messages]


# --- sending -------------------------------------------------------------------------------------------------


def test_a_question_and_its_answer_are_stored_before_the_model_is_asked(desk: Desk) -> None:
    seen: list[list[tuple[str, str, str]]] = []

    def look(_: Command) -> None:
        database = sqlite3.connect(desk.path)
        seen.append(database.execute("SELECT role, text, state FROM message").fetchall())
        database.close()

    desk.link.on_send = look
    desk.controller.send("u1")
    assert seen == [
        [
            ("root", "", "complete"),
            ("system", "", "complete"),
            ("user", "u1", "complete"),
            ("assistant", "", "streaming"),
        ]
    ]


def test_the_model_reads_the_visible_branch(desk: Desk) -> None:
    desk.controller.preparation.set_unsent(Unsent(system_prompt="Be brief."))
    desk.ask("u1", "a1")
    desk.ask("u2", "a2")
    assert _prompt(desk.link.asked[0]) == [("system", "Be brief."), ("user", "u1")]
    assert _prompt(desk.link.asked[1]) == [("system", "Be brief."), ("user", "u1"), ("assistant", "a1"), ("user", "u2")]
    assert isinstance(desk.link.asked[1].messages, list)
    assert desk.link.asked[1].messages[2].token_ids == [1, 2, 3]
    assert _tree(desk) == "Be brief.-u1-a1-u2-a2"


def test_consecutive_questions_are_one_turn_and_an_empty_answer_is_none(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.link.failed(desk.link.asked[-1])
    desk.controller.send("u2")
    assert _prompt(desk.link.asked[-1]) == [("user", "u1\n\nu2")]


def test_sampling_goes_with_the_request_and_into_the_record(desk: Desk) -> None:
    set_sampling(desk.program, Sampling(temperature=0.25, top_p=0.5, max_tokens=7, stop=("x\ud83d",), seed=9))
    answer = desk.ask("u1", "a1")
    request = desk.link.asked[-1]
    assert (request.sampling.temperature, request.sampling.top_p, request.sampling.seed) == (0.25, 0.5, 9)
    assert (request.stop, request.max_tokens) == (["x\ufffd"], 7)
    assert answer.record is not None
    assert answer.record.sampling == desk.program.settings.generation.sampling
    assert (answer.record.model, answer.record.seed, answer.record.token_ids) == ("guide", 5, (1, 2, 3))
    assert desk.stored(answer) == answer


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000"])
def test_whitespace_alone_is_not_sent(desk: Desk, text: str) -> None:
    desk.controller.send(text)
    assert desk.controller.shown.conversation is None
    assert desk.link.asked == []


@pytest.mark.parametrize(
    "text",
    ["a\0b", "\0", "😀👍🏽 🏴", "שלום \u202eעולם\u202c", "  two spaces around  ", "a\r\nb", "x" * 10_000_000],
    ids=["NUL", "NUL alone", "emoji", "right to left", "spaces", "carriage return", "10 MB"],
)
def test_any_text_is_stored_and_sent_unchanged(desk: Desk, text: str) -> None:
    answer = desk.ask(text, text)
    assert _prompt(desk.link.asked[-1]) == [("user", text)]
    assert [message.text for message in desk.controller.shown.path] == ["", text, text]
    assert desk.stored(answer).text == text
    reopened = Desk(desk.folder)
    reopened.controller.shown.open_conversation(_open_id(desk))
    assert [message.text for message in reopened.controller.shown.path] == ["", text, text]
    reopened.close()


def test_half_a_character_from_a_broken_paste_is_marked(desk: Desk) -> None:
    desk.controller.send("a\ud83db")
    assert _prompt(desk.link.asked[-1]) == [("user", "a\ufffdb")]
    assert desk.stored(desk.controller.shown.path[1]).text == "a\ufffdb"


# --- branches ------------------------------------------------------------------------------------------------


def test_an_edited_question_is_a_new_sibling_and_the_old_one_stays(desk: Desk) -> None:
    desk.ask("u1", "a1")
    desk.ask("u2", "a2")
    desk.controller.edit(desk.by_text("u1").id, "u3")
    desk.answer("a3")
    assert _tree(desk) == "u1-a1-u2-a2 | u3-a3"
    assert labels(desk.controller.shown.path) == "u3-a3"
    assert _prompt(desk.link.asked[-1]) == [("user", "u3")]
    desk.controller.shown.choose_sibling(desk.by_text("u3").id, -1)
    assert labels(desk.controller.shown.path) == "u1-a1-u2-a2"


def test_an_edited_answer_is_a_sibling_that_the_model_reads_from_then_on(desk: Desk) -> None:
    desk.ask("u1", "a1")
    desk.controller.edit(desk.by_text("a1").id, "a2")
    assert len(desk.link.asked) == 1
    desk.ask("u2", "a3")
    assert _tree(desk) == "u1-a1 | u1-a2-u2-a3"
    assert _prompt(desk.link.asked[-1])[1] == ("assistant", "a2")


def test_another_system_prompt_asks_the_first_question_again(desk: Desk) -> None:
    desk.controller.preparation.set_unsent(Unsent(system_prompt="s1"))
    desk.ask("u1", "a1")
    desk.ask("u2", "a2")
    desk.controller.edit(desk.by_text("s1").id, "s2")
    desk.answer("a3")
    assert _tree(desk) == "s1-u1-a1-u2-a2 | s2-u1-a3"
    desk.controller.edit(desk.by_text("s2").id, "")
    assert [message.text for message in desk.controller.shown.path] == ["", "u1", ""]


@pytest.mark.parametrize("text", ["u1", "", "  \n"])
def test_an_edit_that_changes_or_leaves_nothing_is_ignored(desk: Desk, text: str) -> None:
    desk.ask("u1", "a1")
    desk.controller.edit(desk.by_text("u1").id, text)
    assert _tree(desk) == "u1-a1"


def test_a_regenerated_answer_is_a_sibling_of_the_old_one(desk: Desk) -> None:
    old = desk.ask("u1", "a1")
    desk.controller.regenerate(old.id)
    new = desk.answer("a2")
    assert _tree(desk) == "u1-a1 | u1-a2"
    assert desk.controller.shown.siblings(new.id) == [old.id, new.id]
    desk.controller.regenerate(desk.by_text("u1").id)
    desk.answer("a3")
    assert _tree(desk) == "u1-a1 | u1-a2 | u1-a3"
    assert _prompt(desk.link.asked[-1]) == [("user", "u1")]


def test_choosing_stops_at_either_end_and_is_remembered(desk: Desk) -> None:
    first = desk.ask("u1", "a1")
    desk.controller.regenerate(first.id)
    second = desk.answer("a2")
    assert desk.controller.shown.choose_sibling(second.id, 1) == second.id
    assert desk.controller.shown.choose_sibling(second.id, -5) == first.id
    assert labels(desk.controller.shown.path) == "u1-a1"
    desk.controller.shown.new_conversation()
    desk.controller.shown.open_conversation(desk.program.conversations.all[0].id)
    assert labels(desk.controller.shown.path) == "u1-a1"


def test_a_fork_shares_its_past_and_goes_its_own_way(desk: Desk) -> None:
    answer = desk.ask("u1", "a1")
    desk.ask("u2", "a2")
    original = _open_id(desk)
    desk.controller.fork(answer.id)
    assert labels(desk.controller.shown.path) == "u1-a1"
    assert desk.controller.shown.path[-1].id == answer.id
    desk.ask("u3", "a3")
    assert labels(desk.controller.shown.path) == "u1-a1-u3-a3"
    desk.controller.shown.open_conversation(original)
    assert labels(desk.controller.shown.path) == "u1-a1-u2-a2"


def test_a_fork_at_the_end_of_a_branch_does_not_lengthen_that_branch(desk: Desk) -> None:
    answer = desk.ask("u1", "a1")
    original = _open_id(desk)
    desk.controller.fork(answer.id)
    desk.ask("u2", "a2")
    desk.controller.shown.open_conversation(original)
    assert labels(desk.controller.shown.path) == "u1-a1"


def test_changes_above_the_root_of_a_fork_are_the_forks_own(desk: Desk) -> None:
    answer = desk.ask("u1", "a1")
    original = _open_id(desk)
    desk.controller.fork(answer.id)
    assert desk.controller.shown.siblings(answer.id) == (answer.id,)
    desk.controller.regenerate(answer.id)
    desk.answer("a2")
    desk.controller.edit(desk.by_text("u1").id, "u2")
    desk.answer("a3")
    assert labels(desk.controller.shown.path) == "u2-a3"
    desk.controller.shown.choose_sibling(desk.by_text("u2").id, -1)
    assert labels(desk.controller.shown.path) == "u1-a2"
    desk.controller.shown.open_conversation(original)
    assert labels(desk.controller.shown.path) == "u1-a1"


# --- continuing ----------------------------------------------------------------------------------------------


def _stopped(desk: Desk, text: str) -> Message:
    desk.controller.send("u1")
    request = desk.link.asked[-1]
    desk.link.chunk(request, text)
    desk.controller.stop()
    assert [cancel.target for cancel in desk.link.cancelled] == [request.request_id]
    desk.link.finished(request, text, "cancelled", turn=(7, 8))
    return desk.controller.shown.path[-1]


def test_a_stopped_answer_keeps_its_text_and_continues_exactly(desk: Desk) -> None:
    answer = _stopped(desk, "half an ")
    assert (answer.text, answer.state) == ("half an ", "stopped")
    assert desk.stored(answer) == answer
    desk.controller.continue_answer(answer.id)
    request = desk.link.asked[-1]
    assert request.continuation == Continuation(text="half an ", known_ids=[7, 8])
    assert _prompt(request) == [("user", "u1")]
    desk.link.chunk(request, "answer")
    assert desk.controller.shown.path[-1].text == "half an answer"
    desk.link.finished(request, "answer", turn=(7, 8, 9))
    whole = desk.controller.shown.path[-1]
    assert (whole.id, whole.text, whole.state) == (answer.id, "half an answer", "complete")
    assert whole.record is not None
    assert whole.record.token_ids == (7, 8, 9)
    assert desk.stored(whole) == whole


def test_after_a_crash_an_answer_continues_from_its_text(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.link.chunk(desk.link.asked[-1], "half an ")
    desk.link.die()
    desk.link.loaded()
    answer = desk.controller.shown.path[-1]
    assert (answer.text, answer.state) == ("half an ", "stopped")
    desk.controller.continue_answer(answer.id)
    assert desk.link.asked[-1].continuation == Continuation(text="half an ")


def test_a_crash_before_the_first_new_word_leaves_the_ids_exact(desk: Desk) -> None:
    answer = _stopped(desk, "half an ")
    desk.controller.continue_answer(answer.id)
    desk.link.die()
    desk.link.loaded()
    desk.controller.continue_answer(answer.id)
    assert desk.link.asked[-1].continuation == Continuation(text="half an ", known_ids=[7, 8])
    desk.link.finished(desk.link.asked[-1], "", "cancelled", turn=())
    desk.controller.continue_answer(answer.id)
    assert desk.link.asked[-1].continuation == Continuation(text="half an ", known_ids=[7, 8])
    desk.link.chunk(desk.link.asked[-1], "answ")
    desk.link.die()
    desk.link.loaded()
    desk.controller.continue_answer(answer.id)
    assert desk.link.asked[-1].continuation == Continuation(text="half an answ", known_ids=[7, 8])


def test_another_model_continues_from_the_text_because_its_ids_differ(desk: Desk) -> None:
    answer = _stopped(desk, "half an ")
    desk.controller.choose_model("/another")
    desk.link.loaded()
    desk.controller.continue_answer(answer.id)
    assert desk.link.asked[-1].continuation == Continuation(text="half an ")


def test_a_continued_answer_continues_again_as_a_sibling(desk: Desk) -> None:
    answer = _stopped(desk, "half")
    desk.ask("u2", "a2")
    desk.controller.continue_answer(answer.id)
    request = desk.link.asked[-1]
    assert request.continuation == Continuation(text="half", known_ids=[7, 8])
    assert _prompt(request) == [("user", "u1")]
    desk.link.finished(request, " and whole")
    assert _tree(desk) == "u1-half-u2-a2 | u1-half and whole"
    assert labels(desk.controller.shown.path) == "u1-half and whole"


def test_the_last_shared_answer_of_a_fork_continues_in_the_fork_alone(desk: Desk) -> None:
    answer = _stopped(desk, "half")
    original = _open_id(desk)
    desk.controller.fork(answer.id)
    desk.controller.continue_answer(answer.id)
    desk.link.finished(desk.link.asked[-1], " and whole")
    assert labels(desk.controller.shown.path) == "u1-half and whole"
    desk.controller.shown.open_conversation(original)
    assert labels(desk.controller.shown.path) == "u1-half"


def test_a_complete_answer_continues(desk: Desk) -> None:
    answer = desk.ask("u1", "a1")
    desk.controller.continue_answer(answer.id)
    assert desk.link.asked[-1].continuation is not None
    assert desk.controller.shown.streaming_message is not None


@pytest.mark.parametrize("ending", ["streaming", "empty", "question"])
def test_only_an_answer_that_has_ended_with_text_continues(desk: Desk, ending: str) -> None:
    desk.controller.send("u1")
    message_id: MessageId = desk.controller.shown.path[-1 if ending != "question" else -2].id
    if ending == "empty":
        desk.link.failed(desk.link.asked[-1])
    elif ending == "streaming":
        desk.link.chunk(desk.link.asked[-1], "half")
    num_asked = len(desk.link.asked)
    desk.controller.continue_answer(message_id)
    assert len(desk.link.asked) == num_asked


# --- the list of conversations -------------------------------------------------------------------------------


def test_a_deleted_conversation_comes_back_with_everything_in_it(desk: Desk) -> None:
    desk.ask("u1", "a1")
    deleted = _open_id(desk)
    desk.program.conversations.delete(deleted)
    assert desk.controller.shown.conversation is None
    assert desk.program.conversations.all == []
    assert desk.notices == [Notice(verbatim("“u1” was deleted."), action=UndoDelete(deleted))]
    desk.program.conversations.delete(deleted)
    desk.controller.undo_delete(deleted)
    assert _open_id(desk) == deleted
    assert labels(desk.controller.shown.path) == "u1-a1"


def test_undo_restores_the_conversation_of_its_own_notice(desk: Desk) -> None:
    desk.ask("u1", "a1")
    first = _open_id(desk)
    desk.controller.shown.new_conversation()
    desk.ask("u2", "a2")
    desk.program.conversations.delete(first)
    desk.program.conversations.delete(_open_id(desk))
    undo = desk.notices[0].action
    assert isinstance(undo, UndoDelete)
    desk.controller.undo_delete(undo.conversation_id)
    assert (_open_id(desk), labels(desk.controller.shown.path)) == (first, "u1-a1")


def test_a_missing_conversation_opens_as_an_empty_page(desk: Desk) -> None:
    desk.ask("u1", "a1")
    desk.store.conversations.trash(_open_id(desk))
    desk.controller.shown.open_conversation(_open_id(desk))
    assert desk.controller.shown.conversation is None
    assert desk.controller.shown.path == []


def test_a_new_name_is_one_line_and_never_empty(desk: Desk) -> None:
    desk.ask("u1", "a1")
    desk.program.conversations.rename(_open_id(desk), "  A\nname ")
    desk.program.conversations.rename(_open_id(desk), " \n")
    assert [conversation.name for conversation in desk.program.conversations.all] == ["A name"]
    desk.controller.shown.new_conversation()
    desk.program.conversations.rename(desk.program.conversations.all[0].id, "Another")
    assert [conversation.name for conversation in desk.program.conversations.all] == ["Another"]


# --- the trash, and unreadable messages ----------------------------------------------------------------------


def test_emptying_the_trash_also_removes_what_the_model_has_read(desk: Desk) -> None:
    desk.ask("u1", "a1")
    thrown = _open_id(desk)
    asked: list[str] = []
    desk.program.conversations.erasing_requested.connect(lambda: asked.append("erase"))
    desk.program.conversations.empty_trash()
    assert desk.notices[-1].text == "The trash is empty."
    desk.program.conversations.delete(thrown)
    desk.program.conversations.empty_trash()
    assert desk.notices[-1].text == "4 messages were permanently deleted."
    assert trashed_ids(desk.store) == []
    # The worker drops its memory before anything is removed from the disk.
    assert desk.link.loads[-1].cache.disk_limit_bytes == 0
    assert asked == []
    desk.link.loaded()
    assert asked == ["erase"]
    desk.controller.undo_delete(thrown)
    assert desk.program.conversations.all == []


def test_the_trash_is_not_emptied_while_another_program_is_open(desk: Desk) -> None:
    desk.ask("u1", "a1")
    desk.program.conversations.delete(_open_id(desk))
    second = Desk(desk.folder)
    desk.program.conversations.empty_trash()
    assert "Another Bough has these conversations open" in desk.notices[-1].text
    second.close()
    desk.program.conversations.empty_trash()
    assert desk.notices[-1].text == "4 messages were permanently deleted."


def test_unreadable_messages_are_reported_and_the_rest_is_shown(desk: Desk) -> None:
    desk.ask("u1", "a1")
    number = _open_id(desk)
    with contextlib.closing(sqlite3.connect(desk.path)) as database:
        database.execute("UPDATE message SET record = CAST('{' AS BLOB) WHERE role = 'assistant'")
        database.commit()
    desk.controller.shown.new_conversation()
    desk.controller.shown.open_conversation(number)
    assert labels(desk.controller.shown.path) == "u1-a1"
    assert desk.notices[-1].text == "The record of how message 4 was made can't be read. Its text is intact."


def test_a_conversation_is_named_after_its_first_question_or_after_the_answer_to_a_greeting(desk: Desk) -> None:
    desk.ask("Please explain branches. I am new here.", "A branch is a path.")
    assert desk.controller.shown.conversation is not None
    assert desk.controller.shown.conversation.name == "Explain branches."
    desk.controller.shown.new_conversation()
    desk.ask("Hi", "# Welcome to Bough\n\nAsk away.")
    assert desk.controller.shown.conversation.name == "Welcome to Bough"
    desk.controller.shown.new_conversation()
    desk.controller.send("Hello")
    desk.program.conversations.rename(desk.controller.shown.conversation.id, "Mine")
    desk.answer("It is a nice day.")
    assert desk.controller.shown.conversation.name == "Mine"
    desk.program.preferences.change(names_conversations=False)
    desk.controller.shown.new_conversation()
    desk.ask("Please explain branches. I am new here.", "A branch is a path.")
    assert desk.controller.shown.conversation.name == "Please explain branches. I am new here."


def test_a_change_in_one_window_is_shown_and_undone_in_another(desk: Desk) -> None:
    desk.ask("u1", "a1")
    assert desk.controller.shown.conversation is not None
    other = Controller(desk.program)
    told: list[int] = []
    other.shown.branch_changed.connect(lambda: told.append(len(other.shown.path)))
    other.shown.open_conversation(desk.controller.shown.conversation.id)
    assert other.shown.path == desk.controller.shown.path
    desk.ask("u2", "a2")
    assert other.shown.path == desk.controller.shown.path
    assert told[-1] == 5
    other.regenerate(other.shown.path[-1].id)
    second = desk.answer("another")
    assert second.text == "another"
    assert len(desk.controller.shown.siblings(second.id)) == 2
    desk.controller.undo()
    assert other.shown.path == desk.controller.shown.path
    assert other.shown.path[-1].text == "a2"
    other.redo()
    assert desk.controller.shown.path[-1].text == "another"
    # A window with another conversation gets no notice.
    other.shown.new_conversation()
    num_told = len(told)
    desk.ask("u3", "a3")
    assert len(told) == num_told


def test_permanently_deleted_messages_cannot_be_restored_by_undo(desk: Desk) -> None:
    desk.ask("u1", "a1")
    first = desk.controller.shown.path[-1].id
    desk.controller.regenerate(first)
    desk.link.finished(desk.link.asked[-1], "a2")
    desk.controller.prune(first)
    desk.program.conversations.empty_trash()
    for _ in range(3):
        desk.controller.undo()
    assert [notice for notice in desk.notices if notice.kind == "danger"] == []
    assert "a1" not in _tree(desk)
