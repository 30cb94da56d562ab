"""A step of the tour: an answer token by token, and a fork at one of them."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.model.token_pieces import TokenPiece
from app.tour.visitor import UnexpectedError, Visitor, expect, figures_of
from app.ui.text.message_text import MessageText
from app.ui.text.token_reader import TokenReader

_SOME_TOKENS = 1
"""So much is kept before the fork."""


def fork_at_a_token(visitor: Visitor) -> dict[str, Any]:
    """Walk to a token that could have been another one, and take that."""
    visitor.press_key_of("tokens")
    visitor.press(visitor.view_of(visitor.controller.path[-1]), "R")
    answer = visitor.finished_answer()
    text = visitor.view_of(answer).text
    text.setFocus(Qt.FocusReason.TabFocusReason)
    if text.tokens is None:
        raise UnexpectedError("the tokens are not shown")
    index = _walk_to_an_open_one(text, text.tokens)
    before = answer.text[: text.tokens.pieces[index].start]
    _mark_another(text, text.tokens)
    visitor.picture("alternatives")
    QTest.keyClick(text, Qt.Key.Key_Return)
    forked = visitor.finished_answer()
    expect(forked.id != answer.id and answer.id in visitor.controller.siblings(forked.id), "the answer did not fork")
    expect(forked.text.startswith(before), "what stood before the token is another text")
    figures = figures_of(forked)
    visitor.picture("forked at a token")
    visitor.press_key_of("tokens")
    return {"token": index, **figures}


def _walk_to_an_open_one(text: MessageText, reader: TokenReader) -> int:
    """Go right to the token that the model was least sure of; return its place."""
    places = range(_SOME_TOKENS, len(reader.pieces))
    target = max(places, key=lambda place: _second_share(reader.pieces[place]), default=0)
    expect(bool(reader.pieces[target].alternatives), "no alternatives are known")
    for _ in reader.pieces:
        QTest.keyClick(text, Qt.Key.Key_Right)
        if reader.current == target:
            return target
    raise UnexpectedError("the keys do not walk the tokens")


def _second_share(piece: TokenPiece) -> float:
    shares = [alternative.logprob for alternative in piece.choices if alternative.logprob is not None]
    return sorted(shares)[-2] if len(shares) > 1 else -math.inf


def _mark_another(text: MessageText, reader: TokenReader) -> None:
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Up):
        QTest.keyClick(text, key)
        if reader.popover is not None and reader.popover.marked_id is not None:
            return
    raise UnexpectedError("no other token can be marked")
