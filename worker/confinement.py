"""Confines a process, the worker before it reads any model: no network, and no writing outside its own folder.

A harmful model that takes over the process can then do less harm. Linux uses Landlock (files) and seccomp (sockets),
macOS a sandbox profile. They bind the calling thread and all threads and processes that it starts later, and can't be
undone. `confine` is therefore called first, in the main thread, before MLX and BLAS start threads.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from worker.values import Confinement, Need

SETTING = "BOUGH_CONFINEMENT"
"""An environment variable. `off`: nothing is given up. `on`: the process is confined even if it uses a GPU."""


def confine(
    folder: Path | None,
    needs: Collection[Need] = (),
    prepare: Callable[[], None] = lambda: None,
    *,
    runs_model: bool = True,
) -> Confinement:
    """Give up the network and writing files, except for `needs`.

    Return what was given up, and the reason if anything was not. `folder` is the only folder that can still be written
    to, created if missing; None means that there is none. `prepare` is called while the process can still write files.
    `runs_model` says whether this process may use a GPU.
    """
    setting = os.environ.get(SETTING, "")
    if setting == "off":
        return Confinement(why_not="switched_off")
    if runs_model and setting != "on" and _has_gpu():
        return Confinement(why_not="gpu")
    wanted = {"network", "files"} - set(needs)
    if not wanted:
        return Confinement(why_not="hooks")
    own = _made(folder)
    if "files" in wanted:
        prepare()
    try:
        given_up = _give_up(wanted, own)
    except (OSError, AttributeError, ValueError):  # a C function or a library is missing
        given_up = set[str]()
    why_not = "" if len(given_up) == 2 else "unsupported" if given_up < wanted else "hooks"
    return Confinement(network="network" in given_up, files="files" in given_up, why_not=why_not)


def _has_gpu() -> bool:
    """Return whether MLX may use a GPU. Its driver may not work in a confined process; that has not been tried."""
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    # `importlib.metadata` would take longer than everything else here.
    return any(any(Path(folder).glob("mlx_cuda*.dist-info")) for folder in sys.path)


def _made(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return []  # The prompt cache will report it.
    return [folder]


def _give_up(wanted: Collection[str], own: Sequence[Path]) -> set[str]:
    """Give up the abilities in `wanted`; return those that were given up. `own`: folders that stay writable."""
    if sys.platform == "darwin":
        return _enter_sandbox(wanted, own)
    if sys.platform != "linux" or (numbers := _NUMBERS.get(platform.machine())) is None:
        return set()
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 (names alone)
        return set()  # Landlock would not bind the other threads.
    if _C.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return set()
    given_up = set[str]()
    abi = _C.syscall(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), _LANDLOCK_VERSION)
    if abi > 0 and _enter_landlock(abi, wanted, own):
        given_up |= {"files"} & set(wanted)
    is_complete = "files" in given_up and abi >= _TRUNCATE_ABI
    if _filter_calls(numbers, wanted, can_truncate=is_complete or "files" not in given_up):
        given_up |= {"network"} & set(wanted)
    elif not is_complete:
        given_up.discard("files")
    return given_up


# --- Linux: Landlock ---------------------------------------------------------------------------------------

_C = ctypes.CDLL(None, use_errno=True)

_PR_SET_NO_NEW_PRIVS = 38
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_LANDLOCK_VERSION = 1
_LANDLOCK_PATH_BENEATH = 1

_WRITE_FILE = 1 << 1
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 13))
"""Removing and making files, folders, links, pipes, sockets and devices."""
_REFER, _REFER_ABI = 1 << 13, 2
"""Moving files between folders, and the first version of Landlock that controls it."""
_TRUNCATE, _TRUNCATE_ABI = 1 << 14, 3
_TCP, _TCP_ABI = 0b11, 4
"""TCP listening and connecting. The system call filter already refuses all sockets; this is a second lock."""
_SCOPES, _SCOPES_ABI = 0b11, 6
"""Abstract Unix sockets, and signals to processes outside."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def _enter_landlock(abi: int, wanted: Collection[str], own: Sequence[Path]) -> bool:
    """Restrict this thread. Return False if the system refused."""
    files = _WRITE_FILE | _CHANGE_FOLDER | (_REFER if abi >= _REFER_ABI else 0)
    files |= _TRUNCATE if abi >= _TRUNCATE_ABI else 0
    rules = _Ruleset(
        files=files if "files" in wanted else 0,
        network=_TCP if "network" in wanted and abi >= _TCP_ABI else 0,
        scopes=_SCOPES if abi >= _SCOPES_ABI else 0,
    )
    size = 24 if abi >= _SCOPES_ABI else 16 if abi >= _TCP_ABI else 8
    ruleset = _C.syscall(_LANDLOCK_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    try:
        if "files" in wanted:
            for path in own:
                _allow(ruleset, path, files)
            # The standard input of programs that are started.
            _allow(ruleset, Path(os.devnull), files & (_WRITE_FILE | _TRUNCATE))
        return _C.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, allowed: int) -> None:
    try:
        descriptor = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except OSError:
        return
    rule = _Beneath(allowed=allowed, descriptor=descriptor)
    _C.syscall(_LANDLOCK_ADD_RULE, ruleset, _LANDLOCK_PATH_BENEATH, ctypes.byref(rule), 0)
    os.close(descriptor)


# --- Linux: seccomp ----------------------------------------------------------------------------------------


