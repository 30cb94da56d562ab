"""Reads dates as programs write them for people, such as “Feb 3, 2026, 6:11:42 PM UTC”; this machine's language does
not matter.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?\s*(?P<half>[AaPp]\.?\s?[Mm]\.?)?"
_END = rf",?\s+(?:at\s+)?{_TIME}\s*(?P<zone>[A-Za-z]{{1,5}}(?:[+-]\d{{1,2}}(?::?\d{{2}})?)?|[+-]\d{{2}}:?\d{{2}})?"
_FORMS = tuple(
    re.compile(form + _END)
    for form in (
        r"(?P<month>[A-Za-z]{3,9})\.?\s+(?P<day>\d{1,2}),?\s+(?P<year>\d{4})",
        r"(?P<day>\d{1,2})\.?\s+(?P<month>[A-Za-z]{3,9})\.?\s+(?P<year>\d{4})",
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    )
)
_OFFSET = re.compile(r"(?:GMT|UTC)?(?P<sign>[+-])(?P<hours>\d{1,2}):?(?P<minutes>\d{2})?")
_ZONES = {
    "UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "MEZ": 1, "MESZ": 2, "EET": 2,
    "EEST": 3, "MSK": 3, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13, "EST": -5, "EDT": -4,
    "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "BRT": -3,
}  # fmt: skip


def date_in(text: str, default: tzinfo | None = UTC) -> datetime | None:
    """Return the date and time that a text consists of; None if it is not a date.

    `default` is the time zone of dates without a known zone; None means this machine's zone.
    """
    words = " ".join(text.split())
    found = next((match for form in _FORMS if (match := form.fullmatch(words)) is not None), None)
    if found is None:
        return None
    name = found["month"]
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"][0] in "Pp" else 0)
    try:
        month = int(name) if name.isdecimal() else _MONTHS.index(name[:3].lower()) + 1
        when = datetime(
            int(found["year"]),
            month,
            int(found["day"]),
            hour,
            int(found["minute"]),
            int(found["second"] or 0),
            tzinfo=_zone(found["zone"] or "") or default,
        )
        return when.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _zone(name: str) -> tzinfo | None:
    if name.upper() in _ZONES:
        return timezone(timedelta(hours=_ZONES[name.upper()]))
    found = _OFFSET.fullmatch(name)
    if found is None:
        return None
    offset = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"] or 0))
    return timezone(offset if found["sign"] == "+" else -offset)
