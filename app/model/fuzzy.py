"""How well what was typed fits a text: whole words, their beginnings, or letters in their order; no window."""

from __future__ import annotations

import unicodedata

_AT_BEGINNING = 100.0
_AT_WORD = 80.0
_WITHIN = 50.0
_INITIALS = 45.0
_SCATTERED = 20.0
_WIDEST = 3
"""Scattered letters stand in at most so many times their own number of letters."""
_PER_CHAR = 0.05
"""The shorter of two texts that fit alike is meant."""


def folded(text: str) -> str:
    """Return a text without what a person in a hurry leaves out: capitals and accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return (
        plain if plain.isascii() else "".join(character for character in plain if not unicodedata.combining(character))
    )


def fit(typed: str, text: str) -> float | None:
    """Return how well all words of `typed` fit `text`, both `folded`; None where one does not. Higher is better."""
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
    return _SCATTERED if _shortest_stretch(word, text) <= _WIDEST * len(word) else None


def _is_within(initials: str, word: str) -> bool:
    return len(word) > 1 and word in initials


def _shortest_stretch(word: str, text: str) -> float:
    """Of how many characters the stretch is that has the letters of `word` in their order, from its first letter on."""
    shortest = float("inf")
    start = text.find(word[0])
    while start >= 0:
        place = start
        for letter in word[1:]:
            place = text.find(letter, place + 1)
            if place < 0:
                return shortest
        shortest = min(shortest, place - start + 1)
        start = text.find(word[0], start + 1)
    return shortest
