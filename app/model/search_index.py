"""Prepares text for the search index, and parses queries. Independent of the database.

Words are runs of letters and digits. Signs between words count as a space, with one exception: if the query has one of
the signs `+ # _ @ $` next to a word, or a point before a word, the message must have it there, too. So `C` finds C++,
but `C++` finds only C++. Case is ignored, and so are the accents that people leave out: ё equals е, ł equals l, ß
equals ss, á and ä equal a. But й differs from и, and ä from ae. A query of signs alone, such as `->`, must occur as
typed. docs/decisions.md gives the reasons.

Scripts without spaces (Chinese, Japanese, Thai and others, and Korean, whose words have endings) are indexed with each
character as a word. A query in such a script is a phrase, so any run of characters can be found.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from worker.normalizing import normalized

_MAX_TERMS = 32
MAX_SIGNS = 8
"""Only this many of consecutive signs are compared."""
_MAX_SIGN_WORDS = 50_000
"""At most this many different signs of a text are in the index. Only texts of random signs have more."""

MAX_CHARS_AT_ONCE = 8_000
"""A longer text is indexed later, in the background. Indexing this many characters takes 1 to 15 ms."""
WAITING = "ё"
"""Replaces the form of a text that will be indexed later. No text has this form, because ё is indexed as е. Migrations
contain it, too."""
_PIECE_CHARS = 20_000
"""Long texts are read in pieces of this size, because no other thread runs during a step of `re`."""

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
_CUT = "[ \t\n\r\u0e01-\u0e2e\u3041-\u3096\u4e00-\u9fff\uac00-\ud7a3]"
"""Spaces, and letters that never combine with the characters before them: Thai, kana, Han, Hangul."""
_LETTERS = (
    "ёе ЁЕ ѐе ЀЕ ѝи ЍИ "  # Cyrillic
    "łl ŁL øo ØO đd ĐD ħh ĦH ŧt ŦT ıi ßss ẞSS æae ÆAE œoe ŒOE "  # Latin letters that Unicode does not take apart
    "آا أا إا ٱا ىي یي کك"  # Arabic: alef with and without hamza, the forms of yeh and kaf
)
"""Each letter is followed by the letters as which it is indexed. The index itself removes the accents of Latin
letters."""
_TYPED = r'"([^"]*)("?)|(\S+)'

_WORD = r"[^\W_]"
_PARTS = rf"(?P<word>{_WORD}+)|(?P<sign>[+#_@$])(?P=sign)*|\.(?=[^\W\d_])"
"""Matches words, and the signs that count next to a word: one sign, perhaps repeated, or a point before a letter."""
_SIGNS = r"(?:[^\w\s]|_)+"
_PRIVATE = 0xE000
"""The first of 256 private characters of Unicode, which represent the bytes of signs. The index treats them as
letters."""


@dataclass(frozen=True)
class Term:
    """A word or a phrase. `is_open` means that longer words match, too, as for the word that is being typed."""

    text: str
    is_open: bool


@dataclass(frozen=True)
class Query:
    """A parsed query: `match` for FTS5 (empty if there is nothing to find)."""

    terms: tuple[Term, ...]
    match: str

    def __bool__(self) -> bool:
        return bool(self.match)


def at_once(text: str) -> tuple[str | None, str | None]:
    """Return the form and the signs of a text for the index. A long text gets the placeholder `WAITING`."""
    return (WAITING, None) if len(text) > MAX_CHARS_AT_ONCE else (indexed(text), signs(text))


def indexed(text: str) -> str | None:
    """Return the form of a text for the index; None if the text needs no change."""
    if text.isascii():
        return None
    form = "".join(map(_form, _pieces(text)))
    return None if form == text else form


def signs(text: str) -> str | None:
    """Return the signs of a text for the index, each once; None if it has none.

    Signs next to a word are returned with the word. For a row of signs, every suffix of the row is returned, so that
    any part of the row is the prefix of a suffix.
    """
    found: dict[str, None] = {}
    rows: dict[str, None] = {}
    for form in map(_form, _pieces(text)):
        found.update((token, None) for token, _ in _signed_words(form))
        rows.update(dict.fromkeys(re.findall(_SIGNS, form)))
    for row in rows:
        if len(found) >= _MAX_SIGN_WORDS:
            break
        forms = list(map(_private_sign, _only_signs(row)))
        found.update(("".join(forms[start : start + MAX_SIGNS]), None) for start in range(len(forms)))
    return " ".join(itertools.islice(found, _MAX_SIGN_WORDS)) or None


def parse_query(typed: str) -> Query:
    """Parse a query: words (the last may be unfinished), "phrases", prefix*."""
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
    words: list[str] = []
    marks: list[str] = []
    for term in terms:
        form = indexed(term.text) or term.text
        if has_letters(form):
            # The word or the row of signs at the end of an unfinished term may continue.
            words.append(_phrase(form) + ("*" if term.is_open and has_letters(form[-1]) else ""))
            marks += [
                _phrase(token) + ("*" if term.is_open and end == len(form) else "")
                for token, end in _signed_words(form)
            ]
        else:
            rows = (_only_signs(row) for row in form.split())
            marks += [_phrase(_private(row[:MAX_SIGNS])) + "*" for row in rows if row]
    match = " AND ".join(
        f"{column} : ({' AND '.join(parts)})" for column, parts in (("text", words), ("signs", marks)) if parts
    )
    return Query(tuple(terms), match)


def excerpt(text: str, query: Query, *, length: int = 160) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the part of a text with the first match, in one line, and the positions of all matches in it."""
    pattern = _pattern(query)
    spans = _spans(pattern, text, length)
    first = spans[0][0] if spans else 0
    start = max(0, first - length // 4)
    if start:
        # Begin at a word if there is a space nearby.
        start = next((index for index in range(start, min(start + 16, len(text))) if text[index - 1].isspace()), start)
    end = min(len(text), start + length)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    # Replace each line break by one space, so that positions stay.
    shown = before + re.sub(r"\s", " ", text[start:end]) + after
    shift = len(before) - start
    inside = ((max(begin, start), min(stop, end)) for begin, stop in spans if begin < end and stop > start)
    return shown, tuple((begin + shift, stop + shift) for begin, stop in inside)


def has_letters(text: str) -> bool:
    """Return whether a text has a character that the index treats as a letter or digit.

    A mark is a part of its letter, but marks of scripts without spaces are indexed by themselves.
    """
    return any(
        unicodedata.category(each)[0] in "LN" or (unicodedata.category(each)[0] == "M" and re.match(_UNSPACED, each))
        for each in text
    )


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that can be indexed one by one.

    A piece ends before one of the characters of `_CUT`. Text without any of them is one piece.
    """
    start = 0
    while (cut := re.compile(_CUT).search(text, start + _PIECE_CHARS)) is not None:
        yield text[start : cut.start()]
        start = cut.start()
    yield text[start:]


def _form(text: str) -> str:
    if text.isascii():
        return text
    form = re.sub(_FORMS, lambda found: normalized("NFKC", found[0]), text)
    form = normalized("NFC", re.sub(_POINTS, "", form))
    form = _letters_pattern().sub(lambda found: _letters()[found[0]], form)
    # Replace a run at a time, which is ten times faster than a character at a time.
    return re.sub(f"{_UNSPACED}+", lambda found: f" {'  '.join(found[0])} ", form)


def _signed_words(form: str) -> list[tuple[str, int]]:
    """Return the words with signs next to them, each as a word of the index, with its end in the text."""
    if re.search(r"[+#_@$]|\.[^\W\d_]", form) is None:
        return []
    found: list[tuple[str, int]] = []
    for left, right in itertools.pairwise(re.finditer(_PARTS, form)):
        if left.end() != right.start():
            continue
        if left["word"] and right["sign"]:
            found.append((left[0] + _private(right[0]), right.end()))
        elif right["word"]:
            found.append((_private(left[0]) + right[0], right.end()))
    return found


def _only_signs(row: str) -> str:
    # Marks of emoji and of letters are no signs.
    return row if row.isascii() else "".join(each for each in row if unicodedata.category(each)[0] in "PS")


def _private(row: str) -> str:
    return "".join(map(_private_sign, row))


@functools.lru_cache(4096)
def _private_sign(sign: str) -> str:
    return "".join(chr(_PRIVATE + byte) for byte in sign.encode("utf-8", "replace"))


def _phrase(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


@functools.cache
def _letters() -> Mapping[str, str]:
    letters = {pair[0]: pair[1:] for pair in _LETTERS.split()}
    for code in (*range(0x370, 0x400), *range(0x1F00, 0x2000)):  # Greek
        letter = chr(code)
        plain = unicodedata.normalize("NFD", letter)[0]
        if plain != letter and plain.isalpha():
            letters[letter] = plain
    return letters


@functools.cache
def _letters_pattern() -> re.Pattern[str]:
    return re.compile(f"[{''.join(_letters())}]")


def _pattern(query: Query) -> re.Pattern[str] | None:
    parts: list[str] = []
    for term in query.terms:
        words = re.findall(rf"{_WORD}+", _plain(term.text)[0])
        if not words or not has_letters(term.text):
            parts.append(re.escape(term.text))
            continue
        # Signs that were typed at the words belong to the match.
        as_typed = re.escape(_plain(term.text)[0])
        phrase = r"[\W_]+".join(re.escape(word) for word in words)
        if re.search(_UNSPACED, term.text):
            parts.append(phrase)
        else:
            end = "" if term.is_open else rf"(?!{_WORD})"
            is_signed = bool(_signed_words(term.text))
            parts += [rf"(?<!{_WORD}){as_typed}"] if is_signed else []
            parts.append(rf"(?<!{_WORD}){phrase}{end}")
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def _spans(pattern: re.Pattern[str] | None, text: str, length: int) -> list[tuple[int, int]]:
    """Return the matches of a pattern from the first one on, over about `length` characters."""
    if pattern is None:
        return []
    plain, places = _plain(text)
    first = pattern.search(plain)
    if first is None:
        return []
    found = (each.span() for each in pattern.finditer(plain, first.start(), first.start() + 2 * length))
    return [(places[begin], places[end - 1] + 1) for begin, end in found if end > begin]


def _plain(text: str) -> tuple[str, range | list[int]]:
    """Return a text without accents, and the place in the text of each of its characters."""
    if text.isascii():
        return text, range(len(text))
    is_unspaced = re.compile(_UNSPACED).match
    plain: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        written = character if character.isascii() or is_unspaced(character) else _plain_letter(character)
        plain.append(written)
        places += [place] * len(written)
    return "".join(plain), places


@functools.lru_cache(4096)
def _plain_letter(letter: str) -> str:
    if letter in _letters():
        return _letters()[letter]
    plain = unicodedata.normalize("NFD", letter)[0]
    return plain if plain.isascii() else letter
