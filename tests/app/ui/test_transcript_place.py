"""What is read keeps its place as another branch takes the page, as far as there is anything to show below it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.model.message import MessageId
from app.ui.transcript.transcript import Transcript
from tests.app.desk import Desk
from tests.app.ui.conftest import PATIENCE_MS
from tests.app.ui.waiting import is_at_rest

_BELOW_PX = 24
_LONG = "A paragraph of some words.\n\n" * 12


def _seen(transcript: Transcript) -> dict[MessageId, int]:
    """How far below the page's upper edge each message begins that is in sight."""
    height = transcript.viewport().height()
    return {view.message.id: view.y() for view in transcript.views if -view.height() < view.y() < height}


def _ends_at_the_lower_edge(transcript: Transcript) -> bool:
    bottom = transcript.views[-1].geometry().bottom() + 1
    return transcript.views[-1].message.id == transcript.message_ids[-1] and (
        bottom + _BELOW_PX == transcript.viewport().height()
    )


def _two_versions(desk: Desk) -> tuple[MessageId, MessageId]:
    """A conversation whose second answer has a long version, with more below it, and a short one; the long one first.

    The long one is shown.
    """
    desk.ask("One", _LONG)
    long = desk.ask("Two", _LONG)
    desk.ask("Three", _LONG)
    desk.controller.regenerate(long.id)
    short = desk.answer("Short.")
    desk.controller.shown.choose_sibling(short.id, -1)
    return long.id, short.id


def test_a_shorter_version_leaves_no_empty_page_below_it_and_the_longer_one_comes_back_to_its_place(
    desk: Desk, transcript: Transcript
) -> None:
    long, short = _two_versions(desk)
    view = transcript.reveal(long)
    assert view is not None
    transcript.verticalScrollBar().setValue(transcript.verticalScrollBar().value() + view.y() - 40)
    before = _seen(transcript)
    assert before[long] == 40
    transcript.step_sibling(long, 1)
    assert short in _seen(transcript)
    assert _ends_at_the_lower_edge(transcript)
    transcript.step_sibling(short, -1)
    assert _seen(transcript) == before
    # Whoever goes on from where he is now is at another place, and finds that one.
    transcript.step_sibling(long, 1)
    transcript.verticalScrollBar().setValue(transcript.verticalScrollBar().value() - 30)
    place = _seen(transcript)[short]
    transcript.step_sibling(short, -1)
    assert _seen(transcript)[long] == place


