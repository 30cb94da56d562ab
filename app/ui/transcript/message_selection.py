"""The selection of several whole messages, by mouse and keys, and the commands that select and copy them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QTextCursor
from typing_extensions import override

from app.model.message import Message, MessageId
from app.ui.menus import Menus
from app.ui.transcript.message_list import MessageList

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView

_SCROLL_MS = 16
_SCROLL_DIVISOR = 6
"""Each tick scrolls by the distance between the pointer and the edge, divided by this."""


class MessageSelection(QObject):
    """A selection of several whole messages. A selection within one message belongs to the message's text."""

    changed = Signal()

    def __init__(self, messages: MessageList) -> None:
        super().__init__(messages)
        self._list = messages
        self._ends: tuple[MessageId, MessageId] | None = None
        """The message where the selection started, and the message at the end that moves; None if none is selected."""
        self._marked: set[MessageId] = set()
        self._pressed: MessageId | None = None
        """The message in which the mouse button is held down."""
        self._pressed_position = 0
        """The position in that message's text at which the button was pressed."""
        self._pointer = QPoint()
        self._scroller = QTimer(self, interval=_SCROLL_MS)
        self._scroller.timeout.connect(self._scroll)
        messages.views_changed.connect(self._mark)

    @property
    def ids(self) -> Sequence[MessageId]:
        """The selected messages from top to bottom."""
        ids = self._list.message_ids
        if self._ends is None or not set(self._ends) <= set(ids):
            return ()
        first, last = sorted(ids.index(end) for end in self._ends)
        return ids[first : last + 1]

    def watch(self, view: MessageView) -> None:
        """Extend selections that start in this view to other messages."""
        view.text.installEventFilter(self)
        view.text.viewport().installEventFilter(self)

    def extend(self, step: int) -> None:
        """Move the end of the selection by one message (-1 or 1).

        If no message is selected, select the focused message or the last one.
        """
        ids = self._list.message_ids
        if not ids:
            return
        focused = self._list.focused_message_id
        if not self.ids and focused is None:
            self._select(ids[-1], ids[-1])
        else:
            start, end = self._ends if self._ends is not None and self.ids else (focused or ids[-1],) * 2
            self._select(start, ids[min(max(ids.index(end) + step, 0), len(ids) - 1)])
        if self._ends is not None and (view := self._list.reveal(self._ends[1])) is not None:
            view.text.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def select_all(self) -> None:
        ids = self._list.message_ids
        if ids:
            self._select(ids[0], ids[-1])

    def clear(self) -> None:
        if self._ends is not None:
            self._ends = None
            self._mark()
            self.changed.emit()

    def copy(self) -> None:
        """Copy the selected messages; all messages if none is selected."""
        ids = self.ids or self._list.message_ids
        if ids:
            messages = [self._list.shown(message_id).message for message_id in ids]
            QGuiApplication.clipboard().setMimeData(copied(messages))

    def show_again(self, message_id: MessageId) -> None:
        """Select the text of a selected message again after the text has changed."""
        if message_id in self._marked:
            self._marked.discard(message_id)
            self._mark()

    def _select(self, start: MessageId, end: MessageId) -> None:
        if self._ends != (start, end):
            self._ends = start, end
            self._mark()
            self.changed.emit()

    def _mark(self) -> None:
        """Select the whole text of each selected message, and clear the text selection in others."""
        selected = set(self.ids)
        for view in self._list.views:
            message_id = view.message.id
            cursor = view.text.textCursor()
            if message_id in selected and not _is_all_selected(cursor):
                cursor.select(QTextCursor.SelectionType.Document)
            elif message_id in self._marked - selected and cursor.hasSelection():
                cursor.clearSelection()
            else:
                continue
            view.text.setTextCursor(cursor)
        self._marked = selected

    # --- mouse and keys ------------------------------------------------------------------------------------

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.MouseButtonPress if isinstance(event, QMouseEvent):
                self.clear()
                if event.button() == Qt.MouseButton.LeftButton:
                    self._press(watched, event)
            case QEvent.Type.MouseMove if isinstance(event, QMouseEvent):
                return self._drag(self._list.viewport().mapFromGlobal(event.globalPosition().toPoint()))
            case QEvent.Type.MouseButtonRelease:
                self._pressed = None
                self._scroller.stop()
            case QEvent.Type.KeyPress | QEvent.Type.ShortcutOverride if isinstance(event, QKeyEvent):
                return self._on_key(watched, event)
            case _:
                pass
        return super().eventFilter(watched, event)

    def _press(self, watched: QObject, event: QMouseEvent) -> None:
        view = next((view for view in self._list.views if view.text.viewport() is watched), None)
        if view is not None:
            self._pressed = view.message.id
            self._pressed_position = view.text.cursorForPosition(event.position().toPoint()).position()

    def _drag(self, pointer: QPoint) -> bool:
        """Select up to the message under the pointer; return whether that is not the pressed message."""
        if self._pressed is None:
            return False
        self._pointer = pointer
        height = self._list.viewport().height()
        if 0 <= pointer.y() < height:
            self._scroller.stop()
        elif not self._scroller.isActive():
            self._scroller.start()
        reached = self._list.message_at(min(max(pointer.y(), 0), height - 1))
        if reached is None or (reached == self._pressed and self._ends is None):
            return False
        if reached == self._pressed:
            # The pointer is back in the first message, so its text is selected from the pressed position again.
            self.clear()
            if (view := self._list.view(reached)) is not None:
                cursor = view.text.textCursor()
                cursor.setPosition(self._pressed_position)
                view.text.setTextCursor(cursor)
            return False
        self._select(self._pressed, reached)
        return True

    def _scroll(self) -> None:
        """Scroll while the pointer is held above or below the viewport."""
        distance = min(self._pointer.y(), 0) or max(self._pointer.y() - self._list.viewport().height(), 0)
        bar = self._list.verticalScrollBar()
        bar.setValue(bar.value() + (distance // _SCROLL_DIVISOR or 1))
        self._drag(self._pointer)

    def _on_key(self, watched: QObject, event: QKeyEvent) -> bool:
        is_pressed = event.type() == QEvent.Type.KeyPress
        view = next((view for view in self._list.views if view.text is watched), None)
        if event.matches(QKeySequence.StandardKey.Copy) and self.ids:
            if is_pressed:
                self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll) and view is not None and self._is_text_selected(view):
            if is_pressed:
                self.select_all()
        elif event.key() == Qt.Key.Key_Escape and self.ids:
            if is_pressed:
                self.clear()
        else:
            return False
        event.accept()
        return True

    def _is_text_selected(self, view: MessageView) -> bool:
        """Return whether the whole text is selected already. If so, Select all selects all messages."""
        return bool(self.ids) or _is_all_selected(view.text.textCursor())


class SelectionCommands(QObject):
    """The menu actions that select and copy messages."""

    def __init__(self, selection: MessageSelection, menus: Menus) -> None:
        super().__init__(selection)
        self._selection = selection
        self._menus = menus
        selection.changed.connect(self._update)
        menus.menu("Edit").aboutToShow.connect(self._update)
        self._update()

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {
            "select_above": partial(self._selection.extend, -1),
            "select_below": partial(self._selection.extend, 1),
            "select_messages": self._selection.select_all,
            "copy_messages": self._selection.copy,
        }

    def _update(self) -> None:
        self._menus.set_text("copy_messages", "" if self._selection.ids else self.tr("Copy all messages"))


def copied(messages: Sequence[Message]) -> QMimeData:
    """Return messages with their headings as plain text and as Markdown."""
    # The export modules are imported when they are first needed.
    from app.model.exports.captions import heading
    from app.model.exports.markdown import to_markdown

    shown = [message for message in messages if message.role != "system" or message.text.strip()]
    data = QMimeData()
    texts = (part for message in shown for part in (heading(message), message.text.strip()) if part)
    data.setText("\n\n".join(texts))
    # Leave out the heading of the document.
    data.setData("text/markdown", to_markdown("", shown).partition("\n\n")[2].encode())
    return data


def _is_all_selected(cursor: QTextCursor) -> bool:
    return cursor.hasSelection() and (
        cursor.selectionStart() == 0 and cursor.selectionEnd() >= cursor.document().characterCount() - 1
    )
