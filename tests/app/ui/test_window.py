"""The window: every main way by key, by button and by menu, with the real worker behind it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtWidgets import QFileDialog, QLabel, QPlainTextEdit, QWidget

from app.model.message import Message, Sampling
from app.notices import Notice
from app.ui.composer.sampling_panel import SamplingPanel
from app.ui.dialogs.shortcuts_window import ShortcutsWindow
from app.ui.menus import key_of
from tests.app.asking import set_sampling
from tests.app.ui.conftest import PATIENCE_MS, Person
from worker.sentence import verbatim


def test_enter_sends_and_the_answer_streams_onto_the_page(person: Person) -> None:
    answer = person.ask("What is a branch?")
    assert [message.role for message in person.controller.shown.path] == ["system", "user", "assistant"]
    assert answer.state == "complete"
    assert person.texts[1:] == ["What is a branch?", answer.text]
    assert person.window.composer.text.toPlainText() == ""


def test_shift_enter_breaks_the_line(person: Person) -> None:
    person.type("one")
    person.bot.keyClick(person.window.composer.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    person.type("two")
    assert person.window.composer.text.toPlainText() == "one\ntwo"
    assert person.controller.shown.path == []


def test_nothing_but_space_is_not_sent(person: Person) -> None:
    person.type("   ")
    person.bot.keyClick(person.window.composer.text, Qt.Key.Key_Return)
    assert person.controller.shown.path == []
    assert not person.window.composer.send_button.isEnabled()


def test_a_question_of_the_empty_page_is_asked_by_a_click(person: Person) -> None:
    button = person.window.welcome.questions[0]
    person.bot.mouseClick(button, Qt.MouseButton.LeftButton)
    person.answer()
    assert person.controller.shown.path[1].text == button.text()


def _regenerate_by_key(person: Person, answer: Message) -> None:
    person.press(answer.id, "r")


def _regenerate_by_button(person: Person, answer: Message) -> None:
    person.bot.mouseClick(person.button(person.view(answer.id), "Regenerate"), Qt.MouseButton.LeftButton)


def _regenerate_by_menu(person: Person, answer: Message) -> None:
    person.view(answer.id).text.setFocus()
    person.window.action("regenerate").trigger()


@pytest.mark.parametrize("regenerate", [_regenerate_by_key, _regenerate_by_button, _regenerate_by_menu])
def test_regenerate_makes_a_sibling_and_reads_one_token(person: Person, regenerate: object) -> None:
    assert callable(regenerate)
    first = person.ask("What is a branch?")
    regenerate(person, first)
    second = person.answer()
    assert list(person.controller.shown.siblings(second.id)) == [first.id, second.id]
    assert second.record is not None
    assert second.record.figures.read_tokens == 1
    counts = [label.text() for label in person.view(second.id).findChildren(QLabel) if label.isVisible()]
    assert "2/2" in counts


def test_an_edited_question_stands_beside_the_old_one_and_is_asked(person: Person) -> None:
    person.ask("What is a branch?")
    question = person.controller.shown.path[1]
    person.press(question.id, "e")
    editor = person.window.focusWidget()
    assert isinstance(editor, QPlainTextEdit)
    assert editor.toPlainText() == "What is a branch?"
    editor.selectAll()
    person.bot.keyClicks(editor, "How do I fork?")
    person.bot.keyClick(editor, Qt.Key.Key_Return)
    person.answer()
    edited = person.controller.shown.path[1]
    assert person.window.focusWidget() is person.window.composer.text
    assert edited.text == "How do I fork?"
    assert list(person.controller.shown.siblings(edited.id)) == [question.id, edited.id]


def test_escape_gives_an_edit_up(person: Person) -> None:
    person.ask("What is a branch?")
    question = person.controller.shown.path[1]
    person.press(question.id, "e")
    editor = person.window.focusWidget()
    person.bot.keyClicks(editor, "something else")
    person.bot.keyClick(editor, Qt.Key.Key_Escape)
    assert list(person.controller.shown.siblings(question.id)) == [question.id]
    assert person.view(question.id).text.isVisible()


def test_an_answer_can_be_edited_too_and_nothing_is_asked(person: Person) -> None:
    answer = person.ask("What is a branch?")
    person.press(answer.id, "e")
    editor = person.window.focusWidget()
    assert isinstance(editor, QPlainTextEdit)
    editor.setPlainText("Mine.")
    person.bot.mouseClick(person.button(person.view(answer.id), "Save as new version"), Qt.MouseButton.LeftButton)
    assert person.controller.shown.path[-1].text == "Mine."
    assert person.controller.shown.streaming_message is None


def test_another_system_prompt_is_a_branch_in_which_the_first_question_is_asked_again(person: Person) -> None:
    person.ask("What is a branch?")
    system = person.controller.shown.path[0]
    assert system.role == "system"
    person.press(system.id, "e")
    editor = person.window.focusWidget()
    person.bot.keyClicks(editor, "Answer briefly.")
    person.bot.keyClick(editor, Qt.Key.Key_Return)
    person.answer()
    path = person.controller.shown.path
    assert [message.text for message in path[:2]] == ["Answer briefly.", "What is a branch?"]
    person.window.transcript.step_sibling(path[0].id, -1)
    assert person.controller.shown.path[0].id == system.id


def test_alt_left_and_right_switch_versions_and_the_way_is_remembered(person: Person) -> None:
    first = person.ask("What is a branch?")
    person.press(first.id, "r")
    second = person.answer()
    person.view(second.id).text.setFocus()
    person.window.action("previous_sibling").trigger()
    assert person.controller.shown.path[-1].id == first.id
    assert person.window.focusWidget() is person.view(first.id).text
    conversation = person.controller.shown.conversation
    assert conversation is not None
    person.controller.shown.new_conversation()
    person.controller.shown.open_conversation(conversation.id)
    assert person.controller.shown.path[-1].id == first.id
    person.window.action("next_sibling").trigger()
    assert person.controller.shown.path[-1].id == second.id


def test_a_switch_keeps_the_place_on_screen(person: Person) -> None:
    first = person.ask("What is a branch?")
    for question in ("How do I fork?", "How do I export?", "How do I edit?"):
        person.ask(question)
    person.press(first.id, "r")
    second = person.answer()
    transcript = person.window.transcript
    transcript.verticalScrollBar().setValue(20)
    before = person.view(second.id).mapTo(transcript, QPoint(0, 0)).y()
    transcript.step_sibling(second.id, -1)

    def is_in_place() -> bool:
        return abs(person.view(first.id).mapTo(transcript, QPoint(0, 0)).y() - before) <= 1

    person.bot.waitUntil(is_in_place, timeout=PATIENCE_MS)


def test_fork_opens_a_conversation_that_ends_there_and_leaves_the_old_one_alone(person: Person) -> None:
    answer = person.ask("What is a branch?")
    person.ask("How do I export?")
    old = person.controller.shown.conversation
    assert old is not None
    person.press(answer.id, "f")
    new = person.controller.shown.conversation
    assert new is not None
    assert new.id != old.id
    assert person.controller.shown.path[-1].id == answer.id
    person.ask("How do I edit?")
    person.controller.shown.open_conversation(old.id)
    assert "How do I export?" in person.texts
    assert "How do I edit?" not in person.texts


def test_alt_up_and_down_walk_from_message_to_message_and_back_to_the_composer(person: Person) -> None:
    answer = person.ask("What is a branch?")
    person.window.composer.text.setFocus()
    person.window.action("previous_message").trigger()
    assert person.window.focusWidget() is person.view(answer.id).text
    person.window.action("previous_message").trigger()
    assert person.window.focusWidget() is person.view(person.controller.shown.path[1].id).text
    person.window.action("next_message").trigger()
    person.window.action("next_message").trigger()
    assert person.window.focusWidget() is person.window.composer.text


def test_stop_keeps_what_is_there_and_continue_goes_on(person: Person) -> None:
    person.type("What is a branch?")
    person.bot.keyClick(person.window.composer.text, Qt.Key.Key_Return)
    person.bot.waitUntil(lambda: bool(person.controller.shown.path[-1].text), timeout=PATIENCE_MS)
    assert person.window.composer.send_button.accessibleName() == "Stop"
    person.window.action("stop").trigger()
    stopped = person.answer()
    # The guide is quick: it may have said everything before the stop arrived.
    assert stopped.state in {"stopped", "complete"}
    if stopped.state == "stopped":
        person.press(stopped.id, "c")
        continued = person.answer()
        assert continued.id == stopped.id
        assert continued.state == "complete"
        assert continued.text.startswith(stopped.text)
        assert len(continued.text) > len(stopped.text)


def test_a_cut_answer_says_so_and_continue_gives_the_text_that_was_cut(person: Person) -> None:
    whole = person.ask("What is a branch?").text
    person.controller.shown.new_conversation()
    set_sampling(person.controller.program, Sampling(temperature=0.0, max_tokens=4))
    cut = person.ask("What is a branch?")
    assert cut.state == "cut"
    assert whole.startswith(cut.text)
    set_sampling(person.controller.program, Sampling(temperature=0.0))
    person.bot.mouseClick(person.button(person.view(cut.id), "Continue"), Qt.MouseButton.LeftButton)
    assert person.answer().text == whole


def test_a_stop_string_set_in_the_popover_ends_the_answer(person: Person) -> None:
    whole = person.ask("What is a branch?").text
    word = whole.split()[3]
    person.controller.shown.new_conversation()
    person.bot.mouseClick(person.window.composer.sampling_button, Qt.MouseButton.LeftButton)
    popover = person.window.findChild(SamplingPanel)
    assert popover is not None
    person.bot.keyClicks(popover.stop.field, word)
    popover.close()
    assert "1 stop" in person.window.composer.sampling_button.text()
    answer = person.ask("What is a branch?")
    assert answer.text == whole[: whole.index(word)]
    assert answer.record is not None
    assert answer.record.stop == word


def test_a_seed_that_is_none_is_told_so_and_not_taken(person: Person) -> None:
    person.bot.mouseClick(person.window.composer.sampling_button, Qt.MouseButton.LeftButton)
    popover = person.window.findChild(SamplingPanel)
    assert popover is not None
    person.bot.keyClicks(popover.seed, "12x")
    assert any("whole number" in label.text() for label in popover.findChildren(QLabel) if label.isVisible())
    assert person.controller.preparation.asking.sampling.seed is None
    popover.seed.setText("12")
    assert person.controller.preparation.asking.sampling.seed == 12
    popover.close()


@pytest.mark.parametrize("text", ["-1", "1.5", "²", "9" * 20, "9" * 5000, str(2**63)])
def test_a_seed_that_is_out_of_range_is_told_so(person: Person, text: str) -> None:
    person.bot.mouseClick(person.window.composer.sampling_button, Qt.MouseButton.LeftButton)
    popover = person.window.findChild(SamplingPanel)
    assert popover is not None
    popover.seed.setText(text)
    assert any("whole number" in label.text() for label in popover.findChildren(QLabel) if label.isVisible())
    assert person.controller.preparation.asking.sampling.seed is None
    popover.close()


def test_the_same_seed_gives_the_same_answer(person: Person) -> None:
    set_sampling(person.controller.program, Sampling(temperature=1.0, seed=7))
    first = person.ask("What is a branch?")
    person.press(first.id, "r")
    second = person.answer()
    assert second.id != first.id
    assert second.text == first.text


def test_copy_puts_the_message_as_it_was_written_on_the_clipboard(person: Person) -> None:
    answer = person.ask("How do I fork a message?")
    person.bot.mouseClick(person.button(person.view(answer.id), "Copy"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == answer.text


def test_ctrl_c_on_a_message_copies_what_is_selected_or_else_the_whole_of_it(person: Person) -> None:
    answer = person.ask("How do I fork a message?")
    text = person.view(answer.id).text
    text.setFocus(Qt.FocusReason.TabFocusReason)
    QGuiApplication.clipboard().setText("before")
    person.bot.keyClick(text, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == answer.text
    cursor = text.textCursor()
    cursor.setPosition(0)
    cursor.movePosition(QTextCursor.MoveOperation.EndOfWord, QTextCursor.MoveMode.KeepAnchor)
    text.setTextCursor(cursor)
    person.bot.keyClick(text, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == cursor.selectedText() != answer.text


def test_a_deleted_conversation_comes_back_by_the_banner(person: Person) -> None:
    person.ask("What is a branch?")
    conversation = person.controller.shown.conversation
    assert conversation is not None
    person.window.action("delete").trigger()
    assert conversation.id not in {known.id for known in person.controller.program.conversations.all}
    assert person.window.banner.isVisible()
    person.bot.mouseClick(person.window.banner.button, Qt.MouseButton.LeftButton)
    assert person.controller.shown.conversation is not None
    assert person.controller.shown.conversation.id == conversation.id
    assert "What is a branch?" in person.texts


def test_what_was_told_is_gone_with_the_next_message_but_not_what_is_wrong(person: Person) -> None:
    banner, notices = person.window.banner, person.controller.program.notices
    notices.post(Notice(verbatim("A fresh worker is starting."), "warning"))
    assert banner.isVisible()
    person.ask("What is a branch?")
    assert not banner.isVisible()
    notices.post(Notice(verbatim("Nothing can be stored."), "danger"))
    person.ask("What is a fork?")
    assert banner.isVisible()


def test_a_folder_that_is_no_model_is_refused_and_the_guide_goes_on(person: Person, tmp_path: Path) -> None:
    person.controller.program.load_model(str(tmp_path))
    person.bot.waitUntil(lambda: person.window.banner.isVisible(), timeout=PATIENCE_MS)
    assert "config.json" in person.window.banner.label.text()
    person.bot.waitUntil(lambda: person.application.session.state == "ready", timeout=PATIENCE_MS)
    assert person.application.session.name == "guide"
    assert person.ask("What is a branch?").state == "complete"


def test_models_are_looked_for_where_the_last_one_lies_that_is_still_there(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def choose(_parent: QWidget, _title: str, folder: str) -> str:
        looked.append(folder)
        return ""

    monkeypatch.setattr(QFileDialog, "getExistingDirectory", choose)
    preferences = person.controller.program.preferences
    before = person.controller.program.settings.recent_models
    for known in ((), (str(tmp_path / "gone" / "model"), str(tmp_path / "model"))):
        preferences.change(recent_models=known)
        person.window.action("open_model").trigger()
        person.window.action("open_draft_model").trigger()
    assert looked == [str(Path.home())] * 2 + [str(tmp_path)] * 2
    preferences.change(recent_models=before)


def test_a_prompt_longer_than_the_context_fails_in_its_place_and_the_next_one_works(person: Person) -> None:
    person.window.composer.text.setPlainText("many words " * 3000)
    person.window.composer.send()
    failed = person.answer()
    assert failed.state == "failed"
    shown = [label.text() for label in person.view(failed.id).findChildren(QLabel) if label.isVisible()]
    assert any("context" in text for text in shown)
    person.controller.shown.new_conversation()
    assert person.ask("What is a branch?").state == "complete"


def test_the_theme_changes_at_once(person: Person) -> None:
    page = person.window.palette().window().color().name()
    person.controller.program.set_theme("dark")
    dark = person.window.palette().window().color().name()
    person.controller.program.set_theme("light")
    light = person.window.palette().window().color().name()
    assert dark != light
    person.controller.program.set_theme("system")
    assert person.window.palette().window().color().name() == page


def test_the_sidebar_folds_away_in_a_narrow_window_and_comes_when_called(person: Person) -> None:
    window = person.window
    window.resize(820, 640)
    person.bot.waitUntil(window.sidebar.isHidden, timeout=PATIENCE_MS)
    window.action("sidebar").trigger()
    assert window.sidebar.isVisible()
    window.resize(1100, 760)
    person.bot.waitUntil(lambda: window.width() == 1100, timeout=PATIENCE_MS)
    assert window.sidebar.isVisible()
    assert person.controller.program.settings.sidebar_visible


def test_the_list_of_shortcuts_names_every_shortcut_of_the_menus(person: Person) -> None:
    person.window.action("shortcuts").trigger()
    sheet = person.window.findChild(ShortcutsWindow)
    assert isinstance(sheet, ShortcutsWindow)
    keys = {key for _, action in person.window.menus if (key := key_of(action))}
    assert keys <= set(sheet.texts)
    assert sheet.height() <= sheet.screen().availableGeometry().height()
    sheet.close()


def test_a_new_message_goes_on_below_while_another_conversation_answers(person: Person) -> None:
    person.type("What is a branch?")
    person.bot.keyClick(person.window.composer.text, Qt.Key.Key_Return)
    first = person.controller.shown.conversation
    person.window.action("new").trigger()
    second = person.ask("How do I fork a message?")
    assert first is not None
    person.controller.shown.open_conversation(first.id)
    other = person.answer()
    assert other.state == second.state == "complete"
    assert other.text != second.text
    assert person.controller.shown.path[1].text == "What is a branch?"


def test_what_is_typed_is_kept_as_it_is(person: Person) -> None:
    text = "a\u200fשלום <b>&amp;</b> `x` **y** 👩‍👩‍👧"
    person.window.composer.text.setPlainText(text)
    person.window.composer.send()
    person.answer()
    assert person.controller.shown.path[1].text == text
    assert person.view(person.controller.shown.path[1].id).text.toPlainText() == text


def test_settings_are_written_soon_after_they_change(person: Person) -> None:
    file = Path(person.application.store.path).parent / "settings.json"
    set_sampling(person.controller.program, Sampling(temperature=0.3))
    person.bot.waitUntil(
        lambda: file.exists() and msgspec.json.decode(file.read_bytes())["asking"]["sampling"]["temperature"] == 0.3,
        timeout=PATIENCE_MS,
    )


def test_a_text_that_is_too_long_to_paste_is_refused_with_a_reason(person: Person) -> None:
    for text in ("x" * 60_000, "words " * 500_000):
        QGuiApplication.clipboard().setText(text)
        person.window.composer.text.setFocus()
        person.window.composer.text.paste()
        assert person.window.composer.text.toPlainText() == ""
        assert person.window.banner.isVisible()
        assert f"{len(text):,}" in person.window.banner.label.text()
        person.window.banner.dismiss()


def test_a_text_that_could_not_be_stored_is_given_back(person: Person) -> None:
    person.type("later words")
    person.controller.unsent.emit("first words")
    assert person.window.composer.text.toPlainText() == "first words\nlater words"


def test_the_menu_checks_a_theme_that_was_chosen_elsewhere(person: Person) -> None:
    person.controller.program.set_theme("dark")
    assert person.window.action("theme_dark").isChecked()
    assert not person.window.action("theme_system").isChecked()
