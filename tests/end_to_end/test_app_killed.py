"""The app is killed from outside: its worker ends with it, and nothing stays half done."""

from __future__ import annotations

import contextlib
import multiprocessing.connection
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest
from tokenizers import Tokenizer

from app.model.generation_settings import GenerationSettings
from app.model.message import Sampling
from app.model.settings import Settings, save_settings
from app.model.store import Store
from tests.driver import PATIENCE_S, ROOT
from tests.long import in_long_runs
from tests.models import write_scripted_model
from worker.sentence import verbatim

_LONG = 20_000
"""Words in a question that takes seconds to read."""


pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Only Linux reports the end of other processes' children"
)


@pytest.fixture(scope="module")
def slow_model(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    """The endless model, with a context that holds long questions."""
    a, b, line_break = (byte_level.encode(text).ids[0] for text in ("a", "b", "\n"))
    folder = tmp_path_factory.mktemp("models") / "slow"
    return write_scripted_model(folder, byte_level, {line_break: a, a: b, b: a}, context_length=1_000_000)


@contextlib.contextmanager
def _bough(folder: Path, model: Path, question: str) -> Generator[subprocess.Popen[str]]:
    save_settings(
        folder / "settings.json",
        Settings(
            model=str(model), generation=GenerationSettings(sampling=Sampling(temperature=0.0, max_tokens=900_000))
        ),
    )
    command = [sys.executable, "-m", "tests.end_to_end.run_bough", str(folder), question]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as bough:
        try:
            yield bough
        finally:
            bough.kill()


def _until(bough: subprocess.Popen[str], word: str) -> str:
    assert bough.stdout is not None
    return next(line for line in bough.stdout if line.startswith(word))


def _kill(bough: subprocess.Popen[str]) -> None:
    """Kill the app. Every process that it started must end by itself."""
    children = psutil.Process(bough.pid).children(recursive=True)
    assert children
    # The number of a dead process lasts until its parent collects it; its descriptor reports its death.
    ends = [os.pidfd_open(child.pid) for child in children]
    bough.kill()
    alive = [
        child
        for child, end in zip(children, ends, strict=True)
        if not multiprocessing.connection.wait([end], PATIENCE_S)
    ]
    for end in ends:
        os.close(end)
    for child in alive:
        child.kill()
    assert alive == []


_MOMENTS = {"worker": "", "ready": "", "reading": "word " * _LONG, "streaming": "Go on."}


@pytest.mark.parametrize("moment", ["worker", "reading", *in_long_runs(["ready", "streaming"])])
def test_a_killed_app_takes_its_worker_with_it_idle_or_busy(tmp_path: Path, slow_model: Path, moment: str) -> None:
    with _bough(tmp_path, slow_model, _MOMENTS[moment]) as bough:
        _until(bough, "worker")
        if moment != "worker":
            _until(bough, moment)
        _kill(bough)


def test_after_a_kill_the_stored_part_of_the_answer_is_there_and_no_longer_streams(
    tmp_path: Path, slow_model: Path
) -> None:
    with _bough(tmp_path, slow_model, "Go on.") as bough:
        _until(bough, "streaming")
        _kill(bough)
    with contextlib.closing(Store(tmp_path / "conversations.sqlite3")) as store:
        (conversation,) = store.conversations.all()
        question, answer = store.messages.shown_by(conversation.id)[-2:]
        assert question.text == "Go on."
        assert answer.state == "streaming"
        assert answer.text == ("ab" * len(answer.text))[: len(answer.text)]
        assert len(answer.text) > 0
        assert store.clean_up(verbatim("Bough ended."))
        ended = store.messages.shown_by(conversation.id)[-1]
        assert (ended.text, ended.state) == (answer.text, "stopped")
