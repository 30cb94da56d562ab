"""Functions on plain text: cleaning it for storage, showing or escaping it in one line, its direction and language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from worker.printable import one_line


def clean(text: str) -> str:
    """Return text that can be stored and sent: lone surrogates, from a broken paste, become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""The controls of the writing direction. In a name they can reorder what stands around it."""


def as_title(text: str) -> str:
    """Return a text in one line for titles and names, without controls of the writing direction or of terminals."""
    return " ".join(one_line(BIDI_CONTROLS.sub("", text), " ").split())


_LEADING_MARKS = "#>*-_`~ \t\r\n"
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+", re.MULTILINE)
_LINK = re.compile(r"!?\[(?P<text>[^\]\n]*)\]\([^()\s]*\)")
_INLINE_MARKS = re.compile(r"\*\*|`")


def plain_words(text: str) -> str:
    """Return a text in one line, without those marks of Markdown that are rarely a part of the text itself."""
    text = _LINE_MARKS.sub("", text.lstrip(_LEADING_MARKS))
    return " ".join(_INLINE_MARKS.sub("", _LINK.sub(r"\g<text>", text)).split())


_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNESCAPED = {escape[1]: character for character, escape in _ESCAPES.items()}


def escaped(text: str) -> str:
    """Return a text in one line, with `\\n`, `\\t` and `\\r` escaped and backslashes doubled."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def unescaped(text: str) -> str:
    """Undo `escaped`. A backslash before any other character is kept."""
    return re.sub(r"\\([\\ntr])", lambda found: _UNESCAPED[found.group(1)], text)


_FROM_RIGHT = {"R", "AL"}


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter with a direction is written from right to left."""
    directions = (unicodedata.bidirectional(letter) for letter in text)
    return next((direction for direction in directions if direction in {"L", *_FROM_RIGHT}), "L") in _FROM_RIGHT


_LANGUAGES = {
    "ARABIC": ("ar", "fa", "ur", "ps", "ckb", "ug"),
    "ARMENIAN": ("hy",),
    "BENGALI": ("bn", "as"),
    "CJK": ("zh", "ja", "yue"),
    "CYRILLIC": ("ru", "uk", "bg", "sr", "be", "mk", "kk", "ky", "mn", "tg"),
    "DEVANAGARI": ("hi", "mr", "ne", "sa"),
    "GEORGIAN": ("ka",),
    "GREEK": ("el",),
    "HANGUL": ("ko",),
    "HEBREW": ("he", "yi"),
    "HIRAGANA": ("ja",),
    "KATAKANA": ("ja",),
    "TAMIL": ("ta",),
    "THAI": ("th",),
}
"""The languages that are written in a script, the most frequent one first. All others are written in Latin letters."""


def language_of(text: str, usual: str) -> str:
    """Return the tag (BCP 47) of a text's probable language, by its letters.

    The result is `usual`, unless most letters belong to a script in which that language is not written.
    """
    found = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    if not found:
        return usual or "en"
    # Japanese has Chinese characters between its syllables.
    script = "HIRAGANA" if found["HIRAGANA"] * 4 > found["CJK"] else "CJK"
    most = max(found, key=lambda name: found[name])
    languages = _LANGUAGES.get(script if most in {"CJK", "HIRAGANA"} else most, ())
    own = usual.partition("-")[0].partition("_")[0].lower()
    if languages:
        return usual if own in languages else languages[0]
    return "en" if not own or any(own in others for others in _LANGUAGES.values()) else usual
