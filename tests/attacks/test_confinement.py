"""Code that runs in the worker tries to reach the network and to write files outside the prompt cache.

A hook plays the part of harmful code: it tries this from each kind of thread and from child processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.driver import ROOT, StdioWorker
from tests.long import in_long_runs
from worker.confinement import SETTING, sandbox_profile

ATTEMPTS = """
import ctypes, fcntl, os, socket, sys
outside, inside = {outside!r}, {inside!r}
file = outside + "/precious"

def datagrams():
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)

def by_number(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), "by number")

def child():
    import subprocess
    code = "open(%r, 'w')" % (outside + "/child")
    if subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise PermissionError("in the child")

REFUSED = {{
    "an IPv4 socket": lambda: socket.socket(socket.AF_INET),
    "an IPv6 socket": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
    "a Unix socket": lambda: socket.socket(socket.AF_UNIX),
    "a netlink socket": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "a connection": lambda: socket.create_connection(("127.0.0.1", 9), 1),
    "a pair of datagram sockets": datagrams,
    "io_uring": lambda: by_number(425, 8, ctypes.create_string_buffer(128)),
    "the 32-bit socket": lambda: by_number(0x40000000 + 41, 2, 1, 0),
    "a new file": lambda: open(outside + "/new", "w"),
    "a file changed": lambda: open(file, "r+"),
    "a file appended to": lambda: open(file, "a"),
    "a file removed": lambda: os.unlink(file),
    "a file renamed": lambda: os.rename(file, outside + "/other"),
    "a file brought in": lambda: os.rename(file, inside + "/brought"),
    "a file linked": lambda: os.link(file, inside + "/linked"),
    "a new folder": lambda: os.mkdir(outside + "/folder"),
    "a symbolic link": lambda: os.symlink(file, outside + "/link"),
    "a pipe": lambda: os.mkfifo(outside + "/pipe"),
    "a file cut": lambda: os.truncate(file, 0),
    "a file cut by reading it": lambda: os.open(file, os.O_RDONLY | os.O_TRUNC),
    "rights": lambda: os.chmod(file, 0o777),
    "an owner": lambda: os.chown(file, 12345, 12345),
    "an attribute": lambda: os.setxattr(file, "user.bough", b"x"),
    "typing into the terminal": lambda: fcntl.ioctl(0, 0x5412, b"x"),
    "a signal to the app": lambda: os.kill(os.getppid() if os.getpid() == {pid} else {parent}, 0),
    "a child that writes": child,
}}
ALLOWED = {{
    "a file of the cache": lambda: open(inside + "/mine", "w"),
    "a file moved within the cache": lambda: os.replace(inside + "/mine", inside + "/moved"),
    "reading": lambda: open(file).read(),
    "a pair of stream sockets": socket.socketpair,
    "a pipe of its own": os.pipe,
    "/dev/null": lambda: open(os.devnull, "w"),
}}

def tried():
    results = {{}}
    for name, attempt in {{**REFUSED, **ALLOWED}}.items():
        try:
            attempt()
            results[name] = "done"
        except OSError as error:
            results[name] = "refused" if isinstance(error, PermissionError) or error.errno in (18, 38) else repr(error)
    return results
