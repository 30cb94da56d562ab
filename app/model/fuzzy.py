"""Fuzzy matching of typed letters: whole words, beginnings of words, or letters in order. Independent of Qt."""

from __future__ import annotations

import unicodedata

from worker.normalizing import normalized

_AT_BEGINNING = 100.0
_AT_WORD = 80.0
_WITHIN = 50.0
_INITIALS = 45.0
_SCATTERED = 20.0
_MAX_SPREAD = 3
"""Scattered letters must lie within this many times their number of characters."""
_PER_CHAR = 0.05
"""Subtracted for each character of the text, so that the shorter of two equal matches wins."""


def folded(text: str) -> str:
    """Return a text without capitals and accents."""
    plain = normalized("NFKD", text.casefold())
    return (
        plain if plain.isascii() else "".join(character for character in plain if not unicodedata.combining(character))
    )


def fit(typed: str, text: str) -> float | None:
    """Return how well all words of `typed` match `text`, both `folded`.

    Higher is better; None if a word does not match.
    """
    total = 0.0
    for word in typed.split():
        found = _fit_of_word(word, text)
        if found is None:
            return None
        total += found
    return total - _PER_CHAR * len(text)


def _fit_of_word(word: str, text: str) -> float | None:
    if text.startswith(word):
        return _AT_BEGINNING
    if f" {word}" in text:
        return _AT_WORD
    if word in text:
        return _WITHIN
    if _is_within("".join(part[0] for part in text.split()), word):
        return _INITIALS
    return _SCATTERED if _shortest_stretch(word, text) <= _MAX_SPREAD * len(word) else None


def _is_within(initials: str, word: str) -> bool:
    return len(word) > 1 and word in initials


def _shortest_stretch(word: str, text: str) -> float:
    """Return the length of the shortest part of `text` that contains the letters of `word` in order, or infinity."""
    shortest = float("inf")
    start = text.find(word[0])
    while start >= 0:
        end = start
        for letter in word[1:]:
            end = text.find(letter, end + 1)
            if end < 0:
                return shortest
        shortest = min(shortest, end - start + 1)
        start = text.find(word[0], start + 1)
    return shortest
