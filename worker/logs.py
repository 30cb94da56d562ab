"""Log lines without the user's texts, and the last lines of a process that dies. Independent of MLX and Qt.

A line contains the fixed text of the logging call. Of the values in it, only numbers, types and error codes are
written. Exceptions are written without their messages, which often quote a user's text.
"""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import logging
import os
import re
import sqlite3
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from typing_extensions import override

from worker.printable import one_line
from worker.sentence import Sentence, SentenceError, filled

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from typing import Protocol

    class _Pipe(Protocol):
        def fileno(self) -> int: ...


_log = logging.getLogger(__name__)

_OWN = ("app", "worker")
"""The loggers of Bough's own code, whose fixed texts are written."""
_LEFT_OUT = "…"
_MARK = "\x1e"
"""Begins a line that a process logged. Other lines were written by a library or the system."""
_MAX_LINES = 200
_MAX_CHARS = 500
_READ_BYTES = 1 << 16
_ROOT = Path(__file__).parent.parent


@final
class Harmless(str):
    """A line without any text of the user, so the whole line is logged."""

    __slots__ = ()


class LogFormatter(logging.Formatter):
    """Formats a record as a line, with its time if `with_time`, and an exception as lines below it."""

    def __init__(self, *, with_time: bool = True) -> None:
        super().__init__()
        self._with_time = with_time

    @override
    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%d %H:%M:%S%z ", time.localtime(record.created)) if self._with_time else ""
        lines = [f"{when}{record.levelname:<7} {record.name}: {_words(record)}"]
        if record.exc_info and record.exc_info[1] is not None:
            lines += [f"    {line}" for line in lines_of(record.exc_info[1])]
        return "\n".join(lines)


def _words(record: logging.LogRecord) -> str:
    if record.name.partition(".")[0] not in _OWN:
        return f"{_place(record.pathname, record.lineno)} (the text of another library is left out)"
    arguments = record.args if isinstance(record.args, tuple) else ()
    with contextlib.suppress(TypeError, ValueError):
        return one_line(str(record.msg).replace("%r", "%s") % tuple(map(shown, arguments)))
    return one_line(str(record.msg))


def shown(value: object) -> str | int | float:
    """Return a value in the form in which it may be logged: numbers and codes unchanged, everything else left out."""
    match value:
        case Sentence():
            return filled(value.template, {name: str(shown(field)) for name, field in value.fields.items()})
        case Harmless() | int() | float():
            return value
        case BaseException():
            return _kind(value)
        case type():
            return value.__name__
        case _:
            return _LEFT_OUT


def _kind(error: BaseException) -> str:
    """Return the class of an exception, with the code if it is an error of the system or of SQLite."""
    name = type(error).__name__
    match error:
        case OSError(errno=int() as number):
            return f"{name} {errno.errorcode.get(number, number)}"
        case sqlite3.Error() if code := getattr(error, "sqlite_errorname", ""):
            return f"{name} {code}"
        case SentenceError(sentence=sentence):
            return f"{name} ({shown(sentence)})"
        case _:
            return name


def lines_of(error: BaseException) -> list[str]:
    """Return the stack trace and the kind of an exception as lines, and those of its causes."""
    lines: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        frames = traceback.extract_tb(current.__traceback__)
        places = [f"  {_place(frame.filename, frame.lineno)} in {frame.name}" for frame in frames]
        lines[:0] = [*places, _kind(current), *(["which led to"] if lines else [])]
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return lines


def _place(file: str, line: int | None) -> str:
    """Return a place in the code, without the folder in which Bough or a library is installed."""
    path = Path(file)
    with contextlib.suppress(ValueError):
        return f"{path.relative_to(_ROOT).as_posix()}:{line}"
    parts = path.parts
    if "site-packages" in parts:
        return f"{'/'.join(parts[parts.index('site-packages') + 1 :])}:{line}"
    # A user's hook may be in any folder.
    return f"{path.name}:{line}"


