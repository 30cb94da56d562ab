"""The position of the cursor in the source of a message, rendered or raw."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.text.message_text import MessageText
from app.ui.theme import theme


@pytest.fixture
def text(qapp: QApplication, qtbot: QtBot) -> MessageText:
    assert qapp is not None
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.resize(400, 100)
    text.show()
    return text


@pytest.mark.parametrize(
    "source",
    [
        "Plain text with END here.",
        "# Head\n\nSome **bold END** text",
        "- one\n- two END\n\n> quote",
        "A [link](https://example.org/a/b) and END",
        "| a | b |\n|---|---|\n| 1 | at END |",
        "| עיר | תושבים | הערות |\n|---|---|---|\n| $x^2$ | 460 END | ליד |\n\nסוף",
        "| עיר | תושבים |\n|---|---|\n| חיפה | 285 |\n| 9 END | 460 |",
        "Let $x^2$ and $$y^2$$ be END.",
        "```python\ndef f():\n    return END\n```\n",
        "<think>\nnot END\n</think>\n\nAfter that **END**",
        "- [x] done END",
        "東京 😀 END",
        "note[^1]\n\n[^1]: The END.",
        "\ufffcb and\ufffcc \ufffd END",
    ],
)
def test_the_cursor_maps_to_the_same_position_in_the_source(text: MessageText, source: str) -> None:
    for is_raw in (False, True):
        text.set_text(source, is_raw=is_raw)
        found = text.document().find("END")
        while is_raw and not (later := text.document().find("END", found)).isNull():
            found = later
        found.setPosition(found.selectionStart())
        text.setTextCursor(found)
        assert source[: text.source_position] == source[: source.rindex("END")].rstrip("*") or is_raw
        if is_raw:
            assert text.source_position == source.rindex("END")
