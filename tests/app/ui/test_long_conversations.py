"""Conversations of hundreds of messages: only visible messages have views, all can be reached, and nothing jumps."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QScrollBar

from app.model.message import Conversation, MessageId
from app.ui.composer.writing_field import WritingField
from app.ui.message.message_view import MessageView
from app.ui.theme import system_scheme, theme
from app.ui.transcript.transcript import Transcript
from tests.app.ui.conftest import User
from tests.app.ui.waiting import is_at_rest
from tests.app.ui.wheel import turn_wheel
from tests.waiting import PATIENCE_MS

_NUM_TURNS = 90


def _plant(user: User) -> Conversation:
    store = user.application.store
    conversation, question = store.create_conversation("Long", "", "Question 0")
    for number in range(1, _NUM_TURNS):
        # The true height differs from the estimate.
        code = "code\n" * (number % 7)
        text = f"Answer {number}\n\n- with\n- a list\n\n```\n{code}```"
        answer = store.add(conversation.id, question.id, "assistant", text)
        question = store.add(conversation.id, answer.id, "user", f"Question {number}")
    return conversation


@pytest.fixture(scope="module")
def planted() -> list[Conversation]:
    """The long conversation, once `transcript` has created it."""
    return []


@pytest.fixture
def transcript(user: User, planted: list[Conversation]) -> Transcript:
    """A page that shows the end of a long conversation."""
    if not planted:
        planted.append(_plant(user))
    user.controller.shown.open_conversation(planted[0].id)
    _settle(user)
    return user.window.transcript


def _settle(user: User) -> None:
    """Wait until nothing moves and no more views are created."""
    transcript = user.window.transcript
    user.bot.waitUntil(lambda: is_at_rest(transcript), timeout=PATIENCE_MS)


def _places(transcript: Transcript) -> dict[MessageId, int]:
    """Return the distance of each visible message from the top of the page, in pixels."""
    height = transcript.viewport().height()
    return {view.message.id: view.y() for view in transcript.views if -view.height() < view.y() < height}


def _stands_in_order(transcript: Transcript) -> bool:
    views = transcript.views
    ids = [view.message.id for view in views]
    start = transcript.message_ids.index(ids[0])
    touches = all(below.y() == above.geometry().bottom() + 5 for above, below in itertools.pairwise(views))
    return touches and ids == list(transcript.message_ids[start : start + len(ids)])


def test_a_long_conversation_opens_at_its_end_and_only_visible_messages_have_views(
    user: User, transcript: Transcript
) -> None:
    bar = transcript.verticalScrollBar()
    assert bar.value() == bar.maximum() > 5000
    assert len(transcript.views) < 30
    assert transcript.views[-1].message.text == f"Question {_NUM_TURNS - 1}"
    assert transcript.views[-1].geometry().bottom() < transcript.viewport().height()
    assert list(transcript.message_ids) == [message.id for message in user.controller.shown.path]
    assert _stands_in_order(transcript)


def test_scrolling_up_reaches_every_message_and_nothing_jumps(user: User, transcript: Transcript) -> None:
    seen: list[MessageId] = []
    while transcript.verticalScrollBar().value() > 0:
        before, value = _places(transcript), transcript.verticalScrollBar().value()
        turn_wheel(transcript, transcript.viewport().rect().center(), pixels=QPoint(0, min(300, value)))
        after = _places(transcript)
        assert before.keys() & after.keys()
        assert {message_id: after[message_id] - 300 for message_id in before.keys() & after.keys()} == {
            message_id: before[message_id] for message_id in before.keys() & after.keys()
        } or transcript.verticalScrollBar().value() == 0
        assert _stands_in_order(transcript)
        seen += [message_id for message_id in reversed(list(after)) if message_id not in seen]
    first_said = user.controller.shown.path[1].id
    assert seen[-2:] == [first_said, user.controller.shown.path[0].id]
    assert seen == list(reversed(transcript.message_ids[: len(seen)]))
    assert len(seen) > 2 * _NUM_TURNS - 12


def _is_at_start(bar: QScrollBar) -> bool:
    return bar.value() == 0


def _is_a_page_up(bar: QScrollBar) -> bool:
    return bar.maximum() - 700 < bar.value() < bar.maximum() - 300


def _is_two_lines_up(bar: QScrollBar) -> bool:
    return bar.value() == bar.maximum() - 44


@pytest.mark.parametrize(
    ("key", "is_there"),
    [
        (Qt.Key.Key_Home, _is_at_start),
        (Qt.Key.Key_PageUp, _is_a_page_up),
        (Qt.Key.Key_Up, _is_two_lines_up),
    ],
)
def test_keys_scroll_up_and_end_returns(
    user: User, transcript: Transcript, key: Qt.Key, is_there: Callable[[QScrollBar], bool]
) -> None:
    bar = transcript.verticalScrollBar()
    transcript.views[-1].text.setFocus(Qt.FocusReason.MouseFocusReason)
    text = transcript.views[-1].text
    user.bot.keyClick(text, key)
    user.bot.waitUntil(lambda: is_there(bar), timeout=PATIENCE_MS)
    _settle(user)
    # Scrolling away keeps the focus.
    assert user.window.focusWidget() is text
    user.bot.keyClick(text, Qt.Key.Key_End)
    user.bot.waitUntil(lambda: bar.value() == bar.maximum(), timeout=PATIENCE_MS)


def test_the_wheel_scrolls_smoothly(user: User, transcript: Transcript) -> None:
    bar = transcript.verticalScrollBar()
    end, values = bar.maximum(), list[int]()
    bar.valueChanged.connect(values.append)
    turn_wheel(transcript, transcript.viewport().rect().center(), notches=QPoint(0, 240))
    user.bot.waitUntil(lambda: bar.value() == end - 132, timeout=PATIENCE_MS)
    assert values == sorted(values, reverse=True)
    bar.valueChanged.disconnect(values.append)


def test_a_message_without_a_view_is_revealed(user: User, transcript: Transcript) -> None:
    wanted = transcript.message_ids[40]
    assert transcript.view(wanted) is None
    view = transcript.reveal(wanted)
    assert view is not None
    _settle(user)
    assert transcript.viewport().rect().contains(view.geometry())
    assert _stands_in_order(transcript)
    assert transcript.reveal(10**9) is None


def test_alt_up_steps_through_messages_that_have_no_views_yet(user: User, transcript: Transcript) -> None:
    user.window.composer.text.setFocus()
    walked: list[MessageId | None] = []
    for _ in range(40):
        user.window.action("previous_message").trigger()
        walked.append(transcript.focused_message_id)
    assert walked == list(reversed(transcript.message_ids[-40:]))
    _settle(user)
    view = transcript.view(transcript.message_ids[-40])
    assert view is not None
    assert transcript.viewport().rect().contains(view.geometry())


def test_a_screen_reader_finds_the_views_from_top_to_bottom(user: User, transcript: Transcript) -> None:
    bar = transcript.verticalScrollBar()
    for value in (bar.maximum() // 2, 0, bar.maximum() // 2 - 400, bar.maximum()):
        bar.setValue(value)
        _settle(user)
        children = [view for view in transcript.viewport().children() if isinstance(view, MessageView)]
        assert [view for view in children if view.isVisible()] == transcript.views
        numbers = [transcript.message_ids.index(view.message.id) + 1 for view in transcript.views]
        assert [view.text.accessibleDescription() for view in transcript.views] == [f"Message {n}" for n in numbers]


def test_the_reading_position_is_kept_when_the_window_gets_narrower(user: User, transcript: Transcript) -> None:
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    _settle(user)
    (first, place), *_ = _places(transcript).items()
    user.window.resize(560, 760)
    user.bot.waitUntil(lambda: user.window.width() == 560, timeout=PATIENCE_MS)
    _settle(user)
    view = transcript.view(first)
    assert view is not None
    # The first visible line stays the same, but longer messages wrap differently.
    assert abs(view.y() - place) <= 22
    assert _stands_in_order(transcript)


def test_larger_text_does_not_move_the_message_being_read(user: User, transcript: Transcript) -> None:
    transcript.reveal(transcript.message_ids[80])
    _settle(user)
    (first, place), *_ = _places(transcript).items()
    height = user.view(first).height()
    user.window.action("larger_text").trigger()
    user.wait_for_look()
    _settle(user)
    assert user.view(first).height() > height
    assert user.view(first).y() == place
    assert _stands_in_order(transcript)
    user.window.action("usual_text").trigger()
    user.wait_for_look()
    _settle(user)
    assert (user.view(first).height(), user.view(first).y()) == (height, place)


def test_an_edit_continues_after_scrolling_away_and_back(user: User, transcript: Transcript) -> None:
    question = transcript.message_ids[-1]
    user.press(question, "e")
    editor = user.window.focusWidget()
    assert isinstance(editor, WritingField)
    editor.setPlainText("another question")
    user.window.composer.text.setFocus()
    transcript.verticalScrollBar().setValue(0)
    _settle(user)
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert user.view(question).draft == "another question"
    assert editor.isVisible()
    user.bot.keyClick(editor, Qt.Key.Key_Escape)


def test_a_streaming_answer_below_does_not_move_the_page(user: User, transcript: Transcript) -> None:
    user.controller.program.set_overflow("drop_oldest")
    bar = transcript.verticalScrollBar()
    places: list[dict[MessageId, int]] = []

    def scroll_away(message_id: MessageId, _text: str) -> None:
        if not places:
            bar.setValue(bar.maximum() // 2)
            places.append(_places(transcript))
            assert transcript.view(message_id) is None

    user.controller.shown.text_appended.connect(scroll_away)
    user.controller.send("What is a branch?")
    user.bot.waitUntil(lambda: user.controller.shown.streaming_message is None, timeout=PATIENCE_MS)
    user.controller.shown.text_appended.disconnect(scroll_away)
    _settle(user)
    assert [_places(transcript)] == places
    user.controller.program.set_overflow("fail")


def test_at_the_end_the_page_follows_the_streaming_answer(user: User, transcript: Transcript) -> None:
    user.controller.program.set_overflow("drop_oldest")
    bar = transcript.verticalScrollBar()
    is_at_end: list[bool] = []

    def look(message_id: MessageId) -> None:
        bottom = user.view(message_id).geometry().bottom()
        is_at_end.append(bar.value() == bar.maximum() and bottom < transcript.viewport().height())

    transcript.text_changed.connect(look)
    user.controller.send("What is a branch?")
    user.answer()
    transcript.text_changed.disconnect(look)
    user.controller.program.set_overflow("fail")
    assert is_at_end
    assert all(is_at_end)


def test_a_regenerated_answer_begins_where_the_old_one_did(user: User, transcript: Transcript) -> None:
    user.controller.program.set_overflow("drop_oldest")
    old = transcript.message_ids[100]
    assert user.controller.shown.message(old).role == "assistant"
    view = transcript.reveal(old)
    assert view is not None
    _settle(user)
    place = view.y()
    user.controller.regenerate(old)
    new = user.answer()
    _settle(user)
    user.controller.program.set_overflow("fail")
    assert transcript.message_ids[100] == new.id
    assert user.view(new.id).y() == place
    assert transcript.views[-1] is user.view(new.id)
    # The old answer is also there again, although there is much more below it.
    transcript.step_sibling(new.id, -1)
    assert user.view(old).y() == place


def test_a_fork_shows_its_last_message_at_the_bottom(user: User, transcript: Transcript) -> None:
    end = transcript.message_ids[50]
    assert transcript.reveal(end) is not None
    _settle(user)
    assert end in _places(transcript)
    user.press(end, "f")
    _settle(user)
    assert transcript.message_ids[-1] == end
    assert transcript.viewport().rect().contains(user.view(end).geometry())
    bar = transcript.verticalScrollBar()
    assert bar.value() == bar.maximum()
    # Below the last message there is only the usual margin.
    assert 0 < transcript.viewport().height() - user.view(end).geometry().bottom() < 40


def test_a_reused_view_shows_a_message_exactly_as_a_new_view_does(user: User, transcript: Transcript) -> None:
    bar = transcript.verticalScrollBar()
    message_id = transcript.message_ids[60]
    view = transcript.reveal(message_id)
    assert view is not None
    _settle(user)
    for value in range(0, bar.maximum(), 1500):
        bar.setValue(value)
    used = transcript.reveal(message_id)
    _settle(user)
    assert used is not None
    fresh = MessageView(used.shown, theme(system_scheme()), transcript.viewport())
    fresh.show()
    fresh.resize(used.width(), fresh.settled_height(used.width()))
    assert fresh.size() == used.size()
    assert fresh.grab().toImage() == used.grab().toImage()
    fresh.hide()
    fresh.deleteLater()


def test_sending_a_question_scrolls_to_the_end(user: User, transcript: Transcript) -> None:
    transcript.verticalScrollBar().setValue(0)
    _settle(user)
    user.controller.send("One more")
    user.answer()
    assert [view.message.text for view in transcript.views][-2] == "One more"
    assert transcript.views[-1].geometry().bottom() < transcript.viewport().height()
    user.controller.shown.new_conversation()
    assert transcript.views == []


def test_a_scroll_position_does_not_affect_the_next_conversation(user: User, planted: list[Conversation]) -> None:
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    second = user.answer()
    user.window.transcript.step_sibling(second.id, -1)
    user.controller.shown.open_conversation(planted[0].id)
    bar = user.window.transcript.verticalScrollBar()
    assert bar.value() == bar.maximum() > 5000
