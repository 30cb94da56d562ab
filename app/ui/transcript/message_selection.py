"""Several messages selected at once, from one to another, by mouse and keys; whole ones, as they were written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QTextCursor
from typing_extensions import override

from app.model.message import Message, MessageId
from app.ui.transcript.message_list import MessageList

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView

_SCROLL_MS = 16
_PACE = 6
"""A frame scrolls by this part of how far the mouse is beyond the edge."""


class MessageSelection(QObject):
    """From the message where it began to the one it reaches. Within one message a text selects as everywhere."""

    changed = Signal()

    def __init__(self, messages: MessageList) -> None:
        super().__init__(messages)
        self._list = messages
        self._ends: tuple[MessageId, MessageId] | None = None
        self._marked: set[MessageId] = set()
        self._pressed: MessageId | None = None
        """The message in which the mouse was pressed, while it is."""
        self._pressed_at = 0
        """Where in its text."""
        self._mouse = QPoint()
        self._scroller = QTimer(self, interval=_SCROLL_MS)
        self._scroller.timeout.connect(self._scroll)
        messages.views_changed.connect(self._mark)

    @property
    def ids(self) -> Sequence[MessageId]:
        """The selected messages from top to bottom; none where nothing goes beyond one message."""
        ids = self._list.message_ids
        if self._ends is None or not set(self._ends) <= set(ids):
            return ()
        first, last = sorted(ids.index(end) for end in self._ends)
        return ids[first : last + 1]

    def watch(self, view: MessageView) -> None:
        """Let the mouse and keys in a view select beyond it."""
        view.text.installEventFilter(self)
        view.text.viewport().installEventFilter(self)

    def extend(self, step: int) -> None:
        """Select the message before or after the ones that are, beginning with the one that has the focus."""
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

    def show_again(self, message_id: MessageId) -> None:
        """A message's text is another; it stays selected."""
        if message_id in self._marked:
            self._marked.discard(message_id)
            self._mark()

    def _select(self, start: MessageId, end: MessageId) -> None:
        if self._ends != (start, end):
            self._ends = start, end
            self._mark()
            self.changed.emit()

    def _mark(self) -> None:
        """Let the texts of all selected messages look so, and no others."""
        selected = set(self.ids)
        for view in self._list.views:
            message_id = view.message.id
            cursor = view.text.textCursor()
            if message_id in selected and not _is_whole(cursor):
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
                return self._drag(self._place(event))
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
            self._pressed_at = view.text.cursorForPosition(event.position().toPoint()).position()

    def _place(self, event: QMouseEvent) -> QPoint:
        return self._list.viewport().mapFromGlobal(event.globalPosition().toPoint())

    def _drag(self, place: QPoint) -> bool:
        """Select up to the message under the mouse; return whether that is another one than where it began."""
        if self._pressed is None:
            return False
        self._mouse = place
        height = self._list.viewport().height()
        if 0 <= place.y() < height:
            self._scroller.stop()
        elif not self._scroller.isActive():
            self._scroller.start()
        reached = self._list.message_at(min(max(place.y(), 0), height - 1))
        if reached is None or (reached == self._pressed and self._ends is None):
            return False
        if reached == self._pressed:
            # Back where it began: a part of one text again.
            self.clear()
            if (view := self._list.view(reached)) is not None:
                cursor = view.text.textCursor()
                cursor.setPosition(self._pressed_at)
                view.text.setTextCursor(cursor)
            return False
        self._select(self._pressed, reached)
        return True

    def _scroll(self) -> None:
        beyond = min(self._mouse.y(), 0) or max(self._mouse.y() - self._list.viewport().height(), 0)
        bar = self._list.verticalScrollBar()
        bar.setValue(bar.value() + (beyond // _PACE or 1))
        self._drag(self._mouse)

    def _on_key(self, watched: QObject, event: QKeyEvent) -> bool:
        is_pressed = event.type() == QEvent.Type.KeyPress
        view = next((view for view in self._list.views if view.text is watched), None)
        if event.matches(QKeySequence.StandardKey.Copy) and self.ids:
            if is_pressed:
                QGuiApplication.clipboard().setMimeData(copied([self._list.shown(at).message for at in self.ids]))
        elif event.matches(QKeySequence.StandardKey.SelectAll) and view is not None and self._is_done(view):
            if is_pressed:
                self.select_all()
        elif event.key() == Qt.Key.Key_Escape and self.ids:
            if is_pressed:
                self.clear()
        else:
            return False
        event.accept()
        return True

    def _is_done(self, view: MessageView) -> bool:
        """Whether the whole text of a message is selected already: what is asked for then is all messages."""
        return bool(self.ids) or _is_whole(view.text.textCursor())


def copied(messages: Sequence[Message]) -> QMimeData:
    """Return messages with who said them, as plain text and as Markdown."""
    # What exports do is imported when something is exported.
    from app.model.exports.captions import heading
    from app.model.exports.markdown import to_markdown

    said = [message for message in messages if message.role != "system" or message.text.strip()]
    data = QMimeData()
    data.setText("\n\n".join(f"{heading(message)}\n\n{message.text.strip()}" for message in said))
    # Without the document's title.
    data.setData("text/markdown", to_markdown("", said).partition("\n\n")[2].encode())
    return data


def _is_whole(cursor: QTextCursor) -> bool:
    """Whether all of a document is selected."""
    return cursor.hasSelection() and (
        cursor.selectionStart() == 0 and cursor.selectionEnd() >= cursor.document().characterCount() - 1
    )
