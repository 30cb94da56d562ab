"""The workarounds: for scroll areas in Qt's accessibility interface, and for widgets that are about to be deleted."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QLabel, QListWidget, QScrollArea, QTextBrowser, QWidget
from pytestqt.qtbot import QtBot

from app.ui.parts.qt_workarounds import discard, install_accessible_scroll_areas
from tests.waiting import PATIENCE_MS


def test_a_missing_child_is_none_and_lists_and_texts_keep_their_roles(qapp: QApplication, qtbot: QtBot):
    install_accessible_scroll_areas()
    QAccessible.setActive(True)
    area = QScrollArea()
    qtbot.addWidget(area)
    area.setAccessibleName("The area")
    page = QLabel("A page that is larger than the area in which it is shown")
    page.setFixedSize(900, 900)
    area.setWidget(page)
    area.resize(200, 200)
    area.show()
    described = QAccessible.queryAccessibleInterface(area)
    assert described.text(QAccessible.Text.Name) == "The area"
    count = described.childCount()
    assert all(described.child(number) is not None for number in range(count))
    area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    assert [described.child(count + beyond) for beyond in (0, 1, 7, 1000)] == [None] * 4
    listed, text = QListWidget(), QTextBrowser()
    for widget, role in ((listed, QAccessible.Role.List), (text, QAccessible.Role.EditableText)):
        qtbot.addWidget(widget)
        assert QAccessible.queryAccessibleInterface(widget).role() in {role, QAccessible.Role.StaticText}


def test_a_discarded_widget_leaves_its_window_at_once(qtbot: QtBot):
    window = QWidget()
    qtbot.addWidget(window)
    discarded = QWidget(window)
    with qtbot.waitSignal(discarded.destroyed, timeout=PATIENCE_MS):
        discard(discarded)
        assert not window.findChildren(QObject)
