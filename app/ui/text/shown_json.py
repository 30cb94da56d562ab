"""The JSON of an answer, shown as a block of code with one member per line. Independent of widgets."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor

from app.model.json_text import JsonLayout, NotJsonError, begun_json
from app.ui.text.document_text import raw_position

_FENCE = f"{'`' * 12}json\n"


class ShownJson:
    """JSON as it is shown, one member per line. Maps positions in the shown text to positions in the source."""

    def __init__(self, layout: JsonLayout, shown: str) -> None:
        self._layout = layout
        self._shown = shown

    @property
    def markdown(self) -> str:
        """The shown JSON as a Markdown code block. The fence is open, so that the code can grow."""
        return _FENCE + self._shown

    def append(self, text: str) -> str | None:
        """Append source text; return the text to show for it, or None if the whole is no longer JSON."""
        try:
            shown = self._layout.feed(text)
        except NotJsonError:
            return None
        self._shown += shown
        return shown

    def source_position(self, cursor: QTextCursor) -> int:
        """Return the position of a cursor in the source."""
        return self._layout.source_position(raw_position(cursor, self._shown))


def shown_json(text: str, *, is_certain: bool) -> ShownJson | None:
    """Return the display of a text that is JSON or the beginning of JSON; None for other texts.

    `is_certain` means that the user asked for JSON.
    """
    found = begun_json(text, is_certain=is_certain)
    return None if found is None else ShownJson(*found)