"""

HOOK = '''
"""Tries everything, from each kind of thread."""
import json, os, subprocess, sys, threading
code = open(os.path.join(os.path.dirname(__file__), "_attempts.txt")).read()
code = code.replace("PID", str(os.getpid())).replace("PARENT", str(os.getppid()))
scope = {}
exec(code, scope)
results = {}

def note(kind):
    results[kind] = scope["tried"]()

def hook(step):
    note("the main thread")
    thread = threading.Thread(target=note, args=("a thread",))
    thread.start()
    thread.join()

    import ctypes
    kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    native = kind(lambda _: note("a native thread"))
    libc, handle = ctypes.CDLL(None), ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(handle), None, native, None) == 0
    libc.pthread_join(handle, None)

    program = code + "\\nimport json; print(json.dumps(tried()))"
    done = subprocess.run([sys.executable, "-c", program], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    results["a child process"] = json.loads(done.stdout)
    raise RuntimeError("RESULTS " + json.dumps(results))
'''

KINDS = ["the main thread", "a thread", "a native thread", "a child process"]
SCOPE: dict[str, Any] = {}
exec(ATTEMPTS.format(outside="/", inside="/", pid=0, parent=0), SCOPE)  # noqa: S102 (for the names alone)


def _is_supported() -> bool:
    code = "from worker.confinement import confine; c = confine(None); raise SystemExit(not (c.network and c.files))"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not _is_supported(),
    reason="This system has no Landlock or no seccomp, a GPU is used, or BOUGH_CONFINEMENT is off.",
)


class Trial:
    """A worker with a hook that has tried everything."""

    def __init__(self, folder: Path) -> None:
        (folder / "outside").mkdir()
        (folder / "outside" / "precious").write_text("precious")
        (folder / "hooks").mkdir()
        attempts = ATTEMPTS.format(
            outside=str(folder / "outside"), inside=str(folder / "cache"), pid="PID", parent="PARENT"
        )
        (folder / "hooks" / "_attempts.txt").write_text(attempts)
        (folder / "hooks" / "tries.py").write_text(HOOK)
        (folder / "hooks" / "writes.py").write_text(f"def hook(step):\n    open({str(folder / 'x')!r}, 'w')\n")
        # No hook: the worker must not wait for a writer.
        os.mkfifo(folder / "hooks" / "pipe.py")
        options = ["--hooks-folder", str(folder / "hooks"), "--hook-patience-s", "200"]
        with StdioWorker(folder / "cache", options, is_forked=False) as worker:
            self.loaded = worker.load("guide")
            request = {"text": "Hello, what is a branch?", "max_tokens": 3}
            failed = worker.result("generate", hooks=["tries"], **request)
            assert failed["kind"] == "hook_failed", failed
            line = next(line for line in failed["message"].splitlines() if line.startswith("RuntimeError: RESULTS "))
            self.results: dict[str, dict[str, str]] = json.loads(line.partition("RESULTS ")[2])
            self.threads = [
                dict(field.split(":\t") for field in status.read_text().splitlines() if ":\t" in field)
                for status in Path(f"/proc/{worker.process.pid}/task").glob("*/status")
            ]
            self.helpless = worker.result("generate", hooks=["writes"], **request)["message"]
            # A hook that was added after the start of the worker.
            (folder / "hooks" / "late.py").write_text("NEEDS = ['network']\ndef hook(step): ...\n")
            self.late = worker.result("generate", hooks=["late"], **request)
            self.fine = worker.result("generate", **request)
            self.hooks = worker.result("list_hooks")["hooks"]
        self.precious = folder / "outside" / "precious"


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return Trial(tmp_path_factory.mktemp("trial"))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_gets_out_from_any_thread(trial: Trial, kind: str):
    results = trial.results[kind]
    assert {name: results[name] for name in SCOPE["REFUSED"]} == dict.fromkeys(SCOPE["REFUSED"], "refused")
    assert {name: results[name] for name in SCOPE["ALLOWED"]} == dict.fromkeys(SCOPE["ALLOWED"], "done")


def test_files_outside_are_unchanged(trial: Trial):
    assert trial.precious.read_text() == "precious"
    assert list(trial.precious.parent.iterdir()) == [trial.precious]


def test_every_thread_of_the_libraries_is_confined(trial: Trial):
    assert len(trial.threads) > 1
    assert {(thread["Seccomp"], thread["NoNewPrivs"]) for thread in trial.threads} == {("2", "1")}


def test_the_worker_says_what_it_gave_up_and_works(trial: Trial):
    assert trial.loaded["confinement"] == {"network": True, "files": True, "why_not": ""}
    assert trial.fine["type"] == "finished"


def test_the_error_of_a_refused_hook_says_how_to_declare_its_needs(trial: Trial):
    assert "PermissionError" in trial.helpless
    assert 'needs the line NEEDS = ["network", "files"].' in trial.helpless
    assert trial.late["kind"] == "bad_request"
    assert trial.late["message"] == (
        "The hook “late” needs the network, which the model's process gave up when it started. "
        "Start Bough again, then ask again."
    )


def test_a_pipe_among_the_hooks_is_reported(trial: Trial):
    (pipe,) = [hook for hook in trial.hooks if hook["name"] == "pipe"]
    assert pipe["problem"] == "pipe.py can't be read: it is not a file."


def test_python_keeps_what_it_compiles(tmp_path: Path):
    """The modules that are imported when files can't be written any more would be compiled at every start."""
    (tmp_path / "worker").mkdir()
    for name in ("__init__.py", "bytecode.py", "confinement.py", "transformers_import.py", "values.py"):
        (tmp_path / "worker" / name).write_bytes((ROOT / "worker" / name).read_bytes())
    (tmp_path / "worker" / "later.py").write_text("x = 1\n")
    (tmp_path / "mlx_lm.py").write_text("")
    code = (
        "from worker.bytecode import keep_bytecode; from worker.confinement import confine\n"
        "assert confine(None, (), keep_bytecode).files; import worker.later"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**environment, "PYTHONPATH": ""}, check=True)
    assert list((tmp_path / "worker" / "__pycache__").glob("later.*.pyc"))
    # So would transformers search its source files.
    assert list((tmp_path / "worker" / "__pycache__").glob("transformers_import.*.names"))


