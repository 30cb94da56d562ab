"""A conversation's name from its first exchange, by simple rules; it knows no model.

A model could write one, too: it would have to read the exchange again, the small ones that run here often miss the
point, and the name would change with each try. The question's own words are there at once and are what one looks for.
"""

from __future__ import annotations

import re

_LENGTH = 48
_LOOKED_AT = 2_000
"""Characters; what comes later says nothing of what it is all about."""
# `re` compiles these when they are first used: with the first answer, not at the start.
_FILE = r"(?m)^(\S[^\n]{0,200}\.\w{1,8}):\n\n(?=```)"
"""The name of a file that was attached: see `with_attachments`."""
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
    """Return the question's first sentence without greetings, or where it says nothing else, the answer's."""
    title = _first_sentence(question) or _heading(answer) or _first_sentence(answer)
    # A question of a file alone is called by it, one of a greeting or of code by what it begins with.
    file = re.search(_FILE, question[:_LOOKED_AT])
    return _cut(title or (file[1] if file is not None else " ".join(question[:_LOOKED_AT].split())))


def says_little(question: str) -> bool:
    """Whether the answer is to give the name: the question greets, or is code alone."""
    return not _first_sentence(question)


def _heading(text: str) -> str:
    found = re.search(_HEADING, re.sub(_FENCE, "", text[:_LOOKED_AT]))
    return "" if found is None else _plain(found[1])


def _first_sentence(text: str) -> str:
    for line in re.sub(_FENCE, "\n", re.sub(_FILE, "", text[:_LOOKED_AT])).splitlines():
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
    """At most so long, and cut between words where there are any."""
    if len(title) <= _LENGTH:
        return title
    head = title[: _LENGTH - 1]
    whole_words = head.rpartition(" ")[0] if title[_LENGTH - 1] != " " else head
    return f"{(whole_words if len(whole_words) > _LENGTH // 2 else head).rstrip(' ,;:')}…"
