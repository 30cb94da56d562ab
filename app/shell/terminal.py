"""What is said in the shell: results to standard output, complaints to standard error, how far something is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import msgspec

_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "\ufffd")
"""What moves a terminal's cursor, or worse."""

_P = TypeVar("_P")
_R = TypeVar("_R")


class FailedError(Exception):
    """Nothing can be done; its text is the line that says why."""


def finished(work: Generator[_P, None, _R], line: Callable[[_P], str]) -> _R:
    """Run something to its end, and say on a terminal how far it is."""
    is_seen = sys.stderr.isatty()
    try:
        while True:
            progress = next(work)
            if is_seen:
                sys.stderr.write(f"\r\x1b[K{line(progress)}")
                sys.stderr.flush()
    except StopIteration as end:
        return end.value
    finally:
        work.close()
        if is_seen:
            sys.stderr.write("\r\x1b[K")


def one_line(text: str) -> str:
    return " ".join(text.split()).translate(_CONTROLS)


def say(line: str) -> None:
    print(line)  # noqa: T201


def say_json(value: Any) -> None:
    # JSON is UTF-8, whatever a terminal takes.
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def complain(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201
