"""Tries a Debian package in an empty Debian, as a user without rights: try_bundle.py PACKAGE [--root DIR]

Needs root, debootstrap and Xvfb on this machine. The empty system gets nothing but the package and what it depends on;
the screen (Xvfb) and this script stay outside. Debian's mirror is the one that apt is configured with here.
"""

# ruff: noqa: S108 (places of the empty system)

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

_USER, _ID = "tester", 4321
_KEY = "a-key-for-the-try"
_PATIENCE_S = 900
_DISPLAY = ":87"

_HOOK = """
import sys
from importlib.util import find_spec
import huggingface_hub, jinja2, llguidance, mlx.core, mlx_lm, msgspec, psutil, pydantic, regex, tokenizers, yaml
import asyncio, csv, ctypes, decimal, email, hashlib, http.client, json, sqlite3, ssl, statistics, unittest, uuid
import numpy as np
from worker.decision import Decision

OTHER_SYSTEMS = {"msilib", "msvcrt", "nt", "ntpath", "winreg", "winsound", "antigravity", "this"}
LEFT_OUT = {"tkinter", "turtle", "turtledemo", "idlelib", "curses", "readline", "nis", "ensurepip", "lib2to3", "test"}
names = [name for name in sys.stdlib_module_names if not name.startswith("_")]
missing = {name for name in names if find_spec(name) is None} - OTHER_SYSTEMS - LEFT_OUT - {"pydoc_data"}
if missing:
    raise ImportError(f"not in the bundle: {sorted(missing)}")

def hook(step):
    if step.phase == "after" and len(step.tokens) >= 4 and np.arange(3).sum() == statistics.fmean([3, 3]):
        return []
"""
"""A hook that ends an answer after four tokens, if the modules that hooks may use can be imported."""
_FLAGS = ("-B", "-S", "-I")
"""Those of Python inside a bundle, which it gives to processes that it starts for itself."""
_TRACKER = "from multiprocessing.resource_tracker import main;main(0)"
_FORKSERVER = "from multiprocessing.forkserver import main; main(98, 99, [])"


