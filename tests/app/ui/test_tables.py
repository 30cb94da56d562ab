"""Tables, task lists and footnotes in a message."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRectF
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.text.block_writer import QUOTE_INDENT_PX
from app.ui.text.document_text import copied_text
from app.ui.text.message_text import MessageText
from app.ui.theme import theme
from tests.app.ui.waiting import is_idle
from tests.app.ui.wheel import turn_wheel
from tests.waiting import PATIENCE_MS

_FROM_RIGHT = "| עיר | תושבים | הערות |\n|:---|---:|---|\n| תל אביב | 460,613 | ליד הים |\n| Haifa | 285,316 | נמל |\n"
_WIDE = f"| {' | '.join(f'column {i}' for i in range(9))} |\n|{'---|' * 9}\n| {' | '.join(['some words'] * 9)} |\n"


@pytest.fixture
def text(qapp: QApplication, qtbot: QtBot) -> MessageText:
    assert qapp is not None
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.resize(500, 100)
    text.show()
    return text


def test_a_table_wider_than_the_page_scrolls_inside_its_frame(text: MessageText) -> None:
    text.set_text(f"before\n\n{_WIDE}\n" + "after " * 40)
    (frame,) = text.frames.tables
    assert frame.bar is not None
    assert text.horizontalScrollBar().maximum() == 0
    assert frame.rect.right() <= text.viewport().width()
    cell = text.document().find("column 3").block()
    before = text.document().documentLayout().blockBoundingRect(cell).left()
    turn_wheel(text, frame.rect.center(), notches=QPoint(-240, 0))
    after = text.document().documentLayout().blockBoundingRect(cell).left()
    assert before - after == frame.bar.value() > 0
    assert text.document().find("after").block().layout().lineCount() > 1


def test_headers_that_fit_their_columns_are_not_wrapped(text: MessageText) -> None:
    heads = ["first word", "tokens per second", "memory at most", "where it runs", "remarks of all kinds"]
    text.set_text(f"| {' | '.join(heads)} |\n|{'---|' * 5}\n| {' | '.join('12345')} |\n")
    assert text.frames.tables[0].bar is not None
    lines = [text.document().find(head).block().layout().lineCount() for head in heads]
    assert lines == [1] * len(heads)


def test_a_table_that_fits_has_no_scroll_bar(text: MessageText) -> None:
    text.set_text("| a | b |\n|---|---|\n| 1 | " + "words " * 60 + "|\n")
    (frame,) = text.frames.tables
    assert frame.bar is None
    assert frame.rect.right() <= text.viewport().width()
    assert frame.rect.bottom() < text.height()


def test_the_scroll_bar_of_a_table_follows_the_width_of_the_page(text: MessageText) -> None:
    text.set_text(_WIDE)
    (frame,) = text.frames.tables
    assert frame.bar is not None
    text.resize(1500, text.height())
    assert frame.bar is None
    text.resize(500, text.height())
    assert frame.bar is not None


def test_a_streamed_table_has_the_size_of_one_set_as_a_whole(text: MessageText, qtbot: QtBot) -> None:
    for start in range(0, len(_WIDE), 7):
        text.append(_WIDE[start : start + 7])
    qtbot.waitUntil(lambda: is_idle(text), timeout=PATIENCE_MS)
    whole = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(whole)
    whole.resize(500, 100)
    whole.show()
    whole.set_text(_WIDE)
    assert text.frames.tables[0].rect == whole.frames.tables[0].rect
    assert text.height() == whole.height()


def test_task_list_boxes_are_text_and_replace_the_bullets(text: MessageText) -> None:
    text.set_text("- [ ] open\n- [x] done\n- plain [ ] text")
    assert text.toPlainText() == "☐\u2002open\n☑\u2002done\nplain [ ] text"
    assert len(text.ornaments.bullets()) == 1
    words = [text.document().find(word) for word in ("open", "done", "plain")]
    for cursor in words:
        cursor.setPosition(cursor.selectionStart())
    assert len({text.cursorRect(cursor).left() for cursor in words}) == 1


def test_a_footnote_is_shown_where_it_is_defined(text: MessageText, qtbot: QtBot) -> None:
    for character in "One[^1] two[^long-name].\n\n[^1]: The *first*.\n\n    Still it.\n[^long-name]: Second.\n\nEnd":
        text.append(character)
    qtbot.waitUntil(lambda: is_idle(text), timeout=PATIENCE_MS)
    assert text.toPlainText().split("\n") == [
        "One1 twolong-name.",
        "1\u2002The first.",
        "Still it.",
        "long-name\u2002Second.",
        "End",
    ]


def test_nothing_above_a_table_at_the_beginning_looks_selected(text: MessageText) -> None:
    text.set_text("| one | two |\n|---|---|\n| a | b |\n")
    text.selectAll()
    image = text.viewport().grab().toImage()
    table = QTextCursor(text.document().firstBlock().next()).currentTable()
    assert table is not None
    # The top of the table's text; its frame begins slightly above it.
    top = round(text.document().documentLayout().frameBoundingRect(table).top())
    highlight = text.palette().highlight().color().rgb()
    ratio = image.devicePixelRatio()

    def is_lit(first: int, last: int) -> bool:
        rows = range(round(first * ratio), round(last * ratio))
        return any(image.pixel(x, y) == highlight for y in rows for x in range(image.width()))

    assert top > 0
    assert is_lit(top, top + 60)
    assert not is_lit(0, top)


def _rect(text: MessageText, words: str) -> QRectF:
    """Return the rectangle of the text of the block that contains `words`."""
    block = text.document().find(words).block()
    assert block.isValid(), words
    layout = block.layout()
    place = text.document().documentLayout().blockBoundingRect(block).topLeft() - layout.boundingRect().topLeft()
    return layout.lineAt(0).naturalTextRect().translated(place)


def test_a_right_to_left_table_has_its_first_column_on_the_right(text: MessageText) -> None:
    for source in (_FROM_RIGHT, f"> {_FROM_RIGHT.rstrip().replace(chr(10), f'{chr(10)}> ')}\n"):
        text.set_text(f"טבלה\n\n{source}\nסוף")
        heads = [_rect(text, head) for head in ("עיר", "תושבים", "הערות")]
        assert heads[0].left() > heads[1].right() > heads[1].left() > heads[2].right()
        # The table and all columns with any content are aligned to the right.
        columns = [("תל אביב", "Haifa"), ("460,613", "285,316"), ("ליד הים", "נמל")]
        for head, words in zip(heads, columns, strict=True):
            assert {round(_rect(text, each).right()) for each in words} == {round(head.right())}
        frame = text.frames.tables[0].rect
        inset = 0 if source is _FROM_RIGHT else QUOTE_INDENT_PX
        assert text.viewport().width() - inset - 4 <= frame.right() <= text.viewport().width() - inset
    # The direction of the first header decides the direction of the table.
    text.set_text("| Country | עיר |\n|---|---|\n| Israel | תל אביב |\n")
    assert _rect(text, "Country").right() < _rect(text, "עיר").left()
    assert text.frames.tables[0].rect.left() <= 1


def test_a_wide_right_to_left_table_starts_scrolled_to_its_first_column(text: MessageText, qtbot: QtBot) -> None:
    wide = f"| {' | '.join(f'עמודה {i}' for i in range(9))} |\n|{'---|' * 9}\n| {' | '.join(['מילים אחדות'] * 9)} |\n"
    for start in range(0, len(wide), 7):
        text.append(wide[start : start + 7])
    qtbot.waitUntil(lambda: is_idle(text), timeout=PATIENCE_MS)
    (frame,) = text.frames.tables
    assert frame.bar is not None
    assert frame.bar.value() == frame.bar.maximum()
    assert text.viewport().width() - 12 <= _rect(text, "עמודה 0").right() <= text.viewport().width()
    assert _rect(text, "עמודה 8").left() < 0
    frame.bar.setValue(0)
    assert _rect(text, "עמודה 8").left() >= 0
    assert frame.rect.left() == 0


def test_a_streamed_right_to_left_table_is_copied_in_reading_order(text: MessageText, qtbot: QtBot) -> None:
    for character in f"{_FROM_RIGHT}\nסוף":
        text.append(character)
    qtbot.waitUntil(lambda: is_idle(text), timeout=PATIENCE_MS)
    grown = text.toPlainText()
    text.selectAll()
    copied = "עיר\tתושבים\tהערות\nתל אביב\t460,613\tליד הים\nHaifa\t285,316\tנמל\nסוף"
    assert copied_text(text.textCursor(), ()).strip() == copied
    text.set_text(f"{_FROM_RIGHT}\nסוף")
    assert text.toPlainText() == grown


def test_the_upper_line_of_a_table_at_the_top_is_drawn_and_nothing_above_it(text: MessageText, qtbot: QtBot) -> None:
    text.set_text("| a | b |\n|---|---|\n| 1 | 2 |\n")
    text.selectAll()
    qtbot.waitUntil(text.isVisible, timeout=PATIENCE_MS)
    picture = text.grab().toImage()
    paper = picture.pixelColor(picture.width() - 2, 0)
    column = next(x for x in range(picture.width()) if picture.pixelColor(x, picture.height() // 2) != paper) + 6
    colours = [picture.pixelColor(column, y).name() for y in range(picture.height())]
    drawn = [colour for colour in colours if colour != paper.name()]
    assert drawn[:2] == [theme("light").line.lower(), theme("light").sunken.lower()]
