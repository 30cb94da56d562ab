"""Find in conversation: connects the find bar and the transcript, and highlights the hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit, QWidget

from app.conversation.controller import Controller
from app.lazy import Lazy
from app.model.message import MessageId
from app.ui.text.slices import num_turns
from app.ui.theme import Theme
from app.ui.transcript.hits import Hits, num_occurrences, occurrences
from app.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView
    from app.ui.text.message_text import MessageText
    from app.ui.transcript.find_bar import FindBar

_MAX_HIGHLIGHTS = 500
"""The maximum number of highlighted hits in one message. The hits nearest to the current hit are highlighted."""
_MAX_MEASURED = 1_000
"""The maximum number of formula measurements for painting the highlights in one paragraph."""
_MAX_PAINTED = 300_000
"""The maximum number of characters painted for highlights. Each highlight paints its whole paragraph again."""
_FORMAT_COST, _FORMULA_COST, _TURN_COST = 20, 75, 20
"""A change of the character format, a formula, or a change of the direction of writing takes as long to paint as this
many characters."""
_MAX_IN_ONE = 60
"""The maximum number of highlights in one paragraph. Qt unites their outlines: 400 take a third of a second."""
_MARGIN_PX = 66
"""The height above and below a hit that is visible, too, in pixels."""


class FindCommands(QObject):
    """Carries out Find, Find next and Find previous, and shows hits on other branches."""

    found = Signal(object)
    """The hits have changed: a sequence with the ids of all messages with hits, on any branch."""

    def __init__(self, controller: Controller, transcript: Transcript, bar: Lazy[FindBar], theme: Theme) -> None:
        super().__init__(transcript)
        self._controller = controller
        self._transcript = transcript
        self._bar = bar
        self._theme = theme
        self._hits = Hits()
        self._current = 0
        """The number of the current hit, from 0."""
        self._last_elsewhere: MessageId = 0
        self._focus_before: QWidget | None = None
        transcript.views_changed.connect(self._highlight_all)
        transcript.text_changed.connect(self._on_text_changed)
        controller.shown.branch_changed.connect(self._search_again)
        controller.shown.message_changed.connect(self._search_again)

    def connect_bar(self, bar: FindBar) -> None:
        """Connect the signals of the bar, which was just created."""
        bar.query_changed.connect(self._on_query)
        bar.step_requested.connect(self.step)
        bar.elsewhere_requested.connect(self.go_elsewhere)
        bar.closed.connect(self.close)

    @property
    def message_ids(self) -> Sequence[MessageId]:
        """All messages with hits, on any branch."""
        shown = self._controller.shown
        # The tree has one dot for a message of several parts.
        return list(dict.fromkeys(map(shown.first_part, filter(shown.has, self._hits.message_ids))))

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {"find": self.open, "find_next": partial(self.step, 1), "find_previous": partial(self.step, -1)}

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._bar.made is not None:
            self._bar.made.set_theme(theme)
        self._highlight_all()

    def open(self) -> None:
        """Show the bar. Text selected in a message becomes the query."""
        bar = self._bar.get()
        focus = bar.window().focusWidget()
        if not bar.isVisible():
            self._focus_before = focus
        selected = focus.textCursor().selectedText() if isinstance(focus, QTextEdit) else ""
        # A query is a single line.
        bar.open("" if "\u2029" in selected else selected)
        self._on_query(bar.field.text())

    def close(self) -> None:
        """Hide the bar. The focus goes to the message of the current hit, or back to where it was."""
        bar = self._bar.made
        if bar is None:
            return
        hit = self._hits.hit(self._current)[0] if self._hits.num_hits else None
        before, self._focus_before = self._focus_before, None
        self._hits.clear()
        self.found.emit([])
        self._highlight_all()
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
        """Go to the next hit (1) or the previous one (-1), with wrap-around."""
        if not self._is_open:
            self.open()
        elif num_hits := self._hits.num_hits:
            self._current = (self._current + step) % num_hits
            self._show_current()

    def go_elsewhere(self) -> None:
        """Show the next message with hits that is not on the visible branch."""
        message_id = self._hits.next_elsewhere(self._last_elsewhere)
        if message_id is not None:
            self._last_elsewhere = message_id
            self._controller.shown.go_to(message_id)
            self._current = self._hits.first_in(message_id) or 0
            self._show_current()

    @property
    def _is_open(self) -> bool:
        return self._bar.made is not None and self._bar.made.isVisible()

    # --- searching -----------------------------------------------------------------------------------------

    def _on_query(self, query: str) -> None:
        self._search(query)
        self._current = self._hits.first_from(self._transcript.message_ids, self._transcript.first_visible)
        self._show_current()

    def _search_again(self, _message_id: MessageId = 0) -> None:
        """Update the hits after a change of the branch or of a message."""
        if self._controller.shown.conversation is None:
            self.close()
        elif self._is_open:
            message_id = self._hits.hit(self._current)[0] if self._hits.num_hits else 0
            self._search(self._bar.get().field.text())
            self._current = self._hits.first_in(message_id) or 0
            self._show_count()
            self._highlight_all()

    def _search(self, query: str) -> None:
        opened, branch = self._controller.shown.opened, self._controller.shown.path
        on_branch = {message.id for message in branch}
        messages = () if opened is None else opened.tree.messages
        self._hits.search(query, branch, (message for message in messages if message.id not in on_branch))
        self.found.emit(self.message_ids)

    # --- showing hits --------------------------------------------------------------------------------------

    def _show_count(self) -> None:
        num_hits = self._hits.num_hits
        self._bar.get().show_count(self._current + 1 if num_hits else 0, num_hits, self._hits.num_elsewhere)

    def _show_current(self) -> None:
        self._show_count()
        if self._hits.num_hits:
            message_id, index_in_message = self._hits.hit(self._current)
            view = self._transcript.reveal(message_id, part=(0, 0))
            if view is not None:
                self._unfold_thought(view, index_in_message)
                hits = self._text_hits(view)
                if (index := self._current_index(view, sum(of_text.number for of_text in hits))) is not None:
                    (place,) = _places(hits, index, 1)
                    text, cursor = place.text, place.cursor()
                    text.frames.reveal(cursor)
                    y = text.y_of(cursor.selectionStart(), view)
                    self._transcript.reveal(message_id, part=(y - _MARGIN_PX, y + _MARGIN_PX))
        self._highlight_all()

    def _unfold_thought(self, view: MessageView, index_in_message: int) -> None:
        """Unfold the thought if it contains this hit of the message."""
        if view.thought is not None and not view.thought.is_open and index_in_message < self._num_in_thought(view):
            view.toggle_thought()
            self._transcript.arrange()

    def _text_hits(self, view: MessageView) -> list[_TextHits]:
        """Return the hits in the texts that a view shows, from top to bottom."""
        thought = view.thought
        above = thought.text if thought is not None and thought.is_open else None
        texts = [view.text] if above is None else [above, view.text]
        return [_TextHits(text, self._hits.query) for text in texts]

    def _current_index(self, view: MessageView, num_places: int) -> int | None:
        """Return the index of the current hit among those in a view, None if it is in another message."""
        message_id, index = self._hits.hit(self._current) if self._hits.num_hits else (0, 0)
        if message_id != view.message.id or not num_places:
            return None
        if view.thought is None or not view.thought.is_open:
            # The hits in a folded thought have no cursors.
            index = max(0, index - self._num_in_thought(view))
        return min(index, num_places - 1)

    def _num_in_thought(self, view: MessageView) -> int:
        thought = view.text.thought
        return 0 if thought is None else num_occurrences(thought.text, self._hits.query)

    def _on_text_changed(self, message_id: MessageId) -> None:
        view = self._transcript.view(message_id)
        if view is not None and self._hits.query:
            self._highlight(view)

    def _highlight_all(self) -> None:
        for view in self._transcript.views:
            self._highlight(view)

    def _highlight(self, view: MessageView) -> None:
        hits = self._text_hits(view)
        num_places = sum(of_text.number for of_text in hits)
        current = self._current_index(view, num_places)
        # Qt goes through all highlights each time it paints some of the text.
        first = max(0, min((current or 0) - _MAX_HIGHLIGHTS // 2, num_places - _MAX_HIGHLIGHTS))
        places = _places(hits, first, _MAX_HIGHLIGHTS)
        current = None if current is None else current - first
        near = _painted(places, current or 0)
        current = near.index(current) if current is not None else None
        places = [places[index] for index in near]
        cursors = [place.cursor() for place in places]
        selections = _highlighted(cursors, current, self._theme)
        for text in (view.text, *([view.thought.text] if view.thought is not None and view.thought.text else [])):
            of_text = [selection for place, selection in zip(places, selections, strict=True) if place.text is text]
            if of_text or text.extraSelections():
                text.setExtraSelections(of_text)


class _Place(NamedTuple):
    """A hit in a text; positions in UTF-16 units, which Qt counts."""

    text: MessageText
    start: int
    end: int

    def cursor(self) -> QTextCursor:
        """Return a cursor that selects the hit."""
        cursor = QTextCursor(self.text.document())
        cursor.setPosition(self.start)
        cursor.setPosition(self.end, QTextCursor.MoveMode.KeepAnchor)
        return cursor


def _painted(places: Sequence[_Place], current: int) -> list[int]:
    """Return the indexes of the hits to highlight: where there are many, only those near the current one.

    For each highlight, Qt goes through its whole paragraph again, and measures all formulas in sight.
    """
    nearest = sorted(range(len(places)), key=lambda index: abs(index - current))
    costs: dict[tuple[int, int], _Cost] = {}
    cost = 0
    painted: list[int] = []
    for index in nearest:
        text, block = places[index].text, places[index].text.document().findBlock(places[index].start)
        key = id(text), block.blockNumber()
        if key not in costs:
            num_formulas = text.num_formulas(block.position(), block.position() + block.length())
            most = min(_MAX_IN_ONE, _MAX_MEASURED // max(1, num_formulas))
            each = block.length() + _FORMAT_COST * len(block.textFormats()) + _FORMULA_COST * num_formulas
            costs[key] = _Cost(each + _TURN_COST * num_turns(block.text()), most)
        of_block = costs[key]
        if (of_block.num_left > 0 and cost < _MAX_PAINTED) or index == current:
            of_block.num_left -= 1
            cost += of_block.each
            painted.append(index)
    return sorted(painted)


@dataclass
class _Cost:
    """The cost of highlights in one paragraph. Qt takes long to paint many."""

    each: int
    """The cost of one highlight, as a number of painted characters."""
    num_left: int
    """How many more highlights the paragraph may have."""


class _TextHits:
    """The hits in one text. There may be a million, so only those that are needed are looked for."""

    def __init__(self, text: MessageText, query: str) -> None:
        self._text = text
        self._query = query
        self._shown = text.toPlainText() if query else ""
        self.number = num_occurrences(self._shown, query)

    def places(self, first: int, number: int) -> list[_Place]:
        """Return at most `number` hits, from the one with the index `first` on."""
        found = occurrences(self._shown, self._query, first, number)
        places: list[_Place] = []
        before = unit = 0
        for start, end in found:
            at = unit + _num_utf16(self._shown[before:start])
            unit, before = at + _num_utf16(self._shown[start:end]), end
            places.append(_Place(self._text, at, unit))
        return places


def _places(hits: Sequence[_TextHits], first: int, number: int) -> list[_Place]:
    """Return at most `number` hits in several texts, from the one with the index `first` on."""
    places: list[_Place] = []
    for of_text in hits:
        if first < of_text.number and len(places) < number:
            places += of_text.places(first, number - len(places))
        first = max(0, first - of_text.number)
    return places


def _num_utf16(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _highlighted(cursors: Sequence[QTextCursor], current: int | None, theme: Theme) -> list[QTextEdit.ExtraSelection]:
    """Return the hits with their highlighting. `current` is the index of the current hit; None if it is elsewhere."""
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
