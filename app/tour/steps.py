"""The steps of the tour. Each returns facts for the report; `steps_of` lists them in order."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QGuiApplication, QKeySequence, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QPushButton, QToolButton

from app.answers.sessions import GUIDE
from app.catalog.good_models import best_that_fits
from app.catalog.machine_memory import machine_memory
from app.model.token_pieces import TokenPiece
from app.tour.visitor import UnexpectedError, Visitor, expect, figures_of
from app.ui.comparing.compare_window import CompareWindow
from app.ui.composer.format_popover import FormatPopover
from app.ui.dialogs.export_window import ExportWindow
from app.ui.palette import Palette
from app.ui.settings.settings_window import SettingsWindow
from app.ui.text.message_text import MessageText
from app.ui.text.token_reader import TokenReader

FIRST_QUESTION = "Why is the sky blue?"
QUESTION = "What is a branch?"
FOLLOW_UP = "How do I regenerate an answer?"
EDITED = "How do I fork a message?"
_FEW_WORDS = 150
"""The tour continues after this many characters of the real model's answer."""
_MIN_KEPT_TOKENS = 1
"""The minimum number of tokens before the fork."""
_SCHEMA = (
    '{"type": "object", "properties": {"topic": {"enum": ["branches", "tokens", "exports"]}, '
    '"is_kept": {"type": "boolean"}}, "required": ["topic", "is_kept"], "additionalProperties": false}'
)
_NOTES = "Shopping for the week\n\n- apples\n- bread\n- a map of the forest\n"


def load(visitor: Visitor) -> dict[str, Any]:
    session = visitor.controller.program.session
    visitor.picture("start")
    visitor.wait("the model to load", lambda: session.state != "loading")
    if session.name != GUIDE and best_that_fits(machine_memory()) is not None:
        offers = visitor.controller.program.supply.first_models
        visitor.wait("the offer of a better model", lambda: offers.offer is not None)
    info = session.info
    label = "guide" if visitor.controller.model.name == GUIDE else "starter's"
    if info is None:
        raise UnexpectedError(f"The {label} model did not load: {visitor.why_not_loaded}")
    return {"model": info.model, "parameters": info.num_parameters, "context": info.context_length}


def chat_with_starter(visitor: Visitor) -> dict[str, Any]:
    """Ask the small real model a question, and stop its answer if it gets long."""
    visitor.ask(FIRST_QUESTION)
    shown = visitor.controller.shown
    visitor.wait("a few words", lambda: not shown.streaming_message or len(shown.path[-1].text) > _FEW_WORDS)
    if shown.streaming_message is not None:
        visitor.press_key_of("stop")
        visitor.wait("the stop", lambda: shown.streaming_message is None)
    answer = shown.path[-1]
    expect(answer.state in {"complete", "stopped"}, f"the answer ended as {answer.state}")
    expect(bool(answer.text.strip()), "the answer is empty")
    return figures_of(answer)


def ask(visitor: Visitor) -> dict[str, Any]:
    """Ask the guide a question. A starter that is loaded stays loaded beside the guide."""
    _turn_to_guide(visitor)
    visitor.ask(QUESTION)
    visitor.wait("the first words", lambda: bool(visitor.controller.shown.path[-1].text))
    first_words = visitor.controller.shown.path[-1].text
    visitor.picture("streaming")
    answer = visitor.finished_answer()
    expect(answer.text.startswith(first_words), "the first words changed later")
    return figures_of(answer)


def _turn_to_guide(visitor: Visitor) -> None:
    """Open a page where the guide answers, unless the current page is one."""
    if visitor.controller.model.name != GUIDE:
        visitor.press_key_of("ask_guide")


def regenerate(visitor: Visitor) -> dict[str, Any]:
    old = visitor.controller.shown.path[-1]
    visitor.press(visitor.view_of(old), "R")
    answer = visitor.finished_answer()
    versions = visitor.controller.shown.siblings(answer.id)
    expect(answer.id != old.id and old.id in versions, "the old answer is gone")
    figures = figures_of(answer)
    expect(figures["read_tokens"] == 1, f"{figures['read_tokens']} tokens were read again")
    return {**figures, "versions": len(versions)}


