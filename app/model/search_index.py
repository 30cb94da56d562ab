"""Prepares text for the search index, and parses queries. Independent of the database.

Scripts without spaces (Chinese, Japanese, Thai and others, and Korean, whose words have endings) are indexed with each
character as a word. A query in them is a phrase, so any run of characters can be found. docs/decisions.md says why the
index does not use trigrams.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_MAX_TERMS = 32

# `re` compiles these at their first use, because the large ones take milliseconds that the start does not need.
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
"""Optional vowel points of Hebrew and Arabic, and the Arabic tatweel, which only lengthens words."""
_FORMS = "[\uf900-\ufaff\ufb00-\ufdff\ufe70-\ufefc\uff00-\uffef]+"
"""Compatibility forms: ligatures, letters of full or half width."""
_TYPED = r'"([^"]*)("?)|(\S+)'


@dataclass(frozen=True)
class Term:
    """A word or a phrase. If `is_open`, longer words match, too, as for the word that is being typed."""

    text: str
    is_open: bool


@dataclass(frozen=True)
class Query:
    """A parsed query: `match` for FTS5 (empty if it has no words), and `literals`, text that must occur as written."""

    terms: tuple[Term, ...]
    match: str
    literals: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.match or self.literals)


def indexed(text: str) -> str | None:
    """Return the form of a text for the index; None if the text needs no change."""
    if text.isascii():
        return None
    form = re.sub(_FORMS, lambda found: unicodedata.normalize("NFKC", found[0]), text)
    form = unicodedata.normalize("NFC", re.sub(_POINTS, "", form))
    form = re.sub(_UNSPACED, r" \g<0> ", form)
    return None if form == text else form


def parse_query(typed: str) -> Query:
    """Parse a query: words (the last may be unfinished), "phrases", prefix*.

    Symbols outside words, such as `->`, must occur as written.
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
    return Query(tuple(terms), match, tuple(term.text for term in terms if term not in words))


def excerpt(text: str, query: Query, *, length: int = 160) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the part of a text with the first match, in one line, and the positions of all matches in it."""
    pattern = _pattern(query)
    first = None if pattern is None else pattern.search(text)
    searched = text
    if pattern is not None and first is None and not text.isascii():
        searched = _plain(text)
        first = pattern.search(searched)
    start = 0 if first is None else max(0, first.start() - length // 4)
    if start:
        # Begin at a word if there is a space nearby.
        start = next((index for index in range(start, min(start + 16, len(text))) if text[index - 1].isspace()), start)
    end = min(len(text), start + length)
    marks = () if pattern is None else tuple(found.span() for found in pattern.finditer(searched, start, end))
    before, after = "…" if start else "", "…" if end < len(text) else ""
    # Replace each line break by one space, so that positions stay.
    shown = before + re.sub(r"\s", " ", text[start:end]) + after
    shift = len(before) - start
    return shown, tuple((begin + shift, stop + shift) for begin, stop in marks if stop > begin)


def _has_letters(text: str) -> bool:
    return any(unicodedata.category(character)[0] in "LMN" for character in text)


def _phrase(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def _pattern(query: Query) -> re.Pattern[str] | None:
    parts: list[str] = []
    for term in query.terms:
        if term.text in query.literals:
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
    """Return a text without accents and of the same length."""
    if text.isascii():
        return text
    is_unspaced = re.compile(_UNSPACED).match
    return "".join(
        character if is_unspaced(character) else unicodedata.normalize("NFD", character)[0] for character in text
    )
