"""Starts Bough in one folder again and again, kills it at random, and measures how much streamed text is lost."""

from __future__ import annotations

import contextlib
import itertools
import json
import multiprocessing.connection
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.model.generation_settings import GenerationSettings
from app.model.message import Message, Sampling
from app.model.settings import Settings, save_settings
from app.model.store import Store
from tests.driver import ROOT
from tests.end_to_end.run_writing import waited_for_cpu_ns
from tests.models import byte_level_tokenizer, chain, write_scripted_model

PROMISED_MS = 250
_NUM_WORDS = 400
_WORD_CHARS = len(" word0000")
_WHOLE = "".join(f" word{number:04d}" for number in range(_NUM_WORDS))
_NUM_PER_FOLDER = 50
"""A new folder is used after this many kills, because all answers in a folder are read after each kill."""


def write_talkative_model(folder: Path) -> Path:
    """Write a model that answers with a few thousand characters and then ends."""
    words = [f" word{number:04d}" for number in range(_NUM_WORDS)]
    tokenizer = byte_level_tokenizer()
    tokenizer.add_tokens(words)
    ids = [tokenizer.encode(word).ids[0] for word in words]
    newline = tokenizer.encode("\n").ids[0]
    return write_scripted_model(folder, tokenizer, chain([newline, *ids]), context_length=100_000)


@dataclass(frozen=True)
class Loss:
    """The text that a kill lost: how old it was, and how the GUI thread, which stores it, had spent this time."""

    whom: str
    lost_ms: float
    waited_ms: float
    """How long the thread was ready to run and had no CPU."""
    gap_ms: float
    """The longest time between two writes, in this time and just before it."""
    last: str = ""
    """The last lines before the kill."""


