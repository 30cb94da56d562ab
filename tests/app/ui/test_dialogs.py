"""Export, import, drops, search, trash, backups and replay in the window, with the real store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QMessageBox,
    QToolButton,
    QWidget,
)

from app.export.exporting import ExportResult
from app.model.imports import blocks
from app.model.search_filters import day_text
from app.model.unsent import Unsent
from app.ui.dialogs.export_window import ExportWindow
from app.ui.dialogs.import_window import ImportWindow
from app.ui.dialogs.recovery_windows import BackupsWindow, TrashWindow
from app.ui.dialogs.replay_window import ReplayWindow
from app.ui.dialogs.search_panel import SearchPanel
from app.ui.message.foldable_parts import NoteView
from app.ui.parts.sheet import Sheet
from tests.app.model.stores import trashed_ids, write_index_again
from tests.app.model.watched_upkeep import WatchedUpkeep
from tests.app.trees import Planted, labels, plant
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS

pytestmark = pytest.mark.own_window

S = TypeVar("S", bound=QWidget)


def _opened(user: User, kind: type[S], action: str = "") -> S:
    """Return the open window of this type, after triggering the action if one is given."""
    if action:
        user.window.action(action).trigger()
    found = [sheet for sheet in user.window.findChildren(kind) if sheet.isVisible()]
    assert len(found) == 1
    return found[0]


def _press(user: User, sheet: QWidget, label: str) -> None:
    user.bot.mouseClick(user.button(sheet, label), Qt.MouseButton.LeftButton)


def _wait(user: User, holds: Callable[[], bool]) -> None:
    user.bot.waitUntil(holds, timeout=PATIENCE_MS)


def _planted(user: User, line: str) -> Planted:
    planted = plant(user.application.store, line)
    user.application.program.conversations.changed.emit()
    user.controller.shown.open_conversation(planted.conversation_id)
    return planted


@pytest.fixture(autouse=True)
def _nothing_stays_open(user: User) -> Iterator[None]:
    yield
    for sheet in user.window.findChildren(Sheet):
        _wait(user, lambda sheet=sheet: not sheet.is_working)
        sheet.close()
    user.window.dialogs.search.setVisible(False)


# --- export ------------------------------------------------------------------------------------------------


def test_the_visible_branch_is_exported_and_a_notice_leads_to_the_file(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _planted(user, "u1-a1 | u2-a2")
    sheet = _opened(user, ExportWindow, "export")
    sheet.set_folder(tmp_path)
    assert sheet.formats.currentData() == "md"
    _wait(user, lambda: "a2" in sheet.preview.text.toPlainText())
    assert "a1" not in sheet.preview.text.toPlainText()
    shown = sheet.preview.text.toPlainText()
    user.bot.keyClick(sheet, Qt.Key.Key_Return)
    _wait(user, user.window.banner.isVisible)
    assert shown == (tmp_path / "planted.md").read_text(encoding="utf-8")
    opened: list[QUrl] = []

    def open_url(url: QUrl) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    _press(user, user.window.banner, "Show in folder")
    assert [Path(url.toLocalFile()) for url in opened] == [tmp_path]


def test_selected_messages_are_exported(user: User) -> None:
    planted = _planted(user, "u1-a1-u2-a2")
    user.window.transcript.focus(planted.ids["a1"])
    user.window.action("select_below").trigger()
    sheet = _opened(user, ExportWindow, "export")
    _wait(user, lambda: "u2" in sheet.preview.text.toPlainText())
    assert "u1" not in sheet.preview.text.toPlainText()
    assert "a2" not in sheet.preview.text.toPlainText()


@pytest.mark.parametrize("text", ["**a1** has words", "**a1** has words " * 9])
def test_the_export_window_is_as_high_as_its_choices_and_shows_the_message_without_marks(user: User, text: str) -> None:
    planted = _planted(user, "u1-a1")
    user.controller.replace(planted.ids["a1"], text)
    user.window.transcript.focus(planted.ids["a1"])
    sheet = _opened(user, ExportWindow, "export")
    explained = sheet.scopes.buttons[1].accessibleDescription()
    assert explained.rstrip("…") in text.replace("**", "")
    form = sheet.folder_button.parentWidget()
    assert form is not None
    _wait(user, lambda: form.visibleRegion().boundingRect() == form.rect())


def test_every_choice_updates_the_preview_and_the_file_name(user: User, tmp_path: Path) -> None:
    _planted(user, "u1-a1 | u2-a2")
    sheet = _opened(user, ExportWindow, "export")
    sheet.set_folder(tmp_path)
    sheet.scopes.choose([button.text() for button in sheet.scopes.buttons].index("The whole tree"))
    _wait(user, lambda: "a1" in sheet.preview.text.toPlainText())
    sheet.formats.setCurrentIndex(sheet.formats.findData("openai-jsonl"))
    _wait(user, lambda: sheet.preview.text.toPlainText().startswith('{"messages"'))
    assert sheet.path == tmp_path / "planted.openai.jsonl"
    assert sheet.statistics.isHidden()
    sheet.formats.setCurrentIndex(sheet.formats.findData("pdf"))
    _wait(user, lambda: sheet.preview.page.isVisible())
    sheet.scopes.choose(len(sheet.scopes.buttons) - 1)
    assert sheet.path == tmp_path / "Conversations"
    (tmp_path / "mine.pdf").write_text("")
    sheet.scopes.choose(0)
    sheet.name_field.selectAll()
    user.bot.keyClick(sheet.name_field, Qt.Key.Key_Delete)
    assert not sheet.export_button.isEnabled()
    user.bot.keyClicks(sheet.name_field, "mine")
    assert "replaced" in sheet.note.text()


def test_an_empty_export_is_announced_before_it_is_made(user: User, tmp_path: Path) -> None:
    _planted(user, "u1-a1 | u1-a2")
    sheet = _opened(user, ExportWindow, "export")
    sheet.set_folder(tmp_path)
    sheet.formats.setCurrentIndex(sheet.formats.findData("preference-jsonl"))
    _wait(user, lambda: not sheet.export_button.isEnabled())
    assert "no question here has two finished answers" in sheet.note.text()
    assert "no question here has two finished answers" in sheet.preview.text.toPlainText()
    sheet.scopes.choose([button.text() for button in sheet.scopes.buttons].index("The whole tree"))
    _wait(user, sheet.export_button.isEnabled)
    assert "chosen" in sheet.preview.text.toPlainText()
    assert not sheet.note.text()


def test_a_folder_for_a_trainer_is_offered_with_the_lines_it_loads(user: User, tmp_path: Path) -> None:
    _planted(user, "u1-a1 | u1-a2")
    sheet = _opened(user, ExportWindow, "export")
    sheet.set_folder(tmp_path)
    assert sheet.lines.isHidden()
    sheet.scopes.choose([button.text() for button in sheet.scopes.buttons].index("The whole tree"))
    sheet.formats.setCurrentIndex(sheet.formats.findData("trl"))
    assert [sheet.lines.itemData(index) for index in range(sheet.lines.count())] == ["chat", "completion", "preference"]
    sheet.lines.setCurrentIndex(2)
    sheet.lines.activated.emit(2)
    _wait(user, lambda: sheet.preview.text.toPlainText().startswith('{"prompt"'))
    assert sheet.path == tmp_path / "planted"
    # mlx-lm has no preference pairs.
    sheet.formats.setCurrentIndex(sheet.formats.findData("mlx-lm"))
    assert sheet.request.options.records == "chat"
    sheet.path.mkdir()
    _wait(user, lambda: sheet.preview.text.toPlainText().startswith('{"messages"'))
    assert "train.jsonl and valid.jsonl will be replaced" in sheet.note.text()
    results: list[ExportResult] = []
    sheet.exported.connect(results.append)
    _press(user, sheet, "Export")
    _wait(user, lambda: bool(results))
    assert len((results[0].path / "train.jsonl").read_text().splitlines()) == 2
    assert "batch-size 2" in str(results[0].problems[-1])


def test_a_failed_export_says_why_and_stays_open(user: User, tmp_path: Path) -> None:
    _planted(user, "u1-a1")
    sheet = _opened(user, ExportWindow, "export")
    sheet.set_folder(tmp_path / "nowhere")
    _press(user, sheet, "Export")
    _wait(user, lambda: not sheet.is_working)
    assert "nowhere" in sheet.note.text()
    assert sheet.isVisible()
    assert sheet.export_button.isEnabled()


# --- import ------------------------------------------------------------------------------------------------


def _chats(path: Path, *questions: str) -> Path:
    chats = [
        {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "an answer"}]}
        for text in questions
    ]
    path.write_text("\n".join(json.dumps(chat) for chat in chats), encoding="utf-8")
    return path


def _drag(user: User, *files: Path) -> QMimeData:
    dragged = QMimeData()
    dragged.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    place, actions = user.window.rect().center(), Qt.DropAction.CopyAction
    buttons, modifiers = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    event = QDragEnterEvent(place, actions, dragged, buttons, modifiers)
    _send(user.window, event)
    return dragged


def _send(widget: QWidget, event: QDragEnterEvent | QDropEvent) -> None:
    QApplication.sendEvent(widget, event)


def test_dropped_files_are_listed_then_imported_and_the_first_conversation_is_opened(
    user: User, tmp_path: Path
) -> None:
    page = user.window.dialogs.drop_page
    chats, picture = _chats(tmp_path / "chats.jsonl", "q1", "q2", "q1"), tmp_path / "picture.png"
    dragged = _drag(user, chats, picture)
    assert page.isVisible()
    assert "picture.png" in page.details.text()
    drop = QDropEvent(
        QPointF(9, 9), Qt.DropAction.CopyAction, dragged, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    before = len(user.application.program.conversations.all)
    _send(page, drop)
    assert not page.isVisible()
    sheet = _opened(user, ImportWindow)
    _wait(user, lambda: not sheet.is_working)
    assert sheet.headline.text().startswith("2 conversation")
    assert "q1" in sheet.twins.lines.text()
    assert len(user.application.program.conversations.all) == before
    _press(user, sheet, "Import")
    _wait(user, user.window.banner.isVisible)
    assert len(user.application.program.conversations.all) == before + 2
    _press(user, user.window.banner, "Show")
    assert labels(user.controller.shown.path) == "q1-an answer"


def test_other_files_that_are_dropped_on_the_page_are_attached(user: User, tmp_path: Path) -> None:
    page, attachments = user.window.dialogs.drop_page, user.window.composer.attachments
    notes = tmp_path / "notes_of_a_walk_with_a_name_that_is_too_long_for_one_line_of_a_narrow_window.txt"
    notes.write_text("apples")
    user.window.resize(360, 500)
    dragged = _drag(user, notes)
    assert page.isVisible()
    for label in (page.headline, page.details):
        assert label.height() >= label.heightForWidth(label.width())
    drop = QDropEvent(
        QPointF(9, 9), Qt.DropAction.CopyAction, dragged, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    _send(page, drop)
    assert not page.isVisible()
    _wait(user, lambda: bool(attachments.buttons))
    assert user.controller.preparation.unsent.attachments[0].name == notes.name
    user.controller.preparation.replace_unsent(Unsent())
    user.window.resize(1100, 760)


def test_conversations_that_are_in_bough_gain_new_messages_and_can_be_imported_as_copies(
    user: User, tmp_path: Path
) -> None:
    def sheet_for(*texts: str) -> ImportWindow:
        lines = [{"id": f"m{number}", "role": "user", "content": text} for number, text in enumerate(texts)]
        for number, line in enumerate(lines):
            line["parent"] = f"m{number - 1}" if number else ""
        (tmp_path / "in.json").write_text(json.dumps({"conv": {"id": "c", "name": "Grown"}, "messages": lines}))
        sheet = user.window.dialogs.show_import([tmp_path / "in.json"])
        _wait(user, lambda: not sheet.is_working)
        return sheet

    def take(sheet: ImportWindow) -> None:
        with user.bot.waitSignal(sheet.imported, timeout=PATIENCE_MS):
            _press(user, sheet, "Import")

    take(sheet_for("one"))
    (first,) = (found for found in user.application.program.conversations.all if found.name == "Grown")
    user.controller.shown.open_conversation(first.id)
    assert [message.text for message in user.controller.shown.path if message.text] == ["one"]
    sheet = sheet_for("one", "two")
    assert sheet.updates.lines.text().startswith("· Grown: 1")
    take(sheet)
    # The open conversation shows it.
    assert [message.text for message in user.controller.shown.path if message.text] == ["one", "two"]
    sheet = sheet_for("one", "two")
    assert not sheet.import_button.isEnabled()
    sheet.copies.click()
    assert sheet.import_button.isEnabled()
    take(sheet)
    assert [found.name for found in user.application.program.conversations.all].count("Grown") == 2


def test_files_that_cannot_be_imported_are_reported_and_nothing_is_written(user: User, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('[{"mapping": ')
    before = len(user.application.program.conversations.all)
    sheet = user.window.dialogs.show_import([broken, tmp_path / "missing.bough"])
    _wait(user, lambda: not sheet.is_working)
    assert not sheet.import_button.isEnabled()
    assert "broken.json: " in sheet.problems.lines.text()
    assert "missing.bough: " in sheet.problems.lines.text()
    user.bot.keyClick(sheet, Qt.Key.Key_Escape)
    assert len(user.application.program.conversations.all) == before


def test_a_cancelled_import_is_undone_and_can_be_started_again(user: User, tmp_path: Path) -> None:
    before = len(user.application.program.conversations.all)
    sheet = user.window.dialogs.show_import([_chats(tmp_path / "many.jsonl", *map(str, range(6000)))])
    _wait(user, lambda: not sheet.is_working)
    _press(user, sheet, "Import")
    _wait(user, lambda: "conversations" in sheet.progress_text.text())
    user.bot.keyClick(sheet, Qt.Key.Key_Escape)
    _wait(user, lambda: not sheet.is_working)
    assert "Nothing was imported" in sheet.note.text()
    assert sheet.isVisible()
    assert sheet.import_button.isEnabled()
    assert len(user.application.program.conversations.all) == before


# --- search ------------------------------------------------------------------------------------------------


def _search(user: User, text: str) -> SearchPanel:
    user.window.action("search_all").trigger()
    panel = user.window.dialogs.search
    panel.field.clear()
    with user.bot.waitSignal(
        user.application.program.archive.searcher.found, timeout=PATIENCE_MS, check_params_cb=_is_of(text)
    ):
        user.bot.keyClicks(panel.field, text)
    return panel


@pytest.mark.parametrize("width", [360, 520, 900])
def test_the_search_shows_all_that_it_says_and_all_filters_at_any_width(user: User, width: int) -> None:
    user.window.resize(width, 700)
    panel = _search(user, "after:2026-13-01")
    for _ in range(2):
        assert panel.hint.height() >= panel.hint.heightForWidth(panel.hint.width())
        chips = panel.chips
        assert chips.height() >= chips.heightForWidth(chips.width())
        assert all(chips.rect().contains(chip.geometry()) for chip in chips.findChildren(QToolButton))
        # Another width while it is open.
        user.window.resize(360, 700)
        user.bot.waitUntil(lambda: panel.width() == user.window.width())


def _is_of(text: str) -> Callable[[object], bool]:
    return lambda found: getattr(found, "query", None) == text


def test_search_finds_text_on_any_branch_and_enter_opens_it(user: User) -> None:
    planted = _planted(user, "u1-a1 zebra-u3 | u2-a2 zebra")
    user.controller.shown.new_conversation()
    panel = _search(user, "a1 zeb")
    chosen = panel.list.chosen
    assert chosen is not None
    assert chosen.message.id == planted.ids["a1 zebra"]
    user.bot.keyClick(panel.field, Qt.Key.Key_Return)
    assert not panel.isVisible()
    assert labels(user.controller.shown.path) == "u1-a1 zebra-u3"
    assert user.window.transcript.focused_message_id == planted.ids["a1 zebra"]


def test_arrow_keys_walk_the_hits_and_escape_returns_to_the_previous_focus(user: User) -> None:
    _planted(user, "u1-a1 zebra | u2-a2 zebra")
    user.window.composer.text.setFocus()
    panel = _search(user, "zebra is:starred")
    assert panel.hint.isVisible()
    assert "filter" in panel.hint.text()
    panel = _search(user, "zebra")
    user.bot.keyClick(panel.field, Qt.Key.Key_Down)
    assert panel.list.currentIndex().row() == 1
    assert user.window.focusWidget() is panel.list
    user.bot.keyClick(panel.list, Qt.Key.Key_Up)
    user.bot.keyClick(panel.list, Qt.Key.Key_Up)
    assert user.window.focusWidget() is panel.field
    user.bot.keyClick(panel.field, Qt.Key.Key_Down)
    user.bot.keyClicks(panel.list, "s")
    assert user.window.focusWidget() is panel.field
    assert panel.field.text() == "zebras"
    user.bot.keyClick(panel.field, Qt.Key.Key_Escape)
    assert not panel.isVisible()
    assert user.window.focusWidget() is user.window.composer.text


def test_a_filter_is_both_a_button_and_a_word_and_they_stay_in_sync(user: User) -> None:
    planted = _planted(user, "u1 giraffe-a1 giraffe")
    user.application.store.messages.star(planted.ids["a1 giraffe"])
    panel = _search(user, "giraffe")
    found = user.application.program.archive.searcher.found
    with user.bot.waitSignal(found, timeout=PATIENCE_MS):
        user.bot.mouseClick(panel.chips.starred, Qt.MouseButton.LeftButton)
    assert panel.field.text() == "giraffe is:starred"
    with user.bot.waitSignal(found, timeout=PATIENCE_MS):
        next(one for one in panel.chips.role.menu().actions() if one.text() == "Answers").trigger()
    assert panel.field.text() == "giraffe is:starred from:answer"
    assert panel.list.model().rowCount() == 1
    with user.bot.waitSignal(found, timeout=PATIENCE_MS):
        user.bot.mouseClick(panel.chips.pinned, Qt.MouseButton.LeftButton)
    assert panel.field.text() == "giraffe is:starred from:answer is:pinned"
    assert panel.chips.starred.isChecked()
    assert panel.list.model().rowCount() == 0
    with user.bot.waitSignal(found, timeout=PATIENCE_MS):
        user.bot.mouseClick(panel.chips.pinned, Qt.MouseButton.LeftButton)
    assert panel.field.text() == "giraffe is:starred from:answer"
    with user.bot.waitSignal(found, timeout=PATIENCE_MS):
        panel.field.setText(f"giraffe after:{day_text(0)}")
    assert panel.chips.date.text() == "Today"
    assert not panel.chips.starred.isChecked()


def test_an_invalid_date_and_an_index_with_gaps_are_reported(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    _planted(user, "u1 okapi-a1 okapi")
    panel = _search(user, "okapi after:2026-02-30")
    assert panel.hint.isVisible()
    assert panel.hint.text().startswith("“2026-02-30” is not a date")
    monkeypatch.setattr("app.model.search_renewal._SLICE", 1)
    monkeypatch.setattr("app.model.search_renewal._AT_ONCE", 1)
    user.application.store.search.begin_again()
    panel = _search(user, "okapi")
    assert panel.list.model().rowCount() == 1
    assert "not found yet" in panel.status.text()
    panel = _search(user, "u1 okapi")
    assert panel.hint.isVisible()
    assert "not found yet" in panel.status.text()
    write_index_again(user.application.store)
    panel = _search(user, "okapi")
    assert panel.list.model().rowCount() == 2
    assert "not found yet" not in panel.status.text()


def test_an_empty_search_explains_where_it_searches(user: User) -> None:
    user.window.action("search_all").trigger()
    panel = user.window.dialogs.search
    with user.bot.waitSignal(
        user.application.program.archive.searcher.found, timeout=PATIENCE_MS, check_params_cb=_is_of("")
    ):
        panel.field.setText("x")
        panel.field.clear()
    assert panel.hint.isVisible()
    assert "all messages in all branches" in panel.hint.text()


# --- trash and backups -------------------------------------------------------------------------------------


def _answer(user: User, sheet: QWidget, label: str) -> None:
    _wait(user, lambda: bool(sheet.findChildren(QMessageBox)))
    (box,) = sheet.findChildren(QMessageBox)
    _press(user, box, label)


def test_one_conversation_is_restored_from_the_trash_and_one_permanently_deleted(user: User) -> None:
    store, conversations = user.application.store, user.application.program.conversations
    kept, gone = _planted(user, "u1-a1"), _planted(user, "u2-a2")
    for planted in (kept, gone):
        conversations.delete(planted.conversation_id)
    sheet = _opened(user, TrashWindow, "trash")
    _wait(user, lambda: sheet.list.count() == 2)

    sheet.choose(kept.conversation_id)
    _press(user, sheet, "Restore")
    _wait(user, lambda: sheet.list.count() == 1)
    sheet.choose(gone.conversation_id)
    _press(user, sheet, "Delete permanently…")
    _answer(user, sheet, "Delete permanently")
    _wait(user, sheet.empty.isVisible)
    assert kept.conversation_id in {one.id for one in conversations.all}
    assert trashed_ids(store) == []
    assert store.messages.shown_by(gone.conversation_id) == []


def test_a_pruned_branch_is_in_the_trash_and_returns_to_the_page(user: User) -> None:
    planted = _planted(user, "u1-a1-u2")
    user.controller.prune(planted.ids["u2"])
    assert labels(user.controller.shown.path) == "u1-a1"
    sheet = _opened(user, TrashWindow, "trash")
    _wait(user, lambda: sheet.list.count() == 1)
    _press(user, sheet, "Restore")
    _wait(user, sheet.empty.isVisible)
    assert labels(user.controller.shown.path) == "u1-a1-u2"


def test_a_valid_backup_can_be_restored_after_a_confirmation(user: User, tmp_path: Path) -> None:
    _planted(user, "u1-a1")
    upkeep = WatchedUpkeep(user.application.store.path, user.application.program.cache_folder)
    try:
        assert upkeep.wait_for_round(PATIENCE_MS / 1000)
    finally:
        upkeep.close()
    sheet = _opened(user, BackupsWindow, "backups")
    _wait(user, sheet.restore_button.isEnabled)
    chosen = sheet.chosen
    assert chosen is not None
    _press(user, sheet, "Restore…")
    # A restore would close the window of this test.
    sheet.restore_requested.disconnect()
    with user.bot.waitSignal(sheet.restore_requested, timeout=PATIENCE_MS) as asked:
        _answer(user, sheet, "Restore")
    assert asked.args == [chosen.file]


# --- replay --------------------------------------------------------------------------------------------------


def test_a_replayed_answer_matches_and_says_so(user: User) -> None:
    answer = user.ask("What is a branch?")
    sheet = _opened(user, ReplayWindow, "replay")
    _wait(user, lambda: sheet.close_button.text() == "Close")
    assert sheet.outcome.text().startswith("✓ The answer matched")
    assert answer.record is not None
    assert f"{len(answer.record.token_ids):,} tokens" in sheet.outcome.text()
    assert [message.id for message in user.controller.shown.path][-1] == answer.id


def test_an_answer_that_no_model_wrote_is_not_replayed_and_a_notice_says_why(user: User) -> None:
    _planted(user, "u1-a1")
    user.window.action("replay").trigger()
    assert user.window.banner.isVisible()
    assert not [one for one in user.window.findChildren(ReplayWindow) if one.isVisible()]


# --- notes -------------------------------------------------------------------------------------------------


def test_the_content_of_an_imported_note_is_folded_at_first(user: User) -> None:
    store = user.application.store
    conversation, question = store.create_conversation("Notes", "", "Look at this")
    call = store.add(
        conversation.id, question.id, "note", blocks.tool_call_note("search", {"query": "leaves"}, Counter())
    )
    file = store.add(conversation.id, call.id, "note", blocks.file_note("data.csv", b"a,b", Counter()))
    user.controller.shown.open_conversation(conversation.id)
    view = user.view(call.id).findChild(NoteView)
    assert isinstance(view, NoteView)
    assert view.text is None
    _press(user, view, "Contents")
    assert view.text is not None
    assert '"query": "leaves"' in view.text.toPlainText()
    _press(user, view, "Contents")
    assert not view.text.isVisible()
    attached = user.view(file.id).findChild(NoteView)
    assert isinstance(attached, NoteView)
    _press(user, attached, "Contents")
    assert user.button(attached, "Save “data.csv” (3 bytes)…").isVisible()


# --- all dialogs ---------------------------------------------------------------------------------------------


def test_every_control_has_a_name_and_no_text_is_cut_off(user: User, tmp_path: Path) -> None:
    _planted(user, "u1-a1")
    dialogs = user.window.dialogs
    sheets = (
        dialogs.show_export(),
        dialogs.show_import([_chats(tmp_path / "chats.jsonl", "q3")]),
        dialogs.show_trash(),
        dialogs.show_backups(),
    )
    dialogs.show_search()
    for sheet in (*sheets, dialogs.search):
        assert sheet is not None
        if isinstance(sheet, Sheet):
            _wait(user, lambda sheet=sheet: not sheet.is_working)
        for control in sheet.findChildren(QWidget):
            if isinstance(control, QAbstractButton | QComboBox | QLineEdit | QAbstractSpinBox) and control.isVisible():
                name = control.accessibleName() or (control.text() if isinstance(control, QAbstractButton) else "")
                assert name, control
                assert control.height() >= 28, (name, control.height())
            if isinstance(control, QLabel | QAbstractButton) and control.isVisible() and control.text():
                wraps = isinstance(control, QLabel) and control.wordWrap()
                if not wraps:
                    width = control.fontMetrics().horizontalAdvance(control.text().partition("\n")[0])
                    assert control.width() >= min(width, sheet.width() - 40), control.text()
