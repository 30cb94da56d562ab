"""What a screen reader and a keyboard find: every control has a name, text is not cut off, focus reaches all."""

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

from tests.app.ui.conftest import Person

_CONTROLS = (QAbstractButton, QAbstractSpinBox, QLineEdit, QPlainTextEdit, QTextEdit, QAbstractItemView)


def _visible(root: QWidget, kinds: tuple[type[QWidget], ...]) -> list[QWidget]:
    found = [widget for widget in root.findChildren(QWidget) if isinstance(widget, kinds) and widget.isVisible()]
    return [widget for widget in found if not widget.objectName().startswith("qt_")]


def test_every_control_has_a_name(person: Person) -> None:
    person.ask("What is a branch?")
    person.press(person.controller.shown.path[1].id, "e")
    controls = _visible(person.window, _CONTROLS)
    assert len(controls) > 10
    nameless = [
        control
        for control in controls
        if not (control.accessibleName() or (isinstance(control, QAbstractButton) and control.text()))
    ]
    assert nameless == []
    person.bot.keyClick(person.window.focusWidget(), Qt.Key.Key_Escape)


def test_a_message_is_read_with_its_role_and_version(person: Person) -> None:
    first = person.ask("What is a branch?")
    person.press(first.id, "r")
    second = person.answer()
    assert person.view(second.id).text.accessibleName() == "Answer, version 2 of 2"
    assert person.view(person.controller.shown.path[1].id).text.accessibleName() == "You"
    assert second.text.split()[0] in person.view(second.id).text.toPlainText()


def test_no_label_and_no_button_is_cut_off(person: Person) -> None:
    person.ask("How do I fork a message?")
    for width in (1280, 820, 560):
        person.window.resize(width, 700)
        person.bot.waitUntil(lambda width=width: person.window.width() == width, timeout=10_000)
        for widget in _visible(person.window, (QLabel, QAbstractButton)):
            text = widget.text() if isinstance(widget, QLabel | QAbstractButton) else ""
            wraps = isinstance(widget, QLabel) and widget.wordWrap()
            if text and not wraps and widget.objectName() != "title":
                assert widget.width() >= widget.fontMetrics().horizontalAdvance(text), (width, text)
            if wraps and text and isinstance(widget, QLabel):
                assert widget.height() >= widget.heightForWidth(widget.width()) - 1, (width, text)


def test_tab_reaches_composer_sidebar_and_the_actions_of_a_message(person: Person) -> None:
    person.ask("What is a branch?")
    person.window.composer.text.setFocus()
    reached: set[QWidget] = set()
    for _ in range(60):
        focus = person.window.focusWidget()
        if focus in reached:
            break
        reached.add(focus)
        person.bot.keyClick(focus, Qt.Key.Key_Tab)
    assert person.window.composer.text in reached
    assert person.window.sidebar.list in reached
    assert person.view(person.controller.shown.path[-1].id).text in reached
    labels = {widget.text() for widget in reached if isinstance(widget, QAbstractButton)}
    assert {"Edit", "Regenerate", "Fork", "Copy"} <= labels


def test_tab_leads_from_a_message_to_its_versions_its_actions_and_the_next_message(person: Person) -> None:
    first = person.ask("What is a branch?")
    person.press(first.id, "r")
    second = person.answer()
    person.ask("How do I fork?")
    person.view(second.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    walked: list[str] = []
    for _ in range(7):
        person.bot.keyClick(person.window.focusWidget(), Qt.Key.Key_Tab)
        focus = person.window.focusWidget()
        walked.append(focus.text() or focus.accessibleName() if isinstance(focus, QAbstractButton) else "message")
    # There is no later version to go to.
    assert walked == ["Previous version", "Edit", "Regenerate", "Fork", "Copy", "More actions", "message"]
    assert person.window.focusWidget() is person.view(person.controller.shown.path[3].id).text


def _walked(person: Person) -> list[int]:
    """The messages that Tab comes to, from the first one down, until it leaves them."""
    transcript = person.window.transcript
    assert transcript.focus(_said(person)[0])
    walked: list[int] = []
    while (message_id := transcript.focused_message_id) is not None:
        focus = person.window.focusWidget()
        if focus is person.view(message_id).text:
            if message_id in walked:
                break
            walked.append(message_id)
        person.bot.keyClick(focus, Qt.Key.Key_Tab)
    return walked


def _said(person: Person) -> list[int]:
    return [message.id for message in person.controller.shown.path if message.role != "system"]


def test_tab_goes_through_the_messages_from_top_to_bottom_whatever_branch_is_shown(person: Person) -> None:
    for _ in range(3):
        person.ask("What is a branch?")
    assert _walked(person) == _said(person)
    first = person.controller.shown.path[2]
    person.press(first.id, "r")
    assert _walked(person) == _said(person)
    second = person.answer()
    person.window.transcript.step_sibling(second.id, -1)
    assert len(_said(person)) == 6
    assert _walked(person) == _said(person)
    person.press(first.id, "f")
    person.ask("How do I fork a message?")
    assert _walked(person) == _said(person)


def test_tab_goes_through_a_long_conversation_from_top_to_bottom(person: Person) -> None:
    store = person.application.store
    conversation, message = store.create_conversation("Long", "", "Question 0")
    for number in range(60):
        message = store.add(conversation.id, message.id, "user", f"Question {number + 1}")
    person.controller.shown.open_conversation(conversation.id)
    person.ask("What is a branch?")
    assert len(person.window.transcript.views) < 60
    assert _walked(person) == _said(person)
