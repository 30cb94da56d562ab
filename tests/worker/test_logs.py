"""Log lines hold nothing that a user wrote, and the last words of a process arrive however it ends."""

from __future__ import annotations

import ast
import logging
import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.driver import ROOT
from worker.errors import BadRequestError
from worker.logs import LogFormatter, lines_of, logging_to
from worker.process import WorkerClient, WorkerExitedError
from worker.sentence import Sentence, joined, verbatim

SECRET = "the otter hid its letters below the mill"


def _line(text: str, *values: object, name: str = "app.x", error: BaseException | None = None) -> str:
    info: Any = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord(name, logging.WARNING, str(ROOT / "app" / "x.py"), 7, text, values, info)
    return LogFormatter(with_time=False).format(record)


def _fail() -> None:
    try:
        {}[SECRET]
    except KeyError as error:
        raise ValueError(SECRET) from error


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12, "12"),
        (0.5, "0.5"),
        (SECRET, "…"),
        (Path("/home") / SECRET, "…"),
        ([SECRET], "…"),
        (ValueError(SECRET), "ValueError"),
        (OSError(28, "No space left", SECRET), "OSError ENOSPC"),
        (sqlite3.OperationalError(SECRET), "OperationalError"),
        (ValueError, "ValueError"),
        (verbatim(SECRET), "…"),
        (Sentence("{num} of “{name}” are gone.", num=3, name=SECRET), "3 of “…” are gone."),
        (joined([Sentence("It ended."), verbatim(SECRET)]), "It ended. …"),
        (BadRequestError(Sentence("“{name}” is wrong.", name=SECRET)), "BadRequestError (“…” is wrong.)"),
    ],
)
def test_only_numbers_kinds_and_own_words_of_a_value_are_logged(value: object, shown: str) -> None:
    assert _line("It is %s, really.", value) == f"WARNING app.x: It is {shown}, really."
    assert _line("It is %r, really.", value) == f"WARNING app.x: It is {shown}, really."


def test_an_exception_is_logged_by_its_places_and_kinds_alone() -> None:
    with pytest.raises(ValueError, match=SECRET) as caught:
        _fail()
    assert lines_of(caught.value)[-1] == "ValueError"
    text = _line("A request failed", error=caught.value)
    assert SECRET not in text
    assert "    KeyError\n    which led to\n" in text
    assert "      tests/worker/test_logs.py:" in text
    assert " in _fail\n" in text
    assert str(ROOT) not in text


def test_texts_of_other_libraries_are_left_out() -> None:
    assert SECRET not in _line(f"Could not read {SECRET}", name="httpx")
    # Nor can an odd call do harm.
    assert _line("%d of %s", "x") == "WARNING app.x: %d of %s"


def test_each_call_that_logs_has_a_literal_text() -> None:
    """So that the text itself holds nothing of a user."""
    methods = {"debug", "info", "warning", "error", "exception", "critical"}
    calls: list[tuple[Path, ast.Call]] = []
    files = [path for package in ("app", "worker") for path in (ROOT / package).rglob("*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    for file in (path for path, text in texts.items() if "getLogger" in text):
        for node in ast.walk(ast.parse(texts[file])):
            match node:
                case ast.Call(func=ast.Attribute(attr=method, value=ast.Name(id="log" | "_log"))) if method in methods:
                    calls.append((file, node))
                case _:
                    pass
    assert len(calls) > 30
    wrong = [
        f"{file.relative_to(ROOT)}:{call.lineno}"
        for file, call in calls
        if not (isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str))
    ]
    assert wrong == []


# --- last words ------------------------------------------------------------------------------------------------


def _speak(_commands: object, _events: object, _cache: object, how: Any, _beats: object, words: Any) -> None:
    """Run in the process that these tests start."""
    with logging_to(words, "worker"):
        logging.getLogger("worker.somewhere").warning("It can't be kept: %s", ValueError(SECRET))
        # As a hook may do.
        print(SECRET, file=sys.stderr)
        os.write(2, f"a program says {SECRET}\n".encode())
        os.write(2, f"  <{SECRET}>\n  ...{SECRET}\nbough: {SECRET}\nmlx {SECRET}\n".encode())
        os.write(2, b"terminate called after throwing an instance\n" + b"free(): invalid pointer\n" * 3)
        if how == "raises":
            raise ValueError(SECRET)
        os.kill(os.getpid(), how)


def _ended(how: object) -> tuple[int | None, list[str]]:
    client = WorkerClient(hooks_folder=how, run=_speak)  # pyright: ignore[reportArgumentType]
    with pytest.raises(WorkerExitedError):
        client.receive()
    return client.kill(), client.last_words


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE])
def test_a_crash_is_heard_with_its_place(number: signal.Signals, capfd: pytest.CaptureFixture[str]) -> None:
    code, words = _ended(number)
    assert code == -number
    assert words[0] == "WARNING worker.somewhere: It can't be kept: ValueError"
    assert all(word.startswith("(a line of ") for word in words[1:6])
    assert words[6:10] == ["terminate called after throwing an instance", *["free(): invalid pointer"] * 3]
    assert words[10].startswith("Fatal Python error: ")
    assert any(line.startswith('  File "') and line.endswith("in _speak") for line in words)
    assert SECRET not in "\n".join(words)
    # The terminal still shows all of it.
    printed = capfd.readouterr().err
    assert f"a program says {SECRET}\n" in printed
    assert "Fatal Python error" in printed


def test_a_death_without_a_crash_report_is_heard_too() -> None:
    code, words = _ended(signal.SIGKILL)
    assert (code, words[-1]) == (-signal.SIGKILL, "free(): invalid pointer")


def test_an_exception_is_heard_without_its_message() -> None:
    _, words = _ended("raises")
    assert words[-1] == "    ValueError"
    assert any(line.startswith("    tests/worker/test_logs.py:") or "in _speak" in line for line in words)
    assert SECRET not in "\n".join(words)
