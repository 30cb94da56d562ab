"""The lines below a message's text: what an answer waits for, how it ended, and what it cost."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import (
    QLabel,
    QProgressBar,
    QPushButton,
    QToolTip,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.answers.answer_stream import Reading
from app.model.message import Message, Record
from app.numbers import counted
from app.ui.menus import Entry, translated
from app.ui.message.answer_summary import ending, short_figure, statistics, statistics_in_sentences
from app.ui.message.message_action import OpenEntry
from app.ui.parts.buttons import WrappingButton
from app.ui.parts.cost_text import seconds_text
from app.ui.parts.labels import BreakingLabel, as_tool_tip, selectable_label
from app.ui.parts.popover import Popover
from app.ui.theme import is_animated

MissingTokenData: TypeAlias = Literal["", "tokens", "probabilities"]
"""The data that the token display needs but the answer's record lacks; empty if nothing is missing."""

_BAR_STEPS = 1000
_PANEL_PX = 440


class PrefillProgress(QWidget):
    """A progress bar and a line while an answer has no text yet.

    The line says what the answer waits for, or how much of its prompt has been processed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        super().__init__()
        self.setVisible(False)
        self._clock = clock
        self._start: tuple[float, int] | None = None
        """The time of the first report on this prompt, and the number of tokens that were processed by then."""
        self._last_done = 0
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Reading"))
        self._label = QLabel()
        self._label.setObjectName("quiet")
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 4)
        layout.setSpacing(4)
        layout.addWidget(self._bar)
        layout.addWidget(self._label)

    def show_reading(self, reading: Reading, *, is_continued: bool = False) -> None:
        """Show how much of the prompt has been processed, and about how long the rest will take.

        `is_continued` means that the answer already has text.
        """
        done, total, kept = reading.done, reading.total, reading.kept
        now = self._clock()
        if self._start is None or done < self._last_done:
            self._start = now, done
        self._last_done = done
        if total - done <= 1:
            # The last token of the prompt is processed together with the answer's first token.
            self.show_waiting(
                self.tr("generating the next word") if is_continued else self.tr("generating the first word")
            )
            return
        start_s, start_done = self._start
        text = self.tr("reading {done} of {total} tokens").format(done=counted(done), total=counted(total))
        parts = [text, self.tr("{kept} kept").format(kept=counted(kept))] if kept else [text]
        left_s = 0.0
        if done > start_done:
            left_s = (now - start_s) * (total - done) / (done - start_done)
        elif reading.tokens_per_s:
            left_s = (total - done) / reading.tokens_per_s
        if left_s >= 1:
            parts.append(seconds_text(left_s, 0))
        self._show(" · ".join(parts), (done - kept) / max(total - kept, 1))

    def show_waiting(self, text: str, fraction: float | None = None) -> None:
        """Show what the answer waits for, and what fraction of that is done; None if the fraction is not known."""
        self._show(text, fraction)

    def show_stopping(self) -> None:
        """Show that the answer is being stopped."""
        self._show(self.tr("stopping…"), None)

    def _show(self, text: str, fraction: float | None) -> None:
        # A bar of unknown length moves all the time.
        self._bar.setVisible(fraction is not None or is_animated(self))
        self._bar.setMaximum(0 if fraction is None else _BAR_STEPS)
        if fraction is not None:
            self._bar.setValue(round(fraction * _BAR_STEPS))
        self._label.setText(text)
        self.setVisible(True)


class FigureButton(QPushButton):
    """The figure below an answer. Hovering or keyboard focus shows all figures in a tool tip, a click in a panel."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("figure")
        self.setFlat(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.clicked.connect(self._open)
        self._whole = ""

    def show_record(self, record: Record) -> None:
        """Show the figure of an answer."""
        self._whole = f"{statistics(record)}\n\n{statistics_in_sentences(record)}"
        self.setText(short_figure(record))
        self.setToolTip(as_tool_tip(self._whole))
        self.setAccessibleDescription(self._whole)

    @override
    def focusInEvent(self, arg__1: QFocusEvent) -> None:
        super().focusInEvent(arg__1)
        if arg__1.reason() in {Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason}:
            QToolTip.showText(self.mapToGlobal(QPoint(0, self.height())), self.toolTip(), self)

    def _open(self) -> None:
        QToolTip.hideText()
        panel = Popover(self.tr("About this answer"), _PANEL_PX, self.window())
        label = selectable_label(self._whole)
        panel.column.addWidget(label)
        panel.show_above(self, label)


class MessageFooter(QObject):
    """Creates each line when it is first needed, because most messages need none, and widgets are expensive."""

    tab_stops_changed = Signal()
    requested = Signal(object)
    """The user pressed the button of a menu entry: an `OpenEntry`."""

    def __init__(self, column: QVBoxLayout) -> None:
        """Append the lines to `column`, which already holds the text."""
        super().__init__()
        self._column = column
        self._num_above = column.count()
        self._progress: PrefillProgress | None = None
        self._ending: QLabel | None = None
        self.cost: QLabel | None = None
        self.figure: FigureButton | None = None
        self.opener: WrappingButton | None = None
        """Does what a menu entry does that the guide's answer names."""
        self._opens: Entry | None = None

    def show_message(
        self,
        message: Message,
        *,
        is_streaming: bool,
        is_waiting: bool = False,
        missing: MissingTokenData = "",
        is_saved: bool = True,
        has_all_figures: bool = False,
        opens: Entry | None = None,
    ) -> None:
        """Show how a finished message ended, what it cost, and whether it is still unsaved.

        `is_waiting` means that the message streams, but has no text yet. `has_all_figures` means that all costs are
        shown, not only one figure. `opens` is the menu entry that gets a button; None for no button.
        """
        if not is_waiting:
            self.hide_progress()
        text, kind = ("", "quiet") if is_streaming else ending(message)
        if not is_saved:
            unsaved = self.tr("Not saved yet. It is saved as soon as possible.")
            text, kind = f"{text} {unsaved}".lstrip(), "warning" if kind == "quiet" else kind
        self._show_ending(text, kind)
        self._show_cost(None if is_streaming else message, missing, is_whole=has_all_figures)
        self._show_opener(opens)

    @property
    def tab_stops(self) -> list[QWidget]:
        """The widgets that Tab reaches."""
        return [widget for widget in (self.opener, self.figure) if widget is not None]

    def show_reading(self, reading: Reading, *, is_continued: bool) -> None:
        self._made_progress().show_reading(reading, is_continued=is_continued)

    def show_waiting(self, text: str, fraction: float | None = None) -> None:
        self._made_progress().show_waiting(text, fraction)

    def show_stopping(self) -> None:
        self._made_progress().show_stopping()

    def hide_progress(self) -> None:
        if self._progress is not None:
            self._progress.setVisible(False)

    def _made_progress(self) -> PrefillProgress:
        if self._progress is None:
            self._progress = PrefillProgress()
            self._column.addWidget(self._progress)
        return self._progress

    def _show_ending(self, text: str, kind: str) -> None:
        if self._ending is None and text:
            self._ending = _new_line(kind)
            self._column.insertWidget(self._num_above, self._ending)
        if self._ending is not None:
            self._ending.setText(text)
            if self._ending.objectName() != kind:
                self._ending.setObjectName(kind)
                self._ending.style().polish(self._ending)
            self._ending.setVisible(bool(text))

    def _show_opener(self, entry: Entry | None) -> None:
        self._opens = entry
        if entry is not None and self.opener is None:
            self.opener = WrappingButton()
            self.opener.setObjectName("opener")
            self.opener.clicked.connect(self._open_entry)
            self._column.insertWidget(self._num_above, self.opener, 0, Qt.AlignmentFlag.AlignLeft)
            self.tab_stops_changed.emit()
        if self.opener is not None:
            if entry is not None:
                self.opener.setText(translated(entry.text))
            self.opener.setVisible(entry is not None)

    def _open_entry(self) -> None:
        if self._opens is not None:
            self.requested.emit(OpenEntry(self._opens.name))

    def _show_figure(self, record: Record | None) -> None:
        if record is not None and self.figure is None:
            self.figure = FigureButton()
            place = self._column.count() if self._ending is None else self._column.indexOf(self._ending) + 1
            self._column.insertWidget(place, self.figure, 0, Qt.AlignmentFlag.AlignLeft)
            self.tab_stops_changed.emit()
        if self.figure is not None:
            if record is not None:
                self.figure.show_record(record)
            self.figure.setVisible(record is not None)

    def _show_cost(self, message: Message | None, missing: MissingTokenData, *, is_whole: bool) -> None:
        record = None if message is None else message.record
        has_figures = record is not None and bool(record.figures.prompt_tokens)
        self._show_figure(record if has_figures and not is_whole else None)
        has_figures = has_figures and is_whole
        parts = [statistics(record)] if record is not None and has_figures else []
        if message is not None and missing:
            is_tokens = missing == "tokens"
            parts.append(self.tr("tokens unknown") if is_tokens else self.tr("probabilities not recorded"))
        if parts:
            if self.cost is None:
                self.cost = _new_line("quiet")
                self._column.addWidget(self.cost)
            # No line starts with a dot, and no number is separated from its unit.
            self.cost.setText(re.sub(r"(?<=\d) | (?=·)", "\u00a0", " · ".join(parts)))
            self.cost.setToolTip(statistics_in_sentences(record) if record is not None and has_figures else "")
            self.cost.setVisible(True)
        elif self.cost is not None:
            self.cost.setVisible(False)


def _new_line(kind: str) -> QLabel:
    label = BreakingLabel()
    label.setObjectName(kind)
    label.setContentsMargins(0, 6, 0, 0)
    return label
