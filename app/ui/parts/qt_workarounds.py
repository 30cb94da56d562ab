"""Workarounds for problems of Qt with widgets and the clipboard."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

import shiboken6
from PySide6.QtCore import QMimeData, QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface, QGuiApplication
from PySide6.QtWidgets import QAbstractScrollArea, QAccessibleWidget, QGridLayout, QWidget

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMessageBox

_SCROLL_AREAS = {"QScrollArea", "QAbstractScrollArea"}
"""Lists and text views have other class names, and accessible interfaces of their own."""


@cache
def install_accessible_scroll_areas() -> None:
    """Replace Qt's accessible interface of scroll areas. Only the first call in a process does anything.

    Qt's own interface reads the children by index without a bounds check (in 6.11). If a scroll bar is gone since a
    screen reader counted the children, the program crashes.
    """
    QAccessible.installFactory(_accessible_scroll_area)


def _accessible_scroll_area(class_name: str, area: QObject) -> QAccessibleInterface | None:
    # Qt asks for each class of an object, the most derived first, and deletes the interface with the widget.
    if class_name in _SCROLL_AREAS and isinstance(area, QAbstractScrollArea):
        return QAccessibleWidget(area, QAccessible.Role.Client)
    return None


def discard(widget: QWidget) -> None:
    """Take a widget off its window now, and delete it in the next turn of the event loop.

    A change of the window's style reaches all widgets in it, even those that are about to be deleted.
    """
    widget.hide()
    widget.setParent(None)
    widget.deleteLater()


def leave_plain_text_on_clipboard() -> None:
    """Replace clipboard contents made by Python by their plain text.

    Call it when the program ends: Qt would otherwise use the Python object after its deletion.
    """
    clipboard = QGuiApplication.clipboard()
    contents = cast("QMimeData | None", clipboard.mimeData())
    # The clipboard may have no contents, for example on Wayland.
    if contents is not None and shiboken6.createdByPython(contents):
        clipboard.setText(clipboard.text())


def without_indent(box: QMessageBox) -> None:
    """Let the text of a box without an icon begin at its edge: Qt leaves room for the icon. Call it before it opens."""
    grid = box.layout()
    if not isinstance(grid, QGridLayout):
        return
    # The text takes the width that is left, of which the room would get a half.
    grid.setColumnStretch(grid.columnCount() - 1, 1)
    for number in range(grid.count()):
        item = grid.itemAt(number)
        spacer = None if item is None else item.spacerItem()
        if spacer is not None:
            spacer.changeSize(0, 0)
