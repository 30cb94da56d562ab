"""The tokens mode and forking inside an answer, in the real window with the real worker."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import pytest
from PySide6.QtCore import Qt

from app.model.message import ORIGINS, Message
from app.model.token_pieces import TokenPiece, token_pieces
from app.ui.text.token_tint import TokenLegend
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS


@pytest.fixture
def tokens(user: User) -> Iterator[User]:
    user.window.action("tokens").trigger()
    yield user
    if user.window.action("tokens").isChecked():
        user.window.action("tokens").trigger()


def _fork_of(user: User, answer: Message) -> Message:
    """Wait until the newest sibling has ended and return it."""
    fork = user.answer()
    assert fork.id != answer.id
    assert user.controller.shown.siblings(answer.id)[-1] == fork.id
    return fork


def test_the_tokens_mode_is_stored_requests_alternatives_and_tints_streamed_tokens(tokens: User) -> None:
    assert tokens.application.controller.program.settings.tokens_visible
    growing: list[list[TokenPiece]] = []

    def look(message_id: int) -> None:
        reader = tokens.view(message_id).text.tokens
        if reader is not None and tokens.controller.shown.is_streaming(message_id):
            growing.append(list(reader.pieces))

    tokens.window.transcript.text_changed.connect(look)
    answer = tokens.ask("What is a branch?")
    while not growing:  # On a busy machine an answer may arrive all at once.
        answer = tokens.ask("What is a branch?")
    tokens.window.transcript.text_changed.disconnect(look)
    assert growing[-1]
    assert all(pieces == token_pieces(answer)[: len(pieces)] for pieces in growing)
    assert answer.record is not None
    # The memory use is recorded too; it includes at least the model's weights.
    assert answer.record.figures.memory_bytes > 1 << 20
    figure = tokens.view(answer.id).footer.figure
    assert figure is not None
    assert figure.text().endswith("tokens/s")
    assert "memory" in figure.accessibleDescription()
    tokens.application.program.preferences.change(all_figures=True)
    cost = tokens.view(answer.id).footer.cost
    assert cost is not None
    assert not figure.isVisible()
    assert "memory" in cost.text()
    # A number and its unit are never on different lines.
    assert re.search(r"\d [^·]", cost.text()) is None
    assert "The model used up to" in cost.toolTip()
    tokens.application.program.preferences.change(all_figures=False)
    assert figure.isVisible()
    assert answer.record.top_logprobs == 5
    pieces = token_pieces(answer)
    assert pieces
    assert all(len(piece.alternatives) == 5 for piece in pieces)
    reader = tokens.view(answer.id).text.tokens
    assert reader is not None
    assert list(reader.pieces) == pieces
    # The legend is above the messages and covers none of them.
    transcript = tokens.window.transcript
    (legend,) = transcript.findChildren(TokenLegend)
    assert legend.isVisible()
    assert legend.geometry().bottom() < transcript.viewport().y()
    tokens.window.action("tokens").trigger()
    assert transcript.viewport().y() == 0
    assert tokens.view(answer.id).text.tokens is None
    assert not tokens.application.controller.program.settings.tokens_visible


def test_choosing_another_token_by_keys_forks_there_and_continues(tokens: User) -> None:
    answer = tokens.ask("How do I fork a message?")
    assert answer.record is not None
    view = tokens.view(answer.id)
    view.text.setFocus()
    for _ in range(4):
        tokens.bot.keyClick(view.text, Qt.Key.Key_Right)
    reader = view.text.tokens
    assert reader is not None
    assert reader.current == 3
    tokens.bot.keyClick(view.text, Qt.Key.Key_Down)
    assert reader.popover is not None
    chosen = reader.popover.marked_id
    assert chosen is not None
    tokens.bot.keyClick(view.text, Qt.Key.Key_Return)
    fork = _fork_of(tokens, answer)
    assert fork.record is not None
    assert fork.record.token_ids[:4] == (*answer.record.token_ids[:3], chosen)
    assert fork.record.origins[3] == ORIGINS["chosen"]
    assert fork.record.logprobs[:3] == answer.record.logprobs[:3]
    assert fork.record.alternatives[3] == answer.record.alternatives[3]
    kept = sum(answer.record.token_chars[:3])
    assert fork.text[:kept] == answer.text[:kept]
    assert fork.text != answer.text
    assert sum(fork.record.token_chars) == len(fork.text)
    assert fork.record.figures.kept_tokens > 0
    tokens.window.action("undo").trigger()
    tokens.bot.waitUntil(lambda: tokens.controller.shown.path[-1].id == answer.id, timeout=PATIENCE_MS)


def test_choosing_the_end_token_ends_the_answer_there(tokens: User) -> None:
    # With this many alternatives the end token is among them at some position.
    tokens.controller.preparation.set_generation(
        msgspec.structs.replace(tokens.controller.preparation.generation, top_logprobs=20)
    )
    answer = tokens.ask("What is a branch?")
    ends = [
        (piece.index, other.id)
        for piece in token_pieces(answer)
        for other in piece.alternatives
        if not other.text and piece.index > 0
    ]
    assert ends
    index, token_id = ends[-1]
    tokens.controller.forks.fork_at_token(answer.id, index, token_id)
    fork = tokens.answer()
    assert fork.state == "complete"
    assert fork.text == answer.text[: token_pieces(answer)[index].start]


def test_continuing_from_the_cursor_keeps_the_text_before_it(user: User) -> None:
    answer = user.ask("What is a branch?")
    view = user.view(answer.id)
    words = answer.text.split()
    found = view.text.document().find(words[4])
    cursor = view.text.textCursor()
    # The cursor is inside a word, which needs token healing.
    cursor.setPosition(found.selectionStart() + 2)
    view.text.setTextCursor(cursor)
    view.text.setFocus()
    kept = answer.text[: view.text.source_position]
    assert kept.endswith(words[4][:2])
    user.bot.keyClick(view.text, Qt.Key.Key_C)
    fork = _fork_of(user, answer)
    assert fork.text.startswith(kept)
    # Greedy sampling gives the same text as before.
    assert fork.text == answer.text
    assert user.controller.shown.message(answer.id).text == answer.text
