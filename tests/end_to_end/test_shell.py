"""`bough import`, `export`, `search`, `list` and `replay` as programs: files, output and exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs

from app.__main__ import main
from app.model.exports.files import FORMATS, TRAINERS
from app.model.message import Record, Sampling
from app.model.store import Store
from tests.app.trees import plant
from tests.app.writer import Writer
from tests.driver import ROOT


def _bough(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    without = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    return subprocess.run(
        [sys.executable, "-m", "app", *map(str, arguments), "--data-dir", str(folder)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in without},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two conversations with the same name."""
    store = Store(tmp_path / "data" / "conversations.sqlite3")
    plant(store, "u1-a1-u2-a2 | u1-a3")
    plant(store, "u7-a7")
    store.close()
    return tmp_path / "data"


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_is_written_without_a_display(folder: Path, tmp_path: Path, format_: str) -> None:
    done = _bough("export", "--all", "--format", format_, "--out", tmp_path / "out", folder=folder)
    assert done.returncode == 0
    # One of the conversations has no pairs.
    assert bool(done.stderr) == (format_ == "preference-jsonl") or format_ in TRAINERS
    files = sorted((tmp_path / "out").iterdir())
    assert sorted(done.stdout.splitlines()) == [str(file) for file in files]
    assert all(file.stat().st_size for file in files)
    assert len(files) == (1 if "jsonl" in format_ or format_ == "bough" else 2) or format_ in TRAINERS


def test_a_folder_for_a_trainer_has_the_chosen_lines(folder: Path, tmp_path: Path) -> None:
    done = _bough(
        "export", "--all", "--format", "axolotl", "--lines", "preference", "--out", tmp_path / "out", folder=folder
    )
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'out' / 'train.jsonl'}\n")
    (line,) = (tmp_path / "out" / "train.jsonl").read_text().splitlines()
    assert list(json.loads(line)) == ["messages", "chosen", "rejected"]
    assert "left out, because they have nothing for this format: 1" in done.stderr
    done = _bough(
        "export", "--all", "--format", "mlx-lm", "--lines", "preference", "--out", tmp_path / "new", folder=folder
    )
    assert done.returncode != 0
    assert "Use “chat”, “completion”" in done.stderr
    assert not (tmp_path / "new").exists()


def test_an_export_is_imported_with_its_branches(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert _bough("export", "--all", "--format", "bough", "--out", out, folder=folder).returncode == 0
    plan = _bough("import", "--plan", out / "Conversations.bough", folder=folder)
    assert "2 conversations are here already" in plan.stdout
    # No files are made if there are none yet.
    plan = _bough("import", "--plan", out / "Conversations.bough", folder=tmp_path / "new")
    assert (plan.returncode, plan.stderr) == (0, "")
    assert plan.stdout == "2 conversations with 7 messages in 3 branches would be imported (Bough: 2).\n"
    assert not (tmp_path / "new").exists()
    done = _bough("import", out / "Conversations.bough", folder=tmp_path / "new")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "2 conversations with 7 messages in 3 branches were imported (Bough: 2).\n"
    again = _bough("export", "--all", "--format", "bough", "--out", tmp_path / "again", folder=tmp_path / "new")
    assert again.returncode == 0
    assert (tmp_path / "again" / "Conversations.bough").read_bytes() == (out / "Conversations.bough").read_bytes()


def test_each_failure_is_one_line_and_the_rest_is_done(folder: Path, tmp_path: Path) -> None:
    good = tmp_path / "good.json"
    good.write_text(json.dumps([{"messages": [{"role": "user", "content": "hello"}]}, {"mapping": {}}]))
    done = _bough("import", good, tmp_path / "none.json", folder=folder)
    assert done.returncode == 1
    assert done.stdout.startswith("1 conversation with 1 message")
    assert done.stderr.splitlines() == [
        f"{good}, conversation 2: its messages are missing.",
        f"{tmp_path / 'none.json'}: it can't be read (No such file or directory).",
    ]
    done = _bough("export", "--conversation", "planted", "--conversation", "nobody", "--format", "md",
                  "--out", tmp_path / "out", folder=folder)  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "There is no conversation “nobody”.\n")
    assert [file.name for file in sorted((tmp_path / "out").iterdir())] == ["planted (2).md", "planted.md"]


