"""Tokens of an answer that streams: tinted as they arrive, and not computed while they are hidden."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.model.message import MessageId
from app.model.token_pieces import TokenPiece, token_pieces
from app.ui.message.message_view import MessageView
from app.ui.transcript.transcript import Transcript
from tests.app.desk import Desk
from tests.waiting import PATIENCE_MS
from worker.protocol import Alternative, Choice, Chunk, Finished, Generate, Retract, Timing, Token, Usage

_WORDS = ("One", " **two**", "\n\n", "thr", "ee", " 東", "京", " 😀", ".")


@pytest.fixture
def transcript(transcript: Transcript, desk: Desk) -> Transcript:
    desk.controller.send("u1")
    return transcript


def _token(number: int, num_chars: int) -> Token:
    other = Alternative(id=200 + number, text="other", logprob=-2.0)
    return Token(id=100 + number, logprob=-0.25, top=[other], num_chars=num_chars)


def _tokens() -> list[Token]:
    return [_token(number, len(word)) for number, word in enumerate(_WORDS)]


def _say(desk: Desk, text: str, tokens: Sequence[Token]) -> None:
    request = desk.link.asked[-1]
    desk.link.say(Chunk(request_id=request.request_id, choice=0, text=text, tokens=list(tokens)))


def _finish(desk: Desk, request: Generate) -> None:
    choice = Choice(
        text="".join(_WORDS),
        token_ids=[token.id for token in _tokens()],
        num_recut=0,
        seed=3,
        reason="eos",
        turn_token_ids=[token.id for token in _tokens()],
        turn_token_chars=[len(word) for word in _WORDS],
    )
    desk.link.say(Finished(request_id=request.request_id, choices=[choice], usage=Usage(), timing=Timing()))


def _view(transcript: Transcript) -> MessageView:
    view = transcript.view(transcript.message_ids[-1])
    assert view is not None
    return view


def _tinted(transcript: Transcript) -> list[str]:
    """Return the text of each tinted token."""
    view = _view(transcript)
    view.render_appended()
    assert view.text.tokens is not None
    return [view.text.content[piece.start : piece.end] for piece in view.text.tokens.pieces]


def test_tokens_are_tinted_as_they_arrive_and_match_the_recorded_ones_at_the_end(
    desk: Desk, transcript: Transcript
) -> None:
    transcript.modes.show_tokens(True)
    for number, (word, token) in enumerate(zip(_WORDS, _tokens(), strict=True), 1):
        _say(desk, word, [token])
        assert _tinted(transcript) == list(_WORDS[:number])
    reader = _view(transcript).text.tokens
    assert reader is not None
    growing = list(reader.pieces)
    _finish(desk, desk.link.asked[-1])
    assert token_pieces(desk.controller.shown.path[-1]) == growing
    assert _tinted(transcript) == list(_WORDS)


def test_a_token_whose_text_is_held_back_is_tinted_once_the_text_is_shown(desk: Desk, transcript: Transcript) -> None:
    transcript.modes.show_tokens(True)
    first, second, third = (_token(number, num_chars) for number, num_chars in enumerate((3, 4, 1)))
    # The end of the second token's text may be the beginning of a stop string.
    _say(desk, "One tw", [first, second])
    assert _tinted(transcript) == ["One"]
    _say(desk, "o.", [third])
    assert _tinted(transcript) == ["One", " two", "."]


def test_all_tokens_of_one_character_are_tinted_when_the_last_one_arrives(desk: Desk, transcript: Transcript) -> None:
    transcript.modes.show_tokens(True)
    _say(desk, "a", [_token(0, 1), _token(1, 0)])
    assert _tinted(transcript) == ["a"]
    _say(desk, "京b", [_token(2, 1), _token(3, 1)])
    assert _tinted(transcript) == ["a", "京", "京", "b"]


def test_retracted_text_is_no_longer_tinted(desk: Desk, transcript: Transcript) -> None:
    transcript.modes.show_tokens(True)
    _say(desk, "One two", [_token(0, 3), _token(1, 4)])
    assert _tinted(transcript) == ["One", " two"]
    request = desk.link.asked[-1]
    desk.link.say(Retract(request_id=request.request_id, choice=0, num_chars=4, num_tokens=1))
    assert _tinted(transcript) == ["One"]
    _say(desk, " six", [_token(5, 4)])
    assert _tinted(transcript) == ["One", " six"]


def test_toggling_the_mode_while_an_answer_streams_keeps_its_text(desk: Desk, transcript: Transcript) -> None:
    _say(desk, "One ", [_token(0, 4)])
    _view(transcript).render_appended()
    _say(desk, "two", [_token(1, 3)])
    transcript.modes.show_tokens(True)
    assert _tinted(transcript) == ["One ", "two"]
    assert _view(transcript).text.content == "One two"
    transcript.modes.show_tokens(False)
    _say(desk, ".", [_token(2, 1)])
    _view(transcript).render_appended()
    assert _view(transcript).text.tokens is None
    assert _view(transcript).text.content == "One two."
    _view(transcript).toggle_raw()
    assert _view(transcript).text.content == "One two."


def test_tokens_are_not_computed_while_they_are_hidden(desk: Desk, transcript: Transcript) -> None:
    asked: list[MessageId] = []

    def tokens_so_far(message_id: MessageId) -> Sequence[TokenPiece]:
        asked.append(message_id)
        return desk.controller.shown.tokens_so_far(message_id)

    transcript.modes.tokens_so_far = tokens_so_far
    _say(desk, "One", [_token(0, 3)])
    _view(transcript).render_appended()
    assert asked == []
    transcript.modes.show_tokens(True)
    assert asked == [transcript.message_ids[-1]]


def test_a_token_stays_selected_while_the_answer_streams_and_after_it_ends(
    desk: Desk, transcript: Transcript, qtbot: QtBot
) -> None:
    transcript.modes.show_tokens(True)
    transcript.activateWindow()
    qtbot.waitUntil(transcript.isActiveWindow, timeout=PATIENCE_MS)
    words, tokens = "".join(_WORDS[:4]), _tokens()
    _say(desk, words, tokens[:4])
    _view(transcript).render_appended()
    text = _view(transcript).text
    text.setFocus()
    reader = text.tokens
    assert reader is not None
    for _ in range(2):
        qtbot.keyClick(text, Qt.Key.Key_Right)
    assert reader.current == 1
    # Nothing can be forked before the answer has ended.
    chosen: list[int] = []
    reader.chosen.connect(chosen.append)
    qtbot.keyClick(text, Qt.Key.Key_Down)
    qtbot.keyClick(text, Qt.Key.Key_Return)
    assert chosen == []
    qtbot.keyClick(text, Qt.Key.Key_Right)
    assert reader.current == 2
    _say(desk, "".join(_WORDS[4:]), tokens[4:])
    _view(transcript).render_appended()
    assert reader.current == 2
    _finish(desk, desk.link.asked[-1])
    assert reader.current == 2
    assert reader.popover is not None
    assert reader.popover.isVisible()
