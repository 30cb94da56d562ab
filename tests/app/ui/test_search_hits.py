"""The list of search results."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.model.message import Conversation, Message, Role
from app.model.search import Hit
from app.ui.dialogs.search_hits import HitList


@pytest.mark.parametrize(
    ("role", "excerpt", "shown"),
    [
        ("assistant", "Press `R`, or click **Fork** or **Try again**.", "Press R, or click Fork or Try again."),
        ("assistant", "2**3 and 4**5, ** x ** and **cut", "2**3 and 4**5, ** x ** and **cut"),
        ("assistant", "a ``Fork`` of `x", "a ``Fork`` of `x"),
        ("user", "a **Fork**", "a **Fork**"),
    ],
)
def test_excerpts_of_answers_show_no_marks_and_the_same_words_are_highlighted(
    qapp: QApplication, qtbot: QtBot, role: Role, excerpt: str, shown: str
) -> None:
    assert qapp is not None
    hits = HitList()
    qtbot.addWidget(hits)
    found = tuple((start, start + 4) for start in [excerpt.find("Fork")] if start >= 0)
    message = Message(id=2, parent_id=1, role=role, text=excerpt)
    conversation = Conversation(id=1, name="Forks", root_id=1, created_ms=0, updated_ms=0)
    hit = Hit(message=message, conversation=conversation, version=1, num_versions=1, excerpt=excerpt, marks=found)
    hits.show_hits([hit])
    chosen = hits.chosen
    assert chosen is not None
    assert chosen.excerpt == shown
    assert [chosen.excerpt[start:end] for start, end in chosen.marks] == ["Fork"] * len(found)
