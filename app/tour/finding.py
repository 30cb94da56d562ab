"""Steps of the tour: found in the conversation, found in every branch of all of them, opened by a few letters."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.tour.asking import FOLLOW_UP, QUESTION
from app.tour.visitor import Visitor, expect
from app.ui.palette import Palette


def find(visitor: Visitor) -> dict[str, Any]:
    """Look for a word in this conversation, and go from hit to hit."""
    visitor.press_key_of("find")
    bar = visitor.window.find_bar
    visitor.type_over(bar.field, "branch")
    visitor.wait("hits", lambda: bar.count.text().startswith("1 of "))
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    expect(bar.count.text().startswith("2 of "), f"the second hit is called {bar.count.text()!r}")
    visitor.picture("found")
    told = bar.count.text()
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    expect(not bar.isVisible(), "the bar does not close")
    return {"hits": int(told.rpartition(" ")[2])}


def search_everything(visitor: Visitor) -> dict[str, Any]:
    """Look for a word of a branch that is not shown, and go there."""
    visitor.press_key_of("search_all")
    search = visitor.window.dialogs.search
    QTest.keyClicks(search.field, FOLLOW_UP.split()[3])
    visitor.wait("what was looked for", lambda: search.list.chosen is not None)
    visitor.picture("searching")
    found = search.list.chosen
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    shown = [message.id for message in visitor.controller.path]
    expect(found is not None and found.message.id in shown, "what was found is not shown")
    return {"hits": search.list.model().rowCount()}


def open_by_the_palette(visitor: Visitor) -> dict[str, Any]:
    """Open the first conversation by a few letters of its name."""
    conversations = visitor.controller.program.conversations
    first = min(conversations.all, key=lambda one: one.id)
    visitor.press_key_of("palette")
    palette = visitor.opened(Palette)
    visitor.picture("palette")
    QTest.keyClicks(palette.field, first.name)
    shown = palette.shown
    visitor.picture("palette searched")
    expect(bool(shown) and shown[0].text == first.name, f"{first.name!r} is not what fits best")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    expect(visitor.controller.path[1].text == QUESTION, "the first conversation does not open")
    return {"conversation": first.name}