class Kills:
    """Kills Bough in one folder, and checks what is stored."""

    def __init__(self, folder: Path, model: Path, draw: random.Random) -> None:
        self.folder = folder
        self.draw = draw
        self.losses: list[Loss] = []
        self.num_continued = 0
        self._said: list[str] = []
        save_settings(
            folder / "settings.json",
            Settings(model=str(model), generation=GenerationSettings(sampling=Sampling(temperature=0.0))),
        )

    def kill(self, whom: str) -> None:
        """Start Bough, let it write, and kill "app", "worker" or "both"."""
        command = [sys.executable, "-m", "tests.end_to_end.run_writing", str(self.folder)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as bough:
            try:
                self._kill(bough, whom)
            finally:
                bough.kill()

    def _kill(self, bough: subprocess.Popen[str], whom: str) -> None:
        assert bough.stdout is not None
        lines: list[list[object]] = []
        worker = 0
        num_left = self.draw.randrange(2, 500)
        for line in bough.stdout:
            lines.append(json.loads(line))
            if lines[-1][0] == "worker" and lines[-1][1] is not None:
                worker = int(str(lines[-1][1]))
            num_left -= 1
            if num_left <= 0:
                break
        ends = [os.pidfd_open(child.pid) for child in psutil.Process(bough.pid).children(recursive=True)]
        if whom in {"worker", "both"} and worker:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        if whom == "worker":
            # The death is reported and the text so far is stored; then another worker answers.
            for line in bough.stdout:
                lines.append(json.loads(line))
                if lines[-1][0] == "said":
                    break
        waited_ns = waited_for_cpu_ns(bough.pid)
        killed_ns = time.monotonic_ns()
        bough.kill()
        lines += [json.loads(line) for line in bough.stdout if line.endswith("\n")]
        while ends:
            for end in multiprocessing.connection.wait(ends):
                os.close(int(str(end)))
                ends.remove(int(str(end)))
        self._check(whom, lines, killed_ns, waited_ns)

    def _check(self, whom: str, lines: list[list[object]], killed_ns: int, waited_ns: int) -> None:
        path = self.folder / "conversations.sqlite3"
        with contextlib.closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA quick_check").fetchone() == ("ok",)
        with contextlib.closing(Store(path)) as store:
            messages: dict[int, Message] = {}
            for conversation in store.conversations.all():
                messages |= {message.id: message for message in store.messages.shown_by(conversation.id)}
        self._said += [str(line[1]) for line in lines if line[0] == "said"]
        assert set(self._said) <= {message.text for message in messages.values() if message.role == "user"}
        lost_since_ns, waited_before_ns = killed_ns, waited_ns
        saved_ns: list[int] = []
        ended: dict[int, tuple[str, int]] = {}
        for line in lines:
            match line:
                case ["grown", int(number), int(length), int(at_ns), int(waited)]:
                    if len(messages[number].text) < length and at_ns < lost_since_ns:
                        lost_since_ns, waited_before_ns = at_ns, waited
                case ["saved", int(at_ns)]:
                    saved_ns.append(at_ns)
                case ["goes_on", int(number), str(text)]:
                    self.num_continued += 1
                    ended.pop(number, None)
                    assert messages[number].text.startswith(text)
                case ["ended", int(number), str(state), int(length)]:
                    ended[number] = state, length
                case _:
                    pass
        for number, (state, length) in ended.items():
            assert (messages[number].state, len(messages[number].text)) == (state, length)
        near = [*(each for each in saved_ns if each > lost_since_ns - 10**9), killed_ns]
        gap_ns = max((after - before for before, after in itertools.pairwise(near)), default=0)
        last = f"killed at {killed_ns}; {lines[-25:]}" if killed_ns - lost_since_ns > PROMISED_MS * 10**6 else ""
        loss = Loss(whom, (killed_ns - lost_since_ns) / 1e6, (waited_ns - waited_before_ns) / 1e6, gap_ns / 1e6, last)
        self.losses.append(loss)
        for message in messages.values():
            if message.role == "assistant":
                assert _WHOLE.startswith(message.text)
                record = message.record
                assert record is not None
                # Each token is known and was sampled, so the answer continues exactly, without healing.
                assert record.origins == "s" * len(record.token_ids)
                assert _WORD_CHARS * len(record.token_ids) >= len(message.text)


@dataclass
class KillFigures:
    """The losses of many kills. A kill whose loss is above the promise is printed at once."""

    losses: list[Loss]
    num_continued: int = 0

    def __str__(self) -> str:
        lost = sorted(each.lost_ms for each in self.losses)
        whom = ", ".join(f"{number} {name}" for name, number in sorted(Counter(e.whom for e in self.losses).items()))
        return (
            f"{len(lost)} kills ({whom}), {self.num_continued} answers continued; lost: median "
            f"{statistics.median(lost):.0f} ms, p95 {lost[int(len(lost) * 0.95)]:.0f} ms, most {lost[-1]:.0f} ms, "
            f"{sum(each > PROMISED_MS for each in lost)} over {PROMISED_MS} ms; waited for a CPU meanwhile: most "
            f"{max(each.waited_ms for each in self.losses):.0f} ms"
        )


def kill_often(place: Path, num_kills: int, seed: int) -> KillFigures:
    """Kill Bough `num_kills` times. Raises `AssertionError` if what is stored is wrong.

    How much was lost is returned: a quarter of a second is promised, and a busy machine may take longer.
    """
    model = write_talkative_model(place / "talkative")
    figures = KillFigures([])
    for first in range(0, num_kills, _NUM_PER_FOLDER):
        folder = place / f"{first}"
        folder.mkdir()
        kills = Kills(folder, model, random.Random(f"{seed} {first}"))
        for _ in range(min(_NUM_PER_FOLDER, num_kills - first)):
            kills.kill(kills.draw.choice(("app", "app", "worker", "both")))
            if kills.losses[-1].lost_ms > PROMISED_MS:
                print("LATE", kills.losses[-1], flush=True)
        figures.losses += kills.losses
        figures.num_continued += kills.num_continued
        print(figures, flush=True)
    return figures
