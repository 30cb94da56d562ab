"""A worker under attack, and what must hold during and after each attack on it."""

from __future__ import annotations

import contextlib
import multiprocessing.connection
import os
import queue
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from typing_extensions import override

from tests.driver import TERMINAL, Event, StdioWorker

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

LIMIT_S = 300
"""Nothing may take longer, on a busy machine either. The promised times are much shorter."""

MAX_EXTRA_BYTES = 2**30
"""How much memory an attack may take, beyond what the worker held before it and the weights of a model."""


@dataclass(frozen=True)
class Attack:
    """A row of a table: a good model folder is damaged and loaded, then perhaps a command is sent."""

    name: str
    damage: Callable[[Path], None]
    """Changes a copy of a good model folder."""
    ends: str
    """The type of the terminal event, or the kind of the failure."""
    words: str = ""
    """A part of the failure's message."""
    command: dict[str, Any] | None = None
    """The command after loading, with its `type`. None means that loading is the attack."""
    is_long: bool = False


def rows(attacks: Sequence[Attack]) -> list[ParameterSet]:
    """Return the table as parameters of a test."""
    return [pytest.param(each, id=each.name, marks=[pytest.mark.long] * each.is_long) for each in attacks]


class Victim(StdioWorker):
    """A worker that must survive."""

    @override
    def __exit__(self, *error: object) -> None:
        """End the worker. Every process that it started must end with it."""
        ends = [os.pidfd_open(child.pid) for child in self._children()] if sys.platform == "linux" else []
        super().__exit__(*error)
        while ends:
            ended = multiprocessing.connection.wait(ends, LIMIT_S)
            assert ended, "A process of the worker is still running after its end"
            for end in ended:
                os.close(int(str(end)))
                ends.remove(int(str(end)))

    def attack(self, folder: Path, attack: Attack) -> Event:
        """Damage `folder`, a copy of a good model folder, and use it. Return the terminal event, which is as promised.

        Then the worker must answer an ordinary request.
        """
        attack.damage(folder)
        self.reset_peak()
        before, weights = self.resident_bytes, _weights_bytes(folder)
        event = self.end_of("load_model", model=str(folder))
        if attack.command is not None:
            assert event["type"] == "model_loaded", event
            fields = dict(attack.command)
            event = self.end_of(fields.pop("type"), **fields)
        assert self.peak_bytes - before - weights < MAX_EXTRA_BYTES, (self.peak_bytes, before, weights)
        assert attack.ends in {event["type"], event.get("kind")}, event
        assert attack.words in event.get("message", ""), event
        self.check()
        return event

    def end_of(self, command: str, **fields: Any) -> Event:
        """Send a command. Return its terminal event, which comes within the limit."""
        request_id = self.send(command, **fields)
        ends_at = time.monotonic() + LIMIT_S
        while True:
            try:
                event = self.arrived.get(timeout=max(0.0, ends_at - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"No terminal event after {LIMIT_S} s: {command}") from None
            assert event is not None, f"The worker died of {command}: " + "\n".join(self.errors[-20:])
            if event["request_id"] == request_id and event["type"] in TERMINAL:
                return event

    def check(self) -> None:
        """The worker runs and answers. If it has no model left, it loads one."""
        event = self.end_of("generate", text="Hello", max_tokens=2)
        if event.get("kind") == "model_not_loaded":
            assert self.end_of("load_model", model="guide")["type"] == "model_loaded"
            event = self.end_of("generate", text="Hello", max_tokens=2)
        assert event["type"] == "finished", event
        assert self.process.poll() is None

    @property
    def resident_bytes(self) -> int:
        """The memory that the worker and its processes hold now. 0 where this is not measured."""
        return self._sum_of("VmRSS")

    @property
    def peak_bytes(self) -> int:
        """The most that the worker and its living processes held since `reset_peak`. 0 where this is not measured."""
        return self._sum_of("VmHWM")

    def reset_peak(self) -> None:
        """Measure the peak of memory from now on."""
        for pid in self._pids():
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("5")

    def _children(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def _pids(self) -> list[int]:
        return [self.process.pid, *(child.pid for child in self._children())]

    def _sum_of(self, name: str) -> int:
        total = 0
        for pid in self._pids():
            with contextlib.suppress(OSError):  # ended meanwhile, or not Linux
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
        return total


def _weights_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.safetensors") if file.is_file())
