"""Regular expressions that find control tokens in text. Independent of the tokenizer.

Some tokenizers have six thousand control tokens. A plain alternation tries each of them at every position: a long
conversation took 16 seconds. Here tokens with the same beginning share one branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

# Unlike other control tokens, these may also occur as text in an assistant's turn.
_REASONING = re.compile(r"[<\[|/]*(seed:)?(think|thinking|thought|reasoning)[|>\]]*", re.IGNORECASE)
_REASONING_END = re.compile(r"[<\[]\|?/(seed:)?(think|thinking|thought|reasoning)\|?[>\]]", re.IGNORECASE)


def is_reasoning(text: str) -> bool:
    """Return whether a control token with this text begins or ends reasoning."""
    return _REASONING.fullmatch(text) is not None


def reasoning_end(text: str) -> int:
    """Return the position in an assistant's turn at which its reasoning ends; 0 if it has none."""
    return max((found.end() for found in _REASONING_END.finditer(text)), default=0)


def pattern_of(texts: Iterable[str]) -> str:
    """Return a regular expression without groups that matches the longest of `texts`, or nothing without texts."""
    return _one_of(sorted({text for text in texts if text})) or r"(?!)"


def _one_of(texts: Sequence[str]) -> str:
    """Return the expression for distinct, sorted texts; the empty text, if present, comes first."""
    branches: list[str] = []
    for _, group in groupby(filter(None, texts), key=lambda text: text[0]):
        alike = list(group)
        length = _num_common(alike[0], alike[-1])  # They are sorted: all share what the first and the last share.
        branches.append(re.escape(alike[0][:length]) + _one_of([text[length:] for text in alike]))
    if not branches:
        return ""
    may_end_here = not texts[0]
    if len(branches) == 1 and not may_end_here:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' if may_end_here else ''}"


def _num_common(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
