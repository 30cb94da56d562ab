"""A field for a message: it keeps what is written to the letter, and takes no more than it can lay out."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QPlainTextEdit
from typing_extensions import override

from app.numbers import counted

_MOST_CHARS = 2_000_000
_LONGEST_RUN = 50_000
"""Characters without a space; Qt takes half a second to lay out four times as many, and grows with their square."""

_LINE_ENDS = str.maketrans("\u2028\u2029", "\n\n")


class WritingField(QPlainTextEdit):
    """Plain text, typed, pasted or dropped."""

    refused = Signal(str)
    """Why a text was not taken."""
    files_given = Signal(object)
    """Files that were pasted or dropped, as a list of paths, where they are taken."""

    takes_files = False

    _hint = ""
    """What it says while it is empty."""

    def show_hint(self, text: str) -> None:
        """Say something while it is empty, on one line."""
        self._hint = text
        self._fit_hint()

    def _fit_hint(self) -> None:
        room = self.viewport().width() - round(2 * self.document().documentMargin()) - 1
        self.setPlaceholderText(self.fontMetrics().elidedText(self._hint, Qt.TextElideMode.ElideRight, room))

    @override
    def resizeEvent(self, e: QResizeEvent, /) -> None:
        super().resizeEvent(e)
        self._fit_hint()

    @override
    def changeEvent(self, e: QEvent, /) -> None:
        super().changeEvent(e)
        if e.type() == QEvent.Type.FontChange:
            self._fit_hint()

    @property
    def content(self) -> str:
        """The text as it was written. (Qt's `toPlainText` makes plain spaces of no-break ones.)"""
        return self.document().toRawText().translate(_LINE_ENDS)

    @override
    def canInsertFromMimeData(self, source: QMimeData, /) -> bool:
        return super().canInsertFromMimeData(source) or (self.takes_files and bool(files_in(source)))

    @override
    def insertFromMimeData(self, source: QMimeData) -> None:
        files = files_in(source) if self.takes_files else []
        if files:
            self.files_given.emit(files)
            return
        pasted = source.text()
        whole = self.content + pasted
        longest_run = max(map(len, whole.split()), default=0)
        if len(whole) > _MOST_CHARS or longest_run > _LONGEST_RUN:
            self.refused.emit(
                self.tr(
                    "The text would have {chars} characters, the longest stretch without a space {run}. A message "
                    "takes {most} and {longest}. Nothing was pasted; paste a part of it."
                ).format(
                    chars=counted(len(whole)),
                    run=counted(longest_run),
                    most=counted(_MOST_CHARS),
                    longest=counted(_LONGEST_RUN),
                )
            )
            return
        super().insertFromMimeData(source)

    @override
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            standard = QKeySequence.StandardKey
            has_none = (event.matches(standard.Undo) and not self.document().isUndoAvailable()) or (
                event.matches(standard.Redo) and not self.document().isRedoAvailable()
            )
            if has_none:
                # Nothing was written that could be taken back: what was done to the tree is meant.
                event.ignore()
                return False
        return super().event(event)


def files_in(source: QMimeData) -> list[Path]:
    """Return the files of this computer among what is pasted or dropped."""
    return [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]
