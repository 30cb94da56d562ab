"""The main job through the accessibility tree alone, with the real program and a real display server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.driver import ROOT

_PYTHON = "/usr/bin/python3"
"""The system's Python, because pyatspi belongs to it."""
_LAUNCHERS = (Path("/usr/libexec/at-spi-bus-launcher"), Path("/usr/lib/at-spi2-core/at-spi-bus-launcher"))
_SESSION = """
"$1" --launch-immediately >/dev/null 2>&1 &
bus=$!
"$2" -m app --data-dir "$3" &
program=$!
"$4" "$5"
code=$?
kill $program $bus
exit $code
"""


def _what_is_missing() -> str:
    tools = [tool for tool in ("Xvfb", "dbus-run-session") if shutil.which(tool) is None]
    if not any(launcher.exists() for launcher in _LAUNCHERS):
        tools.append("at-spi-bus-launcher")
    if subprocess.run([_PYTHON, "-c", "import pyatspi"], capture_output=True, check=False).returncode != 0:
        tools.append("pyatspi")
    return ", ".join(tools)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="AT-SPI is Linux's")
def test_a_user_of_a_screen_reader_asks_waits_edits_switches_back_and_forks(tmp_path: Path) -> None:
    missing = _what_is_missing()
    if missing:
        pytest.skip(f"There is no {missing} here (Debian: xvfb, dbus, at-spi2-core, python3-pyatspi)")
    read_end, write_end = os.pipe()
    display = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "1400x900x24", "-nolisten", "tcp"],
        pass_fds=[write_end],
        stderr=subprocess.DEVNULL,
    )
    try:
        os.close(write_end)
        with os.fdopen(read_end) as number:
            name = f":{number.readline().strip()}"
        launcher = next(launcher for launcher in _LAUNCHERS if launcher.exists())
        script = ROOT / "tests" / "end_to_end" / "screen_reader.py"
        arguments = [str(launcher), sys.executable, str(tmp_path), _PYTHON, str(script)]
        environment = {name: value for name, value in os.environ.items() if name != "WAYLAND_DISPLAY"}
        session = subprocess.run(
            ["dbus-run-session", "--", "bash", "-c", _SESSION, "session", *arguments],
            cwd=ROOT,
            env=environment
            | {"DISPLAY": name, "QT_QPA_PLATFORM": "xcb", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        display.kill()
        display.wait()
    assert session.returncode == 0, session.stderr[-4000:]
    told = json.loads(session.stdout.splitlines()[-1])
    assert told["heard"].count("Answer finished") == 2
    read = told["read"]
    assert read["first"]
    assert read["second"] not in {"", read["first"]}
    assert read["again"] == read["first"]
    assert {"What is a branch?", "What is a branch? (fork)"} <= set(read["conversations"])
