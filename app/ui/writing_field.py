"""A field for a message: it keeps what is written to the letter, and takes no more than it can lay out."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMimeData, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QPlainTextEdit
from typing_extensions import override

_MOST_CHARS = 2_000_000
_LONGEST_RUN = 50_000
"""Characters without a space; Qt takes half a second to lay out four times as many, and grows with their square."""

_LINE_ENDS = str.maketrans("\u2028\u2029", "\n\n")


class WritingField(QPlainTextEdit):
    """Plain text, typed, pasted or dropped."""

    refused = Signal(str)
    """Why a text was not taken."""

    @property
    def content(self) -> str:
        """The text as it was written. (Qt's `toPlainText` makes plain spaces of no-break ones.)"""
        return self.document().toRawText().translate(_LINE_ENDS)

    @override
    def insertFromMimeData(self, source: QMimeData) -> None:
        pasted = source.text()
        whole = self.content + pasted
        longest_run = max(map(len, whole.split()), default=0)
        if len(whole) > _MOST_CHARS or longest_run > _LONGEST_RUN:
            self.refused.emit(
                f"The text would have {len(whole):,} characters, the longest stretch without a space {longest_run:,}. "
                f"A message takes {_MOST_CHARS:,} and {_LONGEST_RUN:,}. Nothing was pasted; paste a part of it."
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
