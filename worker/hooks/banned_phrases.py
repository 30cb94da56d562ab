"""Banned phrases: a phrase is taken back before it is complete, and another way is taken from where it began.

What is compared is the text, not its tokens, folded so that capitals make no difference ("İ" included); a phrase may
begin inside a word. Option: `phrases`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from worker.decision import Decision
from worker.step import Step

_TOKENS_A_CHARACTER = 4


class Hook:
    """Looks at the text that each drawn token would make."""

    def __init__(self, phrases: Sequence[object] = ()) -> None:
        texts = [] if isinstance(phrases, str) else [phrase for phrase in phrases if isinstance(phrase, str)]
        if isinstance(phrases, str) or len(texts) < len(phrases) or not all(text.strip() for text in texts):
            raise ValueError("`phrases` is a list of texts, none of them empty")
        self._phrases = [_folded(text) for text in texts]
        self._most = max((_TOKENS_A_CHARACTER * len(phrase) for phrase in self._phrases), default=0)
        """Tokens in which a phrase may lie."""
        self._barred: dict[int, set[int]] = {}
        """By place, the tokens that have begun a phrase there."""

    def __call__(self, step: Step) -> Decision | None:
        if step.phase == "before":
            self._barred = {place: barred for place, barred in self._barred.items() if place <= step.position}
            return None
        if step.token in self._barred.get(step.position, ()):
            return Decision(resample=True)
        tokens = [*step.tokens[-self._most :], step.token]
        text = _folded(step.vocabulary.text_of(tokens))
        found = max((text.rfind(phrase) for phrase in self._phrases), default=-1)
        if found < 0:
            return None
        # Folding may make a text longer: where the phrase begins is counted in what is folded.
        first = 0
        while len(_folded(step.vocabulary.text_of(tokens[: first + 1]))) <= found:
            first += 1
        back = len(tokens) - 1 - first
        self._barred.setdefault(step.position - back, set()).add(tokens[first])
        return Decision(backtrack=back) if back else Decision(resample=True)


def _folded(text: str) -> str:
    """Full case folding, and then without the dot that "İ" leaves above its "i"."""
    return unicodedata.normalize("NFC", text.casefold().replace("i\u0307", "i"))
