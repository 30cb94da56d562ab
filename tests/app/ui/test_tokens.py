"""The tokens of an answer: their position, the popover with their alternatives, and choosing another one."""

from __future__ import annotations

import itertools
import math

import pytest
from msgspec import structs
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QKeyEvent, QMouseEvent, QTextDocument
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.model.message import Alternative, Message, Record
from app.model.token_pieces import token_pieces
from app.ui.message.message_action import ForkAtToken, MessageAction
from app.ui.message.message_view import MessageView
from app.ui.message.shown_message import DisplayModes, ShownMessage
from app.ui.text.token_popover import visible_token
from app.ui.text.token_tint import TokenTint
from app.ui.theme import theme
from tests.waiting import PATIENCE_MS

_WORDS = ("One", " **two**", "\n\n", "thr", "ee", " 東", "京", " 😀", "é", ".")


def _message(words: tuple[str, ...] = _WORDS, message_id: int = 7) -> Message:
    alternatives = tuple(
        (
            Alternative(100 + index, word, math.log(0.75)),
            Alternative(200 + index, f"other {index}", math.log(0.2)),
            Alternative(300 + index, "", math.log(0.05)),
        )
        for index, word in enumerate(words)
    )
    record = Record(
        token_ids=tuple(100 + index for index in range(len(words))),
        token_chars=tuple(map(len, words)),
        origins=("sfhdcsssss" * len(words))[: len(words)],
        logprobs=tuple(math.log(0.75) for _ in words),
        alternatives=alternatives,
    )
    return Message(id=message_id, parent_id=None, role="assistant", text="".join(words), record=record)


@pytest.fixture
def view(qapp: QApplication, qtbot: QtBot) -> MessageView:
    assert qapp is not None
    modes = DisplayModes()
    modes.show_tokens(True)
    shown = ShownMessage(_message(), (7,), [MessageAction.CONTINUE], is_streaming=False, is_last=True, modes=modes)
    view = MessageView(shown, theme("light"))
    qtbot.addWidget(view)
    view.resize(500, 300)
    view.show()
    view.activateWindow()
    qtbot.waitUntil(view.isActiveWindow, timeout=PATIENCE_MS)
    view.text.setFocus()
    return view


def test_the_mode_shows_the_source_and_can_be_left(view: MessageView) -> None:
    modes = view.shown.modes
    assert modes is not None
    assert view.text.toPlainText() == "".join(_WORDS)
    modes.show_tokens(False)
    assert view.text.toPlainText() != "".join(_WORDS)
    assert view.text.tokens is None
    modes.show_tokens(True)
    assert view.text.tokens is not None


def test_missing_token_data_is_mentioned_below_the_answer(view: MessageView) -> None:
    assert view.footer.cost is None
    message = _message()
    assert message.record is not None
    bare = structs.replace(message.record, logprobs=(), alternatives=())
    for record, words in ((bare, "probabilities not recorded"), (Record(), "tokens unknown")):
        number = view.message.id + 1
        view.show_message(structs.replace(view.shown, message=structs.replace(message, id=number, record=record)))
        cost = view.footer.cost
        assert cost is not None
        assert cost.isVisible()
        assert cost.text() == words
        # Without recorded tokens, the text stays rendered.
        assert (view.text.toPlainText() == "".join(_WORDS)) == bool(record.token_ids)
    modes = view.shown.modes
    assert modes is not None
    modes.show_tokens(False)
    assert not cost.isVisible()


def _position(tint: TokenTint, index: int) -> int:
    """Return the document position of a token."""
    return next(position for position in itertools.count() if tint.index_at(position) == index)


def test_each_token_is_located_at_its_text(view: MessageView) -> None:
    document = view.text.document()
    tint = TokenTint(document, "".join(_WORDS), token_pieces(_message()))
    for index, word in enumerate(_WORDS):
        position = _position(tint, index)
        assert tint.index_at(position) == index
        if word.strip():
            place = tint.rect(index).center().toPoint()
            at = view.text.cursorForPosition(place).position()
            assert index in {tint.index_at(at), tint.index_at(at - 1)}
    rects = [tint.rect(index) for index in range(5, len(_WORDS))]
    assert all(left.right() <= right.left() + 1 for left, right in itertools.pairwise(rects))


def test_tokens_of_one_character_share_its_range(qapp: QApplication) -> None:
    assert qapp is not None
    record = Record(token_ids=(1, 2, 3), token_chars=(1, 0, 1), origins="sss")
    message = Message(id=1, parent_id=None, role="assistant", text="a京", record=record)
    assert [(piece.start, piece.end) for piece in token_pieces(message)] == [(0, 1), (1, 2), (1, 2)]


def test_tokens_that_do_not_match_the_text_are_ignored() -> None:
    message = _message()
    for text in ("", message.text + "x"):
        other = Message(id=1, parent_id=None, role="assistant", text=text, record=message.record)
        assert token_pieces(other) == []


def test_break_opportunities_in_long_runs_do_not_shift_tokens(qapp: QApplication) -> None:
    assert qapp is not None
    words = ("x" * 700, "y" * 700, "z" * 700, " end")
    modes = DisplayModes()
    modes.show_tokens(True)
    shown = ShownMessage(_message(words), (7,), (), is_streaming=False, is_last=True, modes=modes)
    view = MessageView(shown, theme("light"))
    tint = TokenTint(view.text.document(), "".join(words), token_pieces(_message(words)))
    raw = view.text.document().toRawText()
    assert raw.count("\u200b") == 2
    assert [raw[_position(tint, index)] for index in range(4)] == ["x", "y", "z", " "]