def test_an_empty_export_fails_and_makes_no_file(folder: Path, tmp_path: Path) -> None:
    done = _bough(
        "export", "--all", "--branch", "--format", "preference-jsonl", "--out", tmp_path / "out", folder=folder
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("There is nothing to export: no question here has two finished answers to compare.")
    assert not (tmp_path / "out").exists()
    done = _bough("export", "--all", "--format", "preference-jsonl", "--out", tmp_path / "out", folder=folder)
    assert done.returncode == 0
    assert done.stderr == (
        "Messages left out, because they belong to no pair of answers: 2.\n"
        "Conversations left out, because they have nothing for this format: 1 (“planted”).\n"
    )


def test_a_folder_that_cannot_be_written_is_reported(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = _bough("export", "--all", "--format", "md", "--out", tmp_path / "file" / "out", folder=folder)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path / 'file' / 'out'} can't be created (")


def test_search_and_list_answer_as_json(folder: Path) -> None:
    listed = _bough("list", "--json", folder=folder)
    assert [conversation["name"] for conversation in json.loads(listed.stdout)] == ["planted", "planted"]
    found = json.loads(_bough("search", "a7", "--json", folder=folder).stdout)
    assert [(hit["text"], hit["role"], hit["conversation"]) for hit in found] == [("a7", "assistant", "planted")]
    assert _bough("search", "nowhere", "--json", folder=folder).stdout == "[]\n"
    (hit,) = json.loads(_bough("search", "a3", "from:answer", "--json", folder=folder).stdout)
    assert (hit["version"], hit["num_versions"], hit["path"][-1]) == (2, 2, hit["message_id"])
    assert json.loads(_bough("search", "a3", "from:you", "--json", folder=folder).stdout) == []
    wrong = _bough("search", "a3", "after:2026-02-30", folder=folder)
    assert (wrong.returncode, wrong.stdout, wrong.stderr[:26]) == (1, "", "“2026-02-30” is not a date")


def test_unreadable_arguments_are_reported_without_a_traceback(folder: Path, tmp_path: Path) -> None:
    # A name that is invalid UTF-8, half a character in a title, a number that no id has.
    odd = os.fsdecode(b"\xff.jsonl")
    file = tmp_path / odd
    file.write_text('{"title": "\\ud800 half", "mapping": {}}\n{"messages": [{"role": "user", "content": "whole"}]}\n')
    done = _bough("import", file, "--json", folder=folder)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem["why"] == "its messages are missing"
    assert problem["where"] == f"{tmp_path}/\ufffd.jsonl, conversation 1 (“\ufffd half”)"
    done = _bough("search", odd, "--json", folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
    done = _bough("replay", "--message", str(2**70), folder=folder)
    assert (done.returncode, done.stderr) == (1, f"There is no message {2**70}.\n")


def test_an_impossible_query_is_reported_in_one_line(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "app", "list", "--data-dir", str(folder)],
            cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=500, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "The output could not be written (No space left on device).\n")


def test_conversations_of_a_newer_bough_can_be_read_but_not_written(folder: Path, tmp_path: Path) -> None:
    store = Store(folder / "conversations.sqlite3")
    store.conversations.rename(1, "line\nbreak and \x1b[31mcolour")
    store.close()
    with contextlib.closing(sqlite3.connect(folder / "conversations.sqlite3")) as database:
        database.execute("PRAGMA user_version = 99")
    before = (folder / "conversations.sqlite3").read_bytes()
    done = _bough("list", folder=folder)
    assert (done.returncode, sorted(done.stdout.splitlines())) == (1, ["1\tline break and �[31mcolour", "2\tplanted"])
    assert "from a newer version of Bough" in done.stderr
    assert done.stderr.endswith("You can still read your conversations.\n")
    done = _bough("export", "--conversation", "2", "--format", "txt", "--out", tmp_path / "out", folder=folder)
    assert (done.returncode, done.stdout) == (1, f"{tmp_path / 'out' / 'planted.txt'}\n")
    assert "a7" in (tmp_path / "out" / "planted.txt").read_text()
    good = tmp_path / "good.json"
    good.write_text(json.dumps({"messages": [{"role": "user", "content": "hello"}]}))
    assert _bough("import", good, folder=folder).returncode == 1
    done = _bough("import", "--plan", good, folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout
        == "1 conversation with 1 message in 1 branch would be imported (chat records (OpenAI, ShareGPT): 1).\n"
    )
    assert (folder / "conversations.sqlite3").read_bytes() == before


@pytest.mark.parametrize("command", [("list",), ("search", "x"), ("export", "--all", "--format", "md", "--out", "out")])
def test_without_conversations_no_files_are_made(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = _bough(*command, folder=tmp_path / "none")
    assert done.returncode == 1
    assert done.stderr == f"There are no conversations in {tmp_path / 'none'}. Name another folder with --data-dir.\n"
    assert not (tmp_path / "none").exists()


def _interrupt_until_it_ends(program: subprocess.Popen[str]) -> None:
    """Send SIGTERM until the program ends: Python misses a signal that comes just before it waits for a pipe.

    SIGTERM is used because a shell that runs the tests in the background makes its programs ignore Ctrl+C.
    """
    for _ in range(30):
        program.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(10)
            return


def test_an_interrupted_import_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "in.jsonl"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [sys.executable, "-m", "app", "import", str(pipe), "--data-dir", str(folder)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as bough:
        record = json.dumps({"messages": [{"role": "user", "content": "never ends %d"}]})
        try:
            with pipe.open("w") as file:
                for number in range(6_000):
                    file.write(record % number + "\n")
                file.flush()
                # The program has read at least the part that did not fit into the pipe, and waits for more.
                _interrupt_until_it_ends(bough)
                assert bough.returncode == 130
            assert bough.stderr is not None
            assert bough.stderr.read() == "Cancelled. All changes were undone.\n"
        finally:
            bough.kill()
    store = Store(folder / "conversations.sqlite3")
    assert len(store.conversations.all()) == 2
    store.close()


def test_the_shell_imports_no_model_and_only_pdf_and_docx_need_qt() -> None:
    code = "import app.shell.run, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert not set(done.stdout.split()) & {"PySide6", "shiboken6", "mlx", "mlx_lm", "ziamath", "pypdf"}


def test_a_file_is_imported_from_a_pipe(folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "in.jsonl"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [sys.executable, "-m", "app", "import", str(pipe), "--data-dir", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as bough:
        try:
            with pipe.open("w") as file:
                for number in range(300):
                    # A pipe can be opened only once: a program that opens it twice loses some data.
                    file.write(json.dumps({"messages": [{"role": "user", "content": f"question {number}"}]}) + "\n")
                    file.flush()
            told, _ = bough.communicate(timeout=500)
            assert (bough.returncode, told.split(" ")[0]) == (0, "300")
        finally:
            bough.kill()


def test_answers_are_replayed_and_differences_are_reported(tmp_path: Path) -> None:
    writer = Writer()
    written = writer.write(Record(sampling=Sampling(temperature=3.0, max_tokens=12), seed=7))
    writer.client.stop()
    record = written.record
    assert record is not None
    data = tmp_path / "data"
    with contextlib.closing(Store(data / "conversations.sqlite3")) as store:
        talk, question = store.create_conversation("branches", "", writer.prompt[-1].text)
        good = store.add(talk.id, question.id, "assistant", written.text, state="cut", record=record)
        bad = store.add(
            talk.id, question.id, "assistant", written.text, state="cut", record=structs.replace(record, seed=8)
        )
        other = store.add(talk.id, question.id, "assistant", "Another text.", state="cut", record=record)
        store.conversations.choose(talk.id, {question.id: good.id})
    done = _bough("replay", "branches", folder=data)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Message {good.id} (guide): The answer matched: 12 of 12 tokens were sampled again.\n"
    wanted = [argument for number in (bad.id, other.id, 99) for argument in ("--message", str(number))]
    done = _bough("replay", *wanted, "--json", folder=data)
    assert done.returncode == 1
    verdict, _ = json.loads(done.stdout)
    assert (verdict["message_id"], verdict["matched"], verdict["is_text_spelled"]) == (bad.id, False, True)
    assert verdict["differences"][0]["stored_id"] == record.token_ids[verdict["differences"][0]["place"]]
    no_message, not_matched, other_text = done.stderr.splitlines()
    assert (no_message, not_matched.split(":")[0]) == ("There is no message 99.", f"Message {bad.id}")
    assert other_text == f"Message {other.id}: Its stored tokens do not spell its text."


def test_a_request_for_odt_is_answered_with_the_format_that_took_its_place(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["export", "--all", "--format", "odt", "--out", str(tmp_path / "out"), "--data-dir", str(folder)]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "Use “docx”: LibreOffice and Word open it." in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