class _Numbers(NamedTuple):
    """The numbers of system calls on one kind of CPU."""

    arch: int
    seccomp: int
    socket: int
    socketpair: int
    ioctl: int
    truncate: int
    opens: tuple[tuple[int, int], ...]
    """Calls that open a file, with the place of their flags."""
    rights: tuple[int, ...]
    """Calls that change a file's rights, owner or attributes, which Landlock does not control."""


_NUMBERS = {
    "x86_64": _Numbers(
        0xC000003E, 317, 41, 53, 16, 76, ((2, 1), (257, 2)),
        (90, 91, 92, 93, 94, 260, 268, 188, 189, 190, 197, 198, 199, 452, 463, 466, 469),
    ),
    "aarch64": _Numbers(
        0xC00000B7, 277, 198, 199, 29, 45, ((56, 2),),
        (52, 53, 54, 55, 5, 6, 7, 14, 15, 16, 452, 463, 466, 469),
    ),
}  # fmt: skip
_X32 = 0x40000000
"""From this number on, x86_64 repeats its system calls for programs with 32-bit pointers."""
_IO_URING = (425, 426, 427)
"""io_uring runs operations that no system call filter sees."""
_OPENAT2 = 437
"""`openat2` has its flags in memory, which no filter can read."""
_SOCK_STREAM, _SOCK_TYPES = 1, 0xF
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
"""Requests that type text into the terminal, which the shell would run."""

_SET_MODE_FILTER, _ALL_THREADS = 1, 1
_ALLOW, _DENY = 0x7FFF0000, 0x00050000 | 13  # EACCES
_LD, _AND, _JEQ, _JGE, _RET = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def _filter_calls(numbers: _Numbers, wanted: Collection[str], *, can_truncate: bool) -> bool:
    """Refuse unneeded system calls from now on, in all threads. Return False if the system can't do this."""
    lines = list(_instructions(numbers, wanted, can_truncate=can_truncate))
    program = _Program(len(lines), (_Instruction * len(lines))(*lines))
    return _C.syscall(numbers.seccomp, _SET_MODE_FILTER, _ALL_THREADS, ctypes.byref(program)) == 0


def _instructions(
    numbers: _Numbers, wanted: Collection[str], *, can_truncate: bool
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the filter's instructions: `(code, number to skip if true, number to skip if false, value)`."""
    deny, allow = (_RET, 0, 0, _DENY), (_RET, 0, 0, _ALLOW)
    yield _LD, 0, 0, _ARCH
    yield _JEQ, 1, 0, numbers.arch
    yield deny  # a call by the numbers of another kind of CPU
    yield _LD, 0, 0, _NUMBER
    yield _JGE, 0, 1, _X32
    yield deny
    refused = [*((numbers.socket, *_IO_URING) if "network" in wanted else ())]
    refused += [*(numbers.rights if "files" in wanted else ()), *(() if can_truncate else (numbers.truncate, _OPENAT2))]
    for number in refused:
        yield _JEQ, 0, 1, number
        yield deny
    if not can_truncate:
        for number, place in numbers.opens:
            # A file that is opened to be read can be emptied by a flag, and older Landlock sees only the reading.
            yield _JEQ, 0, 5, number
            yield _LD, 0, 0, _low(place)
            yield _AND, 0, 0, os.O_TRUNC | os.O_ACCMODE
            yield _JEQ, 0, 1, os.O_TRUNC
            yield deny
            yield allow
    if "network" in wanted:
        # Datagram sockets, even in a pair, could send to other sockets.
        yield _JEQ, 0, 5, numbers.socketpair
        yield _LD, 0, 0, _low(1)
        yield _AND, 0, 0, _SOCK_TYPES
        yield _JEQ, 1, 0, _SOCK_STREAM
        yield deny
        yield allow
    yield _JEQ, 0, 4, numbers.ioctl
    yield _LD, 0, 0, _low(1)
    yield _JEQ, 1, 0, _TIOCSTI
    yield _JEQ, 0, 1, _TIOCLINUX
    yield deny
    yield allow


def _low(argument: int) -> int:
    """Return the offset of the low half of an argument. Both kinds of CPU are little-endian."""
    return _ARGUMENTS + 8 * argument


# --- macOS (not run where this is developed) ---------------------------------------------------------------


def _enter_sandbox(wanted: Collection[str], own: Sequence[Path]) -> set[str]:
    """Enter a sandbox with a profile of our own."""
    library = ctypes.CDLL("/usr/lib/libSystem.B.dylib", use_errno=True)
    error = ctypes.c_char_p()
    profile = sandbox_profile(wanted, own).encode()
    if library.sandbox_init(profile, ctypes.c_uint64(0), ctypes.byref(error)) != 0:
        return set()
    return set(wanted)


def sandbox_profile(wanted: Collection[str], own: Sequence[Path]) -> str:
    """Return the profile in Apple's language. If several rules match an operation, the last one counts."""
    rules = ["(version 1)", "(allow default)"]
    if "network" in wanted:
        rules.append("(deny network*)")
    if "files" in wanted:
        # `realpath`: the system compares with the path after resolving all links, such as /private/var.
        folders = [os.path.realpath(path).replace("\\", "\\\\").replace('"', '\\"') for path in own]
        rules.append("(deny file-write*)")
        rules.append('(allow file-write* (literal "/dev/null") (literal "/dev/dtracehelper"))')
        rules += [f'(allow file-write* (subpath "{folder}"))' for folder in folders]
    return "\n".join(rules)
