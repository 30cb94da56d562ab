"""English plurals: texts are written with "message(s)", which a person reads as "1 message" or "2 messages"."""

from __future__ import annotations

import re

from PySide6.QtCore import QTranslator
from typing_extensions import override

_ENDING = re.compile(r"\((e?s)\)")


class EnglishPlurals(QTranslator):
    """What is said where no other language has a translation. Install it before all others: those are asked first."""

    @override
    def isEmpty(self) -> bool:
        return False

    @override
    def translate(
        self, context: str | bytes, sourceText: str | bytes, disambiguation: str | bytes | None = None, n: int = -1
    ) -> str:
        """Return the text for `n` of them; as it is written where nothing is counted."""
        text = sourceText.decode() if isinstance(sourceText, bytes) else sourceText
        return text if n < 0 else _ENDING.sub("" if n == 1 else r"\1", text)
