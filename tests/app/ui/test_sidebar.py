"""The sidebar: its sections, and its list used by keyboard, mouse and screen reader."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

import pytest
from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from app.model.message import Conversation
from app.ui.sidebar.conversation_list import ConversationList
from app.ui.sidebar.conversation_model import ID, IS_ANSWERING, ConversationModel, Section, sections
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS

pytestmark = pytest.mark.own_window

_TODAY = date(2026, 3, 31)


def _conversation(
    number: int, days_ago: float = 0, *, pinned: bool = False, folder: str = "", archived: bool = False, name: str = ""
) -> Conversation:
    noon = datetime(_TODAY.year, _TODAY.month, _TODAY.day, 12).astimezone() - timedelta(days=days_ago)
    return Conversation(
        id=number,
        name=name or f"Conversation {number}",
        root_id=number,
        created_ms=0,
        updated_ms=round(noon.timestamp() * 1000),
        pinned_ms=1 if pinned else None,
        folder=folder,
        archived_ms=1 if archived else None,
    )


def test_conversations_are_grouped_by_pin_folder_archive_and_day() -> None:
    found = sections(
        [
            _conversation(1),
            _conversation(2, 1),
            _conversation(3, 6),
            _conversation(4, 7),
            _conversation(5, 400),
            _conversation(6, folder="work"),
            _conversation(7, folder="Art"),
            _conversation(8, pinned=True, folder="work"),
            _conversation(9, pinned=True, archived=True),
        ],
        _TODAY,
    )
    assert [(section.key, [one.id for one in section.conversations]) for section in found] == [
        ("pinned", [8]),
        ("folder/Art", [7]),
        ("folder/work", [6]),
        ("today", [1]),
        ("yesterday", [2]),
        ("week", [3]),
        ("older", [4, 5]),
        ("archive", [9]),
    ]


def _rows(model: QAbstractItemModel) -> list[tuple[object, list[tuple[object, object]]]]:
    rows: list[tuple[object, list[tuple[object, object]]]] = []
    for place in range(model.rowCount()):
        section = model.index(place, 0)
        inside = [model.index(row, 0, section) for row in range(model.rowCount(section))]
        rows.append((section.data(), [(index.data(ID), index.data(Qt.ItemDataRole.EditRole)) for index in inside]))
    return rows


def _shown(found: list[Section]) -> list[tuple[object, list[tuple[object, object]]]]:
    return [(section.title, [(one.id, one.name) for one in section.conversations]) for section in found]


def test_the_model_shows_any_sequence_of_changes(qtbot: QtBot) -> None:
    owner = QObject()
    model = ConversationModel(owner)
    # The tester fails if a row is inserted or removed without the signals.
    _ = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, owner)
    draw = random.Random(4)
    known: dict[int, Conversation] = {}
    for step in range(150):
        for _ in range(draw.randrange(1, 4)):
            number = draw.randrange(12)
            if number in known and draw.random() < 0.3:
                del known[number]
            else:
                known[number] = _conversation(
                    number,
                    draw.choice([0, 1, 3, 30]),
                    pinned=draw.random() < 0.2,
                    folder=draw.choice(["", "", "a", "b"]),
                    archived=draw.random() < 0.1,
                    name=draw.choice(["", f"Name {step}"]),
                )
        listed = sorted(known.values(), key=lambda one: (-one.updated_ms, one.id))
        model.show_sections(sections(listed, _TODAY))
        assert _rows(model) == _shown(sections(listed, _TODAY))


def _three(user: User) -> list[int]:
    """Create three conversations of today, open the newest one and focus the list. Return their ids, newest first."""
    store = user.application.store
    for conversation in store.conversations.all():
        store.conversations.trash(conversation.id)
    ids = [store.create_conversation(name, "", "Hello")[0].id for name in ("Apples", "Bread", "Cheese")]
    user.controller.program.conversations.changed.emit()
    user.controller.shown.open_conversation(ids[2])
    user.window.sidebar.list.setFocus(Qt.FocusReason.TabFocusReason)
    return ids[::-1]


def _names(user: User) -> list[str]:
    return [conversation.name for conversation in user.controller.program.conversations.all]


def _row_texts(rows: ConversationList) -> list[str]:
    """Return the texts of all rows outside collapsed sections, from top to bottom."""
    texts: list[str] = []
    index = rows.rows.index(0, 0)
    while index.isValid():
        texts.append(str(index.data()))
        index = rows.indexBelow(index)
    return texts


def _opened(user: User) -> int | None:
    return None if user.controller.shown.conversation is None else user.controller.shown.conversation.id


def test_arrow_keys_move_and_enter_opens(user: User) -> None:
    cheese, bread, apples = _three(user)
    rows = user.window.sidebar.list
    assert _row_texts(rows) == ["Today", "Cheese", "Bread", "Apples"]
    assert rows.current_id == cheese
    user.bot.keyClick(rows, Qt.Key.Key_Down)
    assert (rows.current_id, _opened(user)) == (bread, cheese)
    user.bot.keyClick(rows, Qt.Key.Key_Return)
    assert _opened(user) == bread
    # Typing moves to the conversation with that name.
    user.bot.keyClicks(rows, "app")
    assert rows.current_id == apples


def test_the_open_conversation_is_selected_again_when_the_list_loses_the_focus(user: User) -> None:
    cheese, bread, _ = _three(user)
    rows = user.window.sidebar.list
    user.bot.keyClick(rows, Qt.Key.Key_Down)
    assert rows.current_id == bread
    user.window.composer.text.setFocus()
    assert rows.current_id == cheese


def test_a_conversation_is_renamed_in_place(user: User) -> None:
    _three(user)
    rows = user.window.sidebar.list
    user.bot.keyClick(rows, Qt.Key.Key_F2)
    editor = rows.findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    user.bot.keyClicks(editor, "Cheddar")
    user.bot.keyClick(editor, Qt.Key.Key_Return)
    user.bot.waitUntil(lambda: _names(user)[0] == "Cheddar", timeout=PATIENCE_MS)
    assert user.window.header.title.text() == "Cheddar"


def test_the_delete_key_deletes_and_undo_restores(user: User) -> None:
    _three(user)
    rows = user.window.sidebar.list
    user.bot.keyClick(rows, Qt.Key.Key_Delete)
    assert _names(user) == ["Bread", "Apples"]
    user.bot.mouseClick(user.window.banner.button, Qt.MouseButton.LeftButton)
    assert _names(user) == ["Cheese", "Bread", "Apples"]


def _drop(user: User, dragged: int, section: str) -> None:
    rows = user.window.sidebar.list.rows
    target = next(index for row in range(rows.rowCount()) if (index := rows.index(row, 0)).data() == section)
    data = rows.mimeData([rows.index_of(dragged)])
    assert rows.dropMimeData(data, Qt.DropAction.MoveAction, -1, -1, target)


def test_a_conversation_dropped_on_a_section_moves_there(user: User) -> None:
    cheese, bread, apples = _three(user)
    conversations = user.controller.program.conversations
    conversations.put_into_folder(apples, "Fruit")
    conversations.pin(bread)
    rows = user.window.sidebar.list
    assert _row_texts(rows) == ["Pinned", "Bread", "Fruit", "Apples", "Today", "Cheese"]
    # The folder of a pinned conversation is shown beside its name.
    conversations.put_into_folder(bread, "Fruit")
    assert _row_texts(rows)[1] == "Bread · Fruit"
    conversations.put_into_folder(bread, "")
    _drop(user, cheese, "Fruit")
    _drop(user, bread, "Fruit")
    assert _row_texts(rows) == ["Fruit", "Cheese", "Bread", "Apples"]
    conversations.put_into_folder(cheese, "")
    _drop(user, apples, "Today")
    assert _row_texts(rows) == ["Fruit", "Bread", "Today", "Cheese", "Apples"]


def test_a_conversation_dropped_below_the_list_leaves_its_folder(user: User) -> None:
    # If every conversation is in a folder, there is no other place to drop on.
    three = _three(user)
    for one in three:
        user.controller.program.conversations.put_into_folder(one, "Fruit")
    view = user.window.sidebar.list
    assert _row_texts(view) == ["Fruit", "Cheese", "Bread", "Apples"]
    data = view.rows.mimeData([view.rows.index_of(three[1])])
    place = QPoint(20, view.viewport().height() - 4)
    how = (Qt.DropAction.MoveAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    for event in (QDragEnterEvent(place, *how), QDragMoveEvent(place, *how), QDropEvent(QPointF(place), *how)):
        QApplication.sendEvent(view.viewport(), event)
        assert event.isAccepted()
    assert _row_texts(view) == ["Fruit", "Cheese", "Apples", "Today", "Bread"]


def test_a_collapsed_section_stays_collapsed(user: User) -> None:
    _three(user)
    rows = user.window.sidebar.list
    user.bot.keyClick(rows, Qt.Key.Key_Home)
    user.bot.keyClick(rows, Qt.Key.Key_Left)
    assert _row_texts(rows) == ["Today"]
    user.ask("What is a branch?")
    assert _row_texts(rows) == ["Today"]
    rows.setFocus(Qt.FocusReason.TabFocusReason)
    user.bot.keyClick(rows, Qt.Key.Key_Home)
    user.bot.keyClick(rows, Qt.Key.Key_Return)
    assert _row_texts(rows) == ["Today", "Cheese", "Bread", "Apples"]


def test_the_archive_is_last_and_collapsed_at_first(user: User) -> None:
    cheese, _, _ = _three(user)
    rows = user.window.sidebar.list
    user.window.action("archive").trigger()
    assert _row_texts(rows) == ["Today", "Bread", "Apples", "Archive"]
    user.controller.program.conversations.archive(cheese, is_archived=False)
    assert _row_texts(rows) == ["Today", "Cheese", "Bread", "Apples"]


def test_undo_returns_an_archived_conversation_to_its_section(user: User) -> None:
    cheese, bread, _ = _three(user)
    rows, banner = user.window.sidebar.list, user.window.banner
    conversations = user.controller.program.conversations
    conversations.put_into_folder(bread, "Baking")
    before = _row_texts(rows)
    user.controller.shown.open_conversation(bread)
    user.window.action("archive").trigger()
    assert "Bread" not in _row_texts(rows)
    assert (banner.label.text(), banner.button.text()) == ("“Bread” was archived.", "Undo")
    user.bot.mouseClick(banner.button, Qt.MouseButton.LeftButton)
    assert _row_texts(rows) == before
    assert not banner.isVisible()
    # Dragging offers undo too. The offer disappears once the conversation is unarchived in another way.
    conversations.archive(cheese)
    _drop(user, bread, "Archive")
    assert banner.label.text() == "“Bread” was archived."
    conversations.archive(cheese, is_archived=False)
    assert banner.isVisible()
    conversations.archive(bread, is_archived=False)
    assert not banner.isVisible()
    assert _row_texts(rows) == before


def test_rows_have_accessible_names_and_sections_say_whether_they_are_expanded(user: User) -> None:
    _three(user)
    rows = user.window.sidebar.list
    interface = QAccessible.queryAccessibleInterface(rows)
    assert interface.text(QAccessible.Text.Name) == "Conversations"
    found = {
        child.text(QAccessible.Text.Name): child
        for number in range(interface.childCount())
        if (child := interface.child(number)) is not None
    }
    assert {"Today", "Cheese", "Bread", "Apples"} <= set(found)
    assert found["Today"].state().expanded
    assert not found["Cheese"].state().expandable


def test_the_last_of_thousands_of_conversations_can_be_selected(user: User) -> None:
    _three(user)
    rows = user.window.sidebar.list.rows
    many = [_conversation(number + 10_000, number / 100) for number in range(5_000)]
    rows.show_sections(sections(many, _TODAY))
    assert rows.index_of(14_999).isValid()
    user.window.sidebar.list.setCurrentIndex(rows.index_of(14_999))
    user.bot.waitUntil(lambda: user.window.sidebar.list.current_id == 14_999, timeout=PATIENCE_MS)
    user.window.sidebar.list.refresh()
    assert rows.parent(QModelIndex()) == QModelIndex()
    assert _row_texts(user.window.sidebar.list) == ["Today", "Cheese", "Bread", "Apples"]


def test_a_conversation_in_the_background_is_marked_while_it_answers(user: User) -> None:
    rows = user.window.sidebar.list.rows
    user.type("What is a branch?")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    asked = user.controller.shown.conversation
    assert asked is not None
    user.controller.shown.new_conversation()
    place = rows.index_of(asked.id)
    assert place.data(IS_ANSWERING)
    assert place.data() == "What is a branch?"
    assert place.data(Qt.ItemDataRole.AccessibleTextRole) == "What is a branch? · answering"
    user.bot.waitUntil(lambda: not rows.index_of(asked.id).data(IS_ANSWERING), timeout=PATIENCE_MS)
    assert rows.index_of(asked.id).data(Qt.ItemDataRole.AccessibleTextRole) == "What is a branch?"
