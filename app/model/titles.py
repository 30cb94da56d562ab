"""Names conversations after their first exchange, by simple rules and without a model.

A model would have to process the exchange again, small models often miss the point, and each attempt would give another
name. The question's own words are available at once, and are what the user will look for.
"""

from __future__ import annotations

import re

_MAX_NAME_CHARS = 48
_MAX_CHARS = 2_000
"""Only this many characters are examined, because later text seldom names the topic."""
# `re` compiles these at their first use: with the first answer, not at the start.
_FILE = r"(?m)^(\S[^\n]{0,200}\.\w{1,8}):\n\n(?=```)"
"""The name of an attached file, in the form that questions of older conversations contain."""
_FENCE = r"(?ms)^\s*(```|~~~).*?(^\s*\1|\Z)"
_MARKS = r"^[\s#>*+\-–—•]+|[*_`]{2,}|`"
_HEADING = r"(?m)^\s*#{1,6}\s+(.+?)\s*#*\s*$"
_SENTENCE_END = r"(?<=[.!?…])\s+|(?<=[。！？])"
_PREAMBLE = (
    r"(?i)"
    r"^(?:(?:hi|hello|hey|hallo|moin|servus|guten (?:tag|morgen|abend)|good (?:morning|evening|day)|dear \w+)\b"
    r"(?: (?:there|again|all|everybody|everyone|zusammen)(?=[,.!]|$))?[\s,.!]*"
    r"|(?:please|bitte)\b[\s,]*"
    r"|(?:can|could|would|will) you (?:please )?(?:help me (?:to )?)?"
    r"|(?:kannst|könntest|würdest) du (?:mir )?(?:bitte )?"
    r"|i(?:'d| would) like you to |i (?:want|need) you to |help me (?:to )?|ich möchte,? dass du )"
)


def title_of(question: str, answer: str = "") -> str:
    """Return the question's first sentence without greetings or, if nothing is left, the answer's."""
    title = _first_sentence(question) or _heading(answer) or _first_sentence(answer)
    # A question that is only a file is named after the file. A question that is only a greeting or code is named after
    # its beginning.
    file = re.search(_FILE, question[:_MAX_CHARS])
    return _cut(title or (file[1] if file is not None else " ".join(question[:_MAX_CHARS].split())))


def name_from(question: str) -> str:
    """Return the beginning of a question as a name, for users who want no generated titles."""
    line = " ".join(question[: 20 * _MAX_NAME_CHARS].split())
    return line if len(line) <= _MAX_NAME_CHARS else f"{line[: _MAX_NAME_CHARS - 1].rstrip()}…"


def says_little(question: str) -> bool:
    """Return whether the answer should give the name, because the question is only a greeting or code."""
    return not _first_sentence(question)


def _heading(text: str) -> str:
    found = re.search(_HEADING, re.sub(_FENCE, "", text[:_MAX_CHARS]))
    return "" if found is None else _plain(found[1])


def _first_sentence(text: str) -> str:
    for line in re.sub(_FENCE, "\n", re.sub(_FILE, "", text[:_MAX_CHARS])).splitlines():
        for sentence in re.split(_SENTENCE_END, _plain(line)):
            rest = _without_preamble(sentence)
            if any(character.isalnum() for character in rest):
                return rest
    return ""


def _without_preamble(sentence: str) -> str:
    rest = sentence
    while (shorter := re.sub(_PREAMBLE, "", rest)) != rest:
        rest = shorter
    return rest if rest == sentence else rest[:1].upper() + rest[1:]


def _plain(line: str) -> str:
    return " ".join(re.sub(_MARKS, "", line).split())


def _cut(title: str) -> str:
    """Shorten a title to the maximum length, between words if possible."""
    if len(title) <= _MAX_NAME_CHARS:
        return title
    head = title[: _MAX_NAME_CHARS - 1]
    whole_words = head.rpartition(" ")[0] if title[_MAX_NAME_CHARS - 1] != " " else head
    return f"{(whole_words if len(whole_words) > _MAX_NAME_CHARS // 2 else head).rstrip(' ,;:')}…"
