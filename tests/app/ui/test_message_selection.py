"""Selecting several messages by mouse, keys and menu, and copying them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication

from app.model.message import MessageId
from app.ui.message.message_view import MessageView
from app.ui.parts.qt_workarounds import leave_plain_text_on_clipboard
from tests.app.ui.conftest import User
from tests.app.ui.waiting import is_at_rest
from tests.waiting import PATIENCE_MS

_NUM_TURNS = 40
_COMMAND = Qt.KeyboardModifier.ControlModifier
_NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture(scope="module")
def planted() -> Iterator[list[int]]:
    """The long conversation, once `ids` has created it."""
    yield []
    leave_plain_text_on_clipboard()


@pytest.fixture
def ids(user: User, planted: list[int]) -> list[MessageId]:
    """Show the end of a long conversation and return the ids of its messages."""
    if not planted:
        store = user.application.store
        conversation, message = store.create_conversation("Long", "", "Question 0")
        for number in range(1, _NUM_TURNS):
            message = store.add(conversation.id, message.id, "assistant", f"**Answer** {number}\n\nwith two parts")
            message = store.add(conversation.id, message.id, "user", f"Question {number}")
        planted.append(conversation.id)
    user.controller.shown.open_conversation(planted[0])
    user.window.transcript.selection.clear()
    _settle(user)
    return list(user.window.transcript.message_ids)


def _settle(user: User) -> None:
    user.bot.waitUntil(lambda: is_at_rest(user.window.transcript), timeout=PATIENCE_MS)


def _mouse(kind: QEvent.Type, view: MessageView, over: MessageView) -> None:
    """Send a mouse event to the view where the button was pressed, with the pointer over another view."""
    at = over.mapToGlobal(QPoint(60, over.height() // 2))
    local = view.text.viewport().mapFromGlobal(at)
    held = Qt.MouseButton.NoButton if kind == QEvent.Type.MouseButtonRelease else Qt.MouseButton.LeftButton
    button = Qt.MouseButton.NoButton if kind == QEvent.Type.MouseMove else Qt.MouseButton.LeftButton
    event = QMouseEvent(kind, QPointF(local), QPointF(at), button, held, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(view.text.viewport(), event)


def _looks_selected(user: User) -> list[MessageId]:
    views = user.window.transcript.views
    return [
        view.message.id
        for view in views
        if view.text.textCursor().selectionEnd() - view.text.textCursor().selectionStart()
        == view.text.document().characterCount() - 1
        > 0
    ]


def test_dragging_to_another_message_selects_both_and_all_between(user: User, ids: list[MessageId]) -> None:
    first, last = user.view(ids[-3]), user.view(ids[-1])
    _mouse(QEvent.Type.MouseButtonPress, first, first)
    _mouse(QEvent.Type.MouseMove, first, last)
    assert list(user.window.transcript.selection.ids) == ids[-3:]
    assert _looks_selected(user) == ids[-3:]
    _mouse(QEvent.Type.MouseMove, first, user.view(ids[-2]))
    assert list(user.window.transcript.selection.ids) == ids[-3:-1]
    assert _looks_selected(user) == ids[-3:-1]
    _mouse(QEvent.Type.MouseButtonRelease, first, first)
    user.bot.keyClick(first.text, Qt.Key.Key_C, _COMMAND)
    number = _NUM_TURNS - 2
    assert QGuiApplication.clipboard().text() == (
        f"You\n\nQuestion {number}\n\nAnswer\n\n**Answer** {number + 1}\n\nwith two parts"
    )
    markdown = bytes(QGuiApplication.clipboard().mimeData().data("text/markdown").data()).decode()
    assert markdown == f"## You\n\nQuestion {number}\n\n## Answer\n\n**Answer** {number + 1}\n\nwith two parts\n"


def test_dragging_back_selects_text_within_the_message_again(user: User, ids: list[MessageId]) -> None:
    first = user.view(ids[-4])
    _mouse(QEvent.Type.MouseButtonPress, first, first)
    start = first.text.textCursor().position()
    _mouse(QEvent.Type.MouseMove, first, user.view(ids[-2]))
    _mouse(QEvent.Type.MouseMove, first, first)
    assert user.window.transcript.selection.ids == ()
    assert first.text.textCursor().anchor() == start
    _mouse(QEvent.Type.MouseButtonRelease, first, first)
    _mouse(QEvent.Type.MouseMove, first, user.view(ids[-2]))
    assert user.window.transcript.selection.ids == ()


def test_dragging_beyond_the_edge_scrolls_and_extends_the_selection(user: User, ids: list[MessageId]) -> None:
    transcript = user.window.transcript
    start = transcript.reveal(ids[20])
    _settle(user)
    assert start is not None
    before = transcript.verticalScrollBar().value()
    _mouse(QEvent.Type.MouseButtonPress, start, start)
    at = transcript.mapToGlobal(QPoint(200, transcript.height() + 400))
    local = QPointF(start.text.viewport().mapFromGlobal(at))
    move = QMouseEvent(
        QEvent.Type.MouseMove, local, QPointF(at), Qt.MouseButton.NoButton, Qt.MouseButton.LeftButton, _NONE
    )
    QApplication.sendEvent(start.text.viewport(), move)
    user.bot.waitUntil(lambda: len(transcript.selection.ids) >= 18, timeout=PATIENCE_MS)
    _mouse(QEvent.Type.MouseButtonRelease, start, start)
    assert transcript.verticalScrollBar().value() > before
    assert transcript.selection.ids[0] == ids[20]


def test_alt_shift_up_extends_the_selection_and_alt_shift_down_shrinks_it(user: User, ids: list[MessageId]) -> None:
    transcript = user.window.transcript
    user.window.composer.text.setFocus()
    for number in range(1, 25):
        user.window.action("select_above").trigger()
        assert list(transcript.selection.ids) == ids[-number:]
    assert transcript.focused_message_id == ids[-24]
    user.window.action("select_below").trigger()
    assert list(transcript.selection.ids) == ids[-23:]
    _settle(user)
    assert set(_looks_selected(user)) <= set(ids[-23:])
    text = user.view(ids[-23]).text
    user.bot.keyClick(text, Qt.Key.Key_Escape)
    assert transcript.selection.ids == ()
    assert _looks_selected(user) == []


def test_ctrl_a_selects_a_message_and_then_all_messages_even_without_views(user: User, ids: list[MessageId]) -> None:
    transcript = user.window.transcript
    text = user.view(ids[-1]).text
    text.setFocus()
    user.bot.keyClick(text, Qt.Key.Key_A, _COMMAND)
    assert transcript.selection.ids == ()
    assert _looks_selected(user) == [ids[-1]]
    user.bot.keyClick(text, Qt.Key.Key_A, _COMMAND)
    assert list(transcript.selection.ids) == ids
    transcript.verticalScrollBar().setValue(0)
    _settle(user)
    # A message scrolled into view is also drawn as selected.
    assert ids[2] in _looks_selected(user)
    user.window.action("copy_messages").trigger()
    copied = QGuiApplication.clipboard().text()
    assert all(f"Question {number}" in copied for number in range(_NUM_TURNS))
    assert copied.startswith("You\n\nQuestion 0\n\nAnswer\n\n**Answer** 1")


def test_a_click_or_another_branch_clears_the_selection(user: User, ids: list[MessageId]) -> None:
    transcript = user.window.transcript
    transcript.selection.select_all()
    view = user.view(ids[-2])
    _mouse(QEvent.Type.MouseButtonPress, view, view)
    _mouse(QEvent.Type.MouseButtonRelease, view, view)
    assert transcript.selection.ids == ()
    assert _looks_selected(user) == []
    transcript.selection.select_all()
    user.controller.shown.new_conversation()
    assert transcript.selection.ids == ()


def test_without_a_selection_the_branch_is_copied_and_the_menu_says_so(user: User, ids: list[MessageId]) -> None:
    copy = user.window.action("copy_messages")
    assert copy.text() == "Copy all messages"
    copy.trigger()
    assert QGuiApplication.clipboard().text().count("Question") == _NUM_TURNS
    user.window.transcript.selection.extend(-1)
    assert copy.text() == "Copy selected messages"
    user.window.transcript.selection.clear()
    assert copy.text() == "Copy all messages"


_COPYING = """
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from app.application import make_qt_application
from app.model.message import Message
from app.ui.transcript.message_selection import copied

application = make_qt_application([])
QGuiApplication.clipboard().setMimeData(copied([Message(id=1, parent_id=None, role="user", text="words")]))
QTimer.singleShot(0, application.quit)
application.exec()
print(QGuiApplication.clipboard().text())
"""


def test_the_program_exits_cleanly_with_messages_on_the_clipboard() -> None:
    done = subprocess.run([sys.executable, "-c", _COPYING], capture_output=True, text=True, check=True)
    assert done.stdout == "You\n\nwords\n"
