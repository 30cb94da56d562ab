"""The shown cost of an action equals the tokens that the model then reads, for different templates.

The window and the worker are real. The model's template supports thinking; the model is used alone and with a draft
model.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import structs
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtWidgets import QApplication
from tokenizers import Tokenizer

from app.costs.context_meter import ContextMeter
from app.costs.worker_queries import LatestQuery
from app.model.message import Figures, Message, Sampling
from app.model.unsent import Unsent
from app.ui.composer.system_prompt_popover import SystemPromptPopover
from app.ui.message.message_editor import MessageEditor
from tests.app.sampling import set_sampling
from tests.app.ui.conftest import User
from tests.chat_families import QWEN3
from tests.models import write_random_llama, write_tokenizer
from tests.waiting import PATIENCE_MS


class _Cost(NamedTuple):
    num_read: int
    num_kept: int


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    """A model whose template supports thinking, with a copy beside it that serves as its draft model."""
    folder = tmp_path_factory.mktemp("models") / "thinker"
    write_random_llama(folder, byte_level)
    write_tokenizer(folder, byte_level, QWEN3)
    shutil.copytree(folder, folder.with_name("draft"))
    return folder


@pytest.fixture(scope="module", params=["no thinking", "with a draft model"])
def kind(request: pytest.FixtureRequest) -> str:
    """How the model is used. The tests of a kind follow each other, so it is loaded once for all of them."""
    return request.param


@pytest.fixture
def asker(kind: str, user: User, model: Path) -> Iterator[User]:
    """A user in front of a conversation with two questions."""
    session, program = user.application.session, user.controller.program
    draft = str(model.with_name("draft")) if kind == "with a draft model" else ""
    if session.name != str(model):
        program.load_model(str(model))
        _wait_until_loaded(user)
    if session.draft != draft:
        program.set_draft_model(draft)
        _wait_until_loaded(user)
    preparation = user.controller.preparation
    set_sampling(user.controller.program, Sampling(temperature=0.0, max_tokens=12))
    if kind == "no thinking":
        preparation.set_generation(structs.replace(preparation.generation, thinking=False))
    preparation.set_unsent(Unsent(system_prompt="Say little."))
    user.ask(f"{kind}, one question")
    answer = user.ask(f"{kind}, another question")
    assert answer.record is not None
    assert answer.record.template_options == ({"enable_thinking": False} if kind == "no thinking" else {})
    assert (answer.record.figures.draft_tokens > 0) == (kind == "with a draft model")
    yield user
    if user.window.tree_dock.isVisible():
        user.window.action("tree").trigger()
    preparation.reset_generation()
    preparation.replace_unsent(Unsent())


def _wait_until_loaded(user: User) -> None:
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)


def _paid(answer: Message) -> _Cost:
    assert answer.record is not None
    figures: Figures = answer.record.figures
    return _Cost(figures.read_tokens, figures.kept_tokens)


def _cost_in(text: str) -> _Cost:
    kept = re.search(r"([\d,]+) kept", text)
    read = re.search(r"would read ([\d,]+) token|([\d,]+) to read", text)
    num_read = "1" if read is None else read[1] or read[2]
    return _Cost(int(num_read.replace(",", "")), int(kept[1].replace(",", "")) if kept else 0)


def _cost_of_sending(user: User, text: str) -> _Cost:
    """Type a text, wait until the gauge is up to date, and return the cost that it shows."""
    composer = user.window.composer
    composer.text.setFocus()
    composer.text.insertPlainText(text)
    meter = user.window.findChild(ContextMeter)
    assert meter is not None
    timers, inquiries = meter.findChildren(QTimer), meter.findChildren(LatestQuery)

    def is_up_to_date() -> bool:
        is_asking = any(inquiry._request_id for inquiry in inquiries)  # pyright: ignore[reportPrivateUsage]
        return not is_asking and not any(timer.isActive() for timer in timers)

    user.bot.waitUntil(is_up_to_date, timeout=PATIENCE_MS)
    return _cost_in(composer.gauge.accessibleDescription())


def _cost_in_tree(user: User, message_id: int) -> _Cost:
    """Open the tree if it is hidden, wait until the cost of a message is up to date, and return it."""
    dock, costs = user.window.tree_dock, user.controller.costs
    if dock.isHidden():
        user.window.action("tree").trigger()
    dock.view.set_current(message_id)
    timers = [*dock.findChildren(QTimer), *costs.findChildren(QTimer)]

    def is_up_to_date() -> bool:
        is_asking = bool(costs._request_id) or any(timer.isActive() for timer in timers)  # pyright: ignore[reportPrivateUsage]
        return costs.get(message_id) is not None and not is_asking

    user.bot.waitUntil(is_up_to_date, timeout=PATIENCE_MS)
    cost = costs.get(message_id)
    assert cost is not None
    return _Cost(cost.num_read, cost.num_kept)


def _edited(user: User, message_id: int, text: str) -> tuple[MessageEditor, _Cost]:
    user.press(message_id, "e")
    editor = user.view(message_id).findChild(MessageEditor)
    assert editor is not None
    before = editor.hint
    editor.text.setPlainText(text)
    user.bot.waitUntil(lambda: editor.hint != before, timeout=PATIENCE_MS)
    return editor, _cost_in(editor.hint)


def test_sending_costs_as_much_as_the_gauge_shows(asker: User) -> None:
    cost = _cost_of_sending(asker, "And what is a leaf?")
    asker.bot.keyClick(asker.window.composer.text, Qt.Key.Key_Return)
    paid = _paid(asker.answer())
    assert cost == paid
    assert paid.num_kept > 10


def test_asking_after_another_version_costs_as_much_as_the_gauge_shows(asker: User) -> None:
    first = asker.controller.shown.path[-1]
    asker.press(first.id, "r")
    second = asker.answer()
    asker.view(second.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    asker.window.action("previous_sibling").trigger()
    assert asker.controller.shown.path[-1].id == first.id
    cost = _cost_of_sending(asker, "And then?")
    asker.bot.keyClick(asker.window.composer.text, Qt.Key.Key_Return)
    assert cost == _paid(asker.answer())


def test_regenerating_costs_as_much_as_the_tree_shows(asker: User) -> None:
    question, answer = asker.controller.shown.path[-2:]
    cost = _cost_in_tree(asker, question.id)
    asker.press(answer.id, "r")
    assert cost == _paid(asker.answer())
    assert cost.num_read == 1


def test_an_edit_costs_as_much_as_its_editor_shows(asker: User) -> None:
    question = asker.controller.shown.path[3]
    editor, cost = _edited(asker, question.id, f"{question.text} of mine")
    asker.bot.keyClick(editor.text, Qt.Key.Key_Return)
    paid = _paid(asker.answer())
    assert cost == paid
    assert paid.num_read < paid.num_kept


def test_another_system_prompt_costs_as_much_as_its_editor_and_its_panel_show(asker: User) -> None:
    asker.window.action("system_prompt").trigger()
    panel = QApplication.activePopupWidget()
    assert isinstance(panel, SystemPromptPopover)
    panel.editor.setPlainText("Say much, and say it twice.")
    asker.bot.waitUntil(lambda: "read" in panel.cost.text(), timeout=PATIENCE_MS)
    shown = _cost_in(panel.cost.text())
    panel.close()
    system = asker.controller.shown.path[0]
    editor, cost = _edited(asker, system.id, "Say much, and say it twice.")
    assert cost == shown
    asker.bot.keyClick(editor.text, Qt.Key.Key_Return)
    assert cost == _paid(asker.answer())


def test_switching_thinking_on_changes_the_costs_in_the_tree(asker: User) -> None:
    preparation = asker.controller.preparation
    question, answer = asker.controller.shown.path[-2:]
    before = _cost_in_tree(asker, question.id)
    preparation.set_generation(structs.replace(preparation.generation, thinking=True))
    after = _cost_in_tree(asker, question.id)
    assert sum(after) != sum(before)
    asker.press(answer.id, "r")
    assert _paid(asker.answer()) == after


def test_after_an_undo_the_tree_shows_the_costs_that_the_worker_reports(asker: User) -> None:
    question, answer = asker.controller.shown.path[-2:]
    costs = asker.controller.costs
    before = _cost_in_tree(asker, answer.id)
    asker.press(answer.id, "r")
    asker.answer()
    asker.window.action("undo").trigger()
    asker.bot.waitUntil(lambda: asker.controller.shown.path[-1].id == answer.id, timeout=PATIENCE_MS)
    # The worker has not been asked since.
    assert costs.get(answer.id) is None
    assert asker.window.tree_dock.card.cost_text == "…"
    assert _cost_in_tree(asker, answer.id) == before
    assert _cost_in_tree(asker, question.id).num_kept > 0


def _cost_in_menu(user: User, message_id: int, num_chars: int) -> _Cost:
    """Put the cursor into an answer and return the cost that the message menu shows for continuing from there."""
    text = user.view(message_id).text
    text.setFocus(Qt.FocusReason.TabFocusReason)
    cursor = text.textCursor()
    cursor.setPosition(num_chars)
    text.setTextCursor(cursor)
    menu, action = user.window.menus.menu("Message"), user.window.action("continue")
    menu.popup(user.window.mapToGlobal(QPoint(0, 0)))
    width = menu.width()
    assert "kept" not in action.text()
    user.bot.waitUntil(lambda: "kept" in action.text(), timeout=PATIENCE_MS)
    # The menu keeps its width when the cost arrives.
    assert menu.width() == width
    menu.close()
    return _cost_in(action.text())


def test_continuing_from_the_cursor_costs_as_much_as_the_menu_shows(asker: User) -> None:
    question, answer = asker.controller.shown.path[-2:]
    shown = _cost_in_tree(asker, question.id)
    half = len(asker.view(answer.id).text.document().toRawText()) // 2
    cost = _cost_in_menu(asker, answer.id, half)
    asker.window.action("continue").trigger()
    paid = _paid(asker.answer())
    assert cost == paid
    assert paid.num_kept >= shown.num_kept
    # A cut word has a cost too. With the cursor at the beginning, the answer is continued from its end.
    again = asker.controller.shown.path[-1]
    assert _cost_in_menu(asker, again.id, half + 1).num_read == 1
    cursor = asker.view(again.id).text.textCursor()
    cursor.setPosition(0)
    asker.view(again.id).text.setTextCursor(cursor)
    asker.window.menus.menu("Message").aboutToShow.emit()
    assert asker.window.action("continue").text().startswith("Continue\t")
    asker.bot.waitUntil(lambda: "kept" in asker.window.action("continue").text(), timeout=PATIENCE_MS)
