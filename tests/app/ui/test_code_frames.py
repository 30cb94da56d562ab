"""Code blocks in a message: frame, highlighting, Copy, and lines that are too long."""

from __future__ import annotations

import random

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.text.markdown_document import MarkdownDocument
from app.ui.text.message_text import MessageText
from app.ui.theme import theme
from tests.app.ui.test_markdown_document import look_of
from tests.app.ui.waiting import is_highlighted, wait_for_text
from tests.app.ui.wheel import turn_wheel
from tests.waiting import PATIENCE_MS

_LONG = "".join(f"def function_{i}(x):\n    '''Doc {i}.'''\n    return x + {i}  # why\n\n" for i in range(60))


@pytest.fixture
def text(qapp: QApplication, qtbot: QtBot) -> MessageText:
    assert qapp is not None
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.resize(500, 100)
    text.show()
    return text


def _document() -> MarkdownDocument:
    return MarkdownDocument(QTextDocument(), theme("light"))


@pytest.mark.parametrize("seed", range(40))
def test_streamed_code_looks_like_code_set_as_a_whole(qapp: QApplication, qtbot: QtBot, seed: int) -> None:
    assert qapp is not None
    rng = random.Random(seed)
    lines = ("x = 1", "", "``", "    ```` deeper", "'''open", "# 東京 😀", "```", "~~~", "\ttabbed", "text", "````")
    source = "before\n\n" + rng.choice(("```python\n", "```\n", "~~~~c\n"))
    source += "\n".join(rng.choice(lines) for _ in range(rng.randint(0, 12)))
    grown, whole = _document(), _document()
    position = 0
    while position < len(source):
        step = rng.choice((1, 2, 3, 30))
        grown.append(source[position : position + step])
        position += step
    wait_for_text(grown)
    whole.set_source(source)
    assert look_of(grown.document) == look_of(whole.document)
    assert [span.code for span in grown.spans] == [span.code for span in whole.spans]


@pytest.mark.parametrize("num_lines", [6, 30, 45, 60])
def test_the_end_of_a_comment_recolours_all_of_it(qapp: QApplication, qtbot: QtBot, num_lines: int) -> None:
    assert qapp is not None
    source = "```c\n/* begun\n" + "int value = 1;\nreturn value;\n" * num_lines + "*/\nint x;\n```\nafter"
    grown, whole = _document(), _document()
    for start in range(0, len(source), 9):
        grown.append(source[start : start + 9])
    wait_for_text(grown)
    whole.set_source(source)
    for document in (grown, whole):
        qtbot.waitUntil(lambda document=document: is_highlighted(document), timeout=PATIENCE_MS)
    assert look_of(grown.document) == look_of(whole.document)


def test_long_code_is_highlighted_in_steps_with_the_same_result(qapp: QApplication, qtbot: QtBot) -> None:
    assert qapp is not None
    grown, whole = _document(), _document()
    source = f"```python\n{_LONG}```\n\nafter"
    for start in range(0, len(source), 50):
        grown.append(source[start : start + 50])
    wait_for_text(grown)
    whole.set_source(source)
    for document in (grown, whole):
        qtbot.waitUntil(lambda document=document: is_highlighted(document), timeout=PATIENCE_MS)
    assert look_of(grown.document) == look_of(whole.document)
    assert len({run[5] for block in look_of(whole.document) for run in block[6]}) >= 4  # pyright: ignore[reportGeneralTypeIssues]


def test_a_message_that_is_deleted_while_its_code_is_highlighted_stops_the_work(
    qapp: QApplication, qtbot: QtBot
) -> None:
    assert qapp is not None
    kept: list[MessageText] = []
    for _ in range(3):
        text = MessageText(theme("light"), is_markdown=True)
        text.show()
        text.set_text(f"```python\n{_LONG * 5}```\n\nafter")
        kept.append(text)
        text.deleteLater()
        QApplication.sendPostedEvents(text, QEvent.Type.DeferredDelete.value)
    other = _document()
    other.set_source(f"```python\n{_LONG}```\n\nafter")
    qtbot.waitUntil(lambda: is_highlighted(other), timeout=PATIENCE_MS)