def test_what_is_taken_back_leaves_no_empty_page_and_is_where_it_was_when_it_comes_again(
    desk: Desk, transcript: Transcript
) -> None:
    desk.ask("One", _LONG)
    desk.ask("Two", _LONG[: len(_LONG) // 2])
    question = desk.by_text("Two").id
    # Not at the end: there one would stay.
    transcript.verticalScrollBar().setValue(transcript.verticalScrollBar().maximum() - 5)
    before = _seen(transcript)
    assert question in before
    answer = transcript.message_ids[-1]
    desk.controller.prune(answer)
    assert transcript.message_ids[-1] == question
    assert _ends_at_the_lower_edge(transcript)
    desk.controller.undo()
    assert _seen(transcript) == before


def test_an_answer_asked_for_again_has_room_to_grow_where_the_old_one_began(desk: Desk, transcript: Transcript) -> None:
    desk.ask("One", _LONG)
    old = desk.ask("Two", _LONG)
    view = transcript.reveal(old.id)
    assert view is not None
    transcript.verticalScrollBar().setValue(transcript.verticalScrollBar().value() + view.y() - 50)
    place = _seen(transcript)[old.id]
    desk.controller.regenerate(old.id)
    new = transcript.message_ids[-1]
    assert _seen(transcript)[new] == place
    desk.answer("Short.")
    assert _seen(transcript)[new] == place


def test_a_wider_page_on_which_the_last_answer_is_lower_shows_nothing_below_it(
    desk: Desk, transcript: Transcript
) -> None:
    transcript.resize(330, 500)
    desk.ask("One", "words " * 600)
    desk.ask("Two", "words " * 150)
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() - 60)
    transcript.resize(800, 500)
    assert _ends_at_the_lower_edge(transcript)


def test_a_wider_page_shows_the_same_message_where_nothing_is_written_in_the_one_above(
    desk: Desk, transcript: Transcript
) -> None:
    desk.ask("One", _LONG * 3)
    transcript.verticalScrollBar().setValue(30)
    system, question = (view for view in transcript.views if view.message.role != "assistant")
    assert system.message.text == ""
    assert system.y() < 0 < system.geometry().bottom()
    before = _seen(transcript)
    transcript.resize(1000, 700)
    assert _seen(transcript)[question.message.id] == before[question.message.id]


def test_what_tab_leads_to_is_in_sight_at_the_end_of_a_message_higher_than_the_page(
    desk: Desk, transcript: Transcript, qtbot: QtBot
) -> None:
    answer = desk.ask("One", f"```\n{'a long line ' * 20}\n```\n\n{_LONG * 3}")
    assert transcript.focus(answer.id)
    view = transcript.view(answer.id)
    assert view is not None

    def is_seen(widget: QWidget) -> bool:
        top = widget.mapTo(transcript.viewport(), QPoint(0, 0)).y()
        return top >= 0 and top + widget.height() <= transcript.viewport().height()

    qtbot.waitUntil(lambda: is_at_rest(transcript), timeout=PATIENCE_MS)
    names: list[str] = []
    for key in (*[Qt.Key.Key_Tab] * 4, *[Qt.Key.Key_Backtab] * 3):
        focus = transcript.focusWidget()
        assert focus is not None
        qtbot.keyClick(focus, key)
        focus = transcript.focusWidget()
        assert focus is not None
        qtbot.waitUntil(partial(is_seen, focus), timeout=PATIENCE_MS)
        names.append(focus.accessibleName() or focus.property("text"))
    code = ["Copy code", "Scroll the code sideways"]
    assert names == [*code, "Edit", "Regenerate", "Edit", *reversed(code)]


def test_a_narrower_page_stays_where_it_is_where_of_the_message_above_only_what_is_below_its_text_is_seen(
    desk: Desk, transcript: Transcript
) -> None:
    answer = desk.ask("One", _LONG)
    desk.ask("Two", _LONG * 2)
    question = desk.by_text("Two").id
    view = transcript.reveal(answer.id)
    assert view is not None
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.value() + view.geometry().bottom() - 8)
    assert view.text.geometry().bottom() < -view.y() < view.height()
    place = _seen(transcript)[question]
    transcript.resize(transcript.width() - 100, transcript.height())
    assert _seen(transcript)[question] == place


def test_who_read_on_elsewhere_finds_that_place_again_when_a_window_or_a_menu_gives_the_focus_back(
    desk: Desk, transcript: Transcript, qtbot: QtBot
) -> None:
    for question in ("One", "Two", "Three", "Four"):
        desk.ask(question, _LONG)
    transcript.activateWindow()
    qtbot.waitUntil(transcript.isActiveWindow, timeout=PATIENCE_MS)
    last = transcript.view(transcript.message_ids[-1])
    assert last is not None
    last.text.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(lambda: last.text.hasFocus() and is_at_rest(transcript), timeout=PATIENCE_MS)
    transcript.verticalScrollBar().setValue(30)
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow, timeout=PATIENCE_MS)
    transcript.activateWindow()
    qtbot.waitUntil(lambda: last.text.hasFocus() and is_at_rest(transcript), timeout=PATIENCE_MS)
    assert transcript.verticalScrollBar().value() == 30
    menu = QMenu(transcript)
    menu.addAction("One")
    menu.popup(transcript.mapToGlobal(transcript.rect().center()))
    qtbot.waitUntil(menu.isVisible, timeout=PATIENCE_MS)
    menu.close()
    qtbot.waitUntil(lambda: last.text.hasFocus() and is_at_rest(transcript), timeout=PATIENCE_MS)
    assert transcript.verticalScrollBar().value() == 30
