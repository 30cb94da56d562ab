"""What stands below a message's text: what an answer waits for, how it ended, what it cost."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout

from app.model.message import Message
from app.ui.message.answer_words import ending, statistics, statistics_in_sentences
from app.ui.message.reading_progress import ReadingProgress

Lack: TypeAlias = Literal["", "tokens", "probabilities"]
"""What the tokens mode would show of an answer, and nobody knows."""


class MessageFoot(QObject):
    """Its lines are made when there is something to say: most messages never have any, and each widget costs."""

    cancelled = Signal()
    """An answer that waits is not to be waited for."""

    def __init__(self, column: QVBoxLayout) -> None:
        """`column`: the text stands in it; the lines are added below."""
        super().__init__()
        self._column = column
        self._num_above = column.count()
        self._reading: ReadingProgress | None = None
        self._ending: QLabel | None = None
        self.cost: QLabel | None = None
        """The line of figures."""

    def show_message(self, message: Message, *, is_streaming: bool, lack: Lack = "") -> None:
        """Say how a message ended, and what it cost; `lack`: what is looked for, and not known."""
        if not is_streaming or message.text:
            self.hide_reading()
        self._show_ending(*(("", "quiet") if is_streaming else ending(message)))
        self._show_cost(None if is_streaming else message, lack)

    def show_reading(self, done: int, total: int, kept: int) -> None:
        """Tell how much of the prompt is read. A prompt that is read in no time is not worth a word."""
        self._made_reading().show_progress(done, total, kept)

    def show_waiting(self, text: str) -> None:
        """Tell what the answer waits for before it is begun."""
        self._made_reading().show_waiting(text)

    def hide_reading(self) -> None:
        if self._reading is not None:
            self._reading.setVisible(False)

    def _made_reading(self) -> ReadingProgress:
        if self._reading is None:
            self._reading = ReadingProgress()
            self._reading.cancelled.connect(self.cancelled)
            self._column.addWidget(self._reading)
        return self._reading

    def _show_ending(self, words: str, kind: str) -> None:
        if self._ending is None and words:
            self._ending = _line(kind)
            self._column.insertWidget(self._num_above, self._ending)
        if self._ending is not None:
            self._ending.setText(words)
            if self._ending.objectName() != kind:
                self._ending.setObjectName(kind)
                self._ending.style().polish(self._ending)
            self._ending.setVisible(bool(words))

    def _show_cost(self, message: Message | None, lack: Lack) -> None:
        record = None if message is None else message.record
        has_figures = record is not None and bool(record.figures.prompt_tokens)
        parts = [statistics(record)] if record is not None and has_figures else []
        if message is not None and lack:
            parts.append(self._lacking(lack))
        if parts:
            if self.cost is None:
                self.cost = _line("quiet")
                self._column.addWidget(self.cost)
            words = " · ".join(parts)
            # Where they take several lines, none begins with a dot, and no figure loses its unit.
            self.cost.setText(re.sub(r"(?<=\d) | (?=·)", "\u00a0", words))
            self.cost.setToolTip(statistics_in_sentences(record) if record is not None and has_figures else "")
            self.cost.setVisible(True)
        elif self.cost is not None:
            self.cost.setVisible(False)

    def _lacking(self, lack: Lack) -> str:
        return {
            "": "",
            "tokens": self.tr("its tokens are not known"),
            "probabilities": self.tr("its probabilities were not recorded"),
        }[lack]


def _line(kind: str) -> QLabel:
    label = QLabel()
    label.setObjectName(kind)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setContentsMargins(0, 6, 0, 0)
    return label
