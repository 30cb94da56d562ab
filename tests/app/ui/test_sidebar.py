"""The sidebar: its sections, and what keyboard, mouse and screen reader do in its list."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from app.model.message import Conversation
from app.ui.sidebar.conversation_list import ConversationList
from app.ui.sidebar.conversation_model import ID, IS_ANSWERING, ConversationModel, Section, sections
from tests.app.ui.conftest import PATIENCE_MS, Person

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


def test_conversations_lie_in_the_groups_that_their_marks_and_days_say() -> None:
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
        rows.append((section.data(), [(index.data(ID), index.data()) for index in inside]))
    return rows


def _shown(found: list[Section]) -> list[tuple[object, list[tuple[object, object]]]]:
    return [(section.title, [(one.id, one.name) for one in section.conversations]) for section in found]


def test_a_list_that_changes_anyhow_is_shown_as_it_is(qtbot: QtBot) -> None:
    owner = QObject()
    model = ConversationModel(owner)
    # It fails where a row comes or goes unannounced.
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


def _three(person: Person) -> list[int]:
    """Three conversations of today, the last one first in the list, which has the focus."""
    store = person.application.store
    for conversation in store.conversations.all():
        store.conversations.trash(conversation.id)
    ids = [store.create_conversation(name, "", "Hello")[0].id for name in ("Apples", "Bread", "Cheese")]
    person.controller.program.conversations.changed.emit()
    person.controller.shown.open_conversation(ids[2])
    person.window.sidebar.list.setFocus(Qt.FocusReason.TabFocusReason)
    return ids[::-1]


def _names(person: Person) -> list[str]:
    return [conversation.name for conversation in person.controller.program.conversations.all]


def _row_texts(rows: ConversationList) -> list[str]:
    """The texts of all rows outside folded sections, from the top."""
    texts: list[str] = []
    index = rows.rows.index(0, 0)
    while index.isValid():
        texts.append(str(index.data()))
        index = rows.indexBelow(index)
    return texts


def _opened(person: Person) -> int | None:
    return None if person.controller.shown.conversation is None else person.controller.shown.conversation.id


def test_arrows_walk_and_enter_opens(person: Person) -> None:
    cheese, bread, apples = _three(person)
    rows = person.window.sidebar.list
    assert _row_texts(rows) == ["Today", "Cheese", "Bread", "Apples"]
    assert rows.current_id == cheese
    person.bot.keyClick(rows, Qt.Key.Key_Down)
    assert (rows.current_id, _opened(person)) == (bread, cheese)
    person.bot.keyClick(rows, Qt.Key.Key_Return)
    assert _opened(person) == bread
    # What is typed leads there.
    person.bot.keyClicks(rows, "app")
    assert rows.current_id == apples


def test_what_is_marked_is_what_is_open_once_the_focus_is_elsewhere(person: Person) -> None:
    cheese, bread, _ = _three(person)
    rows = person.window.sidebar.list
    person.bot.keyClick(rows, Qt.Key.Key_Down)
    assert rows.current_id == bread
    person.window.composer.text.setFocus()
    assert rows.current_id == cheese


def test_a_conversation_is_renamed_in_its_place(person: Person) -> None:
    _three(person)
    rows = person.window.sidebar.list
    person.bot.keyClick(rows, Qt.Key.Key_F2)
    editor = rows.findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    person.bot.keyClicks(editor, "Cheddar")
    person.bot.keyClick(editor, Qt.Key.Key_Return)
    person.bot.waitUntil(lambda: _names(person)[0] == "Cheddar", timeout=PATIENCE_MS)
    assert person.window.header.title.text() == "Cheddar"


def test_the_delete_key_deletes_and_undo_brings_it_back(person: Person) -> None:
    _three(person)
    rows = person.window.sidebar.list
    person.bot.keyClick(rows, Qt.Key.Key_Delete)
    assert _names(person) == ["Bread", "Apples"]
    person.bot.mouseClick(person.window.banner.button, Qt.MouseButton.LeftButton)
    assert _names(person) == ["Cheese", "Bread", "Apples"]


def _drop(person: Person, dragged: int, section: str) -> None:
    rows = person.window.sidebar.list.rows
    target = next(index for row in range(rows.rowCount()) if (index := rows.index(row, 0)).data() == section)
    data = rows.mimeData([rows.index_of(dragged)])
    assert rows.dropMimeData(data, Qt.DropAction.MoveAction, -1, -1, target)


def test_what_is_dropped_on_a_section_goes_there(person: Person) -> None:
    cheese, bread, apples = _three(person)
    conversations = person.controller.program.conversations
    conversations.put_into_folder(apples, "Fruit")
    conversations.pin(bread)
    rows = person.window.sidebar.list
    assert _row_texts(rows) == ["Pinned", "Bread", "Fruit", "Apples", "Today", "Cheese"]
    _drop(person, cheese, "Fruit")
    _drop(person, bread, "Fruit")
    assert _row_texts(rows) == ["Fruit", "Cheese", "Bread", "Apples"]
    conversations.put_into_folder(cheese, "")
    _drop(person, apples, "Today")
    assert _row_texts(rows) == ["Fruit", "Bread", "Today", "Cheese", "Apples"]


def test_what_is_dropped_below_the_list_is_in_no_folder(person: Person) -> None:
    # Where all are in folders there is no other place for that.
    three = _three(person)
    for one in three:
        person.controller.program.conversations.put_into_folder(one, "Fruit")
    view = person.window.sidebar.list
    assert _row_texts(view) == ["Fruit", "Cheese", "Bread", "Apples"]
    data = view.rows.mimeData([view.rows.index_of(three[1])])
    place = QPoint(20, view.viewport().height() - 4)
    how = (Qt.DropAction.MoveAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    for event in (QDragEnterEvent(place, *how), QDragMoveEvent(place, *how), QDropEvent(QPointF(place), *how)):
        QApplication.sendEvent(view.viewport(), event)
        assert event.isAccepted()
    assert _row_texts(view) == ["Fruit", "Cheese", "Apples", "Today", "Bread"]


def test_a_section_that_is_folded_stays_folded(person: Person) -> None:
    _three(person)
    rows = person.window.sidebar.list
    person.bot.keyClick(rows, Qt.Key.Key_Home)
    person.bot.keyClick(rows, Qt.Key.Key_Left)
    assert _row_texts(rows) == ["Today"]
    person.ask("What is a branch?")
    assert _row_texts(rows) == ["Today"]
    rows.setFocus(Qt.FocusReason.TabFocusReason)
    person.bot.keyClick(rows, Qt.Key.Key_Home)
    person.bot.keyClick(rows, Qt.Key.Key_Return)
    assert _row_texts(rows) == ["Today", "Cheese", "Bread", "Apples"]


def test_the_archive_is_at_the_end_and_folded_at_first(person: Person) -> None:
    cheese, _, _ = _three(person)
    rows = person.window.sidebar.list
    person.window.action("archive").trigger()
    assert _row_texts(rows) == ["Today", "Bread", "Apples", "Archive"]
    person.controller.program.conversations.archive(cheese, is_archived=False)
    assert _row_texts(rows) == ["Today", "Cheese", "Bread", "Apples"]


def test_what_is_archived_comes_back_by_undo_to_where_it_was(person: Person) -> None:
    cheese, bread, _ = _three(person)
    rows, banner = person.window.sidebar.list, person.window.banner
    conversations = person.controller.program.conversations
    conversations.put_into_folder(bread, "Baking")
    before = _row_texts(rows)
    person.controller.shown.open_conversation(bread)
    person.window.action("archive").trigger()
    assert "Bread" not in _row_texts(rows)
    assert (banner.label.text(), banner.button.text()) == ("“Bread” was archived.", "Undo")
    person.bot.mouseClick(banner.button, Qt.MouseButton.LeftButton)
    assert _row_texts(rows) == before
    assert not banner.isVisible()
    # By dragging, too, and who fetches it from there otherwise is offered no more.
    conversations.archive(cheese)
    _drop(person, bread, "Archive")
    assert banner.label.text() == "“Bread” was archived."
    conversations.archive(cheese, is_archived=False)
    assert banner.isVisible()
    conversations.archive(bread, is_archived=False)
    assert not banner.isVisible()
    assert _row_texts(rows) == before


def test_rows_have_names_for_a_screen_reader_and_sections_say_whether_they_are_open(person: Person) -> None:
    _three(person)
    rows = person.window.sidebar.list
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


def test_thousands_of_conversations_are_listed_and_the_last_one_is_reached(person: Person) -> None:
    _three(person)
    rows = person.window.sidebar.list.rows
    many = [_conversation(number + 10_000, number / 100) for number in range(5_000)]
    rows.show_sections(sections(many, _TODAY))
    assert rows.index_of(14_999).isValid()
    person.window.sidebar.list.setCurrentIndex(rows.index_of(14_999))
    person.bot.waitUntil(lambda: person.window.sidebar.list.current_id == 14_999, timeout=PATIENCE_MS)
    person.window.sidebar.list.refresh()
    assert rows.parent(QModelIndex()) == QModelIndex()
    assert _row_texts(person.window.sidebar.list) == ["Today", "Cheese", "Bread", "Apples"]


def test_a_conversation_says_that_it_answers_while_another_one_is_read(person: Person) -> None:
    rows = person.window.sidebar.list.rows
    person.type("What is a branch?")
    person.bot.keyClick(person.window.composer.text, Qt.Key.Key_Return)
    asked = person.controller.shown.conversation
    assert asked is not None
    person.controller.shown.new_conversation()
    place = rows.index_of(asked.id)
    assert place.data(IS_ANSWERING)
    assert place.data() == "What is a branch?"
    assert place.data(Qt.ItemDataRole.AccessibleTextRole) == "What is a branch? · answering"
    person.bot.waitUntil(lambda: not rows.index_of(asked.id).data(IS_ANSWERING), timeout=PATIENCE_MS)
    assert rows.index_of(asked.id).data(Qt.ItemDataRole.AccessibleTextRole) == "What is a branch?"
