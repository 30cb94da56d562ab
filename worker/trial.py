"""A process for work that may hang, crash or take all memory: `TrialProcess.run` ends it and says why.

The process is a new program that shares nothing with the worker but two pipes. It ends with the worker, even if the
worker is killed in the middle of the work. It starts in the background and is used again as long as nothing fails.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

_OPTION = "--bough-trial"
"""A bundled program whose first argument is this one runs as a trial process."""
_START_S = 60.0
"""How long the start may take; it takes 0.15 s on an idle machine."""
_POLL_S = 0.05
_ALARM_EXTRA_S = 5.0
"""If the worker has not ended the process this long after the time limit, the system does."""
_MAX_ERROR_CHARS = 2000
_HEADER = struct.Struct("!cQ")
_READY, _STEP, _RESULT, _RAISED, _MEMORY, _TOO_LARGE = b"s", b"p", b"r", b"e", b"m", b"l"
_NO_MEMORY_CODE = 71
"""The exit code of a process that has no memory left to report this."""
_MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of one call."""

    seconds: float
    """Wall time, without the start of the process."""
    memory_bytes: int
    """Memory that the call may take, above what the process has when the call begins."""
    result_bytes: int
    """Size of the result when it is sent."""


class Budget:
    """Time that several calls share."""

    def __init__(self, seconds: float) -> None:
        self.left_s = seconds


class TrialError(Exception):
    """A call did not return a value. The class itself, not a subclass, means that the process could not be started."""


class TooSlowError(TrialError):
    """The call took longer than its limit."""


class TooMuchMemoryError(TrialError):
    """The call needed more memory than its limit."""


class TooLargeError(TrialError):
    """The result is larger than its limit."""


class CrashedError(TrialError):
    """The process ended during the call."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"The process ended with the exit code {exit_code}")
        self.exit_code = exit_code
        """The exit code of the process; negative for the signal that ended it."""


class StoppedError(TrialError):
    """The caller stopped waiting."""


class RaisedError(TrialError):
    """The call raised an exception, or its result is not plain data."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        super().__init__(text)
        self.names = tuple(names)
        """The name of the exception's class, and of all its base classes."""


def _ignore(_step: object) -> None:
    """Take no steps."""


