"""Banned phrases: takes back a phrase before it is complete, and continues in another way.

Compares text, not tokens, and ignores case. A phrase may begin inside a word. Option: `phrases`.
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
        if not self._phrases:
            return None
        if step.phase == "before":
            self._barred = {place: barred for place, barred in self._barred.items() if place <= step.position}
            return None
        if step.token in self._barred.get(step.position, ()):
            return Decision(resample=True)
        # A phrase may begin in what the answer goes on from, which stays as it is.
        new = [*step.tokens[-self._most :], step.token]
        given = step.given[max(0, len(step.given) - max(0, self._most - len(step.tokens))) :]
        tokens = [*given, *new]
        num_given = len(_folded(step.vocabulary.text_of(given)))
        text = _folded(step.vocabulary.text_of(tokens))
        places = ((text.rfind(phrase), len(phrase)) for phrase in self._phrases)
        found, length = max((each for each in places if sum(each) > num_given), default=(-1, 0))
        if found < 0:
            return None
        # Folding may make a text longer: where the phrase lies is counted in what is folded.
        num_folded = 0
        for place, token_id in enumerate(tokens, step.position + 1 - len(tokens)):
            if num_folded >= found + length:
                break
            num_folded = len(_folded(step.vocabulary.text_of(tokens[: place - step.position + len(tokens)])))
            barred = self._barred.setdefault(place, set())
            # One that stands all the same can't be another: it spells given text, say.
            if num_folded > found and place > step.position - len(new) and token_id not in barred:
                barred.add(token_id)
                back = step.position - place
                return Decision(backtrack=back) if back else Decision(resample=True)
        return None


def _folded(text: str) -> str:
    """Full case folding, and then without the dot that "İ" leaves above its "i"."""
    return unicodedata.normalize("NFC", text.casefold().replace("i\u0307", "i"))
