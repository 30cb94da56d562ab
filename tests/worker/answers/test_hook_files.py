"""Hooks as files: the user's own and Bough's, and hooks that are slow, hang or fail."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.driver import ROOT, Event, StdioWorker, shown_text
from tests.models import write_scripted_model
from worker.answers.hook_folder import HookFolder
from worker.decision import Decision
from worker.hooks.banned_phrases import Hook
from worker.step import Draw, Step

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BROKEN = {
    "syntax": ("def hook(step) return None", "SyntaxError"),
    "nothing": ("x = 1", "neither a class `Hook` nor a function `hook`"),
    "import": ("import no_such_module", "No module named 'no_such_module'"),
    "making": ("class Hook:\n    def __init__(self):\n        raise OSError('no room')", "no room"),
}


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    """A model that writes the alphabet over and over."""
    letters = [byte_level.encode(letter).ids[0] for letter in LETTERS]
    successor = dict.fromkeys(range(byte_level.get_vocab_size()), letters[0])
    successor |= dict(zip(letters, letters[1:] + letters[:1], strict=True))
    return write_scripted_model(tmp_path_factory.mktemp("models") / "counting", byte_level, successor)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hooks")


@pytest.fixture(scope="module")
def worker(counting: Path, folder: Path) -> Iterator[StdioWorker]:
    with StdioWorker(arguments=["--hooks-folder", str(folder)]) as worker:
        worker.load(counting, disk_limit_bytes=0)
        yield worker


def ask(worker: StdioWorker, hook: str, text: str = "a", **fields: Any) -> list[Event]:
    return worker.ask("generate", **{"text": text, "max_tokens": 6, "hooks": [hook], **fields})


def test_a_function_in_a_file_is_a_hook(worker: StdioWorker, folder: Path):
    (folder / "no_d.py").write_text(
        "from worker.decision import Decision\n"
        "def hook(step):\n"
        "    return Decision(resample=True) if step.phase == 'after' and step.token_text == 'd' else None\n"
    )
    finished = ask(worker, "no d")[-1]
    assert "d" not in finished["choices"][0]["text"]
    [use] = finished["hooks"]
    assert (use["name"], use["choice"], use["is_off"]) == ("no d", 0, False)
    assert use["calls"] >= 13


class Words:
    """A vocabulary of three words."""

    def encode(self, text: str) -> list[int]:
        raise NotImplementedError

    def text_of(self, token_ids: Any) -> str:
        return "".join(("calm", "LOUD", "I")[token_id] for token_id in token_ids)


def test_the_hook_of_the_readme_works(tmp_path: Path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(# no_shouting\.py\n.*?)```", readme, flags=re.DOTALL)
    (tmp_path / "no_shouting.py").write_text(code)
    hooks = HookFolder(tmp_path).new(["no shouting"], {})
    for token_id, is_drawn_again in ((0, False), (1, True), (2, False)):
        draw = Draw(token_id, None, lambda: np.zeros(3, dtype=np.float32), None)
        decisions = hooks.ask(Step("after", 0, [], lambda: "", Words(), draw=draw))
        assert decisions == ([Decision(resample=True)] if is_drawn_again else None)
    assert hooks.ask(Step("before", 0, [], lambda: "", Words())) is None


def test_a_changed_file_is_read_again(worker: StdioWorker, folder: Path):
    for stop in (2, 4):
        (folder / "stop.py").write_text(f"def hook(step):\n    return [] if step.position == {stop} else None\n")
        answer = ask(worker, "stop")[-1]["choices"][0]
        assert (answer["text"], answer["reason"]) == ("bcdefg"[:stop], "hook")


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_without_a_hook_is_explained(worker: StdioWorker, folder: Path, name: str):
    code, word = BROKEN[name]
    (folder / f"{name}.py").write_text(code)
    failed = ask(worker, name)[-1]
    assert (failed["type"], failed["kind"]) == ("failed", "hook_failed")
    assert word in failed["message"]
    assert shown_text(ask(worker, "no repeats")) == "bcdefg"


def test_given_text_may_be_taken_back_and_this_is_reported(worker: StdioWorker, folder: Path):
    (folder / "start_over.py").write_text(
        "from worker.decision import Decision\n"
        "def hook(step):\n"
        "    if step.phase == 'before' and step.position == 2 and len(step.given) == 3:\n"
        "        return Decision(backtrack=4)\n"
    )
    events = ask(worker, "start over", continuation={"text": "bcd"}, max_tokens=4)
    [retract] = [event for event in events if event["type"] == "retract"]
    # The last of the two letters was not sent yet.
    assert (retract["num_chars"], retract["num_given_chars"]) == (1, 2)
    answer = events[-1]["choices"][0]
    assert (answer["text"], answer["num_given_chars"]) == ("cdef", 2)
    assert shown_text(events) == "cdef"


def test_a_hook_that_is_slow_too_often_is_not_called_again(worker: StdioWorker, folder: Path):
    (folder / "slow.py").write_text(
        "import time\n"
        "from worker.decision import Decision\n"
        "def hook(step):\n"
        "    if step.phase == 'after':\n"
        "        end = time.perf_counter() + 0.03\n"
        "        while time.perf_counter() < end:\n"
        "            pass\n"
        "        return Decision(token=step.vocabulary.encode('x')[0])\n"
    )
    finished = ask(worker, "slow", max_tokens=8)[-1]
    assert finished["choices"][0]["text"] == "xxxyzabc"
    [use] = finished["hooks"]
    assert use["is_off"]
    assert use["longest_ms"] >= 30
    assert use["total_ms"] >= 90


SPINS = """
def hook(step):
    while step.position == 3 and step.phase == "after":
        pass
