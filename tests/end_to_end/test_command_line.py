"""`bough` as a program: what it prints if it can't open a window, and what it does not import."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.display import has_display
from tests.driver import ROOT


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    without = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    inherited = {name: value for name, value in os.environ.items() if name not in without}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux runs without a display")
def test_without_a_display_bough_says_so_and_names_the_commands_that_work(tmp_path: Path) -> None:
    done = _run("-m", "app", "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "Bough needs a display to open its window, and there is none here. "
        "`bough tour --out DIR` runs without one; `bough-worker chat` is a chat in the terminal.\n"
    )
    assert not (tmp_path / "data").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux runs without a display")
def test_a_display_that_does_not_answer_is_named(tmp_path: Path) -> None:
    for name, value in (("DISPLAY", ":9731"), ("DISPLAY", "localhost:931.0"), ("WAYLAND_DISPLAY", "wayland-97")):
        done = _run("-m", "app", "--data-dir", str(tmp_path / "data"), **{name: value})
        assert done.returncode == 1
        assert f"nothing answers at {name}={value}. " in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux runs without a display")
def test_a_display_that_answers_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not has_display()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    places = ("\0/tmp/.X11-unix/X9732", str(tmp_path / "wayland-97"))
    for name, value, place in (("DISPLAY", ":9732.0", places[0]), ("WAYLAND_DISPLAY", "wayland-97", places[1])):
        monkeypatch.setenv(name, value)
        assert not has_display()
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(place)
            server.listen()
            assert has_display()
        monkeypatch.delenv(name)


def test_a_library_that_qt_lacks_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "PySide6").mkdir()
    (tmp_path / "PySide6" / "__init__.py").write_text(
        "raise ImportError('libglib-2.0.so.0: cannot open shared object file: No such file or directory')\n"
    )
    for command in (["--data-dir", str(tmp_path / "data")], ["tour", "--out", str(tmp_path / "tour")]):
        done = _run("-m", "app", *command, PYTHONPATH=str(tmp_path), QT_QPA_PLATFORM="offscreen")
        assert done.returncode == 1
        assert "a system library that Qt needs is missing (libglib-2.0.so.0: " in done.stderr
        assert "Traceback" not in done.stderr


def _imported_by(module: str) -> set[str]:
    code = f"import {module}, sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = _run("-c", code)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_worker_that_imports_the_apps_main_module_imports_no_qt() -> None:
    assert not _imported_by("app.__main__") & {"PySide6", "shiboken6", "sqlite3", "msgspec"}


@pytest.mark.parametrize("module", ["app.application", "app.tour.play"])
def test_the_app_imports_no_model_libraries(module: str) -> None:
    imported = _imported_by(module)
    assert "PySide6" in imported
    assert not imported & {"mlx", "mlx_lm", "transformers", "tokenizers", "torch"}


def test_an_unusable_store_is_reported_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "conversations.sqlite3").write_bytes(b"once upon a time " * 500)
    with subprocess.Popen(
        [sys.executable, "-m", "app", "--data-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        stderr=subprocess.PIPE,
        text=True,
    ) as bough:
        assert bough.stderr is not None
        # The window's banner shows the same sentence.
        line = next(line for line in bough.stderr if line.startswith("bough: "))
        bough.kill()
    assert line.startswith(f"bough: The conversations in {tmp_path / 'conversations.sqlite3'} are damaged (")


def test_the_safe_mode_is_refused_with_a_command() -> None:
    done = _run("-m", "app", "--safe-mode", "list")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bough: --safe-mode is for the window; leave it out with `bough list`.\n"