def log_uncaught(log: logging.Logger) -> Callable[[], None]:
    """Log uncaught exceptions of all threads from now on, before they are printed.

    Return a function that ends this.
    """
    before = print_it, print_in_thread = sys.excepthook, threading.excepthook

    def on_exception(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if isinstance(error, Exception):
            log.error("An error was not expected", exc_info=error)
        print_it(kind, error, trace)

    def in_thread(found: threading.ExceptHookArgs) -> None:
        if isinstance(found.exc_value, Exception):
            log.error("An error was not expected in a thread", exc_info=found.exc_value)
        print_in_thread(found)

    def end() -> None:
        sys.excepthook, threading.excepthook = before

    sys.excepthook, threading.excepthook = on_exception, in_thread
    return end


def print_logs(begin: str) -> None:
    """Print warnings and errors of all loggers on standard error, in full. Each line begins with `begin`."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter(f"{begin}%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler])


# --- the process that logs -----------------------------------------------------------------------------------


@contextlib.contextmanager
def logging_to(listener: Connection | None, name: str) -> Generator[None]:
    """Send the log of this process, and everything written to its descriptor 2, to the process that started it.

    Python's own standard error, which a hook's `print` also uses, still goes to its old place, because it may contain a
    user's text. This process never waits for the listener. Without a listener, everything goes to standard error.
    `name` is the logger whose lines are sent.
    """
    log = logging.getLogger(name)
    # Not Python's standard error, which may have no descriptor.
    faulthandler.enable(file=2)
    if listener is None:
        yield
        return
    os.set_blocking(listener.fileno(), False)
    sys.stderr = open(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115, PTH123
    os.dup2(listener.fileno(), 2)
    sender = _Sender(listener)
    log.setLevel(logging.INFO)
    log.addHandler(sender)
    log_uncaught(log)
    try:
        yield
    except Exception as error:
        # Python prints it, too.
        sender.say("The process can't go on", error)
        raise


class _Sender(logging.Handler):
    def __init__(self, listener: Connection) -> None:
        super().__init__()
        self._listener = listener
        self.setFormatter(LogFormatter(with_time=False))

    def say(self, text: str, error: Exception) -> None:
        found = type(error), error, error.__traceback__
        self.emit(logging.LogRecord(__name__, logging.ERROR, __file__, 0, text, None, found))

    @override
    def emit(self, record: logging.LogRecord) -> None:
        # A listener that does not read must not stop the process.
        with contextlib.suppress(OSError):
            lines = "".join(f"{_MARK}{line}\n" for line in self.format(record).splitlines())
            os.write(self._listener.fileno(), lines.encode("utf-8", "backslashreplace"))


# --- the process that listens ----------------------------------------------------------------------------------


class Listener:
    """Reads the output of a process, prints it, logs it, and keeps the last lines. Reading never waits."""

    def __init__(self, pipe: _Pipe) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._rest = b""
        self.lines: deque[str] = deque(maxlen=_MAX_LINES)
        """The last lines, without what may be a user's."""

    def read(self) -> bool:
        """Read everything that was written until now. Return False if the process has ended."""
        while True:
            try:
                data = os.read(self._pipe.fileno(), _READ_BYTES)
            except BlockingIOError:
                return True
            except OSError:
                data = b""
            *whole, self._rest = (self._rest + data).split(b"\n") if data else [self._rest, b""]
            for line in whole:
                self._take(line.decode("utf-8", "replace"))
            if not data:
                return False

    def _take(self, line: str) -> None:
        if line.startswith(_MARK):
            self._keep(line[1:])
        elif line.strip():
            with contextlib.suppress(OSError, ValueError):
                print(line, file=sys.stderr)  # noqa: T201
            self._keep(line if _OF_A_CRASH.match(line) else f"(a line of {len(line)} characters is left out)")

    def _keep(self, line: str) -> None:
        harmless = Harmless(one_line(line.replace(str(Path.home()), "~"))[:_MAX_CHARS])
        self.lines.append(harmless)
        _log.info("%s", harmless)


_OF_A_CRASH = re.compile(
    # Python's report of a crash, and the names of its threads' functions.
    r"Fatal Python error|Python runtime state|Current thread|Thread 0x|Extension modules"
    r"|  File \"|  <(no Python frame|invalid|cannot)|  Garbage-collecting|  \.\.\.$"
    # The C library, the C++ library, MLX and its libraries.
    r"|\*\*\*|free\(\)|malloc|realloc|double free|corrupt|munmap|terminate called|  what\(\)|libc\+\+abi"
    r"|\[(METAL|metal|MLX|mlx|CUDA|cuda)|(MLX|OpenBLAS|BLAS|OMP|libmlx)\b"
)
"""Begins the lines of libraries that are kept. A hook may start a program that writes anything there."""
