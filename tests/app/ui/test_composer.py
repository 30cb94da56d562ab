"""The composer and its panels, in the real window with the real worker."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QToolButton,
    QWidget,
)

from app.model.generation_settings import EXAMPLES, AnswerFormat, GenerationSettings, Preset
from app.model.message import Sampling
from app.model.settings import MAX_PRESETS
from app.model.unsent import Unsent
from app.ui.composer.format_popover import FormatPopover
from app.ui.composer.parts_popover import PartsPopover
from app.ui.composer.sampling_panel import SamplingPanel
from app.ui.composer.system_prompt_popover import SystemPromptPopover
from app.ui.message.foldable_parts import NoteView
from app.ui.parts.popover import Popover
from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.app.ui.ways import Way, mostly, name_of, press
from tests.waiting import PATIENCE_MS

_CONTROLS = (QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit)

P = TypeVar("P", bound=Popover)


@pytest.fixture(autouse=True)
def _clean_composer(user: User) -> None:
    """Start with nothing prepared on the empty page."""
    user.controller.preparation.reset_generation()
    user.controller.preparation.replace_unsent(Unsent())
    user.controller.program.set_presets(())


def _opened(user: User, action: str, kind: type[P]) -> P:
    """Trigger an action as its key does and return what it opened."""
    user.window.action(action).trigger()
    popover = QApplication.activePopupWidget()
    assert isinstance(popover, kind)
    if isinstance(popover, SamplingPanel):
        for part in (popover.advanced, popover.hooks_and_drafts):
            part.open()
    return popover


def _press(user: User, widget: QWidget, *keys: Qt.Key) -> None:
    for key in keys:
        user.bot.keyClick(widget, key)


# --- the draft -----------------------------------------------------------------------------------------------


def test_unsent_text_is_kept_with_its_conversation(user: User) -> None:
    user.type("on the empty page")
    user.controller.shown.open_conversation(_conversation(user, "What is a branch?"))
    assert user.window.composer.text.content == ""
    user.type("in the other")
    user.window.action("new").trigger()
    assert user.window.composer.text.content == "on the empty page"
    user.controller.shown.open_conversation(user.controller.program.conversations.all[0].id)
    assert user.window.composer.text.content == "in the other"


def _conversation(user: User, question: str) -> int:
    conversation, _ = user.application.store.create_conversation(question, "", question)
    return conversation.id


def test_up_steps_back_through_earlier_questions_and_escape_returns(user: User) -> None:
    field = user.window.composer.text
    conversation, first = user.application.store.create_conversation("c", "", "one\ntwo")
    user.application.store.add(conversation.id, first.id, "user", "three")
    user.controller.shown.open_conversation(conversation.id)
    field.setFocus()
    _press(user, field, Qt.Key.Key_Down)
    assert field.content == ""
    _press(user, field, Qt.Key.Key_Up)
    assert field.content == "three"
    _press(user, field, Qt.Key.Key_Up)
    assert field.content == "one\ntwo"
    # Up moves to the first line of the recalled text before it recalls an earlier question.
    _press(user, field, Qt.Key.Key_Up)
    assert field.textCursor().blockNumber() == 0
    _press(user, field, Qt.Key.Key_Up)
    assert field.content == "one\ntwo"
    _press(user, field, Qt.Key.Key_Down, Qt.Key.Key_Down)
    assert field.content == "three"
    _press(user, field, Qt.Key.Key_Down)
    assert field.content == ""
    _press(user, field, Qt.Key.Key_Up)
    escape = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(field, escape)
    assert escape.isAccepted()
    _press(user, field, Qt.Key.Key_Escape)
    assert field.content == ""
    _press(user, field, Qt.Key.Key_Up)
    user.bot.keyClicks(field, " and more")
    _press(user, field, Qt.Key.Key_Up)
    assert field.content == "three and more"


# --- files ---------------------------------------------------------------------------------------------------


def test_a_file_is_sent_with_the_message_and_its_size_is_shown(user: User, tmp_path: Path) -> None:
    file = tmp_path / "notes.py"
    file.write_text("x = 1\n")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    QGuiApplication.clipboard().setMimeData(data)
    composer = user.window.composer
    user.type("What is a branch?")
    composer.text.paste()
    # Qt releases the clipboard's data only after Python has ended.
    QGuiApplication.clipboard().clear()
    user.bot.waitUntil(lambda: "token" in _chips(user), timeout=PATIENCE_MS)
    assert _chips(user).startswith("notes.py · ")
    _press(user, composer.text, Qt.Key.Key_Return)
    user.answer()
    assert [(message.role, message.text) for message in user.controller.shown.path[1:-1]] == [
        ("file", "notes.py\nx = 1\n"),
        ("user", "What is a branch?"),
    ]
    assert composer.text.content == _chips(user) == ""


def _chips(user: User) -> str:
    labels = user.window.composer.attachments.findChildren(QLabel)
    return " ".join(label.text() for label in labels if label.isVisible())


def test_a_file_is_read_once_however_often_its_question_changes(user: User, tmp_path: Path) -> None:
    file = tmp_path / "apples.txt"
    file.write_text("Apples are red or green. " * 40)
    user.window.composer.files_given.emit([file])
    first = user.ask("Which colours?")
    question = user.controller.shown.path[-2]
    view = user.view(user.controller.shown.path[-3].id)
    contents = view.findChild(NoteView)
    assert isinstance(contents, NoteView)
    user.bot.waitUntil(lambda: "tokens" in contents.button.text(), timeout=PATIENCE_MS)
    assert view.text.content == "apples.txt"
    contents.button.click()
    assert contents.text is not None
    assert "Apples are red" in contents.text.content
    user.controller.edit(question.id, "And pears?")
    second = user.answer()
    assert first.record is not None
    assert second.record is not None
    assert [message.role for message in user.controller.shown.path] == ["system", "file", "user", "assistant"]
    assert first.record.figures.prompt_tokens > 200
    assert second.record.figures.read_tokens < 40
    user.controller.edit(user.controller.shown.path[0].id, "Be brief.")
    user.answer()
    assert [message.text for message in user.controller.shown.path][:1] == ["Be brief."]
    assert user.controller.shown.path[1].text.startswith("apples.txt\nApples")


@mostly("keys")
def test_a_document_is_read_in_the_background_and_its_pages_are_chosen(user: User, tmp_path: Path, way: Way) -> None:
    file = tmp_path / "book.html"
    file.write_text("".join(f"<h1>Chapter {name}</h1><p>It is about {name}.</p>" for name in ("one", "two", "three")))
    composer = user.window.composer
    composer.files_given.emit([file])
    assert _chips(user) == "book.html · reading…"
    composer.text.setFocus()
    user.type("What is it about?")
    _press(user, composer.text, Qt.Key.Key_Return)
    assert user.controller.shown.opened is None
    user.bot.waitUntil(lambda: list(composer.attachments.openers) == [0], timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: "tokens" in composer.attachments.openers[0].text(), timeout=PATIENCE_MS)
    opener = composer.attachments.openers[0]
    press(user, way, composer, name_of(opener))
    popover = QApplication.activePopupWidget()
    assert isinstance(popover, PartsPopover)
    if way == "mouse":
        place = popover.parts.visualItemRect(popover.parts.item(1))
        box = QPoint(place.left() + 12, place.center().y())
        user.bot.mouseClick(popover.parts.viewport(), Qt.MouseButton.LeftButton, pos=box)
    else:
        _press(user, popover.parts, Qt.Key.Key_Down)
        assert screen_reader.focused(popover.parts).startswith("Chapter two")
        _press(user, popover.parts, Qt.Key.Key_Space)
    assert popover.parts.item(1).checkState() == Qt.CheckState.Unchecked
    popover.close()
    assert "2 of 3 parts" in composer.attachments.openers[0].accessibleName()
    composer.text.setFocus()
    _press(user, composer.text, Qt.Key.Key_Return)
    user.answer()
    sent = user.controller.shown.path[1].text
    assert sent == "book.html\n[Chapter one]\nIt is about one.\n\n[Chapter three]\nIt is about three."


def test_every_file_shows_its_size_even_an_empty_one(user: User, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("empty.txt", "one.txt", "wide.txt")]
    for file, data in zip(files, (b"", b"x = 1", "x = 1".encode("utf-16")), strict=True):
        file.write_bytes(data)
    composer = user.window.composer
    composer.files_given.emit(files)
    user.bot.waitUntil(lambda: _chips(user).count("tokens") == 3, timeout=PATIENCE_MS)
    assert _chips(user).startswith("empty.txt · ")
    for _ in files:
        _press(user, composer.attachments.buttons[0], Qt.Key.Key_Delete)


def test_a_picture_is_refused_and_a_file_is_removed_by_its_key(user: User, tmp_path: Path) -> None:
    picture, text = tmp_path / "a.png", tmp_path / "a.txt"
    picture.write_bytes(b"\x89PNG\x00")
    text.write_text("text")
    composer = user.window.composer
    composer.files_given.emit([picture, text])
    assert "“a.png” is not a text file" in user.window.banner.label.text()
    assert len(composer.attachments.buttons) == 1
    assert composer.send_button.isEnabled()
    _press(user, composer.attachments.buttons[0], Qt.Key.Key_Delete)
    assert composer.attachments.buttons == []
    assert user.window.focusWidget() is composer.text
    assert not composer.send_button.isEnabled()


def test_a_dropped_file_that_may_contain_conversations_opens_a_menu(user: User, tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text("[]")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    action, button, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    composer = user.window.composer
    QApplication.sendEvent(composer, QDragEnterEvent(QPoint(5, 5), action, data, button, none))
    QApplication.sendEvent(composer, QDropEvent(QPoint(5, 5), action, data, button, none))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert [action.text() for action in menu.actions()] == ["Attach to the message", "Import as conversations…"]
    menu.actions()[0].trigger()
    menu.close()
    assert len(composer.attachments.buttons) == 1


# --- the answer format ---------------------------------------------------------------------------------------


def test_a_format_is_checked_while_it_is_typed_and_answers_match_it(user: User) -> None:
    composer = user.window.composer
    popover = _opened(user, "answer_format", FormatPopover)
    popover.kinds["regex"].click()
    popover.editor.setFocus()
    user.bot.keyClicks(popover.editor, "(yes|no")
    user.bot.waitUntil(lambda: popover.verdict.objectName() == "failure", timeout=PATIENCE_MS)
    assert popover.verdict.text()
    assert composer.format_button.text() == "Regex: not usable ▾"
    user.bot.keyClicks(popover.editor, ")")
    user.bot.waitUntil(lambda: popover.verdict.objectName() == "good", timeout=PATIENCE_MS)
    popover.close()
    assert composer.format_button.text() == "Regex ▾"
    assert user.ask("What is a branch?").text in {"yes", "no"}
    answer = user.controller.shown.path[-1]
    assert answer.record is not None
    assert answer.record.constraint is not None
    assert answer.record.constraint.value == "(yes|no)"


def test_every_example_is_valid(user: User) -> None:
    popover = _opened(user, "answer_format", FormatPopover)
    for kind, examples in EXAMPLES.items():
        popover.kinds[kind].click()
        assert len(popover.examples.menu().actions()) == len(examples)
        for action, example in zip(popover.examples.menu().actions(), examples, strict=True):
            action.trigger()
            assert user.controller.preparation.generation.format == example
            user.bot.waitUntil(lambda: popover.verdict.objectName() in {"good", "failure"}, timeout=PATIENCE_MS)
            assert popover.verdict.objectName() == "good", (example, popover.verdict.text())
            popover.show_verdict(None)
    popover.kinds[None].click()
    assert user.controller.preparation.generation.format is None
    popover.close()


def test_an_answer_in_the_json_format_is_json(user: User) -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    schema["additionalProperties"] = False
    user.controller.preparation.set_generation(
        GenerationSettings(
            sampling=Sampling(temperature=0.0), format=AnswerFormat(kind="json_schema", text=json.dumps(schema))
        )
    )
    assert isinstance(json.loads(user.ask("What is a branch?").text)["ok"], bool)


# --- the sampling panel --------------------------------------------------------------------------------------


def _can_be_switched(panel: SamplingPanel, hook: str) -> bool:
    return hook in panel.hooks.switches and panel.hooks.switches[hook].isVisible()


def test_the_panel_can_be_used_by_keyboard_alone(user: User) -> None:
    panel = _opened(user, "sampling", SamplingPanel)
    assert panel.focusWidget() is panel.temperature
    user.bot.waitUntil(lambda: _can_be_switched(panel, "no repeats"), timeout=PATIENCE_MS)
    reached: list[QWidget] = []
    while panel.focusWidget() not in reached:
        reached.append(panel.focusWidget())
        user.bot.keyClick(panel.focusWidget(), Qt.Key.Key_Tab)
    fields = (
        panel.presets.list,
        panel.top_k,
        panel.seed,
        panel.draft,
        panel.stop.field,
        *panel.hooks.switches.values(),
    )
    assert set(fields) <= set(reached)
    _press(user, panel.temperature, Qt.Key.Key_Up)
    panel.stop.field.setFocus()
    user.bot.keyClicks(panel.stop.field, r"\n\nUser: a\\n")
    _press(user, panel.stop.field, Qt.Key.Key_Return)
    switch = panel.hooks.switches["no repeats"]
    switch.setFocus()
    _press(user, switch, Qt.Key.Key_Space)
    assert panel.focusWidget() is panel.hooks.switches["no repeats"]
    generation = user.controller.preparation.generation
    assert generation.sampling.temperature == 0.05
    assert generation.sampling.stop == ("\n\nUser: a\\n",)
    assert generation.hooks == ("no repeats",)
    _press(user, panel.stop.chips.buttons[0], Qt.Key.Key_Delete)
    assert user.controller.preparation.generation.sampling.stop == ()
    escape = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(panel.seed, escape)
    assert escape.isAccepted()
    _press(user, panel.seed, Qt.Key.Key_Escape)
    assert QApplication.activePopupWidget() is None


def test_penalties_are_set_in_the_panel_and_shown_again(user: User) -> None:
    panel = _opened(user, "sampling", SamplingPanel)
    panel.presence_penalty.setValue(-0.5)
    panel.frequency_penalty.setValue(1.2)
    sampling = user.controller.preparation.generation.sampling
    assert (sampling.presence_penalty, sampling.frequency_penalty) == (-0.5, 1.2)
    panel.presets.list.activated.emit(panel.presets.list.findData("Wild"))
    assert (panel.presence_penalty.value(), panel.frequency_penalty.value()) == (0, 0)
    panel.close()


def test_hooks_have_an_order_and_options_and_change_the_answer(user: User) -> None:
    panel = _opened(user, "sampling", SamplingPanel)
    user.bot.waitUntil(lambda: _can_be_switched(panel, "no repeats"), timeout=PATIENCE_MS)
    panel.hooks.switches["no repeats"].click()
    panel.hooks.switches["banned phrases"].click()
    later = user.button(panel.hooks, "Move no repeats down")
    user.bot.mouseClick(later, Qt.MouseButton.LeftButton)
    assert user.controller.preparation.generation.hooks == ("banned phrases", "no repeats")
    phrases = next(field for field in panel.hooks.findChildren(QLineEdit) if field.accessibleName() == _PHRASES)
    phrases.setFocus()
    user.bot.keyClicks(phrases, "branch")
    _press(user, phrases, Qt.Key.Key_Return)
    assert user.controller.preparation.generation.hook_options == {"banned phrases": {"phrases": ["branch"]}}
    panel.close()
    answer = user.ask("What is a branch?")
    assert "branch" not in answer.text.lower()
    assert answer.record is not None
    assert [timing.name for timing in answer.record.hook_records] == ["banned phrases", "no repeats"]


_PHRASES = "banned phrases, phrases"


def test_a_preset_is_saved_chosen_updated_and_deleted(user: User) -> None:
    composer = user.window.composer
    panel = _opened(user, "sampling", SamplingPanel)
    panel.top_k.setValue(40)
    panel.presets.save_button.click()
    user.bot.keyClicks(panel.presets.name, "Mine")
    _press(user, panel.presets.name, Qt.Key.Key_Return)
    assert composer.sampling_button.text() == "Sampling: Mine ▾"
    panel.seed.setText("7")
    assert composer.sampling_button.text() == "Sampling: Mine, changed · seed 7 ▾"
    panel.presets.update_button.click()
    assert composer.sampling_button.text() == "Sampling: Mine · seed 7 ▾"
    panel.presets.list.setCurrentIndex(panel.presets.list.findData("Wild"))
    panel.presets.list.activated.emit(panel.presets.list.currentIndex())
    generation = user.controller.preparation.generation
    assert (generation.sampling.temperature, generation.sampling.top_k, generation.sampling.seed) == (1.5, 0, 7)
    panel.presets.list.activated.emit(panel.presets.list.findData("Mine"))
    assert user.controller.preparation.generation.sampling.top_k == 40
    assert panel.top_k.value() == 40
    (preset,) = user.controller.program.settings.presets
    assert (preset.name, preset.generation.sampling.seed) == ("Mine", 7)
    panel.presets.delete_button.click()
    assert user.controller.program.settings.presets == ()
    assert user.controller.preparation.generation.sampling.top_k == 40
    panel.close()


def test_beyond_the_limit_presets_can_only_be_replaced(user: User) -> None:
    """The next start could not read more presets."""
    names = [f"Preset {number}" for number in range(MAX_PRESETS)]
    user.controller.program.set_presets(tuple(Preset(name=name, generation=GenerationSettings()) for name in names))
    panel = _opened(user, "sampling", SamplingPanel)
    panel.presets.save_button.click()
    user.bot.keyClicks(panel.presets.name, "Mine")
    keep = user.button(panel.presets, "Save")
    assert not keep.isEnabled()
    assert "delete one first" in keep.toolTip()
    _press(user, panel.presets.name, Qt.Key.Key_Return)
    assert len(user.controller.program.settings.presets) == MAX_PRESETS
    panel.presets.name.setText("Preset 7")
    assert user.button(panel.presets, "Replace").isEnabled()
    panel.close()


def test_a_built_in_preset_cannot_be_overwritten(user: User) -> None:
    panel = _opened(user, "sampling", SamplingPanel)
    panel.presets.save_button.click()
    user.bot.keyClicks(panel.presets.name, " wild ")
    _press(user, panel.presets.name, Qt.Key.Key_Return)
    assert user.controller.program.settings.presets == ()
    # The first Escape closes the name field, the second one the panel.
    _press(user, panel.presets.name, Qt.Key.Key_Escape)
    assert panel.isVisible()
    assert panel.presets.list.hasFocus()
    _press(user, panel.presets.list, Qt.Key.Key_Escape)
    assert not panel.isVisible()


def test_settings_of_the_panel_can_become_the_default_of_new_conversations(user: User) -> None:
    panel = _opened(user, "sampling", SamplingPanel)
    panel.max_tokens.setValue(77)
    assert user.controller.program.settings.generation.sampling.max_tokens == 1024
    user.bot.mouseClick(user.button(panel, "Make default"), Qt.MouseButton.LeftButton)
    assert user.controller.program.settings.generation.sampling.max_tokens == 77
    panel.max_tokens.setValue(5)
    user.bot.mouseClick(user.button(panel, "Reset to default"), Qt.MouseButton.LeftButton)
    assert panel.max_tokens.value() == 77
    panel.close()


# --- the system prompt and the gauge -------------------------------------------------------------------------


def test_a_system_prompt_can_be_written_before_the_first_message(user: User) -> None:
    popover = _opened(user, "system_prompt", SystemPromptPopover)
    user.bot.keyClicks(popover.editor, "Be brief.")
    user.bot.waitUntil(lambda: " read" in popover.cost.text(), timeout=PATIENCE_MS)
    popover.close()
    user.ask("What is a branch?")
    assert user.controller.shown.path[0].text == "Be brief."
    assert user.controller.preparation.unsent == Unsent()


def test_another_system_prompt_is_a_branch_whose_cost_is_shown_first(user: User) -> None:
    user.ask("What is a branch?")
    old = user.controller.shown.path[0]
    popover = _opened(user, "system_prompt", SystemPromptPopover)
    assert not popover.save_button.isEnabled()
    user.bot.keyClicks(popover.editor, "Be brief.")
    user.bot.waitUntil(lambda: " read" in popover.cost.text(), timeout=PATIENCE_MS)
    user.bot.keyClick(popover.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.activePopupWidget() is None
    user.answer()
    new = user.controller.shown.path[0]
    assert new.text == "Be brief."
    assert list(user.controller.shown.siblings(new.id)) == [old.id, new.id]


def test_editing_the_system_prompt_in_place_shows_the_cost_too(user: User) -> None:
    user.ask("What is a branch?")
    user.press(user.controller.shown.path[0].id, "e")
    editor = user.window.focusWidget()
    assert isinstance(editor, QPlainTextEdit)
    user.bot.keyClicks(editor, "Be brief.")
    labels = user.view(user.controller.shown.path[0].id).findChildren(QLabel)
    user.bot.waitUntil(lambda: any(" kept" in label.text() for label in labels), timeout=PATIENCE_MS)
    _press(user, editor, Qt.Key.Key_Escape)


def test_the_gauge_follows_the_text_and_warns_when_it_is_too_long(user: User) -> None:
    gauge = user.window.composer.gauge
    user.bot.waitUntil(gauge.isVisible, timeout=PATIENCE_MS)
    before = gauge.text()
    user.window.composer.text.setPlainText("many words " * 400)
    user.bot.waitUntil(lambda: gauge.text() != before, timeout=PATIENCE_MS)
    assert "to read" in gauge.toolTip()
    assert "free for the answer" in gauge.toolTip()
    user.window.composer.text.setPlainText("many words " * 3000)
    user.bot.waitUntil(lambda: "too long" in gauge.text(), timeout=PATIENCE_MS)
    assert "would fail" in gauge.accessibleDescription()
    user.controller.program.set_overflow("drop_oldest")
    assert "oldest left out" in gauge.text()
    user.controller.program.set_overflow("fail")
    user.window.composer.text.clear()
    user.bot.waitUntil(lambda: gauge.text() == before, timeout=PATIENCE_MS)


# --- layout --------------------------------------------------------------------------------------------------


def test_long_button_texts_are_shortened_and_the_window_can_still_be_narrow(user: User) -> None:
    composer = user.window.composer
    user.controller.preparation.set_generation(
        GenerationSettings(
            sampling=Sampling(stop=("a", "b"), seed=2**63 - 1, temperature=0.123),
            hooks=("no repeats",),
            n=4,
            format=AnswerFormat(kind="regex", text="("),
        )
    )
    user.bot.waitUntil(lambda: "not usable" in composer.format_button.text(), timeout=PATIENCE_MS)
    row = (composer.attach_button, composer.format_button, composer.sampling_button, composer.send_button)

    def all_fits() -> bool:
        is_apart = all(left.geometry().right() < right.geometry().left() for left, right in itertools.pairwise(row))
        return is_apart and all(part.width() >= part.fontMetrics().horizontalAdvance(part.text()) for part in row)

    for width in (1100, 700, 520):
        user.window.resize(width, 700)
        user.bot.waitUntil(lambda width=width: user.window.width() == width and all_fits(), timeout=PATIENCE_MS)
    # Whether it fits depends on the font. A part of it would say nothing: then there is only the icon.
    assert composer.sampling_button.text() in {"T 0.123 ▾", " ▾"}
    user.window.resize(1100, 760)


@pytest.mark.parametrize("action", ["sampling", "answer_format", "system_prompt"])
def test_every_control_of_a_panel_has_a_name_and_enough_room(user: User, action: str) -> None:
    user.controller.preparation.set_generation(
        GenerationSettings(sampling=Sampling(stop=("###",)), hooks=("no repeats", "gone"), format=EXAMPLES["choice"][0])
    )
    panel = _opened(user, action, Popover)
    if isinstance(panel, SamplingPanel):
        user.bot.waitUntil(lambda: _can_be_switched(panel, "gone"), timeout=PATIENCE_MS)
    for widget in panel.findChildren(QWidget):
        if not widget.isVisible() or not isinstance(widget, _CONTROLS) or isinstance(widget.parent(), QAbstractSpinBox):
            continue
        name = widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")
        assert name, widget
        least = widget.minimumHeight() or widget.minimumSizeHint().height()
        # The least height holds even before the layout has settled.
        assert min(least, widget.height()) >= 28, (name, least, widget.height())
        if not isinstance(widget, QToolButton) or widget.text():
            assert widget.width() >= widget.minimumSizeHint().width(), name
    panel.close()
