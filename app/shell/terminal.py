"""Output of the shell commands: results on standard output, errors and progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import msgspec

_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "\ufffd")
"""Control characters, which could move a terminal's cursor or worse."""

_P = TypeVar("_P")
_R = TypeVar("_R")


class FailedError(Exception):
    """A command can't be run; the text is the line that says why."""


def run_to_end(work: Generator[_P, None, _R], line: Callable[[_P], str]) -> _R:
    """Run a generator to its end and return its result; show its progress if standard error is a terminal."""
    is_terminal = sys.stderr.isatty()
    try:
        while True:
            progress = next(work)
            if is_terminal:
                sys.stderr.write(f"\r\x1b[K{line(progress)}")
                sys.stderr.flush()
    except StopIteration as end:
        return end.value
    finally:
        work.close()
        if is_terminal:
            sys.stderr.write("\r\x1b[K")


def one_line(text: str) -> str:
    return " ".join(text.split()).translate(_CONTROLS)


def print_line(line: str) -> None:
    print(line)  # noqa: T201


def print_json(value: Any) -> None:
    # JSON is UTF-8, whatever the terminal's encoding.
    sys.stdout.flush()
    # A `Sentence` is written as its English text.
    encoded = msgspec.json.encode(value, enc_hook=str)
    sys.stdout.buffer.write(msgspec.json.format(encoded, indent=2) + b"\n")


def print_error(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201
