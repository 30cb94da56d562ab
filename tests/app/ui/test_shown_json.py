"""An answer that is JSON is shown as indented code while it streams; what is copied is what the model wrote."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.model.message import Constraint, Message, Record
from app.ui.message.message_view import MessageView
from app.ui.message.shown_message import ShownMessage
from app.ui.text.message_text import MessageText
from app.ui.theme import theme
from tests.app.ui import screen_reader

_SOURCE = '{"name": "Ada Lovelace","born":1815, "tags":["a b", {"deep": null}]}'
_LAID_OUT = json.dumps(json.loads(_SOURCE), indent=2)


@pytest.fixture
def text(qapp: QApplication, qtbot: QtBot) -> MessageText:
    assert qapp is not None
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.resize(600, 100)
    text.show()
    return text


def _shown(text: MessageText) -> str:
    return text.toPlainText()


def test_json_streams_in_as_code(text: MessageText) -> None:
    text.set_text("")
    text.set_caret(True)
    for character in _SOURCE:
        text.append(character)
        assert _LAID_OUT.startswith(_shown(text)) or text.content == "{"
    text.set_caret(False)
    assert _shown(text) == _LAID_OUT
    assert text.content == _SOURCE
    assert len(text.frames.code) == 1
    text.set_text(_SOURCE)
    assert _shown(text) == _LAID_OUT
    text.set_text(_SOURCE, is_raw=True)
    assert _shown(text) == _SOURCE


def test_json_after_a_thought_is_code(text: MessageText) -> None:
    text.set_text("<think>Hm.</think>\n")
    text.append(_SOURCE)
    assert _shown(text) == _LAID_OUT


def test_text_after_json_is_shown_as_prose(text: MessageText) -> None:
    text.set_text("")
    for piece in ('["a', '"]', "(link) **and** more"):
        text.append(piece)
    assert not text.frames.code
    assert "and more" in _shown(text)


@pytest.mark.parametrize("way", ["mouse", "keyboard", "reader"])
def test_copy_copies_the_models_own_text(text: MessageText, qtbot: QtBot, way: str) -> None:
    text.set_text(_SOURCE)
    button = text.frames.code[0].button
    if way == "mouse":
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    elif way == "keyboard":
        qtbot.keyClick(button, Qt.Key.Key_Space)
    else:
        screen_reader.press(qtbot, text, button.accessibleName())
    assert QGuiApplication.clipboard().text() == _SOURCE
    # The frame is used again for other code, which is copied as it is shown.
    text.set_text("```\nx = 1\n```")
    text.frames.code[0].button.click()
    assert QGuiApplication.clipboard().text() == "x = 1"


def test_a_selection_and_the_cursor_lead_to_the_source(text: MessageText) -> None:
    text.set_text(_SOURCE)
    cursor = text.document().find("Lovelace")
    text.setTextCursor(cursor)
    assert text.source_position == _SOURCE.index("Lovelace") + len("Lovelace")
    cursor.setPosition(cursor.selectionStart())
    cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
    text.setTextCursor(cursor)
    text.copy()
    assert QGuiApplication.clipboard().text() == _SOURCE[_SOURCE.index("Lovelace") :]


def test_an_answer_in_a_json_format_is_code_from_its_first_character(qapp: QApplication, qtbot: QtBot) -> None:
    assert qapp is not None
    record = Record(constraint=Constraint(kind="json_schema", value={}))
    message = Message(id=2, parent_id=1, role="assistant", text="42", state="complete", record=record)
    shown = ShownMessage(message=message, siblings=[2], actions=[], is_streaming=False, is_last=True)
    view = MessageView(shown, theme("light"))
    qtbot.addWidget(view)
    assert len(view.text.frames.code) == 1
