"""A non-modal window for one task, with a footer for messages, progress and buttons.

While work is running, the footer shows its progress, and Escape and the Cancel button cancel the work; otherwise they
close the window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QDialog,
    QFrame,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.archive.archive import Task
from app.sentences import translated
from app.ui.parts.buttons import WrappingButton
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import FlowLayout
from app.ui.theme import grown, repolish

_OF_SCREEN = 0.9
_STEPS = 1000
_AROUND_FOOT_PX = 2 * 16 + 8
_MIN_NOTE_PX = 40
_MIN_WIDTH_PX = 300


class Filling(NamedTuple):
    """A part of a window that takes the height that is left."""

    widget: QWidget
    height_for: Callable[[int], int]
    """Returns the height that its contents need at a width."""
    page: QWidget | None = None
    """The page that scrolls in `widget`, if any. The window adapts its height when the size of the page changes."""


def filled_by(area: QScrollArea) -> Filling:
    """Return an area that scrolls as a filling, which needs the height of its page."""

    def height_for(width: int) -> int:
        page = area.widget()
        layout = None if page is None else page.layout()
        if layout is None:
            return area.sizeHint().height()
        layout.activate()
        return layout.totalHeightForWidth(width) if layout.hasHeightForWidth() else layout.totalSizeHint().height()

    return Filling(area, height_for, area.widget())


class Sheet(QDialog):
    """A window with a footer; subclasses or callers fill `body`."""

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("sheet")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.body = QVBoxLayout()
        self.body.setContentsMargins(16, 16, 16, 16)
        self.body.setSpacing(12)
        self.note = quiet_label("")
        self.progress_text = quiet_label("")
        self.progress_bar = QProgressBar()
        self.progress_bar.setRange(0, _STEPS)
        self.progress_bar.setTextVisible(False)
        self.progress_bar.setAccessibleName(self.tr("Progress"))
        progress = QWidget()
        lines = QVBoxLayout(progress)
        lines.setContentsMargins(0, 0, 8, 0)
        lines.setSpacing(4)
        lines.addStretch(1)
        lines.addWidget(self.progress_text)
        lines.addWidget(self.progress_bar)
        lines.addStretch(1)
        self._status = QStackedWidget()
        self._status.addWidget(self.note)
        self._status.addWidget(progress)
        self._status.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._footer = QFrame()
        self._footer.setObjectName("settings_foot")
        self._foot = QBoxLayout(QBoxLayout.Direction.LeftToRight, self._footer)
        self._foot.setContentsMargins(16, 12, 16, 12)
        self._foot.setSpacing(8)
        self._buttons = FlowLayout(is_at_end=True)
        self._buttons.setSpacing(8)
        self._foot.addWidget(self._status, 1)
        self._foot.addLayout(self._buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self.body, 1)
        column.addWidget(self._footer)
        self._task: Task | None = None
        self._filling: Filling | None = None
        self._highest_px = 0

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_foot()
        layout = self.layout()
        if layout is not None and layout.hasHeightForWidth():
            # Texts need more height in a narrow window.
            highest = int(self.screen().availableGeometry().height() * _OF_SCREEN)
            self.setMinimumHeight(min(layout.totalMinimumHeightForWidth(event.size().width()), highest))

    def _fit_foot(self) -> None:
        # Where the buttons leave the message no room, they go below it.
        room = self.width() - self._buttons.width_of_one_row - _AROUND_FOOT_PX
        directions = QBoxLayout.Direction
        self._foot.setDirection(directions.LeftToRight if room >= _MIN_NOTE_PX else directions.TopToBottom)

    def add_button(
        self, text: str, act: Callable[[], object], *, key: str = "", is_primary: bool = False
    ) -> QPushButton:
        """Add a button to the footer. Enter presses the primary button. `key` is only shown in the tool tip."""
        button = WrappingButton(text)
        button.setAutoDefault(False)
        key = self.tr("Enter") if is_primary else key
        button.setToolTip(f"{text.removesuffix('…')} ({key})" if key else text)
        if is_primary:
            button.setObjectName("primary")
            button.setDefault(True)
        button.clicked.connect(lambda: act())
        self._buttons.addWidget(button)
        return button

    def open_at(self, width_px: int, height_px: int, *, filling: Filling | None = None) -> None:
        """Show the window in this size, scaled with the text size and limited by the screen.

        `filling` is the part of the window that takes what height is left. With it the window is only as high as its
        contents, and `fit` makes it higher as they grow.
        """
        room = self.screen().availableGeometry()
        width, height = int(room.width() * _OF_SCREEN), int(room.height() * _OF_SCREEN)
        self._filling, self._highest_px = filling, min(grown(height_px), height)
        if filling is not None and filling.page is not None:
            filling.page.installEventFilter(self)
        self.setMinimumWidth(max(self.minimumWidth(), min(grown(_MIN_WIDTH_PX), width)))
        self.resize(min(grown(width_px), width), self._highest_px)
        if filling is not None:
            # The style's sizes count, which Qt would only ask for when the window is shown.
            for part in (self, *self.findChildren(QWidget)):
                part.ensurePolished()
        self.ensurePolished()
        # Before the window is shown, whose width would grow to that of a footer in one row.
        self._fit_foot()
        self.fit()
        # Some systems read the minimum size only once, when the window appears.
        self.ensurePolished()
        layout = self.layout()
        if layout is not None:
            layout.activate()
        self.show()
        # Texts wrap at the width that they have now.
        self.fit()
        self.activateWindow()

    def fit(self) -> None:
        """Make the window as high as its contents. Once it is visible, it only grows."""
        layout = self.layout()
        if self._filling is None or layout is None:
            return
        layout.activate()
        part = self._filling.widget
        wanted = self.height() - part.height() + self._filling.height_for(part.width())
        least = self.height() if self.isVisible() else layout.totalMinimumSize().height()
        self.resize(self.width(), max(min(wanted, self._highest_px), least))
        below = self.frameGeometry().bottom() - self.screen().availableGeometry().bottom()
        if self.isVisible() and below > 0:
            # It has grown beyond the screen.
            self.move(self.x(), max(self.y() - below, self.screen().availableGeometry().top()))

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and self._filling is not None and watched is self._filling.page:
            self.fit()
        return super().eventFilter(watched, event)

    def show_message(self, text: str, kind: Literal["quiet", "warning", "failure"] = "quiet") -> None:
        """Show a message next to the buttons."""
        self.note.setObjectName(kind)
        repolish(self.note)
        self.note.setText(text)

    def fail(self, why: str) -> None:
        """Show why something went wrong."""
        self.show_message(translated(why), "failure")

    # --- the task ----------------------------------------------------------------------------------------------

    @property
    def is_working(self) -> bool:
        return self._task is not None

    def follow(self, task: Task, text: str) -> None:
        """Show the progress of `task`. There is at most one task at a time."""
        self._task = task
        self.show_progress(text, 0, 0)
        task.ended.connect(self._on_ended)

    def show_progress(self, text: str, done: int, total: int) -> None:
        """Show how much is done, in place of the message. A `total` of 0 means that it is not known."""
        self._status.setCurrentIndex(1)
        self.progress_text.setText(text)
        self.progress_bar.setRange(0, _STEPS if total else 0)
        self.progress_bar.setValue(round(_STEPS * min(done / total, 1.0)) if total else 0)

    def hide_progress(self) -> None:
        """Show the message again."""
        self._status.setCurrentIndex(0)

    def _on_ended(self) -> None:
        self._task = None
        self.hide_progress()

    @override
    def reject(self) -> None:
        if self._task is None:
            super().reject()
        else:
            self.progress_text.setText(self.tr("Cancelling…"))
            self._task.cancel()
