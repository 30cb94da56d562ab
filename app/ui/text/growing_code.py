"""Code whose fence is still open: what streams in is added line by line, and what stands is not written again."""

from __future__ import annotations

import re
from typing import NamedTuple

from PySide6.QtGui import QTextCursor

from app.ui.text.code_blocks import CodeSpan, insert_code, num_units
from app.ui.text.code_colours import coloured
from app.ui.text.highlight import Piece, highlighted
from app.ui.text.text_formats import TextFormats
from app.ui.theme import Theme

_OPENING = re.compile(r"(?P<marker>`{3,}|~{3,})[^\n]*\n")
_WINDOW = 300
"""Characters before the end whose colours are found out again; what stands further up keeps the ones it has."""


class GrowingCode:
    """An open fence at the margin, and the code in it, which has been written as an empty span."""

    def __init__(self, span: CodeSpan, theme: Theme, marker: str) -> None:
        self.span = span
        self._theme = theme
        self._formats = TextFormats(theme)
        self._closing = re.compile(rf" {{0,3}}{re.escape(marker[0])}{{{len(marker)},}}[ \t]*")
        self._stable = span.start.position()
        """Where in the document everything before is certain."""
        self._pending = ""
        """The source from there on."""
        self._shown = ""
        """Of it, what stands in the document."""
        self._window = self._stable
        self._window_text = ""
        self._coloured: list[Piece] = []

    def append(self, text: str) -> str | None:
        """Take what comes next; return what follows the fence once it is closed, else None."""
        before = self._pending.count("\n")
        self._pending += text
        complete, _, unfinished = self._pending.rpartition("\n")
        lines = self._pending.split("\n")[:-1]
        for index in range(before, len(lines)):
            if self._closing.fullmatch(lines[index]):
                self._show("\n".join(lines[:index]).rstrip("\n"))
                self.span.code += self._shown
                return "\n".join((*lines[index + 1 :], unfinished))
        # It may be the end of the fence, or more of it.
        is_end = self._closing.fullmatch(unfinished) is not None
        self._show((complete if is_end else self._pending).rstrip("\n"))
        self._settle(complete.rstrip("\n"))
        return None

    def _show(self, text: str) -> None:
        cursor = QTextCursor(self.span.start.document())
        cursor.beginEditBlock()
        common = len(self._shown) if text.startswith(self._shown) else 0
        cursor.setPosition(self._stable + num_units(text[:common]))
        format_ = cursor.blockFormat()
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        if cursor.hasSelection():
            cursor.removeSelectedText()
            # An empty block takes over the format of what follows it.
            cursor.setBlockFormat(format_)
        insert_code(cursor, text[common:], self._formats.code())
        self.span.num_lines += text.count("\n") - self._shown.count("\n")
        self._shown = text
        self._colour(cursor)
        cursor.endEditBlock()

    def _settle(self, certain: str) -> None:
        """What is a whole line, with something in it or after it, changes no more."""
        self.span.code += certain
        self._window_text += certain
        self._stable += num_units(certain)
        self._pending = self._pending[len(certain) :]
        self._shown = self._shown[len(certain) :]
        if len(self._window_text) > 2 * _WINDOW:
            cut = self._window_text.find("\n", len(self._window_text) - _WINDOW) + 1
            self._window += num_units(self._window_text[:cut])
            self._window_text = self._window_text[cut:]
            self._coloured.clear()

    def _colour(self, cursor: QTextCursor) -> None:
        code = self._window_text + self._shown
        if not self.span.language or len(code) > 8 * _WINDOW:
            return
        found = highlighted(code, self.span.language, self._theme.code_style, self._theme.sunken)
        num_same = next((i for i, (a, b) in enumerate(zip(found, self._coloured, strict=False)) if a != b), None)
        if num_same is None:
            num_same = min(len(found), len(self._coloured))
        place = self._window + sum(num_units(piece.text) for piece in found[:num_same])
        coloured(cursor, place, found[num_same:], self._formats)
        self._coloured = found


class Fence(NamedTuple):
    """How a fence begins, and what follows its first line."""

    marker: str
    code: str


def opened_fence(source: str) -> Fence | None:
    """Return the fence at the margin with which `source` begins."""
    found = _OPENING.match(source)
    return None if found is None else Fence(found["marker"], source[found.end() :])