def test_only_the_end_of_growing_code_is_written_again(qapp: QApplication) -> None:
    assert qapp is not None
    document = _document()
    document.set_source(f"```python\n{_LONG}last = ")
    wait_for_text(document)
    document.document.documentLayout()  # Without a layout the document does not emit contentsChange.
    num_chars = document.document.characterCount()
    changed: list[int] = []

    def note(position: int, _removed: int, _added: int) -> None:
        changed.append(position)

    document.document.contentsChange.connect(note)
    document.append("1")
    document.append("\nmore")
    wait_for_text(document)
    assert min(changed) >= num_chars - 1_000
    changed.clear()
    document.append(" = 2")
    wait_for_text(document)
    assert min(changed) >= num_chars - len("last = ")


def test_copy_copies_the_code_unchanged_and_confirms_it(text: MessageText, qtbot: QtBot) -> None:
    text.set_text("```python\na = 1\n\n\tb = 2\n```\n\n```\nother\n```")
    (first, second) = (frame.button for frame in text.frames.code)
    assert first.accessibleName() == "Copy code in python"
    assert second.accessibleName() == "Copy code"
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "a = 1\n\n\tb = 2"
    assert first.text() == "Copied"
    second.setFocus()
    qtbot.keyClick(second, Qt.Key.Key_Space)
    assert QGuiApplication.clipboard().text() == "other"


def test_long_code_lines_scroll_inside_their_frame_only(text: MessageText, qtbot: QtBot) -> None:
    text.set_text("words " * 60 + "\n\n```\n" + "x = 1; " * 60 + "\nshort\n```\n\nafter")
    (frame,) = text.frames.code
    assert text.document().find("after").block().layout().lineCount() == 1
    assert frame.bar is not None
    assert text.horizontalScrollBar().maximum() == 0
    assert frame.rect.right() < text.viewport().width()
    cursor = text.document().find("short")
    cursor.setPosition(cursor.selectionStart())
    turn_wheel(text, frame.inner.center(), notches=QPoint(-240, 0))
    assert frame.bar.value() > 0
    text.grab()
    line = cursor.block().layout().lineAt(0)
    assert line.x() == cursor.blockFormat().leftMargin() - frame.bar.value()
    # A point in the frame maps to the text that is visible there.
    at_left = text.cursorForPosition(QPoint(frame.inner.left(), frame.inner.top() + 4))
    assert 8 <= at_left.positionInBlock() <= 14
    text.resize(4500, text.height())
    qtbot.waitUntil(lambda: frame.bar is None, timeout=PATIENCE_MS)


def test_a_match_far_to_the_right_is_scrolled_into_view(text: MessageText) -> None:
    text.set_text("```\n" + "x = 1; " * 60 + "found\n```")
    (frame,) = text.frames.code
    text.setTextCursor(text.document().find("found"))
    assert frame.bar is not None
    assert frame.bar.value() > 1_000
    text.grab()
    assert frame.inner.contains(text.cursorRect().center())
    text.setTextCursor(text.document().find("x"))
    assert frame.bar.value() == 0


def test_a_frame_at_the_beginning_of_a_message_is_inside_the_message(text: MessageText) -> None:
    text.set_text("```\ncode\n```")
    (frame,) = text.frames.code
    assert frame.rect.top() >= 0
    assert frame.rect.bottom() < text.height()
    assert text.height() - frame.rect.bottom() <= 4


def test_an_extremely_long_line_of_code_is_laid_out_as_one_line(text: MessageText) -> None:
    text.set_text("```\n" + "x" * 150_000 + "\n```")
    (frame,) = text.frames.code
    assert frame.bar is not None
    assert text.height() < 200
