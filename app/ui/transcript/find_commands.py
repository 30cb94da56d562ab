"""Finding in the open conversation: what is typed in the bar, lit on the page; the commands that walk the hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit, QWidget

from app.conversation.controller import Controller
from app.late import Late
from app.model.message import MessageId
from app.ui.theme import Theme
from app.ui.transcript.finding import Finding, occurrences
from app.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView
    from app.ui.text.message_text import MessageText
    from app.ui.transcript.find_bar import FindBar

_AROUND_PX = 66
"""How much is to be seen above and below a hit."""


class FindCommands(QObject):
    """Connects the bar, the transcript and what is found."""

    found = Signal(object)
    """The messages in which something was found, on any branch."""

    def __init__(self, controller: Controller, transcript: Transcript, bar: Late[FindBar], theme: Theme) -> None:
        super().__init__(transcript)
        self._controller = controller
        self._transcript = transcript
        self._bar = bar
        self._theme = theme
        self._finding = Finding()
        self._current = 0
        self._last_elsewhere: MessageId = 0
        self._focus_before: QWidget | None = None
        transcript.views_changed.connect(self._light_all)
        transcript.text_changed.connect(self._on_text_changed)
        controller.shown.branch_changed.connect(self._look_again)
        controller.shown.message_changed.connect(self._look_again)

    def connect_bar(self, bar: FindBar) -> None:
        """Listen to the bar, which was just made."""
        bar.changed.connect(self._look_for)
        bar.step_asked.connect(self.step)
        bar.elsewhere_asked.connect(self.go_elsewhere)
        bar.closed.connect(self.close)

    @property
    def found_in(self) -> Sequence[MessageId]:
        """The messages in which something is found now, on any branch."""
        return self._finding.message_ids

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {"find": self.open, "find_next": partial(self.step, 1), "find_previous": partial(self.step, -1)}

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._bar.made is not None:
            self._bar.made.set_theme(theme)
        self._light_all()

    def open(self) -> None:
        """Show the bar, with what is selected in a message."""
        bar = self._bar.get()
        focus = bar.window().focusWidget()
        if not bar.isVisible():
            self._focus_before = focus
        selected = focus.textCursor().selectedText() if isinstance(focus, QTextEdit) else ""
        # What is looked for is within a line.
        bar.open("" if "\u2029" in selected else selected)
        self._look_for(bar.field.text())

    def close(self) -> None:
        """Hide the bar; the focus is where it was, or on the message of the hit that was shown."""
        bar = self._bar.made
        if bar is None:
            return
        hit = self._finding.hit(self._current)[0] if self._finding.num_hits else None
        before, self._focus_before = self._focus_before, None
        self._finding.forget()
        self.found.emit([])
        self._light_all()
        focus = bar.window().focusWidget()
        had_focus = focus is not None and bar.isAncestorOf(focus)
        bar.hide()
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
        if not self._is_open:
            self.open()
        elif num_hits := self._finding.num_hits:
            self._current = (self._current + step) % num_hits
            self._show_current()

    def go_elsewhere(self) -> None:
        """Show the branch with the next hit that is not on this one."""
        message_id = self._finding.next_elsewhere(self._last_elsewhere)
        if message_id is not None:
            self._last_elsewhere = message_id
            self._controller.shown.go_to(message_id)
            self._current = self._finding.first_of(message_id) or 0
            self._show_current()

    @property
    def _is_open(self) -> bool:
        return self._bar.made is not None and self._bar.made.isVisible()

    # --- what is found -------------------------------------------------------------------------------------

    def _look_for(self, text: str) -> None:
        self._count(text)
        self._current = self._finding.number_from(self._transcript.message_ids, self._transcript.first_in_sight)
        self._show_current()

    def _look_again(self, _message_id: MessageId = 0) -> None:
        """The branch is another, or longer; what was found on it is found again."""
        if self._controller.shown.conversation is None:
            self.close()
        elif self._is_open:
            at = self._finding.hit(self._current)[0] if self._finding.num_hits else 0
            self._count(self._bar.get().field.text())
            self._current = self._finding.first_of(at) or 0
            self._show_count()
            self._light_all()

    def _count(self, text: str) -> None:
        opened, shown = self._controller.shown.opened, self._controller.shown.path
        on_branch = {message.id for message in shown}
        everything = () if opened is None else opened.tree.messages
        self._finding.look_for(text, shown, (message for message in everything if message.id not in on_branch))
        self.found.emit(self._finding.message_ids)

    def _show_count(self) -> None:
        num_hits = self._finding.num_hits
        self._bar.get().show_count(self._current + 1 if num_hits else 0, num_hits, self._finding.num_elsewhere)

    def _show_current(self) -> None:
        self._show_count()
        if self._finding.num_hits:
            message_id, number = self._finding.hit(self._current)
            view = self._transcript.reveal(message_id, part=(0, 0))
            if view is not None:
                self._open_thought(view, number)
                hits = self._hits_in(view)
                if (index := self._index(view, len(hits))) is not None:
                    text, cursor = hits[index]
                    text.frames.reveal(cursor)
                    place = text.y_of(cursor.selectionStart(), view)
                    self._transcript.reveal(message_id, part=(place - _AROUND_PX, place + _AROUND_PX))
        self._light_all()

    def _open_thought(self, view: MessageView, number: int) -> None:
        """Unfold what was thought before an answer, where the hit at hand stands in it."""
        if view.thought is not None and not view.thought.is_open and number < self._num_in_thought(view):
            view.toggle_thought()
            self._transcript.arrange()

    def _hits_in(self, view: MessageView) -> list[tuple[MessageText, QTextCursor]]:
        """What is found in a message as it is shown, as selections of its texts from top to bottom."""
        thought = view.thought
        above = thought.text if thought is not None and thought.is_open else None
        texts = [view.text] if above is None else [above, view.text]
        return [(text, cursor) for text in texts for cursor in _selections(text, self._finding.wanted)]

    def _index(self, view: MessageView, num_shown: int) -> int | None:
        """Which of the hits shown in a view is the one at hand, if any is."""
        message_id, number = self._finding.hit(self._current) if self._finding.num_hits else (0, 0)
        if message_id != view.message.id or not num_shown:
            return None
        if view.thought is None or not view.thought.is_open:
            # Those in a thought that is folded are not shown.
            number = max(0, number - self._num_in_thought(view))
        return min(number, num_shown - 1)

    def _num_in_thought(self, view: MessageView) -> int:
        thought = view.text.thought
        return 0 if thought is None else len(occurrences(thought.text, self._finding.wanted))

    def _light_all(self) -> None:
        for view in self._transcript.views:
            self._light(view)

    def _on_text_changed(self, message_id: MessageId) -> None:
        view = self._transcript.view(message_id)
        if view is not None and self._finding.wanted:
            self._light(view)

    def _light(self, view: MessageView) -> None:
        hits = self._hits_in(view)
        lit = _highlighted([cursor for _, cursor in hits], self._index(view, len(hits)), self._theme)
        for text in (view.text, *([view.thought.text] if view.thought is not None and view.thought.text else [])):
            of_text = [selection for (owner, _), selection in zip(hits, lit, strict=True) if owner is text]
            if of_text or text.extraSelections():
                text.setExtraSelections(of_text)


def _selections(text: MessageText, wanted: str) -> list[QTextCursor]:
    """Return what is found in a text, selected."""
    shown = text.toPlainText() if wanted else ""
    found = occurrences(shown, wanted)
    # Qt counts in halves of characters beyond the first 65,536.
    is_plain = not found or max(shown) <= "\uffff"
    cursors: list[QTextCursor] = []
    for start, end in found:
        cursor = QTextCursor(text.document())
        cursor.setPosition(start if is_plain else _utf16(shown[:start]))
        cursor.setPosition(end if is_plain else _utf16(shown[:end]), QTextCursor.MoveMode.KeepAnchor)
        cursors.append(cursor)
    return cursors


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _highlighted(cursors: Sequence[QTextCursor], current: int | None, theme: Theme) -> list[QTextEdit.ExtraSelection]:
    """Return the hits with their highlighting; `current` is the index of the current one."""
    other_format = QTextCharFormat()
    other_format.setBackground(QColor(theme.accent_wash))
    other_format.setForeground(QColor(theme.text))
    other_format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
    other_format.setUnderlineColor(QColor(theme.accent))
    current_format = QTextCharFormat()
    current_format.setBackground(QColor(theme.accent))
    current_format.setForeground(QColor(theme.on_accent))
    selections: list[QTextEdit.ExtraSelection] = []
    for index, cursor in enumerate(cursors):
        selection = QTextEdit.ExtraSelection()
        selection.cursor = cursor  # pyright: ignore[reportAttributeAccessIssue]
        selection.format = current_format if index == current else other_format  # pyright: ignore[reportAttributeAccessIssue]
        selections.append(selection)
    return selections
