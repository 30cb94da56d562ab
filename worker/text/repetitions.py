"""How many characters the repetitions in a grammar's text ask for, estimated without reading the grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass

_REPETITION = re.compile(r"\{(?P<least>\d+)(?:,\d*)?\}")
_PART = re.compile(r"\\.|" + _REPETITION.pattern + r"|[^\\{()\[\]|\n]+|.", re.DOTALL)
_MAX_LENGTH = 10**12
"""The largest estimate; longer texts get this one, too."""


@dataclass
class _Group:
    """The text between two brackets."""

    bracket: str
    length: int = 0
    """The length of the alternative that is being read."""
    longest: int = 0
    """The length of the longest alternative so far."""
    last: int = 0
    """The length of the last part, which a repetition would repeat."""

    def add(self, length: int) -> None:
        self.length, self.last = min(self.length + length, _MAX_LENGTH), length

    def end_alternative(self) -> None:
        self.longest, self.length, self.last = max(self.longest, self.length), 0, 0


def longest_repetition(grammar: str) -> int:
    """Return how many characters the longest repetition `{n}` or `{n,m}` in a grammar or schema asks for at least.

    Repetitions may be nested, as in `(a{1000}){1000}`. Those in named rules are not multiplied. Text that only looks
    like a repetition counts as one.
    """
    if _REPETITION.search(grammar) is None:
        return 0
    longest = 0
    groups = [_Group("")]
    for found in _PART.finditer(grammar):
        part, group = found[0], groups[-1]
        if found["least"] is not None:
            # Quotation marks and slashes enclose a part; with a regular expression in it, all before may belong to it.
            repeated = group.length if grammar[found.start() - 1] in '"/' else group.last
            length = min(repeated * int(found["least"][:13]), _MAX_LENGTH)
            group.length += length - group.last
            group.last = length
            longest = max(longest, length)
        elif part in "([":
            groups.append(_Group(part))
        elif part in ")]" and len(groups) > 1:
            group.end_alternative()
            groups.pop()
            groups[-1].add(1 if part == "]" else group.longest)
        elif part in "|\n":
            group.end_alternative()
        else:
            group.add(1 if part[0] == "\\" else len(part))
            group.last = 1
    return longest
