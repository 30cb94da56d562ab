"""Values of a file of JSON, one by one as it streams; it knows no conversations.

It is parsed in C, with no more in memory than one value. What that parser gives up at and others write all the same is
read once more, in ways that take longer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import ijson

from app.model.imports.counted_file import CountedFile, MendedFile, NoLiterals
from app.model.imports.json_values import Json

_SLOW: Any = ijson.get_backend("python").basic_parse
_AT_LITERALS = ("invalid char in json text", "digit is required after the minus", "Unexpected symbol")
"""What is said where NaN, Infinity or -Infinity stands, by one parser or the other."""


def json_values_in(file: CountedFile, num_levels: int) -> Iterator[Json]:
    """Yield the values that stand `num_levels` deep: 0: all there are; 1: of a list; 2: of the list `conversations`.

    Raises `ijson.JSONError`, `ValueError`, `ArithmeticError` and `RecursionError` where the file is damaged.
    """
    number = 0
    is_slow = has_literals = False
    while True:
        try:
            for value in itertools.islice(
                _values(file, num_levels, is_slow=is_slow, has_literals=has_literals), number, None
            ):
                number += 1
                yield value
        except ijson.JSONError as error:
            # A number that is too large for C's is none for Python's.
            if not is_slow and "overflow" in str(error):
                is_slow = True
            elif not has_literals and any(said in str(error) for said in _AT_LITERALS):
                has_literals = True
            else:
                raise
            if not file.begin_again():
                raise
        else:
            return


def _values(file: CountedFile, num_levels: int, *, is_slow: bool, has_literals: bool) -> Iterator[Json]:
    """However deep values are, a level costs no more than another one."""
    above = 0
    key = ""
    keys: list[str] = []
    stack: list[Json] = []
    events: Iterator[tuple[str, Json]]
    mended = MendedFile(file)
    source = NoLiterals(mended) if has_literals else mended
    parse = _SLOW if is_slow else ijson.basic_parse
    events = parse(source, use_float=not is_slow, multiple_values=num_levels == 0)
    for event, found in events:
        value: Json = float(found) if isinstance(found, Decimal) else found
        if not stack and above < num_levels:
            # Outside of what is wanted.
            match event:
                case "map_key":
                    key = value
                case "start_array" if above == num_levels - 1 and (num_levels == 1 or key == "conversations"):
                    above = num_levels
                case "start_map" if num_levels == 2 and above == 0:
                    above = 1
                case "start_map" | "start_array":
                    stack.append(_SKIPPED)
                case _:
                    pass
            continue
        if stack and stack[0] is _SKIPPED:
            if event in {"start_map", "start_array"}:
                stack.append(_SKIPPED)
            elif event in {"end_map", "end_array"}:
                stack.pop()
            continue
        match event:
            case "map_key":
                keys[-1] = value
            case "start_map" | "start_array":
                made: Json = {} if event == "start_map" else []
                if stack:
                    _put(stack[-1], keys[-1], made)
                stack.append(made)
                keys.append("")
            case "end_map" | "end_array":
                if not stack:
                    # The list that they stand in is over.
                    above -= 1
                    continue
                done = stack.pop()
                keys.pop()
                if not stack:
                    yield done
            case _ if stack:
                _put(stack[-1], keys[-1], value)
            case _:
                yield value


_SKIPPED = object()


def _put(container: Json, key: str, value: Json) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        container.append(value)
