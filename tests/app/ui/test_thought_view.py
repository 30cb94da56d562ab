"""Thoughts in messages: folded with their duration, opened by click and key, and shown raw on request."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.model.message import Figures, Message, Record
from app.ui.message.message_action import MessageAction
from app.ui.message.message_view import MessageView
from app.ui.message.shown_message import DisplayModes, ShownMessage
from app.ui.theme import theme

_TEXT = "<think>\nFirst *this*.\n</think>\n\nThe **answer**."


def _message(text: str, message_id: int = 1) -> Message:
    record = Record(figures=Figures(new_tokens=12, tokens_per_s=2.0, prompt_tokens=5))
    return Message(id=message_id, parent_id=None, role="assistant", text=text, record=record)


def _shown(message: Message, modes: DisplayModes | None = None, *, is_streaming: bool = False) -> ShownMessage:
    return ShownMessage(message, (message.id,), (), is_streaming=is_streaming, is_last=True, modes=modes)


@pytest.fixture
def view(qapp: QApplication, qtbot: QtBot) -> MessageView:
    assert qapp is not None
    view = MessageView(_shown(_message(_TEXT)), theme("light"))
    qtbot.addWidget(view)
    view.resize(500, 300)
    view.show()
    return view


def test_a_thought_is_folded_and_shows_its_duration(view: MessageView) -> None:
    assert view.text.content == _TEXT
    assert view.text.toPlainText() == "The answer."
    assert view.thought is not None
    assert view.thought.button.text() == "Thought for 4 s"
    assert view.thought.text is None
    view.thought.button.click()
    assert view.thought.text is not None
    assert view.thought.text.isVisible()
    assert view.thought.text.toPlainText() == "First this."
    view.thought.button.click()
    assert not view.thought.text.isVisible()


def test_marks_that_the_user_names_fold_the_thoughts_of_answers_on_the_page(qapp: QApplication, qtbot: QtBot) -> None:
    assert qapp is not None
    named: dict[str, tuple[str, str]] = {}
    modes = DisplayModes(marks_of=named.get)
    message = Message(
        id=1, parent_id=None, role="assistant", text="<hm>Well.</hm>The answer.", record=Record(model="/one")
    )
    view = MessageView(_shown(message, modes), theme("light"))
    qtbot.addWidget(view)
    assert view.thought is None
    named["/one"] = ("<hm>", "</hm>")
    view.show_message(_shown(message, modes))
    assert view.thought is not None
    assert view.text.toPlainText() == "The answer."
    # The same while it streams in, with a mark that comes in two parts.
    growing = replace(message, id=2, text="")
    streaming = MessageView(_shown(growing, modes, is_streaming=True), theme("light"))
    qtbot.addWidget(streaming)
    for part in ("<h", "m>Well.", "</hm>The answer."):
        streaming.append_text(part)
        streaming.render_appended()
        assert "<h" not in streaming.text.toPlainText()
    assert streaming.text.toPlainText() == "The answer."


def test_a_thought_is_opened_by_keys(view: MessageView, qtbot: QtBot) -> None:
    assert view.thought is not None
    view.text.setFocus()
    qtbot.keyClick(view.text, Qt.Key.Key_T)
    assert view.thought.is_open
    qtbot.keyClick(view.thought.button, Qt.Key.Key_Return)
    assert not view.thought.is_open


def test_raw_text_shows_the_whole_source(view: MessageView, qtbot: QtBot) -> None:
    qtbot.keyClick(view.text, Qt.Key.Key_M)
    assert view.text.toPlainText() == _TEXT
    assert view.thought is not None
    assert not view.thought.isVisible()
    qtbot.keyClick(view.text, Qt.Key.Key_M)
    assert view.text.toPlainText() == "The answer."
    assert view.thought.isVisible()


def test_a_reused_view_restores_how_each_message_was_shown(view: MessageView) -> None:
    modes = DisplayModes()
    view.show_message(_shown(_message(_TEXT), modes))
    view.toggle_thought()
    view.show_message(_shown(_message("plain **text**", 2), modes))
    assert view.thought is not None
    assert not view.thought.isVisible()
    view.toggle_raw()
    assert view.text.toPlainText() == "plain **text**"
    view.show_message(_shown(_message(_TEXT), modes))
    assert view.thought.is_open
    assert view.thought.isVisible()
    view.show_message(_shown(_message("plain **text**", 2), modes))
    assert view.text.toPlainText() == "plain **text**"


def test_a_streamed_thought_is_separated_from_the_answer(view: MessageView) -> None:
    view.show_message(_shown(_message("", 3), is_streaming=True))
    seen: set[tuple[str, str]] = set()
    for character in _TEXT:
        view.append_text(character)
        view.render_appended()
        line = view.thought.button.text() if view.thought is not None and view.thought.isVisible() else ""
        seen.add((line.split(" for")[0], view.text.toPlainText()))
    assert {text for line, text in seen if line == "Thinking…"} == {""}
    assert {text for line, text in seen if not line} == {""}
    assert ("Thought", "The answer.") in seen
    view.show_message(_shown(_message(_TEXT, 3)))
    assert view.text.toPlainText() == "The answer."


def test_a_thought_without_an_opening_tag_is_folded_when_it_ends(view: MessageView) -> None:
    text = "Hm, so\n</think>\n\nYes."
    view.show_message(_shown(_message("", 3), is_streaming=True))
    for character in text:
        view.append_text(character)
        view.render_appended()
    assert view.text.toPlainText() == "Yes."
    assert view.thought is not None
    assert view.thought.isVisible()


def test_streamed_raw_text_is_appended(view: MessageView) -> None:
    modes = DisplayModes()
    modes.raw.add(3)
    view.show_message(_shown(_message("", 3), modes, is_streaming=True))
    text = "# a\r\n\n\u2029<think> " + "x" * 2_100 + "\n"
    for start in range(0, len(text), 45):
        view.append_text(text[start : start + 45])
        view.render_appended()
    whole = MessageView(_shown(_message(text, 3), modes), theme("light"))
    assert view.text.toPlainText() == whole.text.toPlainText()
    assert view.text.toPlainText().count("\u200b") == 2


def test_tab_goes_from_the_text_to_its_thought_code_figure_and_actions(view: MessageView) -> None:
    text = "<think>a</think>\n\n```\none\n```\n\n```\ntwo\n```\n"
    view.show_message(
        ShownMessage(_message(text), (1, 2), (MessageAction.EDIT, MessageAction.COPY), is_streaming=False, is_last=True)
    )
    assert view.thought is not None
    place: QWidget | None = view.text
    stops: list[QWidget] = []
    for _ in range(12):
        place = place.nextInFocusChain() if place is not None else None
        if place is not None and place.focusPolicy() & Qt.FocusPolicy.TabFocus and place.isVisible():
            stops.append(place)
    buttons = [frame.button for frame in view.text.frames.code]
    assert stops[:4] == [view.thought.button, *buttons, view.footer.figure]
    assert isinstance(stops[4], QToolButton)
    assert stops[4].accessibleName() == "Previous version"
