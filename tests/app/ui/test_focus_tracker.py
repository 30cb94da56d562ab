"""The focus tracker of a message, until its widget is deleted."""

from __future__ import annotations

import shiboken6
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.ui.message.message_view import FocusTracker
from tests.waiting import PATIENCE_MS


def test_a_widget_can_be_deleted_while_a_child_has_the_focus(qtbot: QtBot) -> None:
    widget = QWidget()
    part = QLineEdit(widget)
    FocusTracker(widget, part)
    widget.show()
    widget.activateWindow()
    qtbot.waitUntil(widget.isActiveWindow, timeout=PATIENCE_MS)
    part.setFocus()
    qtbot.waitUntil(part.hasFocus, timeout=PATIENCE_MS)
    # An exception in the event filter would fail the test.
    shiboken6.delete(widget)
    assert not shiboken6.isValid(part)