def test_arrow_keys_step_through_the_tokens_and_enter_chooses_an_alternative(view: MessageView, qtbot: QtBot) -> None:
    chosen: list[tuple[int, object]] = []
    view.action_requested.connect(lambda *args: chosen.append(args))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    reader = view.text.tokens
    assert reader is not None
    for _ in range(2):
        qtbot.keyClick(view.text, Qt.Key.Key_Right)
    assert reader.current == 1
    popover = reader.popover
    assert popover is not None
    assert popover.isVisible()
    names = [row.accessibleName() for row in popover.rows]
    assert names == ["␣**two**, 75 %, chosen", "other␣1, 20 %", "end here, 5.0 %"]
    # Each sentence of the hint fits on one line.
    hint = next(label for label in popover.findChildren(QLabel) if "Enter" in label.text())
    assert hint.heightForWidth(hint.width()) == hint.heightForWidth(4 * hint.width())
    qtbot.keyClick(view.text, Qt.Key.Key_Return)
    assert chosen == []
    qtbot.keyClick(view.text, Qt.Key.Key_Down)
    qtbot.keyClick(view.text, Qt.Key.Key_Return)
    assert chosen == [(7, ForkAtToken(1, 201))]
    assert not popover.isVisible()


def test_escape_closes_only_the_popover(view: MessageView, qtbot: QtBot) -> None:
    pressed: list[object] = []
    view.text.key_pressed.connect(pressed.append)
    reader = view.text.tokens
    assert reader is not None
    qtbot.keyClick(view.text, Qt.Key.Key_Right)
    assert reader.current == 0
    qtbot.keyClick(view.text, Qt.Key.Key_Escape)
    assert reader.current is None
    assert pressed == []


def _point_at(view: MessageView, place: QPoint) -> None:
    viewport = view.text.viewport()
    none = Qt.MouseButton.NoButton
    at, on_screen = QPointF(place), QPointF(viewport.mapToGlobal(place))
    moved = QMouseEvent(QEvent.Type.MouseMove, at, on_screen, none, none, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(viewport, moved)


def test_pointing_at_a_token_shows_its_alternatives_and_a_click_chooses_one(view: MessageView, qtbot: QtBot) -> None:
    chosen: list[tuple[int, object]] = []
    view.action_requested.connect(lambda *args: chosen.append(args))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    reader = view.text.tokens
    assert reader is not None
    tint = TokenTint(view.text.document(), "".join(_WORDS), token_pieces(_message()))
    _point_at(view, tint.rect(4).center().toPoint())
    qtbot.waitUntil(lambda: reader.current == 4, timeout=PATIENCE_MS)
    assert reader.popover is not None
    qtbot.mouseClick(reader.popover.rows[0], Qt.MouseButton.LeftButton)
    assert chosen == []
    qtbot.mouseClick(reader.popover.rows[1], Qt.MouseButton.LeftButton)
    assert chosen == [(7, ForkAtToken(4, 204))]
    _point_at(view, QPoint(-10, -10))
    assert reader.current is None
    # Without a current token Escape is left to the window, where it stops the answer.
    escape = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(view.text, escape)
    assert not escape.isAccepted()
    _point_at(view, tint.rect(4).center().toPoint())
    qtbot.waitUntil(lambda: reader.current == 4, timeout=PATIENCE_MS)
    QApplication.sendEvent(view.text, escape)
    assert escape.isAccepted()


def test_a_surprising_token_has_a_stronger_underline(qapp: QApplication) -> None:
    assert qapp is not None
    message = _message(("expected ", "surprising"))
    assert message.record is not None
    record = Record(
        token_ids=message.record.token_ids,
        token_chars=message.record.token_chars,
        origins="ss",
        logprobs=(math.log(0.99), math.log(0.01)),
    )
    shown_message = Message(id=1, parent_id=None, role="assistant", text=message.text, record=record)
    pieces = token_pieces(shown_message)
    surprises = [piece.surprise for piece in pieces]
    assert surprises[0] is not None
    assert surprises[1] is not None
    assert surprises[0] < 0.01 < 0.8 < surprises[1]
    modes = DisplayModes()
    modes.show_tokens(True)
    view = MessageView(
        ShownMessage(shown_message, (1,), (), is_streaming=False, is_last=True, modes=modes), theme("light")
    )
    view.resize(500, 200)
    view.show()
    tint = TokenTint(view.text.document(), message.text, pieces)
    image: QImage = view.text.grab().toImage()

    def depth(index: int) -> int:
        rect = tint.rect(index)
        x = round(rect.center().x())
        return sum(
            image.pixelColor(x, y).lightness() < 200 for y in range(round(rect.bottom()) - 6, round(rect.bottom()))
        )

    assert depth(1) > depth(0)
    view.deleteLater()


def test_invisible_characters_are_shown_as_symbols() -> None:
    assert visible_token(" a\n\t") == "␣a↵⇥"


def test_a_document_with_other_text_has_no_matching_tokens(qapp: QApplication) -> None:
    assert qapp is not None
    document = QTextDocument()
    document.setPlainText("One")
    tint = TokenTint(document, "".join(_WORDS), token_pieces(_message()))
    assert len(tint.pieces) == 1
    document.setPlainText("a\r\nb")
    assert TokenTint(document, "a\r\nb", token_pieces(_message(("a", "\r\n", "b")))).pieces == []
