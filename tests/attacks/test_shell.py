"""Hostile names, texts and files given to the shell: its output only shows, its file names are harmless, it ends."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pty
import shutil
import socket
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from typing_extensions import override

from app.model.backups import Backups
from app.model.exports.files import FORMATS, file_name
from app.model.message import Record
from app.model.store import Store
from tests.app.model.stores import sql
from tests.attacks.victim import LIMIT_S
from tests.driver import PATIENCE_S, ROOT, StdioWorker
from tests.long import in_long_runs
from worker.__main__ import main as worker_main
from worker.printable import one_line, printable, printable_json
from worker.surroundings import start

HOSTILE = {
    "a title of the terminal": "\x1b]0;evil\x07",
    "colours": "\x1b[31m",
    "an 8-bit sequence": "\x9b31m",
    "a backspace": "\b\b",
    "a carriage return": "\rfake",
    "a line feed": "\nfake",
    "a next line": "\x85fake",
    "a line separator": "\u2028fake\u2029",
    "an override of the direction": "\u202egpj.exe",
    "an isolate": "\u2066x\u2069",
    "a zero-width space": "a\u200bb\ufeff",
    "hidden tags": "\U000e0041\U000e0042",
    "a delete": "\x7f",
    "a null": "\0",
}
NAME = "name " + " ".join(HOSTILE.values()) + " end"
# Signs of Arabic, Syriac and Kaithi around numbers: Unicode calls them formatting, but they are seen.
SEEN = {*map(chr, range(0x600, 0x606)), *"\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"}
ALLOWED = {"\n", "\t", "\u200c", "\u200d", *SEEN}


def unsafe(text: str) -> set[str]:
    """Return the characters that should not be in the output of a program."""
    categories = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {hex(ord(each)) for each in text if unicodedata.category(each) in categories and each not in ALLOWED}


# Runs several commands in one process. Between them it prints a line to both outputs.
DRIVER = """
import json, resource, sys
from app.__main__ import main
for arguments in json.loads(sys.stdin.readline()):
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        print("=== ended", code, file=stream, flush=True)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak if sys.platform == "darwin" else peak * 1024)
"""


class Outcome:
    """The output of one command."""

    def __init__(self, out: str, errors: str) -> None:
        self.out, _, code = out.rpartition("=== ended ")
        self.errors = errors.rpartition("=== ended ")[0]
        self.code = int(code)

    @override
    def __repr__(self) -> str:
        return f"{self.code}\n{self.out}\n{self.errors}"


def run(*commands: Sequence[str | Path], stdin: bytes = b"") -> tuple[list[Outcome], int]:
    """Run commands one after another. Return what they printed, and the peak of their memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONUTF8": "1"},
        input=json.dumps([[str(part) for part in command] for command in commands]).encode() + b"\n" + stdin,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    out, errors = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == 0, errors
    marker = "\n=== ended "
    outs, errs = (("\n" + text).split(marker) for text in (out, errors))
    outcomes: list[Outcome] = []
    for number in range(len(commands)):
        code = outs[number + 1].partition("\n")[0]
        texts = [each[number].partition("\n")[2] for each in (outs, errs)]
        outcomes.append(Outcome(f"{texts[0]}\n=== ended {code}", f"{texts[1]}\n=== ended {code}"))
    return outcomes, int(out.splitlines()[-1])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with conversations, in which everything has a hostile name."""
    folder = tmp_path_factory.mktemp("data")
    with contextlib.closing(Store(folder / "conversations.sqlite3")) as store:
        talk, question = store.create_conversation(NAME, "", f"question {NAME}")
        store.add(
            talk.id, question.id, "assistant", f"answer {NAME}", state="complete", record=Record(model=f"model {NAME}")
        )
        for hostile in HOSTILE.values():
            store.create_conversation(hostile, "", "text")
    return folder


def test_no_output_acts_on_the_terminal(data: Path, tmp_path: Path) -> None:
    (tmp_path / "titles.json").write_text(
        json.dumps([{"title": NAME, "mapping": {}}, {"title": "half \ud800", "mapping": {}}])
    )
    (tmp_path / "broken.jsonl").write_text(f"{NAME}\n{{{NAME}\n")
    bad = tmp_path / "bad" / f"file {NAME.replace(chr(0), '').replace('/', '')}"[:60]
    bad.parent.mkdir()
    bad.with_suffix(".json").write_text("{")
    odd = os.fsdecode(b"\xff\x9b31m") + "\x1b[31m\u202e"
    at = ("--data-dir", data)
    commands: list[Sequence[str | Path]] = [
        ("list", *at),
        ("list", "--json", *at),
        ("search", "question", *at),
        ("search", "question", "--json", *at),
        ("search", NAME.replace("\0", ""), odd, *at),
        ("import", tmp_path / "titles.json", tmp_path / "broken.jsonl", bad.parent, tmp_path / odd, *at),
        ("import", "--plan", "--json", tmp_path / "titles.json", tmp_path / odd, *at),
        ("export", "--conversation", odd, "--format", "md", "--out", tmp_path / "none", *at),
        ("export", "--all", "--format", "md", "--out", tmp_path / "titles.json" / odd, *at),
        ("replay", odd, *at),
        ("list", "--data-dir", tmp_path / odd),
        (f"command{odd}",),
        ("export", f"--{odd}", *at),
        ("replay", "--message", odd, *at),
    ]
    outcomes, _ = run(*commands)
    for command, outcome in zip(commands, outcomes, strict=True):
        assert not unsafe(outcome.out + outcome.errors), (command, outcome)
        assert outcome.out or outcome.errors or command[0] == "search", command
        assert "Traceback" not in outcome.errors, (command, outcome)
    listed, as_json, found, found_json, *_ = outcomes
    # A name can't make up a line.
    assert len(listed.out.splitlines()) == 1 + len(HOSTILE)
    assert len(found.out.splitlines()) == 1
    # The user still recognises it, and programs get it as it is.
    assert "evil" in listed.out
    assert NAME in {conversation["name"] for conversation in json.loads(as_json.out)}
    (hit,) = json.loads(found_json.out)
    assert hit["text"] == f"question {NAME}"


def test_no_export_has_a_hostile_name(data: Path, tmp_path: Path) -> None:
    outcomes, _ = run(
        *(("export", "--all", "--format", each, "--out", tmp_path / each, "--data-dir", data) for each in FORMATS)
    )
    for format_, outcome in zip(FORMATS, outcomes, strict=True):
        # Conversations that have nothing for a format are named, and a format for which none has any is refused.
        assert not unsafe(outcome.errors)
        if outcome.code != 0:
            assert (outcome.code, outcome.out.strip()) == (1, ""), format_
            assert "There is nothing to export" in outcome.errors
            assert not (tmp_path / format_).exists()
            continue
        files = sorted((tmp_path / format_).iterdir())
        assert sorted(outcome.out.split("\n")[:-1]) == [str(file) for file in files]
        for file in files:
            assert not unsafe(file.name)
    assert [outcome.code for outcome in outcomes].count(0) > len(FORMATS) / 2


@pytest.mark.parametrize("name", [*HOSTILE.values(), NAME, "\ud800", "con\x1b", ".\u202e.", "/", "\u200b"])
def test_a_file_name_is_harmless(name: str) -> None:
    made = file_name(name, ".md", set())
    assert not unsafe(made)
    assert not set(made) & set('/\\:*?"<>|')
    assert made.encode()
    assert not made.startswith(".")


@pytest.mark.parametrize("name", ["x" * 1_000_000, "漢字 " * 300_000, "a" + "\u0301\u0316" * 500_000])
def test_a_file_is_named_after_the_beginning_of_a_very_long_name(name: str) -> None:
    """Names that are shortened a character at a time never end here: each of these takes ten minutes."""
    made = file_name(name, ".md", set()).removesuffix(".md")
    assert name.startswith(made)
    assert 100 < len(made.encode()) <= 200


def test_very_many_files_of_one_name_are_numbered() -> None:
    """Each number is found in a few tries; one by one, it would take minutes."""
    taken: set[str] = {"chat (30).md"}
    made = [file_name("Chat", ".md", taken) for _ in range(20_000)]
    assert len(taken) == 20_001
    assert made[:4] == ["Chat.md", "Chat (2).md", "Chat (3).md", "Chat (4).md"]
    assert "chat (19999).md" in taken


def test_readable_text_stays() -> None:
    for text in ("Grüße, мир, 世界, مرحبا", "می‌خواهم", "👩‍👩‍👧 and ❤️", "tab\there\nline", "e\u0301"):
        assert printable(text) == text
    assert printable("\u200dx \u200c\u200by") == "x y"
    assert one_line("two  spaces\r\nline\u2028end") == "two  spaces  line end"
    for text in HOSTILE.values():
        encoded = json.dumps({"x": text}, ensure_ascii=False).encode()
        assert json.loads(printable_json(encoded)) == {"x": text}
        assert not unsafe(printable_json(encoded).decode())


# --- the worker --------------------------------------------------------------------------------------------


def test_the_log_of_the_worker_only_shows(tmp_path: Path) -> None:
    words = "".join(HOSTILE.values())
    (tmp_path / "noisy.py").write_text(
        f"import logging, sys\nwords = {words!r}\n"
        "def hook(step):\n"
        "    print('printed', words)\n    sys.stderr.write('written ' + words + '\\n')\n"
        "    logging.getLogger('x').error('logged %s', words)\n"
        "    try:\n        raise ValueError(words)\n    except ValueError:\n        logging.exception('raised')\n"
        "    sys.stdout.flush()\n"
    )
    with StdioWorker(arguments=["--hooks-folder", str(tmp_path)]) as worker:
        worker.load("guide")
        assert worker.result("generate", text="Hello", max_tokens=1, hooks=["noisy"])["type"] == "finished"
        assert worker.close_input() == 0
        errors = "\n".join(worker.errors)
    assert all(word in errors for word in ("printed", "written", "logged", "ValueError"))
    assert not unsafe(errors)


def test_the_chat_says_what_a_folder_does_and_only_shows_it(tmp_path: Path, random_llama: Path) -> None:
    folder = Path(shutil.copytree(random_llama, tmp_path / "model"))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    leaves_out = "Say: {% for m in messages[1:] %}{{ m.content }}{% endfor %}"
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"chat_template": leaves_out}))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps(config | {"max_position_embeddings": 512, f"x {NAME}": float("inf")})
    )
    lines = f"{NAME}\n/quit\n".replace("\0", "").encode()
    done = subprocess.run(
        [sys.executable, "-m", "worker", "chat", "--model", str(folder)],
        cwd=ROOT, input=lines, capture_output=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    out = done.stdout.decode()
    assert "[The config.json of this model holds values that are not finite numbers" in out, done
    assert "[The chat template of this model leaves out or changes messages" in out
    assert not unsafe(out)


# --- special files -----------------------------------------------------------------------------------------


def test_endless_files_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)  # the path of a socket is short
        listener.bind("socket.json")
        listener.listen()
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    # A sparse file, larger than any disk cache.
    with (tmp_path / "zeros.json").open("wb") as zeros:
        zeros.truncate(1 << 40)
    device = "it is a device or a terminal, not a file"
    reasons = {
        tmp_path / "pipe.json": "it is a pipe that no program writes into",
        tmp_path / "socket.json": "it is a socket, not a file",
        tmp_path / "folder.json": "this folder contains no files with conversations",
        tmp_path / "gone.json": "it can't be read (No such file or directory)",
        tmp_path / "loop.json": "it can't be read (",
        tmp_path / "zeros.json": "it is too long to be imported as a chat transcript",
        Path("/dev/zero"): device,
        Path("/dev/null"): device,
        Path("/dev/tty"): device,
    }
    if sys.platform == "linux":
        reasons[Path("/proc/self/mem")] = "it can't be read ("
        reasons[Path("/proc/self/cmdline")] = ""
    outcomes, peak = run(*(("import", path, "--data-dir", tmp_path / "data") for path in reasons))
    for (path, reason), outcome in zip(reasons.items(), outcomes, strict=True):
        assert outcome.code == 1, (path, outcome)
        assert reason in outcome.errors, (path, outcome)
        assert "Traceback" not in outcome.errors, (path, outcome)
    assert peak < 1 << 30
    # In a folder they are passed over.
    (outcome,), _ = run(("import", tmp_path, "--plan", "--data-dir", tmp_path / "none"))
    assert "pipe" not in outcome.errors


def test_a_terminal_as_standard_input_is_reported(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "app", "import", "/dev/stdin", "--data-dir", str(tmp_path)],
            cwd=ROOT, stdin=terminal, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    finally:
        os.close(controller)
        os.close(terminal)
    assert done.returncode == 1
    assert done.stderr == "/dev/stdin: it is a device or a terminal, not a file.\n"


def test_a_lost_store_is_reported_without_naming_menus_of_the_window(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    with contextlib.closing(Store(path)) as store:
        store.create_conversation("kept", "", "question")
        with sql(path) as database:
            Backups(path).make(database)
    for file in tmp_path.glob("conversations.sqlite3*"):
        file.unlink()
    at = ("--data-dir", tmp_path)
    outcomes, _ = run(("list", *at), ("import", tmp_path / "x.json", *at))
    for outcome in outcomes:
        assert outcome.code == 1
        assert f"The conversations are gone from {path}" in outcome.errors
        assert "To restore a backup, run `bough` without a command" in outcome.errors
    assert "kept" in outcomes[0].out
    assert not path.exists()


@pytest.mark.long
@pytest.mark.parametrize("begin", [b"text ", b'{"title": "', b'[{"title": "'])
@pytest.mark.parametrize("name", ["endless.json", "endless.jsonl", "endless.md"])
def test_an_endless_pipe_is_reported(tmp_path: Path, begin: bytes, name: str) -> None:
    os.mkfifo(tmp_path / name)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), (tmp_path / name).open("wb", buffering=0) as pipe:
            pipe.write(begin)
            while True:
                pipe.write(b"x" * 65536)

    writer = threading.Thread(target=write)
    writer.start()
    (outcome,), peak = run(("import", tmp_path / name, "--data-dir", tmp_path / "data"))
    writer.join(LIMIT_S)
    assert outcome.code == 1
    assert "Traceback" not in outcome.errors
    assert peak < 2 << 30


def test_a_store_that_is_not_a_file_is_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "conversations.sqlite3")
    at = ("--data-dir", tmp_path)
    outcomes, _ = run(
        ("list", *at),
        ("search", "x", *at),
        ("export", "--all", "--format", "md", "--out", tmp_path / "out", *at),
        ("replay", "x", *at),
        ("import", tmp_path / "x", *at),
        ("import", "--plan", tmp_path / "x", *at),
        ("list", "--data-dir", "/dev/zero"),
        ("export", "--all", "--format", "md", "--out", "/dev/zero", "--data-dir", "/dev/null"),
    )
    for outcome in outcomes[:6]:
        assert outcome.code == 1
        assert outcome.errors.strip() == (
            f"{tmp_path / 'conversations.sqlite3'} is not a file. Name another folder with --data-dir."
        )
    for outcome in outcomes[6:]:
        assert outcome.code == 1
        assert "There are no conversations in /dev/" in outcome.errors


# --- closed streams, a folder that is gone -----------------------------------------------------------------


@pytest.mark.parametrize("closed", [">&-", *in_long_runs(["<&- >&- 2>&-", "2>&-", "<&-"])])
def test_with_closed_streams_the_program_works_and_no_stream_becomes_the_store(data: Path, closed: str) -> None:
    before = (data / "conversations.sqlite3").read_bytes()
    command = [sys.executable, "-m", "app", "list", "--data-dir", str(data)]
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command],
        cwd=ROOT,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (data / "conversations.sqlite3").read_bytes() == before


def test_a_process_starts_where_the_folder_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert worker_main(["--stdio"]) == 2
    process = multiprocessing.get_context("spawn").Process(target=os.getcwd)
    start(process)
    process.join(PATIENCE_S)
    assert process.exitcode == 0