def test_a_hook_gets_what_it_asks_for(tmp_path: Path):
    (tmp_path / "hooks").mkdir()
    code = "import socket\nNEEDS = ['network']\ndef hook(step):\n    socket.socket().close()\n    open({!r}, 'w')\n"
    (tmp_path / "hooks" / "online.py").write_text(code.format(str(tmp_path / "x")))
    options = ["--hooks-folder", str(tmp_path / "hooks")]
    with StdioWorker(tmp_path / "cache", options, is_forked=False) as worker:
        loaded = worker.load("guide")
        failed = worker.result("generate", text="Hello", max_tokens=2, hooks=["online"])
    assert loaded["confinement"] == {"network": False, "files": True, "why_not": "hooks"}
    assert f"PermissionError: [Errno 13] Permission denied: '{tmp_path / 'x'}'" in failed["message"]


def _confined(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"from pathlib import Path\nfolder = Path({str(folder)!r})\n{code}"],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip


def test_the_server_of_the_local_api_is_confined_too(tmp_path: Path):
    (tmp_path / "precious").write_text("precious")
    attempts = ATTEMPTS.format(outside=str(tmp_path), inside=str(tmp_path / "own"), pid=1, parent=1)
    code = (
        "from app.serving.messages import ServerSettings\nfrom app.serving.process import confine_server\n"
        "from app.serving.server import Opened\n"
        "settings = ServerSettings(key_digest=b'', port=0, turns=folder / 'own' / 'turns.sqlite3')\n"
        f"opened = Opened(settings)\nconfinement = confine_server(settings)\n{attempts}\n"
        "results = tried()\nprint(confinement.network and confinement.files, "
        "[name for name in REFUSED if results[name] != 'refused'], "
        "[name for name in ALLOWED if results[name] != 'done'])\n"
        "database = opened.turns._database\n"
        "with database: database.execute('INSERT INTO turns VALUES (?, ?, ?, ?)', (b'key', b'', b'', 1))\n"
        "database.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()\nopened.turns.close()\n"
        "print(opened.listener.getsockname()[1] > 0)"
    )
    done = _confined(code, tmp_path)
    assert (done.stdout, done.stderr) == ("True [] []\nTrue\n", "")
    assert (tmp_path / "precious").read_text() == "precious"
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == ["moved", "turns.sqlite3"]


def test_confinement_can_be_switched_off(tmp_path: Path):
    code = "from worker.confinement import confine; print(confine(folder).why_not); (folder / 'x').touch()"
    done = _confined(code, tmp_path, **{SETTING: "off"})
    assert (done.stdout, done.stderr) == ("switched_off\n", "")


@pytest.mark.parametrize("missing", ["_TRUNCATE_ABI", *in_long_runs(["_TCP_ABI", "_SCOPES_ABI"])])
def test_older_kernels_refuse_the_same_files(tmp_path: Path, missing: str):
    (tmp_path / "precious").write_text("precious")
    attempts = ATTEMPTS.format(outside=str(tmp_path), inside=str(tmp_path / "own"), pid=1, parent=1)
    code = (
        f"import worker.confinement as c\nc.{missing} = 99\n{attempts}\n"
        "confinement = c.confine(folder / 'own')\n"
        "print(confinement.network and confinement.files, [name for name in REFUSED if tried()[name] != 'refused'])"
    )
    done = _confined(code, tmp_path)
    # Only signals need the newest kernels.
    left = ["a signal to the app"] if missing == "_SCOPES_ABI" else []
    assert (done.stdout, done.stderr) == (f"True {left}\n", "")
    assert (tmp_path / "precious").read_text() == "precious"


def test_on_a_system_without_confinement_the_worker_says_so(tmp_path: Path):
    code = (
        "import worker.confinement as c\nc._NUMBERS = {}\n"
        "print(c.confine(folder)); c.sys.platform = 'win32'; print(c.confine(folder))"
    )
    done = _confined(code, tmp_path)
    line = "Confinement(network=False, files=False, why_not='unsupported')\n"
    assert (done.stdout, done.stderr) == (line * 2, "")


def test_a_thread_that_could_not_be_confined_is_reported(tmp_path: Path):
    code = (
        "import threading, worker.confinement as c\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\nprint(c.confine(folder))"
    )
    assert _confined(code, tmp_path).stdout.startswith("Confinement(network=False, files=False, why_not='unsupported'")


def test_the_profile_for_macos_names_the_folder_behind_links(tmp_path: Path):
    (tmp_path / 'a "b" \\c').mkdir()
    (tmp_path / "link").symlink_to(tmp_path / 'a "b" \\c')
    profile = sandbox_profile({"network", "files"}, [tmp_path / "link"])
    assert profile.splitlines() == [
        "(version 1)",
        "(allow default)",
        "(deny network*)",
        "(deny file-write*)",
        '(allow file-write* (literal "/dev/null") (literal "/dev/dtracehelper"))',
        f'(allow file-write* (subpath "{tmp_path}/a \\"b\\" \\\\c"))',
    ]
    assert "network" not in sandbox_profile({"files"}, [])
    assert "file-write" not in sandbox_profile({"network"}, [])
