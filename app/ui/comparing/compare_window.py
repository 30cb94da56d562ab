"""Two versions of a message, or two branches, compared word by word in a window of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from app.numbers import counted
from app.ui.comparing.compare_panes import ComparePanes
from app.ui.parts.sheet import Sheet
from app.ui.theme import Theme

_WIDTH_PX, _HEIGHT_PX = 1000, 680
_NUM_SAID = 60
"""So much of a difference is said aloud."""


class Side(NamedTuple):
    """What can be compared: what it is called, and its text."""

    title: str
    text: str


class CompareWindow(Sheet):
    """Compares any two of some texts."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("", parent)
        self.setWindowTitle(self.tr("Compare"))
        self.panes = ComparePanes(theme)
        self._sides: Sequence[Side] = ()
        self.left_choice = QComboBox()
        self.right_choice = QComboBox()
        head = QHBoxLayout()
        head.setSpacing(12)
        for choice, pane, name in (
            (self.left_choice, self.panes.left, self.tr("Left text")),
            (self.right_choice, self.panes.right, self.tr("Right text")),
        ):
            choice.setAccessibleName(name)
            choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            choice.activated.connect(self._show_chosen)
            pane.setAccessibleName(name)
            head.addWidget(choice, 1)
        self.body.addLayout(head)
        self.body.addWidget(self.panes, 1)
        self.previous_button = self.add_button(self.tr("Previous difference"), lambda: self.panes.step(-1))
        self.previous_button.setToolTip(self.tr("Previous difference (Shift+F7)"))
        self.next_button = self.add_button(self.tr("Next difference"), lambda: self.panes.step(1), is_primary=True)
        self.next_button.setToolTip(self.tr("Next difference (F7)"))
        self.add_button(self.tr("Close"), self.close)
        for key, step in (("F7", 1), ("Shift+F7", -1), ("Alt+Down", 1), ("Alt+Up", -1)):
            QShortcut(QKeySequence(key), self, partial(self.panes.step, step))
        self.panes.stepped.connect(self._on_stepped)

    def compare(self, sides: Sequence[Side], left: int, right: int) -> None:
        """Show two of these; the others can be chosen instead."""
        self._sides = sides
        for choice, number in ((self.left_choice, left), (self.right_choice, right)):
            choice.clear()
            choice.addItems([side.title for side in sides])
            choice.setCurrentIndex(number)
        self._show_chosen()
        self.open_at(_WIDTH_PX, _HEIGHT_PX)
        self.next_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_theme(self, theme: Theme) -> None:
        self.panes.set_theme(theme)

    def _show_chosen(self) -> None:
        left, right = (self._sides[choice.currentIndex()] for choice in (self.left_choice, self.right_choice))
        for pane, side in ((self.panes.left, left), (self.panes.right, right)):
            pane.setAccessibleName(side.title)
        self.panes.show_texts(left.text, right.text)
        has_any = self.panes.num_differences > 0
        for button in (self.previous_button, self.next_button):
            button.setEnabled(has_any)
        if self.panes.num_differences == 1:
            self.say(self.tr("1 difference"))
        elif has_any:
            self.say(self.tr("{count} differences", "", self.panes.num_differences).format(count=self._count))
        else:
            self.say(self.tr("Both are the same."))

    @property
    def _count(self) -> str:
        return counted(self.panes.num_differences)

    def _on_stepped(self) -> None:
        where = self.tr("Difference {number} of {count}").format(
            number=counted(self.panes.current + 1), count=self._count
        )
        self.say(where)
        stretch = self.panes.current_stretch
        if stretch is not None and QAccessible.isActive():
            left, right = (text[:_NUM_SAID] or self.tr("nothing") for text in stretch)
            said = self.tr("{where}: left {left}, right {right}").format(where=where, left=left, right=right)
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, said))
