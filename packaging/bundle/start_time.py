"""Compares starts up to the first window, in turns: start_time.py ROUNDS "COMMAND" "OTHER COMMAND". Needs Xvfb.

Prints the seconds and the seconds of CPU time of each command, medians and least ones, then the other commands' as
multiples of the first one's. The first round fills the caches of the disk and is not counted.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_DISPLAY = ":88"
_SUBSTRUCTURE_NOTIFY = 1 << 19
_MAP_NOTIFY = 19


def main() -> int:
    rounds, commands = int(sys.argv[1]), [shlex.split(text) for text in sys.argv[2:]]
    screen = subprocess.Popen(["Xvfb", _DISPLAY, "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-ac"])
    try:
        windows = _Windows()
        taken: list[list[tuple[float, float]]] = [[] for _ in commands]
        for number in range(rounds + 1):
            for command, times in zip(commands, taken, strict=True):
                found = _start(command, windows)
                if number:
                    times.append(found)
    finally:
        screen.terminate()
    for name, choose in (("median", statistics.median), ("least", min)):
        chosen = [[choose(values) for values in zip(*times, strict=True)] for times in taken]
        for command, (wall_s, cpu_s) in zip(commands, chosen, strict=True):
            print(f"{name}: {wall_s:.2f} s, {cpu_s:.2f} s of CPU: {shlex.join(command)}")
        for other in chosen[1:]:
            ratios = [ours / first for ours, first in zip(other, chosen[0], strict=True)]
            print(f"{name}, as multiples of the first: {ratios[0]:.2f} of the time, {ratios[1]:.2f} of the CPU time")
    return 0


class _Windows:
    """The windows of an X display."""

    def __init__(self) -> None:
        self._x11 = ctypes.CDLL("libX11.so.6")
        self._x11.XOpenDisplay.restype = ctypes.c_void_p
        self._x11.XDefaultRootWindow.restype = ctypes.c_ulong
        self._display = None
        while self._display is None:
            self._display = self._x11.XOpenDisplay(_DISPLAY.encode())
        root = self._x11.XDefaultRootWindow(ctypes.c_void_p(self._display))
        self._x11.XSelectInput(
            ctypes.c_void_p(self._display), ctypes.c_ulong(root), ctypes.c_long(_SUBSTRUCTURE_NOTIFY)
        )
        self._x11.XSync(ctypes.c_void_p(self._display), 0)

    def forget(self) -> None:
        """Forget what happened so far."""
        self._x11.XSync(ctypes.c_void_p(self._display), 1)

    def wait(self) -> None:
        """Wait until a window is shown."""
        event = ctypes.create_string_buffer(192)
        while ctypes.c_int.from_buffer(event).value != _MAP_NOTIFY:
            self._x11.XNextEvent(ctypes.c_void_p(self._display), event)


def _start(command: list[str], windows: _Windows) -> tuple[float, float]:
    """Start a program; return its seconds, and seconds of CPU time, up to its first window."""
    with tempfile.TemporaryDirectory() as home:
        # The starter has been brought: its copy at the very first start is not what every start takes.
        models = Path(home) / "data" / "models"
        models.mkdir(parents=True)
        (models / ".starter-brought").touch()
        windows.forget()
        environment = {**os.environ, "DISPLAY": _DISPLAY, "QT_QPA_PLATFORM": "xcb", "HOME": home}
        begin = time.perf_counter()
        program = subprocess.Popen(
            [*command, "--data-dir", str(models.parent)],
            env=environment,
            start_new_session=True,
            stderr=subprocess.DEVNULL,
        )
        windows.wait()
        wall_s = time.perf_counter() - begin
        fields = Path(f"/proc/{program.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    return wall_s, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