class TrialProcess:
    """Calls functions in another process. Use it from one thread, which must not end before the process is closed."""

    def __init__(self, preload: Sequence[str] = (), meanwhile: Callable[[], bool] | None = None) -> None:
        """`preload`: modules that the process imports at its start.

        `meanwhile` is called every 50 ms while `run` waits. If it returns False, `run` raises `StoppedError`.
        """
        self._preload = tuple(preload)
        self._meanwhile = meanwhile or (lambda: True)
        self._process: _Process | None = None
        self._budget: Budget | None = None

    def another(self, preload: Sequence[str]) -> TrialProcess:
        """Return a process with other modules, which shares the budget of this one."""
        other = TrialProcess(preload, self._meanwhile)
        other._budget = self._budget
        return other

    @contextlib.contextmanager
    def sharing(self, budget: Budget) -> Generator[None]:
        """Limit the time that all calls inside the block take together to what is left of the budget."""
        before, self._budget = self._budget, budget
        try:
            yield
        finally:
            self._budget = before

    @property
    def pid(self) -> int | None:
        """The id of the process; None if none is running."""
        return None if self._process is None else self._process.popen.pid

    def start(self) -> None:
        """Start the process, if there is none, without waiting for it. Raises `TrialError`."""
        if self._process is not None and self._process.popen.poll() is not None:
            self.close()
        if self._process is None:
            try:
                self._process = _Process(self._preload)
            except OSError as error:
                raise TrialError(str(error)) from error

    def run(self, limits: Limits, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of a module in the process and return its value. Raises a `TrialError`.

        The arguments are pickled. The value must be plain data: None, numbers, text, bytes, and lists, tuples, sets and
        dictionaries of these. After any failure but `RaisedError` and `TooLargeError` the process is replaced.
        """
        if self._budget is not None:
            limits = replace(limits, seconds=min(limits.seconds, self._budget.left_s))
            if limits.seconds <= 0:
                raise TooSlowError
        call = pickle.dumps((limits, function, args, kwargs), protocol=pickle.HIGHEST_PROTOCOL)
        return self._run(limits, call, _ignore)

    def run_steps(
        self,
        limits: Limits,
        take: Callable[[Any], None],
        function: Callable[P, Generator[Any, None, T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a generator function in the process like `run`; call `take` with each value that it yields.

        These values must be plain data, too; their size is not limited.
        """
        call = pickle.dumps((limits, function, args, kwargs), protocol=pickle.HIGHEST_PROTOCOL)
        return self._run(limits, call, take)

    def _run(self, limits: Limits, call: bytes, take: Callable[[Any], None]) -> Any:
        self.start()
        process = self._process
        assert process is not None
        try:
            if not process.is_ready:
                self._wait(process, _START_S)
                process.is_ready = True
            with self._spending():
                kind, content = self._wait(process, limits.seconds, call, limits.memory_bytes, take)
        except BaseException:
            self.close()
            # Start a new process now, so that the next call need not wait for it.
            with contextlib.suppress(TrialError):
                self.start()
            raise
        if kind == _TOO_LARGE:
            raise TooLargeError
        value = _plain(content)
        if kind == _RAISED:
            raise RaisedError(*value)
        return value

    def close(self) -> None:
        """End the process. The next call starts a new one."""
        if self._process is not None:
            self._process.end()
            self._process = None

    @contextlib.contextmanager
    def _spending(self) -> Generator[None]:
        """Take the time of the block from the budget."""
        began_s = time.monotonic()
        try:
            yield
        finally:
            if self._budget is not None:
                self._budget.left_s -= time.monotonic() - began_s

    def _wait(
        self,
        process: _Process,
        seconds: float,
        call: bytes = b"",
        memory_bytes: int = 0,
        take: Callable[[Any], None] = _ignore,
    ) -> tuple[bytes, bytes]:
        """Send a call, pass its steps to `take`, and return the kind and the content of the reply."""
        end = time.monotonic() + seconds
        unsent = memoryview(_HEADER.pack(_RESULT, len(call)) + call) if call else memoryview(b"")
        received = bytearray()
        is_watched = memory_bytes > 0 and sys.platform == "darwin"  # where the system does not limit memory
        before = _footprint(process.popen.pid) if is_watched else 0
        poll = select.poll()
        poll.register(process.output, select.POLLIN)
        if unsent:
            poll.register(process.input, select.POLLOUT)
        while True:
            events = dict(poll.poll(int(_POLL_S * 1000)))
            if process.input in events and unsent:
                try:
                    unsent = unsent[os.write(process.input, unsent) :]
                except BlockingIOError:
                    pass
                except OSError:  # the process has ended; the other pipe reports it
                    unsent = unsent[:0]
                if not unsent:
                    poll.unregister(process.input)
            has_steps = False
            if process.output in events:
                data = os.read(process.output, _MIB)
                if not data:
                    code = process.exit_code()
                    raise TooMuchMemoryError if code == _NO_MEMORY_CODE else CrashedError(code)
                received += data
                while (message := _first_message(received)) is not None:
                    if message[0] == _MEMORY:
                        raise TooMuchMemoryError
                    if message[0] != _STEP:
                        return message
                    has_steps = True
                    take(_plain(message[1]))
            if has_steps or not events:
                if not self._meanwhile():
                    raise StoppedError
                if is_watched and _footprint(process.popen.pid) - before > memory_bytes:
                    raise TooMuchMemoryError
            if time.monotonic() > end:
                raise TooSlowError


def _first_message(received: bytearray) -> tuple[bytes, bytes] | None:
    """Remove the first message from the received bytes; return its kind and content, or None if it is incomplete."""
    if len(received) < _HEADER.size:
        return None
    kind, size = _HEADER.unpack_from(received)
    end = _HEADER.size + size
    if len(received) < end:
        return None
    content = bytes(received[_HEADER.size : end])
    del received[:end]
    return kind, content


def _plain(content: bytes) -> Any:
    try:
        return _Plain(io.BytesIO(content)).load()
    except pickle.UnpicklingError as error:
        raise RaisedError(str(error), ["UnpicklingError"]) from error


class _Process:
    """A started process and the worker's ends of its pipes."""

    def __init__(self, preload: tuple[str, ...]) -> None:
        ends: list[int] = []
        try:
            ends += os.pipe()
            ends += os.pipe()
            read_end, self.input, self.output, write_end = ends
            # A Ctrl+C in the terminal must not reach the process while its Python starts.
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            try:
                self.popen = subprocess.Popen(
                    _command(read_end, write_end, preload),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(read_end, write_end),
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        except OSError:
            for end in ends:
                os.close(end)
            raise
        os.close(read_end)
        os.close(write_end)
        os.set_blocking(self.input, False)
        self.is_ready = False
        self.end = weakref.finalize(self, _end, self.popen, self.input, self.output)

    def exit_code(self) -> int:
        """Return the exit code of the process, once it has closed its pipe."""
        try:
            return self.popen.wait(1.0)
        except subprocess.TimeoutExpired:
            return 0


def _end(popen: subprocess.Popen[bytes], *pipes: int) -> None:
    popen.kill()
    popen.wait()
    for pipe in pipes:
        os.close(pipe)


def _command(read_end: int, write_end: int, preload: tuple[str, ...]) -> list[str]:
    arguments = [_OPTION, str(read_end), str(write_end), str(os.getpid()), *preload]
    if getattr(sys, "frozen", False):
        return [sys.executable, *arguments]
    code = f"import sys; sys.path[:] = {sys.path!r}; from worker.trial import serve_if_asked; serve_if_asked()"
    return [sys.executable, "-c", code, *arguments]


class _Plain(pickle.Unpickler):
    """Reads plain data only, so that the process can't make the worker run code."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is no plain data")


def _footprint(pid: int) -> int:
    """Return how many bytes of memory a process has on macOS; 0 if that is not known."""
    usage = (ctypes.c_uint64 * 32)()
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("/usr/lib/libproc.dylib")
        if library.proc_pid_rusage(pid, 0, ctypes.byref(usage)) == 0:
            return usage[9]  # `ri_phys_footprint` of `rusage_info_v0`
    return 0


# --- the other process -------------------------------------------------------------------------------------


def serve_if_asked() -> None:
    """Run as a trial process if the command line asks for it, and never return. Otherwise do nothing."""
    if sys.argv[1:2] != [_OPTION]:
        return
    read_end, write_end, parent = map(int, sys.argv[2:5])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with(parent, read_end)
    for name in sys.argv[5:]:
        __import__(name)
    # Discard what libraries print during a trial.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, sys.__stderr__.fileno() if sys.__stderr__ is not None else 2)
    os.close(null)
    _send(write_end, _READY, b"")
    with os.fdopen(read_end, "rb") as calls:
        while len(header := calls.read(_HEADER.size)) == _HEADER.size:
            try:
                _serve(calls.read(_HEADER.unpack(header)[1]), write_end)
            except MemoryError:  # no memory is left for a report
                os._exit(_NO_MEMORY_CODE)
    os._exit(0)


def _serve(call: bytes, write_end: int) -> None:
    """Run one call and send its result."""
    base = _reserved_bytes()
    try:
        limits, function, args, kwargs = cast("tuple[Limits, Callable[..., Any], Any, Any]", pickle.loads(call))  # noqa: S301 (from the worker)
        signal.setitimer(signal.ITIMER_REAL, limits.seconds + _ALARM_EXTRA_S)
        _limit_memory(base + limits.memory_bytes)
        value = function(*args, **kwargs)
        if isinstance(value, Generator):
            value = _run_steps(cast("Generator[Any, None, Any]", value), write_end)
        _limit_memory(None)
        content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        kind = _RESULT
        if len(content) > limits.result_bytes:
            kind, content = _TOO_LARGE, b""
    except MemoryError:
        _limit_memory(None)
        kind, content = _MEMORY, b""
    except BaseException as error:  # noqa: BLE001 (also a Rust panic and SystemExit: the call raised)
        _limit_memory(None)
        kind, content = _RAISED, pickle.dumps((_text_of(error), [each.__name__ for each in type(error).__mro__]))
    signal.setitimer(signal.ITIMER_REAL, 0)
    _send(write_end, kind, content)


def _run_steps(steps: Generator[Any, None, Any], write_end: int) -> Any:
    """Send what a generator yields, and return its result."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return end.value
        _send(write_end, _STEP, pickle.dumps(step, protocol=pickle.HIGHEST_PROTOCOL))


def _text_of(error: BaseException) -> str:
    try:
        return (str(error) or type(error).__name__)[:_MAX_ERROR_CHARS].encode("utf-8", "backslashreplace").decode()
    except Exception:  # noqa: BLE001 (`str` of an exception may run any code)
        return type(error).__name__


def _send(write_end: int, kind: bytes, content: bytes) -> None:
    unsent = memoryview(_HEADER.pack(kind, len(content)) + content)
    while unsent:
        unsent = unsent[os.write(write_end, unsent) :]


def _end_with(parent: int, read_end: int) -> None:
    """End this process when the worker ends, even in the middle of a call."""
    if sys.platform == "linux":
        kill_with_parent = 1
        ctypes.CDLL(None).prctl(kill_with_parent, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)

    def watch() -> None:
        poll = select.poll()
        poll.register(read_end, 0)  # without flags, only the end of the pipe is reported
        poll.poll()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _reserved_bytes() -> int:
    """Return how much address space this process has reserved; 0 where the system does not limit it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _limit_memory(num_bytes: int | None) -> None:
    """Let this process reserve at most this much address space; None means any amount."""
    if sys.platform == "linux":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        soft = hard if num_bytes is None else num_bytes if hard == resource.RLIM_INFINITY else min(num_bytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
