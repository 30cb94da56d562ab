"""Streamed text: an unfinished grapheme cluster is held back until it is complete, and nothing else is."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.model.message import Message
from app.ui.message.message_view import MessageView
from app.ui.message.shown_message import ShownMessage
from app.ui.text.growing_blocks import split_open_cluster
from app.ui.theme import theme

_FAMILY = "👩\u200d👩\u200d👧"
_FLAG = "🇩🇪"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain", "plain"),
        ("a👩", "a👩"),
        ("a👩\u200d", "a"),
        ("a👩\u200d👩\u200d", "a"),
        (f"a {_FAMILY}", f"a {_FAMILY}"),
        (f"{_FLAG}", _FLAG),
        (f"x{_FLAG[0]}", "x"),
        (f"{_FLAG}{_FLAG[0]}", _FLAG),
        ("cafe\u0301", "cafe\u0301"),
        ("क्\u200d", ""),
    ],
)
def test_an_unfinished_cluster_is_held_back(qapp: QApplication, text: str, shown: str) -> None:
    assert split_open_cluster(text) == (shown, text[len(shown) :])


def _view(qtbot: QtBot) -> MessageView:
    message = Message(id=1, parent_id=None, role="assistant", text="", state="streaming")
    view = MessageView(
        ShownMessage(message=message, siblings=(1,), actions=(), is_streaming=True, is_last=True), theme("light")
    )
    qtbot.addWidget(view)
    return view


def test_a_family_emoji_appears_as_a_whole(qtbot: QtBot) -> None:
    view = _view(qtbot)
    seen: list[str] = []
    for character in f"Look: {_FAMILY}!":
        view.append_text(character)
        view.render_appended()
        seen.append(view.text.content)
    assert "Look: 👩\u200d" not in seen
    assert "Look: " in seen
    assert seen[-1] == f"Look: {_FAMILY}!"


def test_held_back_text_is_shown_when_the_answer_ends(qtbot: QtBot) -> None:
    view = _view(qtbot)
    text = f"Half a flag: {_FLAG[0]}"
    view.append_text(text)
    view.render_appended()
    assert view.text.content == "Half a flag: "
    message = Message(id=1, parent_id=None, role="assistant", text=text, state="stopped")
    view.show_message(ShownMessage(message=message, siblings=(1,), actions=(), is_streaming=False, is_last=True))
    assert view.text.content == text


def test_a_combining_mark_joins_a_letter_that_is_already_shown(qtbot: QtBot) -> None:
    view = _view(qtbot)
    for piece in ("cafe", "\u0301", "!"):
        view.append_text(piece)
        view.render_appended()
    assert view.text.content == "cafe\u0301!"
