"""Makes a question look as if it was typed in a hurry. Independent of topics and models."""

from __future__ import annotations

import re
from random import Random

_NEIGHBOURS = {
    key: row[max(0, position - 1) : position] + row[position + 1 : position + 2]
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    for position, key in enumerate(row)
}

_SMALL_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
        a an the is are am was do does did i you it this that to of in on at for with my me can
        could would should will there be how what where which so just and or please if when one some
        any from by as
        """,
    )
)

_CONTRACTIONS = {
    "what is": "what's",
    "where is": "where's",
    "how is": "how's",
    "who is": "who's",
    "it is": "it's",
    "that is": "that's",
    "i am": "i'm",
    "i have": "i've",
    "i would": "i'd",
    "do not": "don't",
    "does not": "doesn't",
    "can not": "can't",
    "cannot": "can't",
    "want to": "wanna",
    "you are": "you're",
    "are you": "r u",
    "please": "pls",
    "because": "cuz",
    "going to": "gonna",
}


def add_typing_noise(question: str, rng: Random) -> str:
    """Return the question with typical typing errors, or unchanged."""
    if rng.random() < 0.10:
        question = _contract(question, rng)
    if rng.random() < 0.14:
        question = _drop_words(question, rng)
    if rng.random() < 0.16:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            question = _mistype(question, rng)
    question = _punctuate(question, rng)
    return _recase(question, rng) or "?"


def _contract(question: str, rng: Random) -> str:
    for long, short in _CONTRACTIONS.items():
        if rng.random() < 0.7:
            question = re.sub(rf"\b{long}\b", short, question, flags=re.IGNORECASE)
    return question


def _drop_words(question: str, rng: Random) -> str:
    """Drop all small words (a search engine's style), some of them, or one word of any kind."""
    words = question.split()
    style = rng.random()
    if style < 0.3:
        kept = [word for word in words if word.lower().strip("?!.,") not in _SMALL_WORDS]
    elif style < 0.8:
        kept = [word for word in words if word.lower() not in _SMALL_WORDS or rng.random() < 0.6]
    else:
        dropped = rng.randrange(len(words)) if len(words) > 3 else -1
        kept = [word for position, word in enumerate(words) if position != dropped]
    return " ".join(kept) if kept else question


def _mistype(question: str, rng: Random) -> str:
    """Swap, double, replace or drop one letter, or drop the apostrophes."""
    positions = [position for position, letter in enumerate(question) if letter.isalpha()]
    if len(positions) < 4:
        return question
    position = rng.choice(positions)
    before, letter, after = question[:position], question[position], question[position + 1 :]
    match rng.randrange(5):
        case 0 if after[:1].isalpha():
            return before + after[0] + letter + after[1:]
        case 1:
            return before + letter + letter + after
        case 2:
            near = _NEIGHBOURS.get(letter.lower(), letter)
            return before + rng.choice(near) + after
        case 3 if "'" in question:
            return question.replace("'", "")
        case _:
            return before + after


def _punctuate(question: str, rng: Random) -> str:
    style = rng.random()
    bare = question.rstrip("?.! ")
    if style < 0.40 or not bare:
        return question
    if style < 0.68:
        return bare
    if style < 0.90:
        return bare + "?"
    return bare + rng.choice((".", "!", "??", " ?", "...", "?!", "\n", " "))


def _recase(question: str, rng: Random) -> str:
    style = rng.random()
    if style < 0.42:
        return question.lower()
    if style < 0.80:
        return question[:1].upper() + question[1:]
    if style < 0.97:
        return question
    return question.upper() if style < 0.985 else question.title()
