"""Scenes of reading: conversations that are hard to show, search hits in them, menus, settings."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QListWidget, QWidget

from app.catalog.good_models import good_models
from app.catalog.starter import starter_path
from app.notices import Notice, ShowFile
from app.ui.text.message_text import MessageText
from tests.app.ui.waiting import are_formulas_rendered
from tests.models import byte_level_tokenizer, write_random_llama
from tests.scenes.stage import Stage
from worker.sentence import verbatim


def first_start(stage: Stage) -> QWidget:
    return stage.window


def first_start_with_starter(stage: Stage) -> QWidget:
    """The page with both models; the starter answers, and a better model is offered."""
    program = stage.application.program
    write_random_llama(starter_path(program.models_folder), byte_level_tokenizer())
    stage.controller.choose_model(program.supply.starter)
    stage.wait(lambda: program.session.state == "ready" and program.session.name == program.supply.starter)
    program.supply.first_models.suggest(good_models()[1])
    return stage.window


def empty(stage: Stage) -> QWidget:
    return stage.window


def opened(stage: Stage, name: str) -> QWidget:
    stage.open(name)
    return stage.window


def math(stage: Stage) -> QWidget:
    """Waits until all formulas are drawn."""
    stage.open("math")
    stage.wait(are_formulas_rendered)
    return stage.window


def much_code(stage: Stage) -> QWidget:
    """The end of a message whose last part is shown as written."""
    stage.open("much code")
    text = stage.view(stage.controller.shown.path[-1]).findChildren(MessageText)[-1]
    stage.wait(lambda: text.num_hidden > 0)
    QTest.keyClick(stage.window.transcript, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    return stage.window


def thought(stage: Stage) -> QWidget:
    stage.open("thought")
    answer = stage.controller.shown.path[-1]
    thought = stage.view(answer).thought
    if thought is not None and not thought.is_open:
        stage.press(answer, "T")
    return stage.window


def editing(stage: Stage) -> QWidget:
    stage.open("versions")
    stage.press(stage.controller.shown.path[1], "E")
    return stage.window


def selecting(stage: Stage) -> QWidget:
    stage.open("table")
    stage.act("select_messages")
    return stage.window


def notice(stage: Stage) -> QWidget:
    """A notice with a long name of a file, above a short conversation."""
    stage.open("versions")
    path = Path("/home/a-user/Documents") / f"{'a_name_without_spaces_' * 4}.md"
    text = verbatim(f"The branch was exported to {path}.")
    stage.application.program.notices.post(Notice(text, action=ShowFile(path)))
    stage.wait(stage.window.banner.isVisible)
    return stage.window


def finding(stage: Stage) -> QWidget:
    stage.open("versions")
    stage.act("find")
    stage.window.find_bar.field.setText("answer")
    return stage.window


def tokens(stage: Stage) -> QWidget:
    """The popover at a token that was not the likeliest."""
    stage.open("tokens")
    stage.act("tokens")
    answer = stage.controller.shown.path[-1]
    for _ in range(5):
        stage.press(answer, Qt.Key.Key_Right)
    stage.press(answer, Qt.Key.Key_Down)
    return stage.window


def message_menu(stage: Stage) -> QWidget:
    stage.open("versions")
    return _menu(stage, "Message")


def going_on(stage: Stage) -> QWidget:
    """The cost of continuing from the cursor in an answer, shown in its menu."""
    stage.open("thought")
    text = stage.view(stage.controller.shown.path[-1]).text
    text.setFocus(Qt.FocusReason.TabFocusReason)
    cursor = text.textCursor()
    cursor.setPosition(30)
    text.setTextCursor(cursor)
    window = _menu(stage, "Message")
    # Without room for the cost it is not shown.
    menu = stage.window.menus.menu("Message")
    stage.wait(lambda: not menu.minimumWidth() or "(" in stage.window.action("continue").text())
    return window


def models_menu(stage: Stage) -> QWidget:
    return _menu(stage, "Models")


def palette(stage: Stage) -> QWidget:
    stage.open("versions")
    stage.act("palette")
    return stage.window


def keys(stage: Stage) -> QWidget:
    stage.act("shortcuts")
    return stage.shown(QDialog)


def about(stage: Stage) -> QWidget:
    stage.act("about")
    return stage.shown(QDialog)


def settings(stage: Stage, number: int) -> QWidget:
    stage.act("settings")
    dialog = stage.shown(QDialog)
    pages = dialog.findChild(QListWidget, "settings_pages")
    assert isinstance(pages, QListWidget)
    pages.setCurrentRow(number)
    return dialog


def draft_models(stage: Stage) -> QWidget:
    """A draft model with a different vocabulary from the loaded model's, and one that no longer exists."""
    folder = stage.folder / "a-model-with-a-rather-long-name-4bit"
    folder.mkdir(exist_ok=True)
    tokenizer = {"model": {"vocab": {f"w{number}": number for number in range(300)}}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    names = (str(folder), str(stage.folder / "moved-away"))
    stage.application.program.preferences.change(recent_drafts=names)
    dialog = settings(stage, 4)
    stage.wait(lambda: stage.application.program.drafts.misfit(names[1]) == "gone")
    return dialog


def _menu(stage: Stage, title: str) -> QWidget:
    bar = stage.window.menuBar()
    menu = stage.window.menus.menu(title)
    menu.popup(bar.mapToGlobal(QPoint(bar.actionGeometry(menu.menuAction()).left(), bar.height())))
    stage.wait(lambda: QApplication.activePopupWidget() is menu)
    return stage.window
