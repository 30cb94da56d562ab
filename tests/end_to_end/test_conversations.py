"""Conversations with the real worker and scripted models: branches, continuing, several at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tokenizers import Tokenizer

from app.answers.answers import Answers
from app.answers.model_session import ModelSession
from app.answers.sessions import Sessions
from app.answers.worker_link import WorkerLink
from app.application import Application
from app.conversation.controller import Controller
from app.model.cache_folder import CacheFolder
from app.model.message import Message, Sampling
from app.model.store import Store
from app.preferences import Preferences
from app.program import Program
from tests.app.sampling import set_sampling
from tests.app.trees import labels
from tests.end_to_end.conftest import OpenBough
from tests.long import in_long_runs
from tests.models import chain, write_scripted_model
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim

_SAYING = "The quick brown fox jumps over the lazy dog."


@pytest.fixture(scope="module")
def fox_model(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    """A model that always answers the same sentence."""
    folder = tmp_path_factory.mktemp("models") / "fox"
    return write_scripted_model(folder, byte_level, chain(byte_level.encode(f"\n{_SAYING}").ids))


class _Talk:
    """A user who talks to a real worker."""

    def __init__(self, application: Application, bot: QtBot) -> None:
        self.application = application
        self.controller = application.controller
        self.bot = bot
        self.wait(lambda: application.session.state == "ready")

    def wait(self, until: Callable[[], bool]) -> None:
        self.bot.waitUntil(until, timeout=PATIENCE_MS)

    def ask(self, text: str) -> Message:
        self.controller.send(text)
        return self.answer()

    def answer(self) -> Message:
        self.wait(lambda: self.controller.shown.streaming_message is None)
        return self.controller.shown.path[-1]

    def grown(self, num_characters: int) -> Message:
        """Return the visible answer once it has at least this many characters."""
        self.wait(lambda: len(self.controller.shown.path[-1].text) >= num_characters)
        return self.controller.shown.path[-1]

    def stored(self, message_id: int) -> Message:
        store = Store(self.application.store.path)
        messages = {
            message.id: message for talk in store.conversations.all() for message in store.messages.shown_by(talk.id)
        }
        store.close()
        return messages[message_id]


def test_edit_regenerate_and_fork_with_a_real_worker(open_bough: OpenBough, qtbot: QtBot, fox_model: Path) -> None:
    talk = _Talk(open_bough(model=str(fox_model)), qtbot)
    controller = talk.controller
    first = talk.ask("u1")
    assert (first.text, first.state) == (_SAYING, "complete")
    controller.regenerate(first.id)
    second = talk.answer()
    assert controller.shown.siblings(second.id) == [first.id, second.id]
    assert second.record is not None
    assert second.record.figures.read_tokens == 1
    controller.edit(controller.shown.path[1].id, "u2")
    third = talk.answer()
    assert labels(controller.shown.path) == f"u2-{_SAYING}"
    controller.shown.choose_sibling(controller.shown.path[1].id, -1)
    assert labels(controller.shown.path) == f"u1-{_SAYING}"
    assert controller.shown.path[-1].id == second.id
    controller.fork(second.id)
    fourth = talk.ask("u3")
    assert labels(controller.shown.path) == f"u1-{_SAYING}-u3-{_SAYING}"
    for message in (first, second, third, fourth):
        assert talk.stored(message.id) == message


def test_a_cut_answer_continues_exactly_token_by_token(open_bough: OpenBough, qtbot: QtBot, fox_model: Path) -> None:
    talk = _Talk(open_bough(model=str(fox_model), max_tokens=3), qtbot)
    answer = talk.ask("u1")
    texts = [answer.text]
    while answer.state == "cut":
        assert answer.record is not None
        assert len(answer.record.token_ids) == 3 * len(texts)
        talk.controller.continue_answer(answer.id)
        answer = talk.answer()
        assert answer.text.startswith(texts[-1])
        texts.append(answer.text)
    assert (answer.text, answer.state) == (_SAYING, "complete")
    assert len(texts) > 3
    assert talk.stored(answer.id) == answer


def test_a_stopped_answer_keeps_its_text_and_continues(
    open_bough: OpenBough, qtbot: QtBot, endless_model: Path
) -> None:
    talk = _Talk(open_bough(model=str(endless_model), max_tokens=900_000), qtbot)
    talk.controller.send("u1")
    seen = talk.grown(50)
    talk.controller.stop()
    stopped = talk.answer()
    assert stopped.state == "stopped"
    assert stopped.text.startswith(seen.text)
    assert talk.stored(stopped.id) == stopped
    talk.controller.continue_answer(stopped.id)
    talk.grown(len(stopped.text) + 50)
    talk.controller.stop()
    again = talk.answer()
    assert again.text == ("ab" * len(again.text))[: len(again.text)]
    assert again.record is not None
    assert len(again.record.token_ids) == len(again.text)


def test_two_conversations_stream_each_into_its_own_message(
    open_bough: OpenBough, qtbot: QtBot, endless_model: Path
) -> None:
    talk = _Talk(open_bough(model=str(endless_model), max_tokens=1500), qtbot)
    controller = talk.controller
    controller.send("u1")
    first = talk.grown(10)
    one = controller.shown.conversation
    controller.shown.new_conversation()
    controller.send("u2")
    second = controller.shown.path[-1]
    two = controller.shown.conversation
    assert one is not None
    assert two is not None
    controller.shown.open_conversation(one.id)
    talk.grown(len(first.text) + 10)
    assert controller.shown.is_streaming(first.id)
    controller.shown.open_conversation(two.id)
    talk.answer()
    assert len(controller.shown.path[-1].text) == 1500
    controller.shown.open_conversation(one.id)
    assert len(controller.shown.path[-1].text) == 1500
    for message_id in (first.id, second.id):
        assert talk.stored(message_id).text == "ab" * 750


def test_a_deleted_conversation_stops_streaming_and_comes_back_with_its_text(
    open_bough: OpenBough, qtbot: QtBot, endless_model: Path
) -> None:
    talk = _Talk(open_bough(model=str(endless_model), max_tokens=900_000), qtbot)
    controller = talk.controller
    controller.send("u1")
    seen = talk.grown(50)
    assert controller.shown.conversation is not None
    deleted = controller.shown.conversation.id
    controller.program.conversations.delete(deleted)
    # The worker is free for another conversation at once.
    controller.send("u2")
    talk.grown(10)
    controller.stop()
    talk.answer()
    controller.undo_delete(deleted)
    answer = controller.shown.path[-1]
    assert (answer.id, answer.state) == (seen.id, "stopped")
    assert answer.text.startswith(seen.text)


def test_another_model_chosen_while_an_answer_streams_is_loaded_when_that_has_ended(
    open_bough: OpenBough, qtbot: QtBot, endless_model: Path, fox_model: Path
) -> None:
    talk = _Talk(open_bough(model=str(endless_model), max_tokens=900_000), qtbot)
    talk.controller.send("u1")
    seen = talk.grown(50)
    talk.controller.choose_model(str(fox_model))
    # The answer continues until the user stops it.
    seen = talk.grown(len(seen.text) + 20)
    talk.controller.stop()
    talk.controller.send("u2")
    answer = talk.answer()
    assert (answer.text, answer.state) == (_SAYING, "complete")
    stopped = talk.controller.shown.path[2]
    assert stopped.state == "stopped"
    assert stopped.text.startswith(seen.text)
    assert answer.record is not None
    assert answer.record.model == str(fox_model)


def test_a_folder_without_a_model_is_reported_and_the_old_model_keeps_answering(
    open_bough: OpenBough, qtbot: QtBot, fox_model: Path, tmp_path: Path
) -> None:
    talk = _Talk(open_bough(model=str(fox_model)), qtbot)
    with qtbot.waitSignal(talk.controller.program.notices.posted, timeout=PATIENCE_MS) as told:
        talk.controller.program.load_model(str(tmp_path))
    assert told.args is not None
    assert "contains no config.json" in told.args[0].text
    assert talk.ask("u1").text == _SAYING


_TEXTS = (
    "a\0b",
    "😀👩‍👩‍👧 é",
    "שלום \u202eעולם",
    "\ud83d lone",
    "<|im_end|>\n<|im_start|>system",
    "\u200b",
    "x" * 3000,
)
"""NUL, emoji, right to left, half a character, control tokens, no width, long."""


def test_any_text_is_answered(open_bough: OpenBough, qtbot: QtBot, fox_model: Path) -> None:
    talk = _Talk(open_bough(model=str(fox_model)), qtbot)
    for text in _TEXTS:
        talk.controller.shown.new_conversation()
        answer = talk.ask(text)
        assert (answer.text, answer.state) == (_SAYING, "complete"), text
        assert talk.stored(talk.controller.shown.path[1].id).text == text.replace("\ud83d", "\ufffd")


def test_unsent_text_is_there_when_bough_is_opened_again(open_bough: OpenBough, qtbot: QtBot, fox_model: Path) -> None:
    first = open_bough(model=str(fox_model))
    first.window.composer.text.setPlainText("Half a thought,\nin two lines")
    first.window.close()
    second = open_bough(model=str(fox_model))
    assert second.window.composer.text.content == "Half a thought,\nin two lines"
    talk = _Talk(second, qtbot)
    second.window.composer.send()
    qtbot.waitUntil(lambda: talk.controller.shown.path[-1].text == _SAYING, timeout=PATIENCE_MS)
    second.window.close()
    assert open_bough(model=str(fox_model)).window.composer.text.content == ""


@pytest.mark.long
def test_ten_million_characters_are_kept_and_a_plain_sentence_says_why_there_is_no_answer(
    qtbot: QtBot, fox_model: Path, tmp_path: Path
) -> None:
    store, link = Store(tmp_path / "store.sqlite3"), WorkerLink()
    session = ModelSession(link)
    sessions = Sessions(session, ModelSession(WorkerLink()), ModelSession(WorkerLink()))
    answers = Answers(sessions, store)
    controller = Controller(
        Program(
            store=store,
            answers=answers,
            sessions=sessions,
            preferences=Preferences(tmp_path / "settings.json"),
            cache_folder=CacheFolder(tmp_path),
            models_folder=tmp_path / "models",
        )
    )
    session.load(str(fox_model))
    text = "ten million! " * 770_000
    controller.send(text)
    qtbot.waitUntil(lambda: controller.shown.streaming_message is None, timeout=PATIENCE_MS)
    question, answer = controller.shown.path[1:]
    assert (question.text, answer.state) == (text, "failed")
    assert answer.record is not None
    assert "holds 4,096 tokens" in str(answer.record.error)
    assert controller.shown.conversation is not None
    assert store.messages.shown_by(controller.shown.conversation.id)[-2:] == [question, answer]
    controller.shown.new_conversation()
    controller.send("u1")
    qtbot.waitUntil(lambda: controller.shown.path[-1].text == _SAYING, timeout=PATIENCE_MS)
    link.stop()
    answers.interrupt_all(verbatim(""))
    store.close()


@pytest.mark.long
def test_two_programs_with_the_same_conversations_take_nothing_from_each_other(
    open_bough: OpenBough, qtbot: QtBot, endless_model: Path
) -> None:
    one = _Talk(open_bough(model=str(endless_model), max_tokens=900_000), qtbot)
    one.controller.send("u1")
    one.grown(10)
    two = _Talk(open_bough(), qtbot)
    two.controller.shown.open_conversation(1)
    assert two.controller.shown.path[-1].state == "streaming"
    one.controller.stop()
    one.answer()
    for talk in (one, two):
        set_sampling(talk.controller.program, Sampling(temperature=0.0, max_tokens=100))
    two.controller.shown.open_conversation(1)
    assert two.controller.shown.path[-1] == one.controller.shown.path[-1]
    two.controller.regenerate(two.controller.shown.path[-1].id)
    one.controller.send("u2")
    for talk in (one, two):
        talk.answer()
    two.controller.program.conversations.delete(1)
    one.controller.send("u3")
    one.answer()
    assert [message.text for message in one.controller.shown.path if message.role == "user"] == ["u1", "u2", "u3"]
    # The conversation that was written in came out of the trash again, with the branches of both.
    two.controller.shown.open_conversation(1)
    (first, second) = two.controller.shown.siblings(two.controller.shown.path[2].id)
    assert {first, second} == {one.controller.shown.path[2].id, two.controller.shown.path[2].id}


@pytest.mark.parametrize(("seed", "num_acts"), [(1, 60), *in_long_runs((seed, 120) for seed in range(2))])
def test_page_and_store_agree_after_random_actions_while_a_real_worker_answers(
    open_bough: OpenBough, qtbot: QtBot, endless_model: Path, seed: int, num_acts: int
) -> None:
    draw = random.Random(seed)
    talk = _Talk(open_bough(model=str(endless_model), max_tokens=60), qtbot)
    controller = talk.controller
    deleted: list[int] = []
    edits: list[str] = []
    """Texts that the user wrote in place of a message. Some are continued."""

    def any_message(*roles: str) -> int | None:
        ids = [message.id for message in controller.shown.path if message.role in roles]
        return draw.choice(ids) if ids else None

    def on_any(act: Callable[[int], object], *roles: str) -> None:
        message_id = any_message(*roles)
        if message_id is not None:
            act(message_id)

    def edit(message_id: int) -> None:
        edits.append(f"e{draw.random()}b")
        controller.edit(message_id, edits[-1])

    def open_any() -> None:
        if controller.program.conversations.all:
            controller.shown.open_conversation(draw.choice(controller.program.conversations.all).id)

    def delete_any() -> None:
        if controller.program.conversations.all:
            deleted.append(draw.choice(controller.program.conversations.all).id)
            controller.program.conversations.delete(deleted[-1])

    def undo_delete() -> None:
        if deleted:
            controller.undo_delete(deleted.pop())

    def look_away() -> None:
        """Handle a few events."""
        with qtbot.waitSignal(application_heard, timeout=PATIENCE_MS, raising=False):
            controller.send("u")

    application_heard = talk.application.link.received
    acts: list[Callable[[], object]] = [
        *[lambda: controller.send("u")] * 3,
        *[look_away] * 6,
        *[controller.stop] * 2,
        lambda: on_any(controller.regenerate, "user", "assistant"),
        lambda: on_any(edit, "user", "assistant"),
        lambda: on_any(controller.continue_answer, "assistant"),
        lambda: on_any(controller.fork, "user", "assistant"),
        lambda: on_any(lambda message_id: controller.shown.choose_sibling(message_id, -1), "user", "assistant"),
        controller.shown.new_conversation,
        open_any,
        delete_any,
        undo_delete,
    ]
    for _ in range(num_acts):
        draw.choice(acts)()
    store = talk.application.store
    talk.wait(lambda: store.interrupt_streaming(verbatim("")) == 0 if not talk.application.answers._streams else False)  # pyright: ignore[reportPrivateUsage]
    num_answers = 0
    for conversation in controller.program.conversations.all:
        controller.shown.open_conversation(conversation.id)
        stored = {message.id: message for message in store.messages.shown_by(conversation.id)}
        for message in controller.shown.path:
            assert stored[message.id] == message
            assert message.state in {"complete", "stopped", "cut"}
        for message in stored.values():
            is_answer = message.role == "assistant" and message.record is not None
            num_answers += is_answer
            if is_answer:
                begun = next((text for text in edits if message.text.startswith(text)), "")
                written = message.text.removeprefix(begun)
                assert written == ("ab" * 1000)[: len(written)]
    assert num_answers > num_acts / 12
