"""Sentences of model and worker in the window's language; it knows no widget, and none of them itself.

What is written below the window is English: it is stored with answers, told by threads and other processes, printed in
terminals. Whatever shows it words it here. The list of sentences is collected from the sources with the translations;
what is not in it (a library's own words, a hook's) stays as it is.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from app.numbers import localised

_BETWEEN = re.compile(r"(?<=\.) (?=\S)")
_LONGEST = 8
"""Sentences that are told as one."""
_NUMBER = re.compile(r"\d{1,3}(,\d{3})*(\.\d+)?( ([KMG]i)?B)?")
"""Or an amount of memory."""


class _Sentence(NamedTuple):
    template: str
    longest: str
    """Of what it says itself; looked for first, for that is quick."""
    pattern: re.Pattern[str]


def worded(text: str) -> str:
    """Return what a person is told by this text, which may be several sentences."""
    if QCoreApplication.translate("Sentences", "English") == "English":
        return text
    parts = _BETWEEN.split(text)
    # What is put into a sentence is seldom one itself: first it is read as if that were never so.
    said = _each(parts) or _as_one(text, lambda before, now: before != now or not _BETWEEN.search(before))
    return said or _as_one(text, lambda _before, _now: True) or _as_many_as_are_known(parts)


def _as_one(text: str, fits: Callable[[str, str], bool]) -> str | None:
    """Word a text that is one sentence; `fits`: whether something may be put into it, as it was and as it is worded."""
    for sentence in _sentences():
        found = sentence.pattern.fullmatch(text) if sentence.longest in text else None
        if found is None:
            continue
        fields = {name: _worded_field(value) for name, value in found.groupdict().items()}
        if all(fits(found[name], now) for name, now in fields.items()):
            return QCoreApplication.translate("Sentences", sentence.template).format(**fields)
    return None


def _worded_field(value: str) -> str:
    return localised(value) if _NUMBER.fullmatch(value) else worded(value)


def _simple(part: str) -> str | None:
    return _as_one(part, lambda before, _: not _BETWEEN.search(before))


def _each(parts: Sequence[str]) -> str | None:
    """Word one sentence after another, each as long as it can be; None where one of them is not known."""
    for end in range(min(len(parts), _LONGEST), 0, -1):
        first = _simple(" ".join(parts[:end]))
        if first is not None:
            rest = _each(parts[end:]) if end < len(parts) else ""
            if rest is not None:
                return f"{first} {rest}" if rest else first
    return None


def _as_many_as_are_known(parts: Sequence[str]) -> str:
    said: list[str] = []
    begin = 0
    while begin < len(parts):
        end = min(len(parts), begin + _LONGEST)
        while (known := _as_one(" ".join(parts[begin:end]), lambda _before, _now: True)) is None and end > begin + 1:
            end -= 1
        said.append(parts[begin] if known is None else known)
        begin = end
    return " ".join(said)


@lru_cache(maxsize=1)
def _sentences() -> list[_Sentence]:
    """Those that say most themselves come first."""
    # A window that speaks English needs none of this.
    import importlib.resources

    file = importlib.resources.files("resources").joinpath("translations/sentences.json")
    templates: list[str] = json.loads(file.read_text(encoding="utf-8"))
    return [_sentence(template) for template in sorted(templates, key=_num_letters, reverse=True)]


def _num_letters(template: str) -> int:
    return sum(len(said) for said, *_ in string.Formatter().parse(template))


def _sentence(template: str) -> _Sentence:
    pattern, longest, named = "", "", set[str]()
    for said, field, *_ in string.Formatter().parse(template):
        pattern += re.escape(said)
        anything = "[^”]*" if said.endswith("“") else ".*"
        longest = max(longest, said, key=len)
        if field is not None:
            pattern += f"(?P={field})" if field in named else f"(?P<{field}>{anything})"
            named.add(field)
    return _Sentence(template, longest, re.compile(pattern, re.DOTALL))
