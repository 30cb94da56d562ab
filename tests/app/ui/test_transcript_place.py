"""The reading position is kept when another branch is shown, and no empty page appears below the last message."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.model.message import MessageId
from app.ui.transcript.transcript import Transcript
from tests.app.desk import Desk
from tests.app.ui.waiting import is_at_rest
from tests.waiting import PATIENCE_MS

_BELOW_PX = 24
_LONG = "A paragraph of some words.\n\n" * 12


def _seen(transcript: Transcript) -> dict[MessageId, int]:
    """Return the distance of each visible message from the top of the page, in pixels."""
    height = transcript.viewport().height()
    return {view.message.id: view.y() for view in transcript.views if -view.height() < view.y() < height}


def _ends_at_the_lower_edge(transcript: Transcript) -> bool:
    bottom = transcript.views[-1].geometry().bottom() + 1
    return transcript.views[-1].message.id == transcript.message_ids[-1] and (
        bottom + _BELOW_PX == transcript.viewport().height()
    )


def _two_versions(desk: Desk) -> tuple[MessageId, MessageId]:
    """Create a long version of an answer, with more messages below it, and a short one. The long one is shown."""
    desk.ask("One", _LONG)
    long = desk.ask("Two", _LONG)
    desk.ask("Three", _LONG)
    desk.controller.regenerate(long.id)
    short = desk.answer("Short.")
    desk.controller.shown.choose_sibling(short.id, -1)
    return long.id, short.id


def test_a_shorter_version_ends_at_the_bottom_and_the_longer_one_returns_to_its_position(
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
    # Scrolling the short version moves the long one as well.
    transcript.step_sibling(long, 1)
    transcript.verticalScrollBar().setValue(transcript.verticalScrollBar().value() - 30)
    place = _seen(transcript)[short]
    transcript.step_sibling(short, -1)
    assert _seen(transcript)[long] == place


def test_pruning_leaves_no_empty_page_and_undo_restores_the_position(desk: Desk, transcript: Transcript) -> None:
    desk.ask("One", _LONG)
    desk.ask("Two", _LONG[: len(_LONG) // 2])
    question = desk.by_text("Two").id
    # Not at the very end, which the page would follow.
    transcript.verticalScrollBar().setValue(transcript.verticalScrollBar().maximum() - 5)
    before = _seen(transcript)
    assert question in before
    answer = transcript.message_ids[-1]
    desk.controller.prune(answer)
    assert transcript.message_ids[-1] == question
    assert _ends_at_the_lower_edge(transcript)
    desk.controller.undo()
    assert _seen(transcript) == before


def test_a_regenerated_answer_has_the_position_of_the_old_one_and_room_to_grow(
    desk: Desk, transcript: Transcript
) -> None:
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


def test_a_wider_page_whose_last_answer_gets_lower_stays_filled(desk: Desk, transcript: Transcript) -> None:
    transcript.resize(330, 500)
    desk.ask("One", "words " * 600)
    desk.ask("Two", "words " * 150)
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() - 60)
    transcript.resize(800, 500)
    assert _ends_at_the_lower_edge(transcript)


def test_a_wider_page_keeps_its_position_below_an_empty_message(desk: Desk, transcript: Transcript) -> None:
    desk.ask("One", _LONG * 3)
    transcript.verticalScrollBar().setValue(30)
    system, question = (view for view in transcript.views if view.message.role != "assistant")
    assert system.message.text == ""
    assert system.y() < 0 < system.geometry().bottom()
    before = _seen(transcript)
    transcript.resize(1000, 700)
    assert _seen(transcript)[question.message.id] == before[question.message.id]


def test_tab_scrolls_the_focused_button_into_view_in_a_message_higher_than_the_page(
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
    for key in (*[Qt.Key.Key_Tab] * 5, *[Qt.Key.Key_Backtab] * 4):
        focus = transcript.focusWidget()
        assert focus is not None
        qtbot.keyClick(focus, key)
        focus = transcript.focusWidget()
        assert focus is not None
        qtbot.waitUntil(partial(is_seen, focus), timeout=PATIENCE_MS)
        names.append(focus.accessibleName() or focus.property("text"))
    assert view.footer.figure is not None
    above = ["Copy code", "Scroll code horizontally", view.footer.figure.text()]
    assert names == [*above, "Edit", "Regenerate", "Edit", *reversed(above)]


def test_a_narrower_page_keeps_its_position_below_the_actions_of_a_message(desk: Desk, transcript: Transcript) -> None:
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


def test_regaining_the_focus_from_a_window_or_menu_does_not_scroll(
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
