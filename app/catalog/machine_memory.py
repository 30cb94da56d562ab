"""The memory of this machine that models can use: the GPU's, macOS's limit for the GPU, or the computer's."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from app.catalog.entry import Memory
from worker.memory import free_bytes, limit_bytes

_TIMEOUT_S = 5.0
_MIB = 1 << 20
_LARGE_BYTES = 36 << 30
"""macOS lets the GPU use three quarters of the memory on machines with more than this, else two thirds."""


def _run(command: list[str]) -> str:
    """Return the output of a program; empty if the program fails."""
    try:
        return subprocess.run(
            command, capture_output=True, check=True, text=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL
        ).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""


def _has_cuda() -> bool:
    """Return whether MLX's backend for NVIDIA's GPUs is installed."""
    names = {(found.name or "").lower() for found in importlib.metadata.distributions()}
    return any(name.startswith("mlx-cuda") for name in names)


@dataclass(frozen=True)
class Probe:
    """The questions to this machine. Tests replace the answers to describe other machines."""

    platform: str = sys.platform
    run: Callable[[list[str]], str] = _run
    """Returns the output of a program."""
    has_cuda: Callable[[], bool] = _has_cuda
    total: Callable[[], int] = limit_bytes
    """Returns the memory that a process may take, in bytes."""
    free: Callable[[], int] = free_bytes
    machine: Callable[[], int] = lambda: int(psutil.virtual_memory().total)


def machine_memory(probe: Probe | None = None, reusable_bytes: int = 0) -> Memory:
    """Return the memory that a model could use now. It may take a tenth of a second.

    `reusable_bytes` is the memory of the loaded model, which is freed before another model is loaded.
    """
    asked = probe or Probe()
    found = _unified(asked) if asked.platform == "darwin" else _gpu(asked)
    if found is None:
        found = Memory(total_bytes=asked.total(), available_bytes=asked.free())
    available = min(found.available_bytes + reusable_bytes, found.total_bytes)
    return Memory(total_bytes=found.total_bytes, available_bytes=available, kind=found.kind, on_cpu=found.on_cpu)


def _unified(probe: Probe) -> Memory | None:
    """Return the memory of Apple silicon; None for other Macs, where MLX uses the CPU."""
    output = probe.run(["sysctl", "-n", "hw.optional.arm64"]).split()
    if output != ["1"]:
        return None
    machine = probe.machine()
    chosen = probe.run(["sysctl", "-n", "iogpu.wired_limit_mb"]).strip()
    limit = int(chosen) * _MIB if chosen.isdigit() else 0
    limit = limit or (machine // 4 * 3 if machine > _LARGE_BYTES else machine // 3 * 2)
    total = min(limit, machine)
    return Memory(total_bytes=total, available_bytes=min(total, probe.free()), kind="unified", on_cpu=False)


def _gpu(probe: Probe) -> Memory | None:
    """Return the memory of the first NVIDIA GPU, if MLX can use it."""
    if not probe.has_cuda():
        return None
    query = ["nvidia-smi", "--query-gpu=memory.total,memory.free", "--format=csv,noheader,nounits"]
    lines = probe.run(query).splitlines()
    numbers = [part.strip() for part in lines[0].split(",")] if lines else []
    if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
        return None
    total, free = (int(number) * _MIB for number in numbers)
    return Memory(total_bytes=total, available_bytes=free, kind="gpu", on_cpu=False)
