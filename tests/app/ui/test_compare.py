"""Two texts side by side: marked differences, keys that step through them, and scrolling in both panes together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QMainWindow, QTextEdit
from pytestqt.qtbot import QtBot

from app.model.differences import differences
from app.ui.comparing.compare_window import CompareWindow, Passage, Side
from app.ui.theme import theme
from tests.waiting import PATIENCE_MS

_LEFT = "The 東京 quick fox.\r\nIt rests 🦊 here.\n\n" + "\n".join(f"Line {number}" for number in range(400))
_RIGHT = "The 大阪 slow fox.\nIt rests 🦊🦊 there.\n\nNew.\n" + _LEFT.partition("\n\n")[2].replace("Line 300\n", "")


@pytest.fixture
def compared(qapp: QApplication, qtbot: QtBot) -> Iterator[CompareWindow]:
    window = QMainWindow()
    compared = CompareWindow(theme("light"), window)
    left, right = [Passage(_LEFT)], [Passage(_RIGHT)]
    compared.compare([Side("First", left), Side("Second", right), Side("Third", left)], 0, 1)
    qtbot.waitUntil(compared.isVisible, timeout=PATIENCE_MS)
    yield compared
    window.close()
    window.deleteLater()


def _marked(pane: QTextEdit) -> tuple[str, str]:
    """Return the text of a pane that is struck out, and the text that is underlined."""
    struck = underlined = ""
    block = pane.document().begin()
    while block.isValid():
        iterator = block.begin()
        while not iterator.atEnd():
            fragment = iterator.fragment()
            struck += fragment.text() if fragment.charFormat().fontStrikeOut() else ""
            underlined += fragment.text() if fragment.charFormat().fontUnderline() else ""
            iterator += 1
        block = block.next()
    return struck, underlined


def test_both_texts_are_complete_and_differences_are_struck_out_or_underlined(compared: CompareWindow):
    panes = compared.panes
    assert panes.left.toPlainText() == _LEFT.replace("\r\n", "\n")
    assert panes.right.toPlainText() == _RIGHT
    struck, underlined = _marked(panes.left)
    assert "quick" in struck
    assert "東京" in struck
    assert underlined == ""
    struck, underlined = _marked(panes.right)
    assert struck == ""
    assert "大阪" in underlined
    assert "New." in underlined


def test_keys_and_buttons_step_through_the_differences_and_wrap_around(compared: CompareWindow, qtbot: QtBot):
    panes = compared.panes
    found = differences(panes.left.toPlainText(), panes.right.toPlainText())
    count = panes.num_differences
    assert compared.note.text() == f"{count} differences"
    shown: list[str] = []
    for _ in range(count):
        qtbot.keyClick(compared, Qt.Key.Key_F7)
        current = panes.current_stretch
        assert current is not None
        shown.append(current.left)
        assert compared.note.text() == f"Difference {panes.current + 1} of {count}"
        for pane in (panes.left, panes.right):
            top = pane.cursorRect().top()
            assert -1 <= top <= pane.viewport().height()
    assert shown == [stretch.left for stretch in found if not stretch.is_same]
    qtbot.mouseClick(compared.next_button, Qt.MouseButton.LeftButton)
    assert panes.current == 0
    qtbot.keyClick(compared, Qt.Key.Key_F7, Qt.KeyboardModifier.ShiftModifier)
    assert panes.current == count - 1


def test_equal_lines_are_level_in_both_panes(compared: CompareWindow, qtbot: QtBot):
    panes = compared.panes
    for pane in (panes.left, panes.right):
        # Qt lays out long texts in steps.
        all_lines = pane.document().blockCount() * pane.cursorRect().height()
        qtbot.waitUntil(
            lambda pane=pane, all_lines=all_lines: pane.document().size().height() > all_lines, timeout=PATIENCE_MS
        )
    for pane, other in ((panes.left, panes.right), (panes.right, panes.left)):
        for number in (100, 200, 380, 40):
            cursor = pane.document().find(f"Line {number}")
            pane.verticalScrollBar().setValue(
                pane.cursorRect(cursor).top() + pane.verticalScrollBar().value() - pane.viewport().height() // 2
            )
            opposite = other.document().find(f"Line {number}")
            apart = pane.cursorRect(cursor).top() - other.cursorRect(opposite).top()
            assert abs(apart) <= 2 * pane.cursorRect(cursor).height()
        pane.verticalScrollBar().setValue(0)
        assert other.verticalScrollBar().value() == 0


def test_another_version_can_be_chosen_and_equal_texts_show_no_differences(compared: CompareWindow, qtbot: QtBot):
    compared.right_choice.setFocus()
    qtbot.keyClick(compared.right_choice, Qt.Key.Key_Down)
    compared.right_choice.activated.emit(compared.right_choice.currentIndex())
    assert compared.right_choice.currentText() == "Third"
    assert compared.panes.num_differences == 0
    assert compared.note.text() == "Both texts are identical."
    assert compared.next_button.isHidden()
    assert compared.previous_button.isHidden()
    cursor = QTextCursor(compared.panes.left.document())
    assert not cursor.charFormat().fontStrikeOut()


def test_words_are_compared_without_the_marks_of_markdown(compared: CompareWindow) -> None:
    left, right = Passage("A **bold** fox and `code`.", is_markdown=True), Passage("A *quick* fox and code.", True)
    compared.compare([Side("One", [left]), Side("Other", [right])], 0, 1)
    panes = compared.panes
    assert (panes.left.toPlainText(), panes.right.toPlainText()) == ("A bold fox and code.", "A quick fox and code.")
    assert (_marked(panes.left)[0], _marked(panes.right)[1]) == ("bold", "quick")
    compared.compare([Side("One", [Passage("**a**", True)]), Side("Other", [Passage("a", True)])], 0, 1)
    assert "only the formatting" in compared.note.text()
    # The user's own text is shown as it was written.
    compared.compare([Side("One", [Passage("**a**")]), Side("Other", [Passage("a")])], 0, 1)
    assert panes.left.toPlainText() == "**a**"


def test_in_a_narrow_window_one_text_is_below_the_other(compared: CompareWindow, qtbot: QtBot) -> None:
    panes = compared.panes
    for width, is_below in ((360, True), (1000, False)):
        compared.resize(width, 640)
        qtbot.waitUntil(lambda w=width: compared.width() == w, timeout=PATIENCE_MS)
        qtbot.waitUntil(lambda b=is_below: (panes.right.y() > panes.left.geometry().bottom()) == b, timeout=PATIENCE_MS)
        qtbot.waitUntil(lambda: compared.left_choice.width() == panes.left.width(), timeout=PATIENCE_MS)


def test_the_window_is_as_high_as_short_texts_need(compared: CompareWindow) -> None:
    high = compared.height()
    compared.close()
    left, right = [Passage("A fox.")], [Passage("A hen.")]
    low = CompareWindow(theme("light"), compared)
    low.compare([Side("One", left), Side("Other", right)], 0, 1)
    assert low.height() < high / 2
    for pane in (low.panes.left, low.panes.right):
        assert pane.verticalScrollBar().maximum() == 0
    low.close()
