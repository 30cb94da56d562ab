"""Sentences of model and worker in the window's language; it knows no widget, and none of them itself.

What is written below the window is English: it is stored with answers, told by threads and other processes, printed in
terminals. Whatever shows it words it here. The list of sentences is collected from the sources with the translations;
what is not in it (a library's own words, a hook's) stays as it is.
"""

from __future__ import annotations

import json
import re
import string
from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from app.numbers import localised

_BETWEEN = re.compile(r"(?<=\.) (?=\S)")
_NUMBER = re.compile(r"\d{1,3}(,\d{3})*(\.\d+)?( ([KMG]i)?B)?")
"""Or an amount of memory."""


class _Sentence(NamedTuple):
    template: str
    longest: str
    """Of what it says itself; looked for first, for that is quick."""
    pattern: re.Pattern[str]


def worded(text: str) -> str:
    """Return what a person is told by this text, which may be several sentences."""
    return _worded_as_one(text, is_strict=True) or _worded_in_turn(text)


def _worded_as_one(text: str, *, is_strict: bool) -> str | None:
    """Strictly, nothing is put into a sentence that is several sentences itself, unless these are known, too."""
    for sentence in _sentences():
        found = sentence.pattern.fullmatch(text) if sentence.longest in text else None
        if found is None:
            continue
        fields = {name: _worded_field(value) for name, value in found.groupdict().items()}
        if not is_strict or all(said != found[name] or not _BETWEEN.search(said) for name, said in fields.items()):
            return QCoreApplication.translate("Sentences", sentence.template).format(**fields)
    return None


def _worded_field(value: str) -> str:
    return localised(value) if _NUMBER.fullmatch(value) else worded(value)


def _worded_in_turn(text: str) -> str:
    """Word one sentence after another, each as long as it can be; where one of them is not known, perhaps it is one."""
    parts = _BETWEEN.split(text)
    said: list[str] = []
    is_known = True
    begin = 0
    while begin < len(parts):
        for end in range(len(parts), begin, -1):
            known = _worded_as_one(" ".join(parts[begin:end]), is_strict=end - begin == len(parts))
            if known is not None or end == begin + 1:
                said.append(parts[begin] if known is None else known)
                is_known = is_known and known is not None
                begin = end
                break
    return " ".join(said) if is_known else _worded_as_one(text, is_strict=False) or " ".join(said)


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
