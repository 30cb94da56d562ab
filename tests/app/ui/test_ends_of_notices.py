"""A notice that offers an action leaves the window once the action would do nothing, or something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from app.answers.sessions import GUIDE
from app.model.project import Project
from app.notices import (
    AllowLargeAnswers,
    AskGuide,
    AskWithProject,
    ChatWith,
    Notice,
    NoticeAction,
    ShowConversation,
    Undo,
    UndoArchive,
    UndoDelete,
    UndoDeleteProject,
)
from tests.app.ui.conftest import User
from tests.app.ui.ways import Way, each_way, focus, press
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim

_A = Project(instructions="Be brief.")


@dataclass(frozen=True)
class _Row:
    kind: type[NoticeAction]
    begin: Callable[[User, int], object]
    """Called with the id of the open conversation."""
    end: Callable[[User, int], object]


def _post(user: User, action: NoticeAction) -> None:
    user.controller.program.notices.post(Notice(verbatim("It is so."), action=action))


_ROWS: list[_Row] = [
    _Row(
        UndoDelete,
        lambda user, talk: user.controller.program.conversations.delete(talk),
        lambda user, talk: user.controller.program.conversations.restore(talk),
    ),
    _Row(
        UndoArchive,
        lambda user, talk: user.controller.program.conversations.archive(talk),
        lambda user, talk: user.controller.program.conversations.archive(talk, is_archived=False),
    ),
    _Row(
        UndoDeleteProject,
        lambda user, _: (user.controller.program.projects.put("A", _A), user.controller.program.projects.remove("A")),
        lambda user, _: user.controller.program.projects.put("A", _A),
    ),
    _Row(
        AskWithProject,
        lambda user, talk: (
            user.controller.program.projects.put("A", _A),
            user.controller.program.conversations.put_into_folder(talk, "A"),
        ),
        lambda user, _: user.controller.shown.new_conversation(),
    ),
    _Row(
        Undo,
        lambda user, _: user.controller.prune(user.controller.shown.path[-1].id),
        lambda user, _: user.window.action("undo").trigger(),
    ),
    _Row(
        Undo,
        lambda user, _: user.controller.prune(user.controller.shown.path[-1].id),
        lambda user, _: user.window.action("new").trigger(),
    ),
    _Row(
        ShowConversation,
        lambda user, talk: (user.controller.shown.new_conversation(), _post(user, ShowConversation(talk))),
        lambda user, talk: user.controller.shown.open_conversation(talk),
    ),
    _Row(
        ChatWith,
        lambda user, _: _post(user, ChatWith("another")),
        lambda user, _: user.controller.shown.choose_model("another"),
    ),
    _Row(
        AllowLargeAnswers,
        lambda user, _: _post(user, AllowLargeAnswers(user.controller.model.name)),
        lambda user, _: user.ask("How do I fork?"),
    ),
]


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.kind.__name__)
def test_a_notice_ends_when_its_action_is_no_longer_due(user: User, row: _Row) -> None:
    user.ask("What is a branch?")
    conversation = user.controller.shown.conversation
    assert conversation is not None
    banner = user.window.banner
    row.begin(user, conversation.id)
    assert isinstance(banner.action, row.kind)
    # A notice that came later hides it, but does not keep it.
    banner.show_notice(Notice(verbatim("Something worse."), "danger"))
    row.end(user, conversation.id)
    banner.dismiss()
    assert not banner.isVisible()


@pytest.mark.parametrize("saving_is_first", [True, False])
def test_the_more_serious_of_two_notices_about_a_full_disk_stays_until_its_cause_ends(
    user: User, *, saving_is_first: bool
) -> None:
    program, banner = user.controller.program, user.window.banner
    full = verbatim("The disk is full.")
    reports = [
        lambda: program.report_unsaved(full),
        lambda: program.preferences.not_saved.emit(full),
    ]
    for report in reports if saving_is_first else reversed(reports):
        report()
    grave = "New text stays on the screen and is saved as soon as possible."
    assert grave in banner.label.text()
    # Neither a lesser notice, nor a repetition, nor the next answer takes its place.
    program.notices.post(Notice(verbatim("Something was done.")))
    program.preferences.not_saved.emit(full)
    user.ask("What is a branch?")
    assert grave in banner.label.text()
    program.report_saved()
    assert banner.isVisible()
    assert grave not in banner.label.text()
    program.preferences.saved_again.emit()
    assert banner.label.text() == "Everything is saved again."


@each_way
def test_undo_in_a_notice_ends_it(user: User, way: Way) -> None:
    user.ask("What is a branch?")
    conversation = user.controller.shown.conversation
    assert conversation is not None
    user.controller.program.conversations.delete(conversation.id)
    press(user, way, user.window.banner, "Undo")
    user.bot.waitUntil(lambda: not user.window.banner.isVisible(), timeout=PATIENCE_MS)
    assert user.controller.shown.conversation is not None
    assert user.controller.shown.conversation.id == conversation.id
    assert focus(user) is user.window.composer.text


def test_the_guide_is_not_offered_on_its_own_page(user: User) -> None:
    banner = user.window.banner
    _post(user, AskGuide())
    assert banner.isVisible()
    assert not banner.button.isVisible()
    user.controller.shown.choose_model("another")
    assert banner.button.isVisible()
    banner.button.click()
    assert user.controller.model.name == GUIDE