def regenerate_with(visitor: Visitor) -> dict[str, Any]:
    """Regenerate an answer with more creative sampling, once."""
    old = visitor.controller.shown.path[-1]
    generation = visitor.controller.preparation.generation
    visitor.press(visitor.view_of(old), "W")
    menu = visitor.opened(QMenu)
    visitor.picture("ways to regenerate")
    visitor.choose(menu, "Creative")
    answer = visitor.finished_answer()
    expect(visitor.controller.preparation.generation == generation, "the sampling of the next answers changed too")
    return {**figures_of(answer), "versions": len(visitor.controller.shown.siblings(answer.id))}


def ask_on(visitor: Visitor) -> dict[str, Any]:
    visitor.ask(FOLLOW_UP)
    figures = figures_of(visitor.finished_answer())
    expect(figures["kept_tokens"] > 0, "nothing of the first turn was kept")
    return figures


def edit(visitor: Visitor) -> dict[str, Any]:
    question = next(message for message in visitor.controller.shown.path if message.text == FOLLOW_UP)
    visitor.press(visitor.view_of(question), "E")
    editor = visitor.window.focusWidget()
    visitor.type_over(editor, EDITED)
    visitor.picture("editing")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    answer = visitor.finished_answer()
    edited = visitor.controller.shown.path[-2]
    versions = visitor.controller.shown.siblings(edited.id)
    expect(edited.text == EDITED, "the new version is not shown")
    expect(question.id in versions, "the old question is gone")
    figures = figures_of(answer)
    expect(figures["kept_tokens"] > 0, "nothing before the edited question was kept")
    return {**figures, "versions": len(versions)}


def switch_back(visitor: Visitor) -> dict[str, Any]:
    edited = visitor.controller.shown.path[-2]
    visitor.view_of(edited).text.setFocus(Qt.FocusReason.TabFocusReason)
    visitor.press_key_of("previous_sibling")
    texts = [message.text for message in visitor.controller.shown.path]
    expect(FOLLOW_UP in texts and EDITED not in texts, "the first version did not come back")
    return {"messages": len(texts)}


def fork(visitor: Visitor) -> dict[str, Any]:
    answer = next(message for message in visitor.controller.shown.path if message.role == "assistant")
    visitor.press(visitor.view_of(answer), "F")
    expect(visitor.controller.shown.path[-1].id == answer.id, "the new conversation does not end where it was forked")
    visitor.ask(EDITED)
    forked = visitor.finished_answer()
    return {**figures_of(forked), "conversations": len(visitor.controller.program.conversations.all)}


