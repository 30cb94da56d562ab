"""Output of the shell commands: results on standard output, errors and progress on standard error.

Each result and each error is one line, or JSON. Names and texts may come from other people's files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import msgspec

from worker.printable import PrintableStream, one_line, printable_json

_P = TypeVar("_P")
_R = TypeVar("_R")


class FailedError(Exception):
    """A command can't be run. The text of the error is the line that says why."""


def run_to_end(work: Generator[_P, None, _R], line: Callable[[_P], str]) -> _R:
    """Run a generator to its end and return its result; show its progress if standard error is a terminal."""
    is_terminal = sys.stderr.isatty()
    # Nothing else moves the terminal's cursor.
    terminal = sys.stderr.behind if isinstance(sys.stderr, PrintableStream) else sys.stderr
    try:
        while True:
            progress = next(work)
            if is_terminal:
                terminal.write(f"\r\x1b[K{one_line(line(progress))}")
                terminal.flush()
    except StopIteration as end:
        return end.value
    finally:
        work.close()
        if is_terminal:
            terminal.write("\r\x1b[K")


def print_line(line: str) -> None:
    print(one_line(line))  # noqa: T201


def print_fields(*fields: str) -> None:
    """Print a line of fields with tabs between them."""
    print("\t".join(map(one_line, fields)))  # noqa: T201


def print_json(value: Any) -> None:
    # JSON is always UTF-8, even if the terminal has another encoding.
    sys.stdout.flush()
    # A `Sentence` is written as its English text.
    encoded = msgspec.json.encode(value, enc_hook=str)
    sys.stdout.buffer.write(printable_json(msgspec.json.format(encoded, indent=2)) + b"\n")


def print_error(line: str) -> None:
    print(one_line(line), file=sys.stderr)  # noqa: T201
