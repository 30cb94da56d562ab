"""Search queries with filters such as `from:you`. Independent of the database.

    heap is:starred is:pinned from:you model:guide after:2026-01-31 before:2026-03-01

All other words, and filters with unknown values, are searched for as text. An invalid day is an error.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from app.model.message import Role
from app.model.search import Filters
from app.model.search_index import has_letters
from app.model.text import clean
from worker.sentence import Sentence, SentenceError

Key: TypeAlias = Literal["from", "model", "is", "after", "before"]
_DAYS: tuple[Key, ...] = ("after", "before")
KEYS: tuple[Key, ...] = ("from", "model", "is", "after", "before")

ROLES: dict[str, Role] = {"you": "user", "answer": "assistant", "system": "system", "note": "note", "file": "file"}
"""Roles by their names in a query."""

Mark: TypeAlias = Literal["starred", "pinned"]
MARKS: tuple[Mark, ...] = ("starred", "pinned")
"""The values of `is:`. Several may be combined."""

_WORD = re.compile(r'(?<!\S)(?P<key>from|model|is|after|before):(?:"(?P<quoted>[^"]*)"|(?P<plain>\S*))', re.IGNORECASE)


class NoDayError(SentenceError):
    """A filter by date has no date; the sentence says how to write one."""


class SearchQuery(NamedTuple):
    """A query in two parts. `words` are parsed by `search_index.parse_query`."""

    words: str
    filters: Filters


def split_query(typed: str) -> SearchQuery:
    """Separate the filters of a query from its words. Raises `NoDayError`."""
    typed = clean(typed)
    _refuse_no_day(typed)
    given, marks = valid_filters(typed), valid_marks(typed)
    words = _WORD.sub(lambda found: "" if _key(found) in given else found[0], typed)
    filters = Filters(
        role=ROLES.get(given.get("from", "").lower()),
        model=given.get("model"),
        is_starred="starred" in marks,
        is_pinned="pinned" in marks,
        since_ms=_day_ms(given.get("after", "")),
        until_ms=_day_ms(given.get("before", "")),
    )
    # A space at the end means that the last word is complete.
    end = " " if typed[-1:].isspace() else ""
    return SearchQuery((" ".join(words.split()) + end) if words.strip() else "", filters)


def valid_filters(typed: str) -> dict[Key, str]:
    """Return the valid filters. If a key occurs several times, its last filter counts."""
    given: dict[Key, str] = {}
    for found in _WORD.finditer(typed):
        key, value = _key(found), _value(found)
        if _is_valid(key, value):
            given[key] = value
    return given


def valid_marks(typed: str) -> set[Mark]:
    """Return the marks that a message must have."""
    given = {_value(found).lower() for found in _WORD.finditer(typed) if _key(found) == "is"}
    return {mark for mark in MARKS if mark in given}


def with_mark(typed: str, mark: Mark, *, is_wanted: bool) -> str:
    """Return the query with this mark once at its end, or without it. Other marks are kept."""
    left = _WORD.sub(lambda found: "" if _key(found) == "is" and _value(found).lower() == mark else found[0], typed)
    rest = " ".join(left.split())
    return f"{rest} is:{mark}".strip() if is_wanted else rest


def with_filter(typed: str, key: Key, value: str | None) -> str:
    """Return the query with this filter once at its end, or without it if `value` is None."""
    rest = " ".join(_WORD.sub(lambda found: "" if _key(found) == key else found[0], typed).split())
    if value is None:
        return rest
    quoted = f'"{value}"' if any(character.isspace() for character in value) else value
    return f"{rest} {key}:{quoted}".strip()


def day_text(days_ago: int) -> str:
    """Return a day in the form used in queries."""
    return (datetime.now().astimezone() - timedelta(days=days_ago)).strftime("%Y-%m-%d")


def _refuse_no_day(typed: str) -> None:
    for found in _WORD.finditer(typed):
        if _key(found) in _DAYS and _day_ms(_value(found)) is None:
            raise NoDayError(
                Sentence(
                    "“{typed}” is not a date that can be searched for, so nothing was searched. Write the year, the "
                    "month and the day, as in {key}:2026-01-31. To find the text itself, put it in quotation marks.",
                    typed=_value(found),
                    key=_key(found),
                )
                if _value(found)
                else Sentence("Write a date after “{key}:”, as in {key}:2026-01-31.", key=_key(found))
            )


def _key(found: re.Match[str]) -> Key:
    typed = found["key"].lower()
    return next(key for key in KEYS if key == typed)


def _value(found: re.Match[str]) -> str:
    return (found["plain"] if found["quoted"] is None else found["quoted"]).strip()


def _is_valid(key: Key, value: str) -> bool:
    match key:
        case "from":
            return value.lower() in ROLES
        case "is":
            return value.lower() in MARKS
        case "model":
            return has_letters(value)
        case _:
            return _day_ms(value) is not None


def _day_ms(typed: str) -> int | None:
    """Return the start of a day in local time, in milliseconds since 1970; None if `typed` is not a day."""
    try:
        begins = datetime.strptime(typed, "%Y-%m-%d").astimezone()
        return int(begins.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None