class TryError(Exception):
    """Something did not work; the text says what."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path)
    parser.add_argument("--root", type=Path, help="the folder of the empty system; made if it is missing, then kept")
    chosen = parser.parse_args()
    with contextlib.ExitStack() as stack:
        root = chosen.root or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        system = _System(root)
        if not (root / "etc" / "debian_version").exists() and not _step("an empty Debian", system.make):
            return 1
        stack.enter_context(system.mounted())
        stack.enter_context(_screen())
        before = system.traces()
        if not _step("install", lambda: system.install(chosen.package)):
            return 1
        trial = _Trial(system)
        failures = [name for name, check in trial.checks() if not _step(name, check)]
        failures += [] if _step("uninstall", lambda: _uninstalled(system, before)) else ["uninstall"]
    print(f"{len(failures)} failed: {', '.join(failures)}" if failures else "Everything works.")
    return bool(failures)


def _step(name: str, check: Callable[[], object]) -> bool:
    begin = time.monotonic()
    try:
        found = check()
    except (TryError, OSError, subprocess.SubprocessError, LookupError, TypeError, ValueError) as error:
        print(f"FAILED {name}: {error}", flush=True)
        return False
    print(f"ok {name} ({time.monotonic() - begin:.1f} s){f': {found}' if found else ''}", flush=True)
    return True


# --- the empty system -----------------------------------------------------------------------------------------------


class _System:
    """A Debian in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home" / _USER

    def make(self) -> None:
        target, codename = _mirror()
        done = subprocess.run(
            ["debootstrap", "--variant=minbase", codename, str(self.root), target],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise TryError(done.stdout[-2000:])
        # Packages come from where this machine has them.
        (self.root / "etc" / "apt" / "sources.list").unlink(missing_ok=True)
        for name in ("sources.list", "sources.list.d", "trusted.gpg.d", "apt.conf.d", "auth.conf.d"):
            source, place = Path("/etc/apt") / name, self.root / "etc" / "apt" / name
            if source.is_dir():
                shutil.copytree(source, place, dirs_exist_ok=True)
            elif source.exists():
                shutil.copy(source, place)
        for name in ("/usr/share/keyrings", "/etc/ssl/certs"):
            if Path(name).is_dir():
                shutil.copytree(
                    name, self.root / name[1:], dirs_exist_ok=True, symlinks=False, ignore_dangling_symlinks=True
                )
        shutil.copy("/etc/resolv.conf", self.root / "etc" / "resolv.conf")
        self.run(["useradd", "--create-home", "--uid", str(_ID), _USER], as_root=True)

    @contextlib.contextmanager
    def mounted(self) -> Generator[None]:
        """Give the system processes, devices and the screen's socket."""
        places = [("proc", "proc"), ("/dev", "dev"), ("/dev/pts", "dev/pts"), ("/tmp/.X11-unix", "tmp/.X11-unix")]
        Path("/tmp/.X11-unix").mkdir(exist_ok=True)
        mounted: list[Path] = []
        try:
            for what, place in places:
                target = self.root / place
                target.mkdir(parents=True, exist_ok=True)
                kind = ["-t", "proc"] if what == "proc" else ["--bind"]
                subprocess.run(["mount", *kind, what, str(target)], check=True)
                mounted.append(target)
            # A memory of its own: the user's processes leave nothing in this machine's.
            shared = self.root / "dev" / "shm"
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(shared)], check=True)
            mounted.append(shared)
            yield
        finally:
            for target in reversed(mounted):
                subprocess.run(["umount", "--lazy", str(target)], check=False)

    def command(self, arguments: Sequence[str], *, as_root: bool = False, **variables: str) -> list[str]:
        user = [] if as_root else [f"--userspec={_ID}:{_ID}"]
        home = "/root" if as_root else f"/home/{_USER}"
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home, "LANG": "C.UTF-8", **variables}
        named = [f"{name}={value}" for name, value in environment.items()]
        go = 'cd "$HOME" && exec "$@"'
        return ["chroot", *user, str(self.root), "env", "-i", *named, "sh", "-c", go, "sh", *arguments]

    def run(self, arguments: Sequence[str], *, text: str = "", as_root: bool = False, **variables: str) -> str:
        """Run a program to its end; return what it printed. Raises `TryError` if it failed."""
        done = subprocess.run(
            self.command(arguments, as_root=as_root, **variables),
            input=text, capture_output=True, text=True, timeout=_PATIENCE_S, check=False,
        )  # fmt: skip
        if done.returncode:
            raise TryError(f"{' '.join(arguments)} ended with {done.returncode}: {(done.stdout + done.stderr)[-3000:]}")
        return done.stdout

    def install(self, package: Path) -> str:
        shutil.copy(package, self.root / "tmp" / "bough.deb")
        apt = ["apt-get", "-y", "-qq", "-o", "APT::Sandbox::User=root"]
        self.run([*apt, "update"], as_root=True)
        command = [*apt, "install", "--no-install-recommends", "--allow-downgrades", "/tmp/bough.deb"]
        self.run(command, as_root=True, DEBIAN_FRONTEND="noninteractive")
        (self.root / "tmp" / "bough.deb").unlink()
        size = self.run(["du", "-sm", "--apparent-size", "/usr/lib/bough"]).split()[0]
        return f"{size} MiB in /usr/lib/bough"

    def traces(self) -> set[str]:
        """Return the paths outside the user's home that name Bough."""
        command = ["find", "/", "-xdev", "-iname", "*bough*", "-not", "-path", "/home/*", "-not", "-path", "/proc/*"]
        return set(self.run(command, as_root=True).splitlines())


