"""Banned phrases: takes back a banned phrase before it is complete, and continues differently.

Compares text, not tokens, and ignores case. A phrase may begin inside a word. Option: `phrases`.
"""

from __future__ import annotations

from collections.abc import Sequence

from worker.decision import Decision
from worker.normalizing import normalized
from worker.step import Step

_MAX_TOKENS_PER_CHARACTER = 4


class Hook:
    """Checks the text up to each sampled token."""

    def __init__(self, phrases: Sequence[object] = ()) -> None:
        texts = [] if isinstance(phrases, str) else [phrase for phrase in phrases if isinstance(phrase, str)]
        if isinstance(phrases, str) or len(texts) < len(phrases) or not all(text.strip() for text in texts):
            raise ValueError("`phrases` is a list of texts, none of them empty")
        self._phrases = [_folded(text) for text in texts]
        self._max_tokens = max((_MAX_TOKENS_PER_CHARACTER * len(phrase) for phrase in self._phrases), default=0)
        """How many tokens a phrase may have."""
        self._banned: dict[int, set[int]] = {}
        """The tokens that began a phrase, by position."""

    def __call__(self, step: Step) -> Decision | None:
        if not self._phrases:
            return None
        if step.phase == "before":
            self._banned = {position: ids for position, ids in self._banned.items() if position <= step.position}
            return None
        if step.token in self._banned.get(step.position, ()):
            return Decision(resample=True)
        # A phrase may begin in the given text, which is not taken back.
        new = [*step.tokens[-self._max_tokens :], step.token]
        given = step.given[max(0, len(step.given) - max(0, self._max_tokens - len(step.tokens))) :]
        tokens = [*given, *new]
        num_given = len(_folded(step.vocabulary.text_of(given)))
        text = _folded(step.vocabulary.text_of(tokens))
        matches = ((text.rfind(phrase), len(phrase)) for phrase in self._phrases)
        start, length = max((match for match in matches if sum(match) > num_given), default=(-1, 0))
        if start < 0:
            return None
        # Find the first token of the phrase, counting in folded text, which may be longer.
        num_folded = 0
        for position, token_id in enumerate(tokens, step.position + 1 - len(tokens)):
            if num_folded >= start + length:
                break
            num_folded = len(_folded(step.vocabulary.text_of(tokens[: position - step.position + len(tokens)])))
            banned = self._banned.setdefault(position, set())
            # If a banned token is still here, no other is possible at its position, so try the next position.
            if num_folded > start and position > step.position - len(new) and token_id not in banned:
                banned.add(token_id)
                back = step.position - position
                return Decision(backtrack=back) if back else Decision(resample=True)
        return None


def _folded(text: str) -> str:
    """Fold the case of a text, and remove the dot above that "İ" leaves behind its "i"."""
    return normalized("NFC", text.casefold().replace("i\u0307", "i"))
