"""`python -m worker` as users and programs start it: the chat, the command line, the cost of imports, no OpenBLAS."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from tests.driver import PATIENCE_S, ROOT
from tests.long import in_long_runs
from tests.models import chain, write_scripted_model

# --- chat ------------------------------------------------------------------------------------------------------


def write_speaker(folder: Path, byte_level: Tokenizer, context_length: int = 4096) -> Path:
    """Write a model that answers "Yes." and a bell, which no terminal should ring, to everything."""
    # The token after the newline of ChatML's "<|im_start|>assistant\n".
    newline = byte_level.encode("\n").ids[-1]
    said = [byte_level.token_to_id(piece) for piece in ("Y", "e", "s", ".", "ć")]
    assert None not in said
    tokens = [newline, *(token for token in said if token is not None)]
    return write_scripted_model(folder, byte_level, chain(tokens), context_length=context_length)


@pytest.fixture(scope="module")
def speaker(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    return write_speaker(tmp_path_factory.mktemp("models") / "speaker", byte_level)


def chat(model: Path | str, *lines: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "worker", "chat", "--model", str(model)],
        cwd=ROOT,
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_a_scripted_chat_answers_forks_edits_and_shows_its_tree(speaker: Path):
    done = chat(speaker, "Is it green?", "/again", "/edit Is it blue?", "And red?", "/tree", "/next", "/back", "/quit")
    assert done.returncode == 0
    assert done.stderr == ""
    shown = done.stdout
    # A large model takes a while.
    assert shown.startswith(f"Loading {speaker}\u2026\n")
    assert shown.count("Yes.\ufffd\n") >= 4
    assert "\x07" not in shown
    assert "0 kept · eos]" in shown
    assert "· version 2 of 2]" in shown
    tree = shown[shown.index("○ user: Is it green?") :]
    assert [line.strip() for line in tree.splitlines()[:7]] == [
        "○ user: Is it green?",
        "○ assistant: Yes.\ufffd",
        "○ assistant: Yes.\ufffd",
        "● user: Is it blue?",
        "● assistant: Yes.\ufffd",
        "● user: And red?",
        "● assistant: Yes.\ufffd",
    ]
    assert "[version 1 of 2] Is it green?" in shown
    assert "Back before: Is it green?" in shown


def test_a_chat_continues_when_its_context_is_full(tmp_path: Path, byte_level: Tokenizer):
    speaker = write_speaker(tmp_path / "speaker", byte_level, context_length=80)
    done = chat(speaker, *["Is it green?"] * 6, "Is it? " * 50, "Is it blue?", "/tree")
    assert done.stdout.count("oldest left out · eos]") == 5
    # The conversation does not continue from a refused question.
    assert done.stdout.count("the context of the model holds 80 tokens") == 1
    tree = [line.strip() for line in done.stdout[done.stdout.index("● user: Is it green?") :].splitlines()]
    assert [line[:18] for line in tree[12:15]] == [
        "○ user: Is it? Is ",
        "● user: Is it blue",
        "● assistant: Yes.\ufffd",
    ]


def test_asking_again_keeps_all_but_one_token_of_the_prompt(speaker: Path):
    shown = chat(speaker, "Is it green?", "/again").stdout
    prompt = int(shown.split("[")[1].split(" tokens")[0])
    assert f"[{prompt} tokens, {prompt - 1} kept" in shown


def test_a_chat_explains_its_commands_and_what_they_need(speaker: Path):
    done = chat(
        speaker, "/help", "/nonsense", "/again", "/edit", "/edit Hi", "/back", "/next", "/tree", "", "Hi", "/edit"
    )
    assert done.returncode == 0
    assert done.stdout.count("another answer to the last question") == 2
    assert done.stdout.count("There is no question yet.") == 4
    assert "There is no fork on this branch yet." in done.stdout
    assert "Write the new text after /edit." in done.stdout


def test_a_chat_without_a_model_shows_the_reason_and_ends():
    done = chat("/nowhere/at/all", "Hi")
    assert done.returncode == 1
    assert "no folder and no downloaded model “/nowhere/at/all”" in done.stdout
    assert done.stderr == ""


@pytest.mark.long
def test_any_bytes_can_be_typed(speaker: Path):
    done = subprocess.run(
        [sys.executable, "-m", "worker", "chat", "--model", str(speaker)],
        cwd=ROOT,
        input=b"\xff\xfe\x00 <|im_end|>\n/tree\n",
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert "<|im_end|>" in done.stdout.decode()
    assert done.stderr == b""


@pytest.mark.long
def test_next_after_back_returns_to_the_branch_that_was_left(speaker: Path):
    done = chat(speaker, "Is it green?", "/back", "/next", "And red?", "/back", "/back", "/previous", "/tree", "/next")
    assert done.stdout.count("[version 1 of 1] Is it green?") == 2
    tree = done.stdout[done.stdout.index("● user: Is it green?") :]
    assert [line.strip()[0] for line in tree.splitlines()[:4]] == ["●"] * 4
    assert "There is no fork on this branch yet." in tree


@pytest.mark.parametrize("encoding", ["ascii", *in_long_runs(["latin-1"])])
def test_characters_that_a_terminal_cannot_show_become_question_marks(speaker: Path, encoding: str):
    done = subprocess.run(
        [sys.executable, "-m", "worker", "chat", "--model", str(speaker)],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        input="Tōkyō?\n/tree\n".encode(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stderr == b""
    assert done.returncode == 0
    assert b"? assistant: Yes." in done.stdout


@pytest.mark.long
def test_a_chat_whose_output_is_closed_ends_silently(speaker: Path):
    command = 'printf "Hi\\nHi\\n" | "$0" -m worker chat --model "$1" | head -n 1'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, str(speaker)],
        cwd=ROOT,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout.startswith(b"Loading ")
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


@pytest.mark.long
def test_a_chat_without_an_input_ends(speaker: Path):
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m worker chat --model "$1" <&-', sys.executable, str(speaker)],
        cwd=ROOT,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stderr == b""
    assert b"/help lists commands." in done.stdout


@pytest.fixture
def endless_chat(endless_model: Path) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        [sys.executable, "-m", "worker", "chat", "--model", str(endless_model)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Ctrl+C reaches the whole process group, including the worker.
        start_new_session=True,
    )
    yield program
    program.kill()
    program.communicate()


def read_until(program: subprocess.Popen[str], text: str) -> str:
    assert program.stdout is not None
    seen = ""
    while not seen.endswith(text):
        character = program.stdout.read(1)
        assert character, seen
        seen += character
    return seen


def test_ctrl_c_stops_an_answer_and_the_chat_continues(endless_chat: subprocess.Popen[str]):
    assert endless_chat.stdin is not None
    for _ in range(2):
        endless_chat.stdin.write("Go on\n")
        endless_chat.stdin.flush()
        read_until(endless_chat, "abab")
        os.killpg(endless_chat.pid, signal.SIGINT)
        assert "cancelled" in read_until(endless_chat, "]\n")
    _, errors = endless_chat.communicate("/quit\n", timeout=PATIENCE_S)
    assert endless_chat.returncode == 0
    assert "Traceback" not in errors


def test_a_chat_whose_worker_dies_reports_it(endless_chat: subprocess.Popen[str]):
    import psutil

    assert endless_chat.stdin is not None
    endless_chat.stdin.write("Go on\n")
    endless_chat.stdin.flush()
    read_until(endless_chat, "abab")
    for child in psutil.Process(endless_chat.pid).children():
        if "spawn_main" in " ".join(child.cmdline()):
            child.kill()
    output, errors = endless_chat.communicate(timeout=PATIENCE_S)
    assert endless_chat.returncode == 1
    assert "The worker has stopped unexpectedly." in output
    assert "Traceback" not in errors


# --- the command line ------------------------------------------------------------------------------------------


def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_without_a_command_the_program_shows_its_usage():
    done = run("-m", "worker")
    assert done.returncode == 2
    assert "usage: bough-worker" in done.stderr
    assert done.stdout == ""


def test_a_console_script_starts_one_worker_that_imports_nothing_twice(tmp_path: Path, speaker: Path):
    # As an installer writes it; the spawned worker runs it again under another name.
    script = tmp_path / "bough-worker"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from worker.__main__ import main\n"
        "print('imported', __name__, *sorted({'mlx', 'mlx_lm', 'transformers'} & set(sys.modules)), file=sys.stderr)\n"
        "if __name__ == '__main__':\n    sys.exit(main())\n"
    )
    done = run(str(script), "chat", "--model", str(speaker), given="Hi\n/quit\n")
    assert done.returncode == 0
    assert done.stderr.splitlines() == ["imported __main__", "imported __mp_main__"]
    assert "Yes." in done.stdout


@pytest.mark.parametrize("module", ["worker.process", "worker.protocol", "worker.models", "worker.models.folder"])
def test_the_app_can_import_these_modules_without_heavy_libraries(module: str):
    heavy = "{'mlx', 'mlx_lm', 'transformers', 'tokenizers', 'PySide6', 'huggingface_hub', 'numpy', 'jinja2'}"
    done = run("-c", f"import sys, {module}; print({heavy} & {{name.split('.')[0] for name in sys.modules}})")
    assert done.stdout == "set()\n", done.stdout + done.stderr


# --- OpenBLAS --------------------------------------------------------------------------------------------------

# The worker as it starts, except that the library's name does not exist.
WITHOUT_BLAS = (
    "import sys; sys.path.insert(0, '.')\n"
    "from worker import blas; blas._LIBRARY = 'libopenblas-that-is-nowhere.so.0'\n"
    "from worker.__main__ import main; sys.exit(main(['--stdio', *sys.argv[1:]]))\n"
)


@pytest.mark.skipif(sys.platform != "linux", reason="MLX's own BLAS is fast elsewhere")
def test_without_openblas_the_worker_warns_once_and_works(speaker: Path, tmp_path: Path):
    commands = [
        {"type": "load_model", "request_id": 1, "model": str(speaker)},
        {"type": "generate", "request_id": 2, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4},
        {"type": "load_model", "request_id": 3, "model": str(speaker)},
    ]
    given = "".join(f"{json.dumps(command)}\n" for command in commands)
    done = run("-c", WITHOUT_BLAS, "--cache-folder", str(tmp_path), given=given)
    assert done.returncode == 0
    events = [json.loads(line) for line in done.stdout.splitlines()]
    finished = next(event for event in events if event["type"] == "finished")
    assert finished["choices"][0]["text"] == "Yes."
    assert len(done.stderr.splitlines()) == 1
    assert "libopenblas-that-is-nowhere.so.0 is not installed" in done.stderr
    assert "apt-get install libopenblas0-pthread" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="MLX's own BLAS is fast elsewhere")
def test_no_library_is_loaded_if_mlx_is_already_imported():
    done = run("-c", "import mlx.core\nfrom worker import blas\nblas._LIBRARY = 'nowhere'\nprint(blas.preload())")
    assert (done.stdout, done.stderr) == ("True\n", "")
