"""Steps of the tour: asking, asking again, editing a question, forking; and what of it is read once only."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from app.tour.visitor import UnexpectedError, Visitor, expect, figures_of

QUESTION = "What is a branch?"
FOLLOW_UP = "How do I regenerate an answer?"
EDITED = "How do I fork a message?"


def load(visitor: Visitor) -> dict[str, Any]:
    session = visitor.controller.program.session
    visitor.picture("start")
    visitor.wait("the model to load", lambda: session.state != "loading")
    info = session.info
    if info is None:
        raise UnexpectedError(f"The guide model did not load: {visitor.why_not_loaded}")
    return {"model": info.model, "parameters": info.num_parameters, "context": info.context_length}


def ask(visitor: Visitor) -> dict[str, Any]:
    visitor.ask(QUESTION)
    visitor.wait("the first words", lambda: bool(visitor.controller.path[-1].text))
    first_words = visitor.controller.path[-1].text
    visitor.picture("streaming")
    answer = visitor.finished_answer()
    expect(answer.text.startswith(first_words), "what was shown first was taken back")
    return figures_of(answer)


def regenerate(visitor: Visitor) -> dict[str, Any]:
    old = visitor.controller.path[-1]
    visitor.press(visitor.view_of(old), "R")
    answer = visitor.finished_answer()
    versions = visitor.controller.siblings(answer.id)
    expect(answer.id != old.id and old.id in versions, "the old answer is gone")
    figures = figures_of(answer)
    expect(figures["read_tokens"] == 1, f"{figures['read_tokens']} tokens were read again")
    return {**figures, "versions": len(versions)}


def regenerate_with(visitor: Visitor) -> dict[str, Any]:
    """Let an answer be drawn more freely, this once."""
    old = visitor.controller.path[-1]
    asking = visitor.controller.preparation.asking
    visitor.press(visitor.view_of(old), "W")
    menu = visitor.opened(QMenu)
    visitor.picture("ways to regenerate")
    visitor.choose(menu, "Creative")
    answer = visitor.finished_answer()
    expect(visitor.controller.preparation.asking == asking, "the next answers are drawn otherwise, too")
    return {**figures_of(answer), "versions": len(visitor.controller.siblings(answer.id))}


def ask_on(visitor: Visitor) -> dict[str, Any]:
    visitor.ask(FOLLOW_UP)
    figures = figures_of(visitor.finished_answer())
    expect(figures["kept_tokens"] > 0, "nothing of the first turn was kept")
    return figures


def edit(visitor: Visitor) -> dict[str, Any]:
    question = next(message for message in visitor.controller.path if message.text == FOLLOW_UP)
    visitor.press(visitor.view_of(question), "E")
    editor = visitor.window.focusWidget()
    visitor.type_over(editor, EDITED)
    visitor.picture("editing")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    answer = visitor.finished_answer()
    edited = visitor.controller.path[-2]
    versions = visitor.controller.siblings(edited.id)
    expect(edited.text == EDITED, "the new version is not shown")
    expect(question.id in versions, "the old question is gone")
    figures = figures_of(answer)
    expect(figures["kept_tokens"] > 0, "nothing before the edited question was kept")
    return {**figures, "versions": len(versions)}


def switch_back(visitor: Visitor) -> dict[str, Any]:
    edited = visitor.controller.path[-2]
    visitor.view_of(edited).text.setFocus(Qt.FocusReason.TabFocusReason)
    visitor.press_key_of("previous_sibling")
    texts = [message.text for message in visitor.controller.path]
    expect(FOLLOW_UP in texts and EDITED not in texts, "the first version did not come back")
    return {"messages": len(texts)}


def fork(visitor: Visitor) -> dict[str, Any]:
    answer = next(message for message in visitor.controller.path if message.role == "assistant")
    visitor.press(visitor.view_of(answer), "F")
    expect(visitor.controller.path[-1].id == answer.id, "the new conversation does not end where it was forked")
    visitor.ask(EDITED)
    forked = visitor.finished_answer()
    return {**figures_of(forked), "conversations": len(visitor.controller.program.conversations.all)}