def compare(visitor: Visitor) -> dict[str, Any]:
    answer = visitor.controller.shown.path[-1]
    visitor.press(visitor.view_of(answer), "D")
    compared = visitor.opened(CompareWindow)
    shown = (compared.panes.left.toPlainText(), compared.panes.right.toPlainText())
    texts = [visitor.controller.shown.message(version).text for version in visitor.controller.shown.siblings(answer.id)]
    # The marks of Markdown are not shown.
    is_newest = all(_words(pane) and _words(pane) <= _words(text) for pane, text in zip(shown, texts[-2:], strict=True))
    expect(is_newest, "the window does not compare the two newest versions")
    while not compared.panes.num_differences and compared.left_choice.currentIndex():
        # Both answers are equal: go back to a version that differs.
        QTest.keyClick(compared.left_choice, Qt.Key.Key_Up)
    if compared.panes.num_differences:
        QTest.keySequence(compared, "F7")
        expect(compared.panes.current == 0, "no difference is shown")
    visitor.picture("comparing", compared)
    QTest.keyClick(compared, Qt.Key.Key_Escape)
    return {"differences": compared.panes.num_differences}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def go_by_tree(visitor: Visitor) -> dict[str, Any]:
    """Look at the cost of another branch, then go there."""
    visitor.press_key_of("write")
    visitor.click(visitor.find(QToolButton, "Show the tree"))
    dock = visitor.window.tree_dock
    visitor.wait("the tree", lambda: dock.view.layout_shown is not None)
    visitor.settle()
    layout = dock.view.layout_shown
    opened = visitor.controller.shown.opened
    if layout is None or opened is None:
        raise UnexpectedError("there is no tree")
    question = next(message for message in opened.tree.messages if message.text == EDITED)
    answer = next(message for message in opened.tree.messages if message.parent_id == question.id)
    place = dock.view.rect_of(layout[answer.id]).center()
    QTest.mouseMove(dock.view.viewport(), place)
    visitor.wait("the cost", lambda: visitor.controller.costs.get(answer.id) is not None)
    shown = [message.id for message in visitor.controller.shown.path]
    visitor.picture("cost before a click")
    expect(answer.id not in shown, "the branch changed before a click")
    QTest.mouseDClick(dock.view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    expect(visitor.controller.shown.path[-1].id == answer.id, "the tree did not open the branch")
    cost = visitor.controller.costs.get(answer.id)
    return {
        "messages": len(list(opened.tree.messages)),
        "would_read_tokens": cost.num_read if cost is not None else None,
    }


def ask_for_three(visitor: Visitor) -> dict[str, Any]:
    """Ask for three more answers at once, and watch them."""
    visitor.click(visitor.find(QToolButton, "Hide the tree"))
    answer = visitor.controller.shown.path[-1]
    visitor.press(visitor.view_of(answer), "W")
    visitor.choose(visitor.opened(QMenu), "3 answers")
    page = visitor.window.side_by_side
    expect(page.isVisible() and len(page.message_ids) == 3, "the answers are not side by side")
    controller = visitor.controller
    visitor.wait("their first words", lambda: all(controller.shown.message(one).text for one in page.message_ids))
    visitor.picture("three at once")
    visitor.wait("the answers", lambda: not any(controller.shown.is_streaming(one) for one in page.message_ids))
    return {"answers": len(page.message_ids), "versions": len(controller.shown.siblings(answer.id))}


def keep_one(visitor: Visitor) -> dict[str, Any]:
    second = visitor.window.side_by_side.message_ids[1]
    before = visitor.controller.shown.siblings(second)
    number = list(before).index(second) + 1
    visitor.click(visitor.find(QPushButton, f"Keep only Version {number} of {len(before)}"))
    expect(not visitor.window.side_by_side.isVisible(), "the answers are still side by side")
    expect(visitor.controller.shown.path[-1].id == second, "the answer that was kept is not shown")
    after = visitor.controller.shown.siblings(second)
    expect(len(after) == len(before) - 2, "the other two answers are still there")
    return {"versions": len(after)}


def undo_and_redo(visitor: Visitor) -> dict[str, Any]:
    kept = visitor.controller.shown.path[-1].id
    after = list(visitor.controller.shown.siblings(kept))
    visitor.press_key_of("undo")
    expect(len(visitor.controller.shown.siblings(kept)) == len(after) + 2, "undo did not restore the other two answers")
    visitor.picture("undone")
    visitor.press_key_of("redo")
    expect(list(visitor.controller.shown.siblings(kept)) == after, "redo did not remove them again")
    return {"versions": len(after)}


def fork_at_a_token(visitor: Visitor) -> dict[str, Any]:
    """Go to an uncertain token and fork the answer with one of its alternatives."""
    visitor.press_key_of("tokens")
    visitor.press(visitor.view_of(visitor.controller.shown.path[-1]), "R")
    answer = visitor.finished_answer()
    text = visitor.view_of(answer).text
    text.setFocus(Qt.FocusReason.TabFocusReason)
    if text.tokens is None:
        raise UnexpectedError("the tokens are not shown")
    index = _go_to_uncertain_token(text, text.tokens)
    before = answer.text[: text.tokens.pieces[index].start]
    _mark_alternative(text, text.tokens)
    visitor.picture("alternatives")
    QTest.keyClick(text, Qt.Key.Key_Return)
    forked = visitor.finished_answer()
    expect(
        forked.id != answer.id and answer.id in visitor.controller.shown.siblings(forked.id), "the answer did not fork"
    )
    expect(forked.text.startswith(before), "the text before the token changed")
    figures = figures_of(forked)
    visitor.picture("forked at a token")
    visitor.press_key_of("tokens")
    return {"token": index, **figures}


def _go_to_uncertain_token(text: MessageText, reader: TokenReader) -> int:
    """Press Right until the token with the lowest probability is reached; return its index."""
    indices = range(_MIN_KEPT_TOKENS, len(reader.pieces))
    target = max(indices, key=lambda index: _second_logprob(reader.pieces[index]), default=0)
    expect(bool(reader.pieces[target].alternatives), "the token has no alternatives")
    for _ in reader.pieces:
        QTest.keyClick(text, Qt.Key.Key_Right)
        if reader.current == target:
            return target
    raise UnexpectedError("the arrow keys do not move through the tokens")


def _second_logprob(piece: TokenPiece) -> float:
    logprobs = [alternative.logprob for alternative in piece.choices if alternative.logprob is not None]
    return sorted(logprobs)[-2] if len(logprobs) > 1 else -math.inf


def _mark_alternative(text: MessageText, reader: TokenReader) -> None:
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Up):
        QTest.keyClick(text, key)
        if reader.popover is not None and reader.popover.marked_id is not None:
            return
    raise UnexpectedError("no alternative can be marked")


