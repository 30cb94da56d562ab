"""Decorations of a message's text: bullets, quote bars, rules, and the position of code frames."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QRect, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.text.block_writer import LIST_INDENT_PX, QUOTE_INDENT_PX
from app.ui.text.message_text import MessageText
from app.ui.theme import theme
from tests.app.ui.waiting import is_idle
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS

_WIDTH_PX = 600


@pytest.fixture
def text(qapp: QApplication, qtbot: QtBot) -> MessageText:
    assert qapp is not None
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.resize(_WIDTH_PX, 100)
    text.show()
    return text


def _place(text: MessageText, words: str) -> QRect:
    cursor = text.document().find(words)
    assert not cursor.isNull(), words
    cursor.setPosition(cursor.selectionStart())
    return text.cursorRect(cursor)


def test_bullets_keep_their_distance_and_every_second_level_is_hollow(text: MessageText) -> None:
    text.set_text("- one\n  - two\n    - three\n- four\n\n1. five")
    bullets = text.ornaments.bullets()
    assert [is_filled for _, is_filled, _ in bullets] == [True, False, True, True]
    for (bullet, _, _), words in zip(bullets, ("one", "two", "three", "four"), strict=True):
        place = _place(text, words)
        assert 8 <= place.left() - bullet.right() <= 12
        assert place.top() < bullet.top() < bullet.bottom() < place.bottom()


def test_bullets_of_right_to_left_text_are_on_the_right(text: MessageText) -> None:
    text.set_text("- ראשון")
    ((bullet, _, _),) = text.ornaments.bullets()
    assert _WIDTH_PX - LIST_INDENT_PX <= bullet.left() < bullet.right() < _WIDTH_PX


def test_a_bullet_has_the_colour_of_its_text(text: MessageText) -> None:
    text.set_text("- said\n\n> - quoted")
    (_, _, plain), (_, _, quoted) = text.ornaments.bullets()
    assert (plain.name(), quoted.name()) == (theme("light").text.lower(), theme("light").quiet_text.lower())


def test_a_quote_has_one_bar_along_its_whole_height(text: MessageText) -> None:
    text.set_text("> one\n>\n> > inner\n>\n> ```\n> code\n> ```\n>\n> last\n\nafter\n\n> another")
    # Bars of inner quotes, which end first, come first.
    inner, outer, another = text.ornaments.quote_bars()
    assert outer.top() <= _place(text, "one").top()
    assert outer.bottom() >= _place(text, "last").bottom() - 1
    assert outer.bottom() < _place(text, "after").top()
    assert inner.left() == outer.left() + QUOTE_INDENT_PX
    assert inner.top() > _place(text, "one").bottom() - 1
    assert inner.bottom() < _place(text, "code").top()
    assert another.top() > outer.bottom()


def test_a_right_to_left_quote_has_its_bar_and_indent_on_the_right(text: MessageText) -> None:
    text.set_text("> ציטוט")
    (bar,) = text.ornaments.quote_bars()
    assert bar.left() > _WIDTH_PX - QUOTE_INDENT_PX
    assert _place(text, "ציטוט").right() <= bar.left()


@pytest.mark.parametrize(
    ("source", "inset_px"),
    [
        ("```\ncode\n```", 0),
        ("- item\n\n  ```\n  code\n  ```", LIST_INDENT_PX),
        ("> ```\n> code\n> ```", QUOTE_INDENT_PX),
    ],
)
def test_code_is_indented_like_the_text_around_it(text: MessageText, source: str, inset_px: int) -> None:
    text.set_text("```\ncode\n```")
    outermost = _place(text, "code").left()
    text.set_text(source)
    assert _place(text, "code").left() == outermost + inset_px


@pytest.mark.parametrize("source", ["```\ncode\n```\n", "| a |\n|---|\n| code |\n"])
def test_a_text_that_ends_in_a_frame_has_only_a_margin_below_it(text: MessageText, source: str) -> None:
    text.set_text(source)
    assert text.height() - _place(text, "code").bottom() <= 24
    text.set_text("")
    for character in source:
        text.append(character)
    assert text.height() - _place(text, "code").bottom() <= 24


def test_a_rule_is_a_thin_line_in_the_line_colour(text: MessageText) -> None:
    text.viewport().setStyleSheet("background: white")
    text.set_text("above\n\n---\n\nbelow")
    rule = text.document().begin().next()
    place = text.document().documentLayout().blockBoundingRect(rule).toAlignedRect()
    image = text.grab(place).toImage()
    ratio = image.height() / place.height()
    colours = [image.pixelColor(image.width() // 2, y).name() for y in range(image.height())]
    others = [colour for colour in colours if colour != colours[0]]
    assert len(others) == round(ratio)
    assert set(others) == {theme("light").line.lower()}


@pytest.mark.parametrize(("num_chars", "step"), [(210_000, 21_000), *in_long_runs([(2_000_000, 100_000)])])
@pytest.mark.parametrize("is_raw", [False, True])
def test_an_endless_word_streams_in_and_the_page_stays_responsive(
    text: MessageText, qtbot: QtBot, num_chars: int, step: int, is_raw: bool
) -> None:
    # Nothing is painted: in the window, only what is visible would be.
    text.hide()
    text.set_text("", is_raw=is_raw)
    text.set_caret(True)
    for _ in range(num_chars // step):
        text.append("x" * step)
    qtbot.waitUntil(lambda: is_idle(text), timeout=60_000)
    text.set_caret(False)
    answered: list[bool] = []
    QTimer.singleShot(0, text, lambda: answered.append(True))
    qtbot.waitUntil(lambda: bool(answered), timeout=PATIENCE_MS)
    assert len(text.content) == num_chars
    shown = text.toPlainText()
    assert min(num_chars, 200_000) <= shown.count("x") <= min(num_chars, 202_000)
    assert text.num_hidden == num_chars - shown.count("x")
    assert max(map(len, re.split("[\u200b\n]", shown))) <= 1_000
    assert text.horizontalScrollBar().maximum() == 0
