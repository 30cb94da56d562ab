"""Find in conversation: hits are counted while typing, highlighted, stepped through, and found on other branches."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from app.model.message import MessageId
from app.ui.theme import theme
from app.ui.transcript.find_bar import FindBar
from app.ui.transcript.hits import num_occurrences, occurrences
from tests.app.ui.conftest import User
from tests.app.ui.waiting import is_at_rest
from tests.waiting import PATIENCE_MS

_NUM_TURNS = 60


@pytest.fixture(scope="module")
def planted() -> list[int]:
    """The ids of the conversation, its first question and the answer on its other branch. `bar` fills the list."""
    return []


@pytest.fixture
def bar(user: User, planted: list[int]) -> Iterator[FindBar]:
    """The find bar, opened by its key over a long conversation with another branch."""
    if not planted:
        store = user.application.store
        conversation, question = store.create_conversation("Long", "", "Needle 0")
        other = store.add(conversation.id, question.id, "assistant", "Here, too: a needle and another **needle**.")
        first, question = question, store.add(conversation.id, question.id, "assistant", "An answer.")
        for number in range(1, _NUM_TURNS):
            question = store.add(conversation.id, question.id, "user", f"Question {number} 😀 NEEDLE number {number}")
            question = store.add(conversation.id, question.id, "assistant", "An *answer*.\n\n" * 6)
        planted += [conversation.id, first.id, other.id]
    user.controller.shown.open_conversation(planted[0])
    _settle(user)
    user.window.find_bar.field.clear()
    user.window.composer.text.setFocus()
    user.window.action("find").trigger()
    assert user.window.focusWidget() is user.window.find_bar.field
    yield user.window.find_bar
    user.window.find_bar.field.clear()


def _settle(user: User) -> None:
    user.bot.waitUntil(lambda: is_at_rest(user.window.transcript), timeout=PATIENCE_MS)


def _highlights(user: User, message_id: MessageId) -> list[tuple[str, bool]]:
    """Return the highlighted texts of a message, each with whether it is the current hit."""
    accents = {QColor(theme(scheme).accent).name() for scheme in ("light", "dark")}
    return [
        (selection.cursor.selectedText(), selection.format.background().color().name() in accents)  # pyright: ignore[reportAttributeAccessIssue]
        for selection in user.view(message_id).text.extraSelections()
    ]


def _current_hits(user: User) -> list[tuple[MessageId, str]]:
    """Return the current hit in each view; there is at most one."""
    views = user.window.transcript.views
    return [
        (view.message.id, text)
        for view in views
        for text, is_current in _highlights(user, view.message.id)
        if is_current
    ]


def test_hits_are_counted_while_typing_and_stepped_through_by_enter(user: User, bar: FindBar) -> None:
    path = user.controller.shown.path
    user.bot.keyClicks(bar.field, "nee")
    _settle(user)
    # The end of the conversation was visible, so the last hit is the current one.
    assert bar.count.text() == f"{_NUM_TURNS} of {_NUM_TURNS}"
    assert _current_hits(user) == [(path[-2].id, "NEE")]
    user.bot.keyClick(bar.field, Qt.Key.Key_Return)
    _settle(user)
    # The search wraps from the last hit to the first, whose message had no view yet.
    assert bar.count.text() == f"1 of {_NUM_TURNS}"
    assert _current_hits(user) == [(path[1].id, "Nee")]
    view = user.view(path[1].id)
    assert user.window.transcript.viewport().rect().contains(view.geometry())
    user.bot.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    user.window.action("find_previous").trigger()
    user.window.action("find_next").trigger()
    _settle(user)
    assert bar.count.text() == f"{_NUM_TURNS} of {_NUM_TURNS}"
    user.bot.keyClicks(bar.field, "dles")
    assert bar.count.text() == "Not found"
    assert _current_hits(user) == []


def test_visible_hits_are_highlighted_after_characters_of_two_utf_16_units(user: User, bar: FindBar) -> None:
    bar.field.setText("needle NUMBER")
    _settle(user)
    questions = [view for view in user.window.transcript.views if "number" in view.message.text]
    assert questions
    for view in questions:
        assert [text for text, _ in _highlights(user, view.message.id)] == ["NEEDLE number"]


def test_hits_are_highlighted_in_views_created_while_scrolling(user: User, bar: FindBar) -> None:
    bar.field.setText("needle")
    scroll_bar = user.window.transcript.verticalScrollBar()
    scroll_bar.setValue(scroll_bar.maximum() // 2)
    _settle(user)
    questions = [view for view in user.window.transcript.views if view.message.role == "user"]
    assert questions
    assert all(_highlights(user, view.message.id) == [("NEEDLE", False)] for view in questions)


def test_hits_on_other_branches_are_counted_and_can_be_opened(user: User, bar: FindBar, planted: list[int]) -> None:
    bar.field.setText("needle")
    _settle(user)
    assert bar.elsewhere.isVisible()
    assert bar.elsewhere.text() == "2 on other branches ›"
    user.bot.mouseClick(bar.elsewhere, Qt.MouseButton.LeftButton)
    _settle(user)
    assert [message.id for message in user.controller.shown.path[1:]] == planted[1:]
    assert bar.count.text() == "2 of 3"
    # The rendered text has no Markdown markers.
    assert _highlights(user, planted[2]) == [("needle", True), ("needle", False)]
    assert bar.elsewhere.text() == f"{_NUM_TURNS - 1} on other branches ›"
    user.bot.mouseClick(bar.elsewhere, Qt.MouseButton.LeftButton)
    _settle(user)
    assert user.controller.shown.path[-1].id not in planted


def test_a_hit_in_a_thought_unfolds_it(user: User, bar: FindBar) -> None:
    store = user.application.store
    conversation, question = store.create_conversation("Thought", "", "And?")
    text = "<think>\nA needle in a haystack.\n</think>\n\nNo needle here."
    answer = store.add(conversation.id, question.id, "assistant", text)
    user.controller.shown.open_conversation(conversation.id)
    _settle(user)
    thought = user.view(answer.id).thought
    assert thought is not None
    assert not thought.is_open
    bar.field.setText("needle here")
    assert not thought.is_open
    assert _highlights(user, answer.id) == [("needle here", True)]
    bar.field.setText("needle")
    assert thought.is_open
    assert thought.text is not None
    assert [selection.cursor.selectedText() for selection in thought.text.extraSelections()] == ["needle"]  # pyright: ignore[reportAttributeAccessIssue]
    assert _highlights(user, answer.id) == [("needle", False)]
    user.bot.keyClick(bar.field, Qt.Key.Key_Return)
    assert _highlights(user, answer.id) == [("needle", True)]
    user.bot.keyClick(bar.field, Qt.Key.Key_Escape)
    assert thought.text.extraSelections() == []


def test_escape_closes_the_bar_removes_the_highlights_and_restores_the_focus(user: User, bar: FindBar) -> None:
    bar.field.setText("needle")
    _settle(user)
    lit = user.controller.shown.path[-2].id
    assert _highlights(user, lit)
    user.bot.keyClick(bar.field, Qt.Key.Key_Escape)
    assert not bar.isVisible()
    assert _highlights(user, lit) == []
    assert user.window.focusWidget() is user.window.composer.text


def test_closing_a_search_from_a_message_focuses_the_message_of_the_hit(user: User, bar: FindBar) -> None:
    user.bot.keyClick(bar.field, Qt.Key.Key_Escape)
    user.window.transcript.walk(-1)
    user.window.action("find").trigger()
    bar.field.setText("number 30")
    _settle(user)
    user.bot.keyClick(bar.field, Qt.Key.Key_Escape)
    focused = user.window.transcript.focused_message_id
    assert focused is not None
    assert user.controller.shown.message(focused).text.endswith("number 30")


def test_find_starts_with_the_selected_text(user: User, bar: FindBar) -> None:
    user.bot.keyClick(bar.field, Qt.Key.Key_Escape)
    question = user.controller.shown.path[1].id
    assert user.window.transcript.focus(question)
    text = user.view(question).text
    cursor = text.textCursor()
    cursor.setPosition(0)
    cursor.movePosition(cursor.MoveOperation.EndOfWord, cursor.MoveMode.KeepAnchor)
    text.setTextCursor(cursor)
    user.window.action("find").trigger()
    assert bar.field.text() == cursor.selectedText() == "Needle"
    assert bar.count.text().startswith("1 of ")


def test_messages_added_while_the_bar_is_open_are_searched_too(user: User, bar: FindBar) -> None:
    user.controller.shown.new_conversation()
    assert not bar.isVisible()
    user.ask("What is a branch?")
    user.window.action("find").trigger()
    bar.field.setText("a branch?")
    assert bar.count.text() == "1 of 1"
    user.ask("And is that a branch?")
    assert bar.count.text().endswith("of 2")
    bar.closed.emit()


@settings(max_examples=100)
@given(st.text("aAbßİSs😀", max_size=30), st.text("aAbßSs", min_size=1, max_size=3))
def test_hits_match_regardless_of_case(text: str, wanted: str) -> None:
    found = occurrences(text, wanted.casefold())
    assert len(found) == text.casefold().count(wanted.casefold())
    for start, end in found:
        assert wanted.casefold() in text[start:end].casefold()


def test_a_part_of_many_hits_equals_that_part_of_all_hits() -> None:
    random = Random(7)
    for _ in range(300):
        text = "".join(random.choices("aßbA.", k=random.randrange(30)))
        query = "".join(random.choices("asb.", k=random.randrange(1, 3)))
        found = occurrences(text, query)
        assert num_occurrences(text, query) == len(found)
        first, number = random.randrange(6), random.randrange(6)
        assert occurrences(text, query, first, number) == found[first : first + number]