def find(visitor: Visitor) -> dict[str, Any]:
    """Find a word in this conversation and go to the next hit."""
    visitor.press_key_of("find")
    bar = visitor.window.find_bar
    visitor.type_over(bar.field, "branch")
    visitor.wait("hits", lambda: bar.count.text().startswith("1 of "))
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    expect(bar.count.text().startswith("2 of "), f"the second hit is labelled {bar.count.text()!r}")
    visitor.picture("found")
    count = bar.count.text()
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)
    expect(not bar.isVisible(), "the bar does not close")
    return {"hits": int(count.rpartition(" ")[2])}


def search_everything(visitor: Visitor) -> dict[str, Any]:
    """Search for a word in a hidden branch and go there."""
    visitor.press_key_of("search_all")
    search = visitor.window.dialogs.search
    QTest.keyClicks(search.field, FOLLOW_UP.split()[3])
    visitor.wait("the search result", lambda: search.list.chosen is not None)
    visitor.picture("searching")
    found = search.list.chosen
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    shown = [message.id for message in visitor.controller.shown.path]
    expect(found is not None and found.message.id in shown, "the search result is not shown")
    return {"hits": search.list.model().rowCount()}


def open_with_palette(visitor: Visitor) -> dict[str, Any]:
    """Open the first conversation with the guide by typing its name into the palette."""
    conversations = visitor.controller.program.conversations
    first = min((one for one in conversations.all if one.name == QUESTION), key=lambda one: one.id)
    visitor.press_key_of("palette")
    palette = visitor.opened(Palette)
    visitor.picture("palette")
    QTest.keyClicks(palette.field, first.name)
    shown = palette.shown
    visitor.picture("palette searched")
    expect(bool(shown) and shown[0].text == first.name, f"{first.name!r} is not the best match")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    expect(visitor.controller.shown.path[1].text == QUESTION, "the first conversation did not open")
    return {"conversation": first.name}


def ask_for_json(visitor: Visitor) -> dict[str, Any]:
    """Type a JSON schema, which is checked while typing; the answer must match it."""
    visitor.press_key_of("new")
    _turn_to_guide(visitor)
    visitor.press_key_of("answer_format")
    popover = visitor.opened(FormatPopover)
    visitor.click(popover.kinds["json_schema"])
    visitor.click(popover.editor.viewport())
    QTest.keyClicks(popover.editor, "{")
    visitor.wait("the error of an incomplete schema", lambda: popover.verdict.objectName() == "failure")
    visitor.type_over(popover.editor, _SCHEMA)
    visitor.wait("the schema to be accepted", lambda: popover.verdict.objectName() == "good")
    visitor.picture("answer format")
    QTest.keyClick(popover, Qt.Key.Key_Escape)
    visitor.ask("Is what a model has read kept?")
    answer = visitor.finished_answer()
    found = json.loads(answer.text)
    expect(
        set(found) == {"topic", "is_kept"} and isinstance(found["is_kept"], bool),
        "the answer does not match the schema",
    )
    return {**figures_of(answer), "said": found}


