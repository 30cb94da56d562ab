"""What is in other programs' JSON, taken as it is meant or as nothing: wrong types are no errors."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias, cast

import msgspec

Json: TypeAlias = Any
"""What a parser of JSON returns."""


def object_of(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []


def text_of(value: Json) -> str:
    return value if isinstance(value, str) else ""


def id_of(value: Json) -> str | None:
    """Return an id; numbers are ids, too."""
    if isinstance(value, str) and value:
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def ms_of(value: Json) -> int | None:
    """Return a time in milliseconds, from seconds, milliseconds or what ISO 8601 says."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # Seconds until the year 5138; the same number of milliseconds is 1973.
        factor = 1000 if abs(value) < 100_000_000_000 else 1
        return round(value * factor) if value == value and abs(value) < 1e18 else None
    if isinstance(value, str):
        try:
            return round(datetime.fromisoformat(value).timestamp() * 1000)
        except (ValueError, OverflowError, OSError):
            return None
    return None


def shown(value: Json) -> str:
    """Return any JSON, to be read by eye."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError, TypeError):
        try:
            return repr(value)
        except RecursionError:
            return "(too deep to be shown)"
