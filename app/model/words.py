"""Text as the search index has it, and what a person types as a question to it; it knows no database.

The index cuts text into words where the script does. Scripts without spaces (Chinese, Japanese, Thai and others, and
Korean, whose words grow endings) are indexed a character a word; a word that is typed in them is then a phrase, so any
stretch of them is found, however short. An index of trigrams, which would need none of this, took twice the bytes and
twice the time to write, and it finds no word of two characters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_MAX_TERMS = 32

# `re` compiles these when they are first used: the large ones take milliseconds, and the start needs none.
_UNSPACED = (
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u109f"  # Tibetan, Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u1100-\u11ff\uac00-\ud7ff"  # Hangul
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3105-\u312f\u31a0-\u31ff"  # radicals, kana, bopomofo
    "\u3400-\u4dbf\u4e00-\ua4cf\uf900-\ufaff"  # Han, Yi
    "\U00020000-\U0003ffff"
    "]"
)
_POINTS = "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+"
"""Vowel points of Hebrew and Arabic, which are written or left out; and the stroke that only makes words longer."""
_FORMS = "[\uf900-\ufaff\ufb00-\ufdff\ufe70-\ufefc\uff00-\uffef]+"
"""Characters that stand for others: ligatures, letters of full or half width."""
_TYPED = r'"([^"]*)("?)|(\S+)'


@dataclass(frozen=True)
class Term:
    """A word or a phrase. `is_open`: it may go on, as what is just being typed does."""

    text: str
    is_open: bool


@dataclass(frozen=True)
class Question:
    """What was typed: `match` for FTS5 (empty: nothing to look up), and text that must be there as it is."""

    terms: tuple[Term, ...]
    match: str
    literals: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.match or self.literals)


def indexed(text: str) -> str | None:
    """Return what the index is to have of a text; None where it is the text itself."""
    if text.isascii():
        return None
    form = re.sub(_FORMS, lambda found: unicodedata.normalize("NFKC", found[0]), text)
    form = unicodedata.normalize("NFC", re.sub(_POINTS, "", form))
    form = re.sub(_UNSPACED, r" \g<0> ", form)
    return None if form == text else form


def asked(typed: str) -> Question:
    """Understand what is typed: words (the last may go on), "phrases", prefix*.

    Signs that are part of no word, `->` say, are looked for as they are.
    """
    terms: list[Term] = []
    for found in re.finditer(_TYPED, typed):
        phrase, closed, word = found.groups()
        is_last = found.end() == len(typed)
        if word is not None:
            is_open = word.endswith("*") or is_last
            terms.append(Term(word.rstrip("*") or word, is_open))
        elif phrase.strip():
            terms.append(Term(phrase.strip(), is_open=is_last and not closed))
    del terms[_MAX_TERMS:]
    forms = {term: indexed(term.text) or term.text for term in terms}
    words = [term for term in terms if _has_letters(forms[term])]
    match = " AND ".join(_phrase(forms[term]) + ("*" if term.is_open else "") for term in words)
    return Question(tuple(terms), match, tuple(term.text for term in terms if term not in words))


def excerpt(text: str, question: Question, *, length: int = 160) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the part of a text where the question is answered first, in one line, and where in it its terms stand."""
    pattern = _pattern(question)
    first = None if pattern is None else pattern.search(text)
    searched = text
    if pattern is not None and first is None and not text.isascii():
        searched = _plain(text)
        first = pattern.search(searched)
    start = 0 if first is None else max(0, first.start() - length // 4)
    if start:
        # Not within a word, if there is a space near.
        start = next((place for place in range(start, min(start + 16, len(text))) if text[place - 1].isspace()), start)
    end = min(len(text), start + length)
    marks = () if pattern is None else tuple(found.span() for found in pattern.finditer(searched, start, end))
    before, after = "…" if start else "", "…" if end < len(text) else ""
    # A line break is a character, too: places stay.
    shown = before + re.sub(r"\s", " ", text[start:end]) + after
    shift = len(before) - start
    return shown, tuple((begin + shift, stop + shift) for begin, stop in marks if stop > begin)


def _has_letters(text: str) -> bool:
    return any(unicodedata.category(character)[0] in "LMN" for character in text)


def _phrase(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def _pattern(question: Question) -> re.Pattern[str] | None:
    parts: list[str] = []
    for term in question.terms:
        if term.text in question.literals:
            parts.append(re.escape(term.text))
            continue
        words = re.findall(r"\w+", _plain(term.text))
        if not words:
            continue
        phrase = r"\W+".join(re.escape(word) for word in words)
        if re.search(_UNSPACED, term.text):
            parts.append(phrase)
        else:
            parts.append(rf"(?<!\w){phrase}" + ("" if term.is_open else r"(?!\w)"))
            if _plain(term.text) != term.text:
                parts.append(re.escape(term.text))
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def _plain(text: str) -> str:
    """A text without its accents, as long as it was."""
    if text.isascii():
        return text
    is_unspaced = re.compile(_UNSPACED).match
    return "".join(
        character if is_unspaced(character) else unicodedata.normalize("NFD", character)[0] for character in text
    )