"""
HOLDS_THE_LOCK = """
import re

def hook(step):
    if step.position == 3 and step.phase == "after":
        re.match("(a+)+$", "a" * 40 + "b")
"""


IS_NEVER_MADE = """
class Hook:
    def __init__(self):
        while True:
            pass
"""


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [(SPINS, 70, "bcd"), (HOLDS_THE_LOCK, -signal.SIGALRM, "bcd"), (IS_NEVER_MADE, 70, "")],
    ids=["spins", "holds the lock", "is never made"],
)
def test_a_hook_that_hangs_is_ended_with_the_worker_and_named(
    counting: Path, tmp_path: Path, code: str, exit_code: int, said: str
):
    (tmp_path / "stuck_one.py").write_text(code)
    with StdioWorker(arguments=["--hooks-folder", str(tmp_path), "--hook-patience-s", "0.5"]) as worker:
        worker.load(counting, disk_limit_bytes=0)
        request_id = worker.send("generate", text="a", max_tokens=6, hooks=["stuck one"])
        assert worker.process.wait() == exit_code
        with contextlib.suppress(EOFError):
            while True:
                worker.next_event()
        assert shown_text([event for event in worker.events if event["request_id"] == request_id]) == said
        if exit_code > 0:
            assert worker.events[-1]["kind"] == "hook_failed"
            assert "“stuck one”" in worker.events[-1]["message"]
        else:
            assert "stuck_one.py" in "\n".join(worker.errors)


# --- Bough's own hooks ---------------------------------------------------------------------------------------


def test_banned_phrases_are_taken_back_before_they_are_complete(worker: StdioWorker):
    for phrases, banned in ((["def"], "def"), (["D", "G"], "d"), (["CDE", "xyz"], "cde")):
        events = ask(worker, "banned phrases", hook_options={"banned phrases": {"phrases": phrases}}, max_tokens=40)
        answer = events[-1]["choices"][0]
        assert len(answer["token_ids"]) == 40
        assert banned not in answer["text"]
        shown = ""
        for event in events:
            if event["type"] == "chunk":
                shown += event["text"]
            elif event["type"] == "retract":
                shown = shown[: len(shown) - event["num_chars"]]
            assert banned not in shown
        assert shown == answer["text"]


class Letters:
    """A vocabulary whose tokens are characters."""

    def encode(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]

    def text_of(self, token_ids: Any) -> str:
        return "".join(map(chr, token_ids))


def test_banned_phrases_ignore_case():
    # "İ" becomes longer when its case is folded, so positions in the folded text differ.
    letters = Letters()
    for phrase, said, back in (
        ("istanbul", "aİİİİSTANBUL", 7),
        ("İSTANBUL", "ß and istanbul", 7),
        ("İSTANBUL", "İİ İstanbul", 7),
        ("STRASSE", "die Straße", 5),
        ("ǆ", "Ǆ", 0),
        ("café", "CAFE\u0301", 4),
    ):
        tokens = letters.encode(said)
        draw = Draw(tokens[-1], None, lambda: None, None)  # pyright: ignore[reportArgumentType]
        hook = Hook(phrases=[phrase])
        for place in range(len(tokens) - 1):
            so_far = draw._replace(token_id=tokens[place])
            assert hook(Step("after", 0, tokens[:place], lambda: "", letters, draw=so_far)) is None, (phrase, place)
        decision = hook(Step("after", 0, tokens[:-1], lambda: "", letters, draw=draw))
        assert decision is not None
        assert (decision.backtrack, decision.resample) == (back, back == 0), phrase


def test_an_answer_that_repeats_itself_goes_back_and_continues_differently(worker: StdioWorker):
    # The alphabet itself is a repetition of 26 letters.
    options = {"no repeats": {"times": 2, "fewest": 20}}
    events = ask(worker, "no repeats", hook_options=options, max_tokens=120)
    round_of_letters = LETTERS[1:] + "a"
    assert round_of_letters * 2 not in shown_text(events)
    # The new text begins where the second repetition did.
    assert shown_text(events).startswith(round_of_letters)
    assert not shown_text(events).startswith(round_of_letters + "b")
    assert shown_text(events) == events[-1]["choices"][0]["text"]


def test_an_unlikely_token_is_sampled_again(worker: StdioWorker):
    sampling = {"temperature": 20.0, "seed": 5}
    wild = ask(worker, "no repeats", sampling=sampling, max_tokens=40)[-1]["choices"][0]["text"]
    options = {"uncertain pause": {"threshold": 0.5, "temperature": 0.01}}
    careful = ask(worker, "uncertain pause", sampling=sampling, hook_options=options, max_tokens=40)
    assert wild != careful[-1]["choices"][0]["text"]
    assert careful[-1]["hooks"][0]["calls"] > 80


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("banned phrases", {"phrases": "text"}, "list of texts"),
        ("banned phrases", {"phrase": ["x"]}, "phrase"),
        ("no repeats", {"times": 1}, "2 or more"),
        ("uncertain pause", {"threshold": 2}, "from 0 to 1"),
    ],
)
def test_invalid_options_are_named(worker: StdioWorker, name: str, options: dict[str, Any], word: str):
    failed = ask(worker, name, hook_options={name: options})[-1]
    assert (failed["type"], failed["kind"]) == ("failed", "hook_failed")
    assert word in failed["message"]
