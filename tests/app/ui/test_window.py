"""The window with the real worker: the main actions by key, button and menu."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtWidgets import QDialog, QFileDialog, QLabel, QPlainTextEdit, QPushButton, QWidget

from app.model.message import Message, Sampling
from app.model.settings import Theme
from app.notices import Notice
from app.ui.composer.sampling_panel import SamplingPanel
from app.ui.dialogs.questions import show_about
from app.ui.dialogs.shortcuts_window import ShortcutsWindow
from app.ui.menus import key_of
from tests.app.sampling import set_sampling
from tests.app.ui.conftest import User
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim


def test_enter_sends_and_the_answer_streams_onto_the_page(user: User) -> None:
    answer = user.ask("What is a branch?")
    assert [message.role for message in user.controller.shown.path] == ["system", "user", "assistant"]
    assert answer.state == "complete"
    assert user.texts[1:] == ["What is a branch?", answer.text]
    assert user.window.composer.text.toPlainText() == ""


def test_shift_enter_inserts_a_line_break(user: User) -> None:
    user.type("one")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    user.type("two")
    assert user.window.composer.text.toPlainText() == "one\ntwo"
    assert user.controller.shown.path == []


def test_blank_text_is_not_sent(user: User) -> None:
    user.type("   ")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    assert user.controller.shown.path == []
    assert not user.window.composer.send_button.isEnabled()


def test_a_suggested_question_is_sent_by_a_click(user: User) -> None:
    button = user.window.welcome.questions[0]
    user.bot.mouseClick(button, Qt.MouseButton.LeftButton)
    user.answer()
    assert user.controller.shown.path[1].text == button.text()


def _regenerate_by_key(user: User, answer: Message) -> None:
    user.press(answer.id, "r")


def _regenerate_by_button(user: User, answer: Message) -> None:
    user.bot.mouseClick(user.button(user.view(answer.id), "Regenerate"), Qt.MouseButton.LeftButton)


def _regenerate_by_menu(user: User, answer: Message) -> None:
    user.view(answer.id).text.setFocus()
    user.window.action("regenerate").trigger()


@pytest.mark.parametrize(
    "regenerate", [_regenerate_by_button, *in_long_runs([_regenerate_by_key, _regenerate_by_menu])]
)
def test_regenerating_adds_a_sibling_and_reads_one_token(user: User, regenerate: object) -> None:
    assert callable(regenerate)
    first = user.ask("What is a branch?")
    regenerate(user, first)
    second = user.answer()
    assert list(user.controller.shown.siblings(second.id)) == [first.id, second.id]
    assert second.record is not None
    assert second.record.figures.read_tokens == 1
    counts = [label.text() for label in user.view(second.id).findChildren(QLabel) if label.isVisible()]
    assert "2/2" in counts


def test_an_edited_question_becomes_a_sibling_and_is_answered(user: User) -> None:
    user.ask("What is a branch?")
    question = user.controller.shown.path[1]
    user.press(question.id, "e")
    editor = user.window.focusWidget()
    assert isinstance(editor, QPlainTextEdit)
    assert editor.toPlainText() == "What is a branch?"
    editor.selectAll()
    user.bot.keyClicks(editor, "How do I fork?")
    user.bot.keyClick(editor, Qt.Key.Key_Return)
    user.answer()
    edited = user.controller.shown.path[1]
    assert user.window.focusWidget() is user.window.composer.text
    assert edited.text == "How do I fork?"
    assert list(user.controller.shown.siblings(edited.id)) == [question.id, edited.id]


def test_escape_cancels_an_edit(user: User) -> None:
    user.ask("What is a branch?")
    question = user.controller.shown.path[1]
    user.press(question.id, "e")
    editor = user.window.focusWidget()
    user.bot.keyClicks(editor, "something else")
    user.bot.keyClick(editor, Qt.Key.Key_Escape)
    assert list(user.controller.shown.siblings(question.id)) == [question.id]
    assert user.view(question.id).text.isVisible()


def test_an_answer_can_be_edited_without_a_new_request(user: User) -> None:
    answer = user.ask("What is a branch?")
    user.press(answer.id, "e")
    editor = user.window.focusWidget()
    assert isinstance(editor, QPlainTextEdit)
    editor.setPlainText("Mine.")
    user.bot.mouseClick(user.button(user.view(answer.id), "Save"), Qt.MouseButton.LeftButton)
    assert user.controller.shown.path[-1].text == "Mine."
    assert user.controller.shown.streaming_message is None


def test_another_system_prompt_is_a_branch_that_repeats_the_first_question(user: User) -> None:
    user.ask("What is a branch?")
    system = user.controller.shown.path[0]
    assert system.role == "system"
    user.press(system.id, "e")
    editor = user.window.focusWidget()
    user.bot.keyClicks(editor, "Answer briefly.")
    user.bot.keyClick(editor, Qt.Key.Key_Return)
    user.answer()
    path = user.controller.shown.path
    assert [message.text for message in path[:2]] == ["Answer briefly.", "What is a branch?"]
    user.window.transcript.step_sibling(path[0].id, -1)
    assert user.controller.shown.path[0].id == system.id


def test_alt_left_and_right_switch_versions_and_the_choice_is_stored(user: User) -> None:
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    second = user.answer()
    user.view(second.id).text.setFocus()
    user.window.action("previous_sibling").trigger()
    assert user.controller.shown.path[-1].id == first.id
    assert user.window.focusWidget() is user.view(first.id).text
    conversation = user.controller.shown.conversation
    assert conversation is not None
    user.controller.shown.new_conversation()
    user.controller.shown.open_conversation(conversation.id)
    assert user.controller.shown.path[-1].id == first.id
    user.window.action("next_sibling").trigger()
    assert user.controller.shown.path[-1].id == second.id


def test_actions_that_need_messages_or_versions_are_enabled_only_with_them(user: User) -> None:
    window = user.window

    def enabled() -> list[str]:
        names = ("previous_sibling", "next_sibling", "previous_message", "next_message", "replay")
        return [name for name in names if window.action(name).isEnabled()]

    window.menus.menu("Message").aboutToShow.emit()
    assert enabled() == []
    first = user.ask("What is a branch?")
    assert enabled() == ["previous_message", "next_message", "replay"]
    window.menus.menu("Message").aboutToShow.emit()
    user.press(first.id, "r")
    second = user.answer()
    # The keys work without the menu, from any message of the page.
    window.composer.text.setFocus()
    assert len(enabled()) == 5
    user.bot.keyClick(window, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert user.controller.shown.path[-1].id == first.id != second.id
    user.controller.undo()
    user.controller.shown.new_conversation()
    assert enabled() == []


def test_switching_versions_keeps_the_position_on_screen(user: User) -> None:
    first = user.ask("What is a branch?")
    for question in ("How do I fork?", "How do I export?", "How do I edit?"):
        user.ask(question)
    user.press(first.id, "r")
    second = user.answer()
    transcript = user.window.transcript
    transcript.verticalScrollBar().setValue(20)
    before = user.view(second.id).mapTo(transcript, QPoint(0, 0)).y()
    transcript.step_sibling(second.id, -1)

    def is_in_place() -> bool:
        return abs(user.view(first.id).mapTo(transcript, QPoint(0, 0)).y() - before) <= 1

    user.bot.waitUntil(is_in_place, timeout=PATIENCE_MS)


def test_fork_opens_a_conversation_that_ends_there_and_leaves_the_old_one_unchanged(user: User) -> None:
    answer = user.ask("What is a branch?")
    user.ask("How do I export?")
    old = user.controller.shown.conversation
    assert old is not None
    user.press(answer.id, "f")
    new = user.controller.shown.conversation
    assert new is not None
    assert new.id != old.id
    assert user.controller.shown.path[-1].id == answer.id
    user.ask("How do I edit?")
    user.controller.shown.open_conversation(old.id)
    assert "How do I export?" in user.texts
    assert "How do I edit?" not in user.texts


def test_alt_up_and_down_move_between_messages_and_back_to_the_composer(user: User) -> None:
    answer = user.ask("What is a branch?")
    user.window.composer.text.setFocus()
    user.window.action("previous_message").trigger()
    assert user.window.focusWidget() is user.view(answer.id).text
    user.window.action("previous_message").trigger()
    assert user.window.focusWidget() is user.view(user.controller.shown.path[1].id).text
    user.window.action("next_message").trigger()
    user.window.action("next_message").trigger()
    assert user.window.focusWidget() is user.window.composer.text


def test_stop_keeps_the_text_and_continue_extends_it(user: User) -> None:
    user.type("What is a branch?")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    user.bot.waitUntil(lambda: bool(user.controller.shown.path[-1].text), timeout=PATIENCE_MS)
    assert user.window.composer.send_button.accessibleName() == "Stop"
    user.window.action("stop").trigger()
    stopped = user.answer()
    # The guide model is fast: the answer may be complete before the stop request arrives.
    assert stopped.state in {"stopped", "complete"}
    if stopped.state == "stopped":
        user.press(stopped.id, "c")
        continued = user.answer()
        assert continued.id == stopped.id
        assert continued.state == "complete"
        assert continued.text.startswith(stopped.text)
        assert len(continued.text) > len(stopped.text)


def test_a_cut_answer_can_be_continued_to_the_full_text(user: User) -> None:
    whole = user.ask("What is a branch?").text
    user.controller.shown.new_conversation()
    set_sampling(user.controller.program, Sampling(temperature=0.0, max_tokens=4))
    cut = user.ask("What is a branch?")
    assert cut.state == "cut"
    assert whole.startswith(cut.text)
    set_sampling(user.controller.program, Sampling(temperature=0.0))
    user.bot.mouseClick(user.button(user.view(cut.id), "Continue"), Qt.MouseButton.LeftButton)
    assert user.answer().text == whole


def test_a_stop_string_set_in_the_panel_ends_the_answer(user: User) -> None:
    whole = user.ask("What is a branch?").text
    word = whole.split()[3]
    user.controller.shown.new_conversation()
    user.bot.mouseClick(user.window.composer.sampling_button, Qt.MouseButton.LeftButton)
    popover = user.window.findChild(SamplingPanel)
    assert popover is not None
    popover.advanced.open()
    user.bot.keyClicks(popover.stop.field, word)
    popover.close()
    assert "1 stop string" in user.window.composer.sampling_button.text()
    answer = user.ask("What is a branch?")
    assert answer.text == whole[: whole.index(word)]
    assert answer.record is not None
    assert answer.record.stop == word


def test_an_invalid_seed_is_reported_and_ignored(user: User) -> None:
    user.bot.mouseClick(user.window.composer.sampling_button, Qt.MouseButton.LeftButton)
    popover = user.window.findChild(SamplingPanel)
    assert popover is not None
    popover.advanced.open()
    user.bot.keyClicks(popover.seed, "12x")
    assert any("whole number" in label.text() for label in popover.findChildren(QLabel) if label.isVisible())
    assert user.controller.preparation.generation.sampling.seed is None
    popover.seed.setText("12")
    assert user.controller.preparation.generation.sampling.seed == 12
    popover.close()


@pytest.mark.parametrize("text", ["-1", "1.5", "²", "9" * 20, "9" * 5000, str(2**63)])
def test_a_seed_out_of_range_is_reported_and_ignored(user: User, text: str) -> None:
    user.bot.mouseClick(user.window.composer.sampling_button, Qt.MouseButton.LeftButton)
    popover = user.window.findChild(SamplingPanel)
    assert popover is not None
    popover.advanced.open()
    popover.seed.setText(text)
    assert any("whole number" in label.text() for label in popover.findChildren(QLabel) if label.isVisible())
    assert user.controller.preparation.generation.sampling.seed is None
    popover.close()


def test_the_same_seed_gives_the_same_answer(user: User) -> None:
    set_sampling(user.controller.program, Sampling(temperature=1.0, seed=7))
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    second = user.answer()
    assert second.id != first.id
    assert second.text == first.text


def test_copy_copies_the_source_of_the_message(user: User) -> None:
    answer = user.ask("How do I fork a message?")
    user.bot.mouseClick(user.button(user.view(answer.id), "Copy"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == answer.text


def test_ctrl_c_on_a_message_copies_the_selection_or_the_whole_message(user: User) -> None:
    answer = user.ask("How do I fork a message?")
    text = user.view(answer.id).text
    text.setFocus(Qt.FocusReason.TabFocusReason)
    QGuiApplication.clipboard().setText("before")
    user.bot.keyClick(text, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == answer.text
    cursor = text.textCursor()
    cursor.setPosition(0)
    cursor.movePosition(QTextCursor.MoveOperation.EndOfWord, QTextCursor.MoveMode.KeepAnchor)
    text.setTextCursor(cursor)
    user.bot.keyClick(text, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == cursor.selectedText() != answer.text


def test_about_says_which_kernel_multiplies(user: User) -> None:
    info = user.application.session.info
    assert info is not None
    user.window.action("about").trigger()
    box = user.window.findChild(QDialog, "about")
    assert box is not None
    assert box.isVisible()
    told = " ".join(label.text() for label in box.findChildren(QLabel))
    box.close()
    if "openblas" in info.versions:
        version, kernel = info.versions["openblas"].replace(",", "").split()[:2]
        assert f"The model runs on the CPU, with OpenBLAS {version} and its kernel {kernel}." in told
    else:
        assert "OpenBLAS" not in told


def test_about_shows_the_licences_of_everything_in_a_bundle(user: User, tmp_path: Path) -> None:
    file = tmp_path / "licences.txt"
    # A checkout has no such file.
    show_about(user.window, (), file)
    file.write_text("PySide6: LGPL-3.0-only", encoding="utf-8")
    show_about(user.window, (), file)
    without, about = user.window.findChildren(QDialog, "about")[-2:]
    assert without.findChildren(QPushButton, "licences") == []
    assert "which you may replace" in "".join(label.text() for label in about.findChildren(QLabel))
    (button,) = about.findChildren(QPushButton, "licences")
    button.click()
    (text,) = about.findChildren(QPlainTextEdit)
    assert (text.toPlainText(), text.isReadOnly(), text.isVisible()) == ("PySide6: LGPL-3.0-only", True, True)
    without.close()
    about.close()


def test_a_deleted_conversation_can_be_restored_from_the_banner(user: User) -> None:
    user.ask("What is a branch?")
    conversation = user.controller.shown.conversation
    assert conversation is not None
    user.window.action("delete").trigger()
    assert conversation.id not in {known.id for known in user.controller.program.conversations.all}
    assert user.window.banner.isVisible()
    user.bot.mouseClick(user.window.banner.button, Qt.MouseButton.LeftButton)
    assert user.controller.shown.conversation is not None
    assert user.controller.shown.conversation.id == conversation.id
    assert "What is a branch?" in user.texts


def test_notices_disappear_with_the_next_message_but_errors_stay(user: User) -> None:
    banner, notices = user.window.banner, user.controller.program.notices
    notices.post(Notice(verbatim("A fresh worker is starting."), "warning"))
    assert banner.isVisible()
    user.ask("What is a branch?")
    assert not banner.isVisible()
    notices.post(Notice(verbatim("Nothing can be stored."), "danger"))
    user.ask("What is a fork?")
    assert banner.isVisible()


def test_a_folder_without_a_model_is_refused_and_the_guide_model_stays(user: User, tmp_path: Path) -> None:
    user.controller.program.load_model(str(tmp_path))
    user.bot.waitUntil(lambda: user.window.banner.isVisible(), timeout=PATIENCE_MS)
    assert "config.json" in user.window.banner.label.text()
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)
    assert user.application.session.name == "guide"
    assert user.ask("What is a branch?").state == "complete"


def test_the_folder_dialog_opens_where_the_last_existing_model_is(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def choose(_parent: QWidget, _title: str, folder: str) -> str:
        looked.append(folder)
        return ""

    monkeypatch.setattr(QFileDialog, "getExistingDirectory", choose)
    preferences = user.controller.program.preferences
    before = user.controller.program.settings.recent_models
    for known in ((), (str(tmp_path / "gone" / "model"), str(tmp_path / "model"))):
        preferences.change(recent_models=known)
        user.window.action("open_model").trigger()
        user.window.action("open_draft_model").trigger()
    assert looked == [str(Path.home())] * 2 + [str(tmp_path)] * 2
    preferences.change(recent_models=before)


def test_a_prompt_longer_than_the_context_fails_and_the_next_one_works(user: User) -> None:
    user.window.composer.text.setPlainText("many words " * 3000)
    user.window.composer.send()
    failed = user.answer()
    assert failed.state == "failed"
    shown = [label.text() for label in user.view(failed.id).findChildren(QLabel) if label.isVisible()]
    assert any("context" in text for text in shown)
    user.controller.shown.new_conversation()
    assert user.ask("What is a branch?").state == "complete"


def test_the_theme_changes_while_the_window_is_open(user: User) -> None:
    def page_in(theme: Theme) -> str:
        user.controller.program.set_theme(theme)
        user.wait_for_look()
        return user.window.palette().window().color().name()

    page = user.window.palette().window().color().name()
    assert page_in("dark") != page_in("light")
    assert page_in("system") == page


def test_after_several_quick_changes_of_the_theme_the_last_one_is_shown(user: User) -> None:
    themes: list[Theme] = ["dark", "light", "dark", "system", "light", "dark"]
    for theme in themes:
        user.controller.program.set_theme(theme)
    user.wait_for_look()
    dark = user.window.palette().window().color().name()
    user.controller.program.set_theme("system")
    user.wait_for_look()
    assert user.window.palette().window().color().name() != dark


def test_the_sidebar_collapses_in_a_narrow_window_and_can_be_shown(user: User) -> None:
    window = user.window
    window.resize(820, 640)
    user.bot.waitUntil(window.sidebar.isHidden, timeout=PATIENCE_MS)
    window.action("sidebar").trigger()
    assert window.sidebar.isVisible()
    window.resize(1100, 760)
    user.bot.waitUntil(lambda: window.width() == 1100, timeout=PATIENCE_MS)
    assert window.sidebar.isVisible()
    assert user.controller.program.settings.sidebar_visible


def test_the_list_of_shortcuts_contains_every_shortcut_of_the_menus(user: User) -> None:
    user.window.action("shortcuts").trigger()
    sheet = user.window.findChild(ShortcutsWindow)
    assert isinstance(sheet, ShortcutsWindow)
    keys = {key for _, action in user.window.menus if (key := key_of(action))}
    assert keys <= set(sheet.texts)
    assert sheet.height() <= sheet.screen().availableGeometry().height()
    sheet.close()


def test_a_message_can_be_sent_while_another_conversation_answers(user: User) -> None:
    user.type("What is a branch?")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    first = user.controller.shown.conversation
    user.window.action("new").trigger()
    second = user.ask("How do I fork a message?")
    assert first is not None
    user.controller.shown.open_conversation(first.id)
    other = user.answer()
    assert other.state == second.state == "complete"
    assert other.text != second.text
    assert user.controller.shown.path[1].text == "What is a branch?"


def test_typed_text_is_stored_unchanged(user: User) -> None:
    text = "a\u200fשלום <b>&amp;</b> `x` **y** 👩‍👩‍👧"
    user.window.composer.text.setPlainText(text)
    user.window.composer.send()
    user.answer()
    assert user.controller.shown.path[1].text == text
    assert user.view(user.controller.shown.path[1].id).text.toPlainText() == text


def test_settings_are_saved_soon_after_they_change(user: User) -> None:
    file = Path(user.application.store.path).parent / "settings.json"
    set_sampling(user.controller.program, Sampling(temperature=0.3))
    user.bot.waitUntil(
        lambda: file.exists() and msgspec.json.decode(file.read_bytes())["asking"]["sampling"]["temperature"] == 0.3,
        timeout=PATIENCE_MS,
    )


def test_a_text_that_is_too_long_to_paste_is_refused_with_a_reason(user: User) -> None:
    for text in ("x" * 60_000, "words " * 500_000):
        QGuiApplication.clipboard().setText(text)
        user.window.composer.text.setFocus()
        user.window.composer.text.paste()
        assert user.window.composer.text.toPlainText() == ""
        assert user.window.banner.isVisible()
        assert f"{len(text):,}" in user.window.banner.label.text()
        user.window.banner.dismiss()


def test_a_text_that_could_not_be_stored_returns_to_the_composer(user: User) -> None:
    user.type("later words")
    user.controller.unsent.emit("first words")
    assert user.window.composer.text.toPlainText() == "first words\nlater words"


def test_the_menu_checks_a_theme_chosen_elsewhere(user: User) -> None:
    user.controller.program.set_theme("dark")
    assert user.window.action("theme_dark").isChecked()
    assert not user.window.action("theme_system").isChecked()
