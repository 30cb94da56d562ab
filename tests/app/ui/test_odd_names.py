"""Names and paths with markup, mnemonics or great length are shown unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from app.notices import Notice
from app.ui.parts.labels import as_label, as_tool_tip
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim

pytestmark = pytest.mark.own_window

_HTML = "<b>bold</b> & <img src='file:///etc/hostname'>"


def test_a_question_with_html_becomes_the_title_unchanged(user: User) -> None:
    user.window.composer.text.setPlainText(_HTML)
    user.window.composer.send()
    user.answer()
    title = user.window.header.title
    assert title.text() == _HTML
    assert title.textFormat() == Qt.TextFormat.PlainText
    assert user.controller.shown.conversation is not None
    rows = user.window.sidebar.list.rows
    place = rows.index_of(user.controller.shown.conversation.id)
    assert place.data() == _HTML
    assert place.data(Qt.ItemDataRole.ToolTipRole) == as_tool_tip(_HTML)


def test_labels_never_interpret_a_users_or_a_models_text_as_html(user: User) -> None:
    user.ask("What is a branch?")
    user.controller.program.notices.posted.emit(Notice(verbatim(_HTML)))
    # The notice and the title matter most, but no label of a message may interpret HTML either.
    for label in (user.window.banner.label, user.window.header.title):
        assert label.textFormat() == Qt.TextFormat.PlainText
    for view in user.window.transcript.views:
        for label in view.findChildren(QLabel):
            assert label.wordWrap() is False or label.textFormat() == Qt.TextFormat.PlainText


def test_markup_and_mnemonics_are_escaped() -> None:
    assert as_tool_tip("<b>R&D</b>") == "<span>&lt;b&gt;R&amp;D&lt;/b&gt;</span>"
    assert as_label("R&D") == "R&&D"


@pytest.mark.parametrize("name", ["A name that never ends " * 20, "n" * 500, "שם ארוך " * 60])
def test_a_long_name_is_elided_and_does_not_affect_the_layout(user: User, name: str) -> None:
    user.ask("What is a branch?")
    conversation = user.controller.shown.conversation
    assert conversation is not None
    window, title = user.window, user.window.header.title
    for width in (1100, 560):
        window.resize(width, 640)
        user.bot.waitUntil(lambda width=width: window.width() == width, timeout=PATIENCE_MS)
        user.controller.program.conversations.rename(conversation.id, "short")
        before = window.minimumSizeHint().width()
        user.controller.program.conversations.rename(conversation.id, name)
        assert window.minimumSizeHint().width() == before
        assert title.text().endswith("…")
        assert title.fontMetrics().horizontalAdvance(title.text()) <= title.width()
        assert as_tool_tip(" ".join(name.split())) == title.toolTip()
        assert user.window.header.model_button.geometry().right() < user.window.header.width()


def test_an_ampersand_in_a_folder_name_is_shown_in_the_menu(user: User) -> None:
    preferences = user.controller.program.settings.recent_models
    assert preferences == ()
    user.application.session.name = "/models/R&D"
    user.application.session.changed.emit()
    try:
        assert "R&&D" in user.window.header.model_button.text()
    finally:
        user.application.session.name = "guide"
        user.application.session.changed.emit()


def test_a_data_folder_that_cannot_be_opened_is_named_in_a_notice(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(_url: object) -> bool:
        return False

    monkeypatch.setattr("app.ui.sidebar.conversation_commands.QDesktopServices.openUrl", cannot)
    user.window.action("data").trigger()
    assert user.window.banner.isVisible()
    assert str(Path(user.application.store.path).parent) in user.window.banner.label.text()
