"""Finding control tokens in text, however many a tokenizer has; it knows no tokenizer.

Some have six thousand. An alternation tries each of them at each place: a long conversation took 16 seconds. What
begins alike is tried once here, so that a place that begins no token costs one look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

# Other than the rest, these are what a model's own turn may hold as text, too.
_REASONING = re.compile(r"[<\[|/]*(seed:)?(think|thinking|thought|reasoning)[|>\]]*", re.IGNORECASE)
_REASONING_END = re.compile(r"[<\[]\|?/(seed:)?(think|thinking|thought|reasoning)\|?[>\]]", re.IGNORECASE)


def is_reasoning(text: str) -> bool:
    """Return whether a control token of this text stands around reasoning."""
    return _REASONING.fullmatch(text) is not None


def reasoning_end(text: str) -> int:
    """Return where in a model's turn the last of its reasoning ends; 0 where there is none."""
    return max((found.end() for found in _REASONING_END.finditer(text)), default=0)


def pattern_of(texts: Iterable[str]) -> str:
    """Return a regular expression, without groups, for the longest of `texts` at a place; no texts, no match."""
    return _one_of(sorted({text for text in texts if text})) or r"(?!)"


def _one_of(texts: Sequence[str]) -> str:
    """Return the expression for distinct texts in their order, the empty one first where it is among them."""
    ways: list[str] = []
    for _, group in groupby(filter(None, texts), key=lambda text: text[0]):
        alike = list(group)
        length = _num_common(alike[0], alike[-1])  # they are sorted: what these two share, all share
        ways.append(re.escape(alike[0][:length]) + _one_of([text[length:] for text in alike]))
    if not ways:
        return ""
    may_end_here = not texts[0]
    if len(ways) == 1 and not may_end_here:
        return ways[0]
    return f"(?:{'|'.join(ways)}){'?' if may_end_here else ''}"


def _num_common(one: str, other: str) -> int:
    """Count the characters with which both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
