"""Where in a document each character of a text stands that is shown there as it was written; the text may grow."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor, QTextDocument

from app.ui.text.code_blocks import num_units

_BREAK = "\u200b"


class CharacterPlaces:
    """Qt counts UTF-16 units; and long runs have been given leave to break, which is a character of its own."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._places = [0]
        """Where each character begins, and where the last one ends."""
        self._is_other = False

    def __getitem__(self, index: int) -> int:
        """Return where a character begins; for the number of characters, where the last one ends."""
        return self._places[index]

    @property
    def num_chars(self) -> int:
        """Of how many characters the places are known; of none where the document says another text."""
        return 0 if self._is_other else len(self._places) - 1

    def follow(self, text: str) -> None:
        """Take in what the document has grown by, and the text."""
        index, unit = len(self._places) - 1, self._places[-1]
        # Of a line end of two characters the document has one.
        self._is_other = self._is_other or text.find("\r", index) >= 0
        if self._is_other:
            return
        cursor = QTextCursor(self._document)
        cursor.setPosition(unit)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        shown = cursor.selectedText()
        if len(shown) == cursor.position() - unit and _BREAK not in shown:
            # Each character is a unit.
            num = min(len(shown), len(text) - index)
            self._places += range(unit + 1, unit + num + 1)
            return
        for character in shown:
            unit += num_units(character)
            if character == _BREAK and text[index : index + 1] != _BREAK:
                self._places[-1] = unit
            elif index < len(text):
                self._places.append(unit)
                index += 1
            else:
                break
