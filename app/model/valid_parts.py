"""Reads JSON that may be partly invalid: uses the valid part, and lists the names of the rest."""

from __future__ import annotations

import itertools
import json
from typing import Any, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, structs

from app.model.text import clean

_MAX_DEPTH = 40

_S = TypeVar("_S", bound=Struct)


def parsed(data: bytes) -> object:
    """Parse JSON, even if it has lone surrogates, invalid UTF-8 or NaN. Raises `ValueError` and `RecursionError`."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return json.loads(data.decode("utf-8-sig", "replace"), parse_constant=lambda _: None)


def decoded(text: str | None, kind: type[_S], name: str, left_out: list[str]) -> _S | None:
    """Return the valid part of a stored value; None if there is none. `left_out` gets the names of other parts."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        found = parsed(text.encode())
    except (ValueError, RecursionError):
        left_out.append(name)
        return None
    before = len(left_out)
    valid = with_valid_fields(kind, found, name, left_out)
    if len(left_out) == before:
        return valid  # Only texts that can't be stored were replaced.
    return valid if isinstance(found, dict) else None


def with_valid_fields(kind: type[_S], found: object, within: str, left_out: list[str]) -> _S:
    """Return a `kind` with the valid fields of `found`. Others get their defaults; their names are added to `left_out`.

    `within`: the name of the field that holds `found`; empty for a whole file.
    """
    if not isinstance(found, dict):
        left_out.append(within)
        return kind()
    values = cast("dict[str, object]", found)
    valid: dict[str, object] = {}
    for info in structs.fields(kind):
        if info.encode_name not in values:
            continue
        name = f"{within}.{info.encode_name}".lstrip(".")
        try:
            value = _cleaned(values[info.encode_name])
            valid[info.name] = msgspec.convert(value, info.type, str_keys=True)
        except _TooDeepError:
            left_out.append(name)
        except msgspec.ValidationError:
            value = _cleaned(values[info.encode_name])
            if isinstance(info.type, type) and issubclass(info.type, Struct):
                valid[info.name] = with_valid_fields(info.type, value, name, left_out)
                continue
            left_out.append(name)
            part = _valid_part(value, info.type)
            if part is not None:
                valid[info.name] = part
    return kind(**valid)


def _valid_part(value: object, type_: Any) -> object:
    """Return the valid entries of a list or mapping, at most as many as its type allows; None for other values."""
    bounds = [meta.max_length for meta in getattr(type_, "__metadata__", ()) if isinstance(meta, Meta)]
    plain = type_.__origin__ if bounds else type_
    inner: tuple[Any, ...] = get_args(plain)[-2:] if get_origin(plain) is tuple else ()
    match value:
        case list() if get_origin(plain) is tuple:
            entries = (entry for entry in cast("list[object]", value) if _is_valid(entry, inner[0]))
            return msgspec.convert(list(itertools.islice(entries, *bounds or [None])), plain)
        case dict() if get_origin(plain) is dict:
            all_pairs = cast("dict[str, object]", value).items()
            pairs = ((key, entry) for key, entry in all_pairs if _is_valid({key: entry}, plain))
            return msgspec.convert(dict(itertools.islice(pairs, *bounds or [None])), plain, str_keys=True)
        case _:
            return None


def _is_valid(value: object, type_: Any) -> bool:
    try:
        # The keys of JSON are texts, also where they are numbers.
        msgspec.convert(value, type_, str_keys=True)
    except msgspec.ValidationError:
        return False
    return True


class _TooDeepError(ValueError):
    pass


def _cleaned(value: object, depth: int = _MAX_DEPTH) -> object:
    """Return a JSON value with texts that can be stored. Raises `_TooDeepError`."""
    if not depth:
        raise _TooDeepError
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(entry, depth - 1) for entry in cast("list[object]", value)]
        case dict():
            return {clean(key): _cleaned(entry, depth - 1) for key, entry in cast("dict[str, object]", value).items()}
        case _:
            return value