def attach_a_file(visitor: Visitor) -> dict[str, Any]:
    """Paste a file into the composer, wait for its size in tokens, and ask about it."""
    visitor.press_key_of("new")
    _turn_to_guide(visitor)
    file = visitor.folder / "notes.txt"
    file.write_text(_NOTES, encoding="utf-8")
    copied = QMimeData()
    copied.setUrls([QUrl.fromLocalFile(str(file))])
    QGuiApplication.clipboard().setMimeData(copied)
    composer = visitor.window.composer

    def chips() -> list[str]:
        return [button.accessibleName() for button in composer.attachments.buttons]

    QTest.keySequence(composer.text, QKeySequence(QKeySequence.StandardKey.Paste))
    QGuiApplication.clipboard().clear()
    visitor.wait("the file's size", lambda: any("tokens" in chip for chip in chips()))
    visitor.picture("attached")
    visitor.ask("What is in my notes?")
    answer = visitor.finished_answer()
    expect(_NOTES.strip() in visitor.controller.shown.path[-3].text, "the file was not sent")
    return figures_of(answer)


def export(visitor: Visitor) -> dict[str, Any]:
    """Export the visible branch to `transcript.md`."""
    visitor.press_key_of("export")
    sheet = visitor.opened(ExportWindow)
    # The system's folder dialog is not part of the tour.
    sheet.set_folder(visitor.out)
    visitor.type_over(sheet.name_field, "transcript")
    visitor.wait("the preview", lambda: bool(sheet.preview.text.toPlainText()))
    visitor.picture("exporting", sheet)
    QTest.keyClick(sheet, Qt.Key.Key_Return)
    visitor.wait("the export", lambda: not sheet.is_working)
    text = (visitor.out / "transcript.md").read_text(encoding="utf-8")
    for message in visitor.controller.shown.path:
        expect(message.text.strip() in text, f"the transcript lacks {message.text[:40]!r}")
    return {"characters": len(text)}


def change_the_theme(visitor: Visitor) -> dict[str, Any]:
    """Go through the pages of the settings, then choose the other theme."""
    visitor.press_key_of("settings")
    settings = visitor.opened(SettingsWindow)
    for number in range(settings.list.count()):
        settings.list.setFocus()
        expect(settings.list.currentRow() == number, "the arrow keys do not move through the pages")
        visitor.picture(f"settings {settings.list.item(number).text().lower()}", settings)
        QTest.keyClick(settings.list, Qt.Key.Key_Down)
    QTest.keyClick(settings.list, Qt.Key.Key_Home)
    was_dark = _is_dark(visitor)
    visitor.click(settings.general.theme.buttons[1 if was_dark else 2])
    visitor.wait("the other theme", lambda: _is_dark(visitor) != was_dark)
    QTest.keyClick(settings, Qt.Key.Key_Escape)
    visitor.click(visitor.find(QToolButton, "Close notice"))
    visitor.press_key_of("write")
    visitor.press_key_of("tree")
    visitor.wait("the costs in the tree", lambda: _all_costs_are_known(visitor))
    return {"theme": visitor.controller.program.settings.theme}


def _all_costs_are_known(visitor: Visitor) -> bool:
    shown = [one for one in visitor.window.tree_dock.view.in_sight() if visitor.controller.shown.message(one).text]
    return bool(shown) and all(visitor.controller.costs.get(one) is not None for one in shown)


def _is_dark(visitor: Visitor) -> bool:
    return visitor.window.palette().color(QPalette.ColorRole.Window).lightnessF() < 0.5


Step: TypeAlias = Callable[[Visitor], dict[str, Any]]


def steps_of(*, has_starter: bool) -> list[tuple[str, Step]]:
    """Return the steps with their names, in order. With `has_starter`, the tour begins with the small real model."""
    first = [("starter", chat_with_starter)] if has_starter else []
    return [("load", load), *first, *_STEPS]


_STEPS: tuple[tuple[str, Step], ...] = (
    ("ask", ask),
    ("regenerate", regenerate),
    ("regenerate with", regenerate_with),
    ("compare", compare),
    ("ask on", ask_on),
    ("edit an earlier question", edit),
    ("switch back", switch_back),
    ("tree", go_by_tree),
    ("three side by side", ask_for_three),
    ("keep one", keep_one),
    ("undo and redo", undo_and_redo),
    ("tokens", fork_at_a_token),
    ("find", find),
    ("form", ask_for_json),
    ("attach", attach_a_file),
    ("fork", fork),
    ("search everything", search_everything),
    ("palette", open_with_palette),
    ("export", export),
    ("settings", change_the_theme),
)