def _mirror() -> tuple[str, str]:
    """Return the address of Debian's packages and the name of the release, as apt is configured."""
    wanted = "$(REPO_URI) $(CODENAME) $(COMPONENT)"
    command = ["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        address, codename, component = line.split()
        if component == "main" and "-" not in codename:
            return address, codename
    raise TryError("apt names no release of Debian")


@contextlib.contextmanager
def _screen() -> Generator[None]:
    """Run a display without a screen."""
    command = ["Xvfb", _DISPLAY, "-screen", "0", "1600x1000x24", "-nolisten", "tcp", "-ac"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as screen:
        try:
            yield
        finally:
            screen.terminate()


# --- what a user does -----------------------------------------------------------------------------------------------


class _Trial:
    """The checks, in their order: later ones use what earlier ones made."""

    def __init__(self, system: _System) -> None:
        self._system = system
        self._data = system.home / ".local" / "share" / "bough"

    def checks(self) -> list[tuple[str, Callable[[], object]]]:
        return [
            ("versions", self._versions),
            ("multiprocessing's own processes", self._own_processes),
            ("the first start copies the starter", self._first_start),
            ("doctor", self._doctor),
            ("tour in a window", self._tour),
            ("chat in the terminal", self._chat),
            ("a user's hook", self._hook),
            ("export", self._export),
            ("window", self._window),
            ("serve, kill the worker, go on", self._serve),
        ]

    def _versions(self) -> str:
        return " / ".join(self._system.run([name, "--version"]).strip() for name in ("bough", "bough-worker"))

    def _own_processes(self) -> None:
        # The end of its input ends the first one. The second one is given no descriptors, and says so.
        self._system.run(["bough", *_FLAGS, "-c", _TRACKER])
        self._system.run(["bough-worker", *_FLAGS, "-c", _TRACKER])
        try:
            self._system.run(["bough", *_FLAGS, "-c", _FORKSERVER])
        except TryError as error:
            if "Bad file descriptor" not in str(error):
                raise

    def _first_start(self) -> str:
        found = self._system.run(["bough", "models", "list"])
        starter = self._data / "models" / "SmolLM2-135M-Instruct" / "config.json"
        if not starter.is_file():
            raise TryError("the starter was not copied")
        return " ".join(found.split())[:200]

    def _doctor(self) -> str:
        done = subprocess.run(
            self._system.command(["bough", "doctor"]), capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
        if not done.stdout:
            raise TryError(done.stderr)
        if any(line.startswith("fault") for line in done.stdout.splitlines()):
            raise TryError(done.stdout)
        return f"exit code {done.returncode}\n    " + "\n    ".join(done.stdout.strip().splitlines())

    def _tour(self) -> str:
        self._system.run(["bough", "tour", "--out", "tour"], DISPLAY=_DISPLAY, QT_QPA_PLATFORM="xcb")
        told = json.loads((self._system.home / "tour" / "tour.json").read_text(encoding="utf-8"))
        pictures = len(list((self._system.home / "tour").glob("*.png")))
        return f"{pictures} pictures, {len(told.get('steps', told))} steps"

    def _chat(self) -> str:
        answer = self._system.run(["bough-worker", "chat", "--model", "starter"], text="Say hello.\n/again\n/quit\n")
        if len(answer) < 40:
            raise TryError(f"no answer: {answer}")
        return " ".join(answer.split())[-120:]

    def _hook(self) -> str:
        hooks = self._system.home / ".config" / "bough" / "hooks"
        hooks.mkdir(parents=True, exist_ok=True)
        (hooks / "mine.py").write_text(_HOOK, encoding="utf-8")
        self._system.run(["chown", "-R", f"{_ID}:{_ID}", f"/home/{_USER}"], as_root=True)
        commands = [
            {"type": "load_model", "request_id": 1, "model": "starter"},
            {
                "type": "generate",
                "request_id": 2,
                "messages": [{"role": "user", "content": "Count to twenty."}],
                "hooks": ["mine"],
                "max_tokens": 30,
            },
        ]
        lines = "".join(f"{json.dumps(command)}\n" for command in commands)
        events = [json.loads(line) for line in self._system.run(["bough-worker", "--stdio"], text=lines).splitlines()]
        last = events[-1]
        if last["type"] != "finished" or last["choices"][0]["reason"] != "hook":
            raise TryError(json.dumps(last))
        return f"ended after {len(last['choices'][0]['token_ids'])} tokens: {last['choices'][0]['text']!r}"

    def _export(self) -> str:
        chat = [
            {"role": "user", "content": "What is $x^2$?"},
            {"role": "assistant", "content": "A **square**:\n\n$$x^2$$"},
        ]
        (self._system.home / "chat.jsonl").write_text(json.dumps({"messages": chat}) + "\n", encoding="utf-8")
        self._system.run(["bough", "import", "chat.jsonl"])
        sizes: dict[str, int] = {}
        for kind in ("md", "html", "docx", "pdf", "bough"):
            self._system.run(["bough", "export", "--all", "--format", kind, "--out", f"out-{kind}"])
            files = list((self._system.home / f"out-{kind}").iterdir())
            sizes[kind] = sum(file.stat().st_size for file in files)
        if not all(sizes.values()):
            raise TryError(str(sizes))
        return f"bytes: {sizes}"

    def _window(self) -> str:
        """Open the window with a file; a worker must come up. End the program as a session's end does."""
        command = self._system.command(["bough", "chat.jsonl"], DISPLAY=_DISPLAY)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program:
            try:
                workers = _wait(lambda: _processes("--multiprocessing-fork"), "no worker came up", program)
            finally:
                program.send_signal(signal.SIGINT)
                _, errors = program.communicate(timeout=60)
        if "Traceback" in errors:
            raise TryError(errors[-2000:])
        return f"{len(workers)} further processes"

    def _serve(self) -> str:
        command = self._system.command(
            ["bough", "serve", "--model", "SmolLM2-135M-Instruct", "--port", "2699"], BOUGH_API_KEY=_KEY
        )
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
            assert program.stdout is not None
            lines: list[str] = []
            try:
                for line in program.stdout:
                    lines.append(line)
                    if "is ready" in line:
                        break
                else:
                    raise TryError("".join(lines))
                first = _asked()
                trackers = _processes("resource_tracker")
                if not trackers:
                    raise TryError("no process of `multiprocessing` that frees resources runs")
                # The worker is the one that uses most memory.
                victim = max(_processes("--multiprocessing-fork"), key=_resident)
                os.kill(victim, signal.SIGKILL)
                second = _wait(_asked_again, "the server did not go on after the worker was killed", program)
            finally:
                program.send_signal(signal.SIGINT)
                program.wait(60)
        return f"{first!r}, then {second!r}"


def _asked() -> str:
    body = {"model": "SmolLM2-135M-Instruct", "max_tokens": 12, "messages": [{"role": "user", "content": "Say hello."}]}
    request = urllib.request.Request(
        "http://127.0.0.1:2699/v1/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {_KEY}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:  # noqa: S310 (the address is above)
        told: dict[str, Any] = json.load(answer)
    return str(told["choices"][0]["message"]["content"])


def _asked_again() -> str:
    try:
        return _asked()
    except urllib.error.URLError:
        return ""


def _wait(look: Callable[[], Any], failure: str, program: subprocess.Popen[str]) -> Any:
    """Look until something is found."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end and program.poll() is None:
        if found := look():
            return found
        time.sleep(0.5)
    raise TryError(failure)


def _processes(argument: str) -> list[int]:
    """Return the ids of the user's processes that have this text in an argument."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == _ID and argument.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0


def _uninstalled(system: _System, before: set[str]) -> str:
    system.run(["apt-get", "-y", "-qq", "purge", "bough"], as_root=True)
    # apt and dpkg keep a record of what was installed.
    left = {path for path in system.traces() - before if not path.startswith(("/var/log/", "/var/cache/apt/"))}
    if left:
        raise TryError(f"left behind: {sorted(left)}")
    kept = (".local/share/bough/conversations.sqlite3", ".config/bough/hooks/mine.py")
    missing = [path for path in kept if not (system.home / path).exists()]
    if missing:
        raise TryError(f"the user's files are gone: {missing}")
    return "the user's data are there, nothing else"


if __name__ == "__main__":
    sys.exit(main())
