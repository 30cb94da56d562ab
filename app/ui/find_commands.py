"""Finding in the open conversation: what is typed in the bar, lit on the page; the commands that walk the hits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QTextEdit, QWidget

from app.controller import Controller
from app.model.message import MessageId
from app.ui.find_bar import FindBar
from app.ui.finding import Finding, occurrences
from app.ui.hit_looks import HitLooks
from app.ui.message_view import MessageView
from app.ui.text_place import top_of
from app.ui.theme import Theme
from app.ui.transcript import Transcript

_AROUND_PX = 66
"""How much is to be seen above and below a hit."""


class FindCommands(QObject):
    """Connects the bar, the transcript and what is found."""

    found = Signal(object)
    """The messages in which something was found, on any branch."""

    def __init__(self, controller: Controller, transcript: Transcript, bar: FindBar, theme: Theme) -> None:
        super().__init__(bar)
        self._controller = controller
        self._transcript = transcript
        self._bar = bar
        self._looks = HitLooks(theme)
        self._finding = Finding()
        self._current = 0
        self._last_elsewhere: MessageId = 0
        self._focus_before: QWidget | None = None
        bar.changed.connect(self._look_for)
        bar.step_asked.connect(self.step)
        bar.elsewhere_asked.connect(self.go_elsewhere)
        bar.closed.connect(self.close)
        transcript.views_changed.connect(self._light_all)
        transcript.text_shown.connect(self._on_text_shown)
        controller.branch_changed.connect(self._look_again)
        controller.message_changed.connect(self._look_again)

    def slots(self) -> dict[str, Callable[[], object]]:
        """What each action does, by its name in the menus."""
        return {"find": self.open, "find_next": partial(self.step, 1), "find_previous": partial(self.step, -1)}

    def set_theme(self, theme: Theme) -> None:
        self._looks = HitLooks(theme)
        self._bar.set_theme(theme)
        self._light_all()

    def open(self) -> None:
        """Show the bar, with what is selected in a message."""
        focus = self._bar.window().focusWidget()
        if not self._bar.isVisible():
            self._focus_before = focus
        selected = focus.textCursor().selectedText() if isinstance(focus, QTextEdit) else ""
        # What is looked for is within a line.
        self._bar.open("" if "\u2029" in selected else selected)
        self._look_for(self._bar.field.text())

    def close(self) -> None:
        """Hide the bar; the focus is where it was, or on the message of the hit that was shown."""
        hit = self._finding.hit(self._current)[0] if self._finding.num_hits else None
        before, self._focus_before = self._focus_before, None
        self._finding.forget()
        self.found.emit([])
        self._light_all()
        focus = self._bar.window().focusWidget()
        had_focus = focus is not None and self._bar.isAncestorOf(focus)
        self._bar.hide()
        if not had_focus:
            return
        view = self._transcript.view(hit) if hit is not None else None
        was_on_page = before is not None and self._transcript.isAncestorOf(before)
        if view is not None and was_on_page:
            view.text.setFocus(Qt.FocusReason.ShortcutFocusReason)
        elif before is not None and before.isVisible():
            before.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def step(self, step: int) -> None:
        """Go to the next hit, or the one before; behind the last one comes the first."""
        if not self._bar.isVisible():
            self.open()
        elif num_hits := self._finding.num_hits:
            self._current = (self._current + step) % num_hits
            self._show_current()

    def go_elsewhere(self) -> None:
        """Show the branch with the next hit that is not on this one."""
        message_id = self._finding.next_elsewhere(self._last_elsewhere)
        if message_id is not None:
            self._last_elsewhere = message_id
            self._controller.go_to(message_id)
            self._current = self._finding.first_of(message_id) or 0
            self._show_current()

    # --- what is found -------------------------------------------------------------------------------------

    def _look_for(self, text: str) -> None:
        self._count(text)
        self._current = self._finding.number_from(self._transcript.message_ids, self._transcript.first_in_sight)
        self._show_current()

    def _look_again(self, _message_id: MessageId = 0) -> None:
        """The branch is another, or longer; what was found on it is found again."""
        if self._controller.conversation is None:
            self.close()
        elif self._bar.isVisible():
            at = self._finding.hit(self._current)[0] if self._finding.num_hits else 0
            self._count(self._bar.field.text())
            self._current = self._finding.first_of(at) or 0
            self._show_count()
            self._light_all()

    def _count(self, text: str) -> None:
        opened, shown = self._controller.opened, self._controller.path
        on_branch = {message.id for message in shown}
        everything = () if opened is None else opened.tree.messages
        self._finding.look_for(text, shown, (message for message in everything if message.id not in on_branch))
        self.found.emit(self._finding.message_ids)

    def _show_count(self) -> None:
        num_hits = self._finding.num_hits
        self._bar.show_count(self._current + 1 if num_hits else 0, num_hits, self._finding.num_elsewhere)

    def _show_current(self) -> None:
        self._show_count()
        if self._finding.num_hits:
            message_id, number = self._finding.hit(self._current)
            view = self._transcript.reveal(message_id, part=(0, 0))
            if view is not None and (cursors := self._hits_in(view)):
                cursor = cursors[min(number, len(cursors) - 1)]
                place = top_of(view, cursor.selectionStart())
                self._transcript.reveal(message_id, part=(place - _AROUND_PX, place + _AROUND_PX))
        self._light_all()

    def _hits_in(self, view: MessageView) -> list[QTextCursor]:
        """What is found in a message as it is shown, as selections of its document."""
        text = view.text.toPlainText()
        found = occurrences(text, self._finding.wanted)
        # Qt counts in halves of characters beyond the first 65,536.
        is_plain = not found or max(text) <= "\uffff"
        cursors: list[QTextCursor] = []
        for start, end in found:
            cursor = QTextCursor(view.text.document())
            cursor.setPosition(start if is_plain else _utf16(text[:start]))
            cursor.setPosition(end if is_plain else _utf16(text[:end]), QTextCursor.MoveMode.KeepAnchor)
            cursors.append(cursor)
        return cursors

    def _light_all(self) -> None:
        for view in self._transcript.views:
            self._light(view)

    def _on_text_shown(self, message_id: MessageId) -> None:
        view = self._transcript.view(message_id)
        if view is not None and self._finding.wanted:
            self._light(view)

    def _light(self, view: MessageView) -> None:
        cursors = self._hits_in(view)
        if not cursors:
            if view.text.extraSelections():
                view.text.setExtraSelections([])
            return
        message_id, number = self._finding.hit(self._current) if self._finding.num_hits else (0, 0)
        current = min(number, len(cursors) - 1) if message_id == view.message.id else None
        view.text.setExtraSelections(self._looks.lit(cursors, current))


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
