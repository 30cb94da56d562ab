"""What is typed into a search: words to look for, and words that say where; it knows no database.

    heap is:starred is:pinned from:you model:guide after:2026-01-31 before:2026-03-01

Whatever is no such word, or says nothing that is known, is looked for as it stands.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from app.model.message import Role
from app.model.search import Filters
from app.model.typed_text import clean

Key: TypeAlias = Literal["from", "model", "is", "after", "before"]
KEYS: tuple[Key, ...] = ("from", "model", "is", "after", "before")

ROLES: dict[str, Role] = {"you": "user", "answer": "assistant", "system": "system", "note": "note"}
"""By the words that a person types."""

Mark: TypeAlias = Literal["starred", "pinned"]
MARKS: tuple[Mark, ...] = ("starred", "pinned")
"""What may stand behind `is:`; all that stand there are meant."""

_WORD = re.compile(r'(?<!\S)(?P<key>from|model|is|after|before):(?:"(?P<quoted>[^"]*)"|(?P<plain>\S*))', re.IGNORECASE)


class Typed(NamedTuple):
    """What was meant."""

    words: str
    filters: Filters


def understood(typed: str) -> Typed:
    """Tell the words that say where from those to look for."""
    typed = clean(typed)
    given, marks = said(typed), marked(typed)
    words = _WORD.sub(lambda found: "" if _key(found) in given else found[0], typed)
    filters = Filters(
        role=ROLES.get(given.get("from", "").lower()),
        model=given.get("model"),
        is_starred=True if "starred" in marks else None,
        is_pinned=True if "pinned" in marks else None,
        since_ms=_day_ms(given.get("after", "")),
        until_ms=_day_ms(given.get("before", "")),
    )
    # A space at the end says that the last word is whole.
    end = " " if typed[-1:].isspace() else ""
    return Typed((" ".join(words.split()) + end) if words.strip() else "", filters)


def said(typed: str) -> dict[Key, str]:
    """Return what each of these words says, where it is understood; of several the last."""
    given: dict[Key, str] = {}
    for found in _WORD.finditer(typed):
        key, value = _key(found), _value(found)
        if _is_understood(key, value):
            given[key] = value
    return given


def marked(typed: str) -> set[Mark]:
    """Return the marks that a message must have."""
    given = {_value(found).lower() for found in _WORD.finditer(typed) if _key(found) == "is"}
    return {mark for mark in MARKS if mark in given}


def with_mark(typed: str, mark: Mark, *, is_meant: bool) -> str:
    """Return what is typed with this mark asked for, once, at its end, or not at all; other marks stay."""
    left = _WORD.sub(lambda found: "" if _key(found) == "is" and _value(found).lower() == mark else found[0], typed)
    rest = " ".join(left.split())
    return f"{rest} is:{mark}".strip() if is_meant else rest


def with_word(typed: str, key: Key, value: str | None) -> str:
    """Return what is typed with this word in it, once, at its end; without it, where `value` is None."""
    rest = " ".join(_WORD.sub(lambda found: "" if _key(found) == key else found[0], typed).split())
    if value is None:
        return rest
    quoted = f'"{value}"' if any(character.isspace() for character in value) else value
    return f"{rest} {key}:{quoted}".strip()


def day(days_ago: int) -> str:
    """Return a day as it is typed."""
    return (datetime.now().astimezone() - timedelta(days=days_ago)).strftime("%Y-%m-%d")


def _key(found: re.Match[str]) -> Key:
    typed = found["key"].lower()
    return next(key for key in KEYS if key == typed)


def _value(found: re.Match[str]) -> str:
    return (found["plain"] if found["quoted"] is None else found["quoted"]).strip()


def _is_understood(key: Key, value: str) -> bool:
    match key:
        case "from":
            return value.lower() in ROLES
        case "is":
            return value.lower() in MARKS
        case "model":
            return bool(value)
        case _:
            return _day_ms(value) is not None


def _day_ms(typed: str) -> int | None:
    """When a day begins where this computer is."""
    try:
        begins = datetime.strptime(typed, "%Y-%m-%d").astimezone()
        return int(begins.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None
