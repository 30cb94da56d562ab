"""Screen readers and the keyboard: every control has a name, no text is cut off, and the focus reaches everything."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS

_CONTROLS = (QAbstractButton, QAbstractSpinBox, QLineEdit, QPlainTextEdit, QTextEdit, QAbstractItemView)


def _visible(root: QWidget, kinds: tuple[type[QWidget], ...]) -> list[QWidget]:
    found = [widget for widget in root.findChildren(QWidget) if isinstance(widget, kinds) and widget.isVisible()]
    return [widget for widget in found if not widget.objectName().startswith("qt_")]


def test_every_control_has_a_name(user: User) -> None:
    user.ask("What is a branch?")
    user.press(user.controller.shown.path[1].id, "e")
    controls = _visible(user.window, _CONTROLS)
    assert len(controls) > 10
    nameless = [
        control
        for control in controls
        if not (control.accessibleName() or (isinstance(control, QAbstractButton) and control.text()))
    ]
    assert nameless == []
    user.bot.keyClick(user.window.focusWidget(), Qt.Key.Key_Escape)


def test_a_message_is_announced_with_its_role_and_version(user: User) -> None:
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    second = user.answer()
    assert user.view(second.id).text.accessibleName() == "Answer, version 2 of 2"
    assert user.view(user.controller.shown.path[1].id).text.accessibleName() == "You"
    assert second.text.split()[0] in user.view(second.id).text.toPlainText()


def test_no_label_or_button_is_cut_off(user: User) -> None:
    user.ask("How do I fork a message?")
    for width in (1280, 820, 560):
        user.window.resize(width, 700)
        user.bot.waitUntil(lambda width=width: user.window.width() == width, timeout=PATIENCE_MS)
        for widget in _visible(user.window, (QLabel, QAbstractButton)):
            text = widget.text() if isinstance(widget, QLabel | QAbstractButton) else ""
            wraps = isinstance(widget, QLabel) and widget.wordWrap()
            if text and not wraps and widget.objectName() != "title":
                assert widget.width() >= widget.fontMetrics().horizontalAdvance(text), (width, text)
            if wraps and text and isinstance(widget, QLabel):
                assert widget.height() >= widget.heightForWidth(widget.width()) - 1, (width, text)


def test_tab_reaches_the_composer_the_sidebar_and_the_actions_of_a_message(user: User) -> None:
    user.ask("What is a branch?")
    user.window.composer.text.setFocus()
    reached: set[QWidget] = set()
    for _ in range(60):
        focus = user.window.focusWidget()
        if focus in reached:
            break
        reached.add(focus)
        user.bot.keyClick(focus, Qt.Key.Key_Tab)
    assert user.window.composer.text in reached
    assert user.window.sidebar.list in reached
    assert user.view(user.controller.shown.path[-1].id).text in reached
    labels = {widget.text() for widget in reached if isinstance(widget, QAbstractButton)}
    assert {"Edit", "Regenerate", "Fork", "Continue", "Copy"} <= labels


def test_tab_leads_from_a_message_to_its_figure_its_versions_its_actions_and_the_next_message(user: User) -> None:
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    second = user.answer()
    user.ask("How do I fork?")
    user.view(second.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    walked: list[str] = []
    for _ in range(9):
        user.bot.keyClick(user.window.focusWidget(), Qt.Key.Key_Tab)
        focus = user.window.focusWidget()
        walked.append(focus.text() or focus.accessibleName() if isinstance(focus, QAbstractButton) else "message")
    # The button for the next version is disabled, because there is no next version.
    figure = user.view(second.id).footer.figure
    assert figure is not None
    assert walked == [
        figure.text(),
        "Previous version",
        "Edit",
        "Regenerate",
        "Fork",
        "Continue",
        "Copy",
        "More actions",
        "message",
    ]
    assert user.window.focusWidget() is user.view(user.controller.shown.path[3].id).text


def _walked(user: User) -> list[int]:
    """Return the messages that Tab reaches, starting at the first one, until the focus leaves them."""
    transcript = user.window.transcript
    assert transcript.focus(_message_ids(user)[0])
    walked: list[int] = []
    while (message_id := transcript.focused_message_id) is not None:
        focus = user.window.focusWidget()
        if focus is user.view(message_id).text:
            if message_id in walked:
                break
            walked.append(message_id)
        user.bot.keyClick(focus, Qt.Key.Key_Tab)
    return walked


def _message_ids(user: User) -> list[int]:
    return [message.id for message in user.controller.shown.path if message.role != "system"]


def test_tab_visits_the_messages_from_top_to_bottom_on_any_branch(user: User) -> None:
    for _ in range(3):
        user.ask("What is a branch?")
    assert _walked(user) == _message_ids(user)
    first = user.controller.shown.path[2]
    user.press(first.id, "r")
    assert _walked(user) == _message_ids(user)
    second = user.answer()
    user.window.transcript.step_sibling(second.id, -1)
    assert len(_message_ids(user)) == 6
    assert _walked(user) == _message_ids(user)
    user.press(first.id, "f")
    user.ask("How do I fork a message?")
    assert _walked(user) == _message_ids(user)


def test_tab_visits_a_long_conversation_from_top_to_bottom(user: User) -> None:
    store = user.application.store
    conversation, message = store.create_conversation("Long", "", "Question 0")
    for number in range(60):
        message = store.add(conversation.id, message.id, "user", f"Question {number + 1}")
    user.controller.shown.open_conversation(conversation.id)
    user.ask("What is a branch?")
    assert len(user.window.transcript.views) < 60
    assert _walked(user) == _message_ids(user)
