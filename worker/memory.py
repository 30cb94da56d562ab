"""The memory that is free for this process, and which form of the weights fits into it. Independent of MLX.

Containers may allow less than the machine has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from worker.values import WeightForm

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")

_ROOM_BYTES = 512 << 20
"""Left free for what is computed with the weights, and for other programs."""
PLANNED_TOKENS = 4096
"""Keys and values of this many tokens must fit beside unpacked weights."""


@dataclass(frozen=True)
class Needs:
    """The memory that a model needs with its weights in float32, in bytes."""

    weights: int
    keys_and_values: int = 0

    @property
    def total(self) -> int:
        return self.weights + self.keys_and_values + max(_ROOM_BYTES, self.weights // 8)


def chosen_form(needs: Needs, free: int) -> WeightForm:
    """Return the form that quantized weights take on a CPU. `free`: the free memory in bytes."""
    return WeightForm(form="unpacked" if needs.total <= free else "packed", needed_bytes=needs.total, free_bytes=free)


def free_bytes(available: Callable[[], int] | None = None, groups: Path = _GROUPS, own: Path = _OWN_GROUPS) -> int:
    """Return how many bytes this process can still take without swapping.

    `available`: the free memory of the machine; None asks the system. `groups`: where the control groups are
    mounted. `own`: a file that names this process's groups. Both are missing on systems without control groups.
    """
    of_machine = psutil.virtual_memory().available if available is None else available()
    left = (limit - used + _cached(group) for group, limit, used in _limited_groups(groups, own))
    return max(0, min((of_machine, *left)))


def limit_bytes(total: Callable[[], int] | None = None, groups: Path = _GROUPS, own: Path = _OWN_GROUPS) -> int:
    """Return how many bytes this process could take if all others took none. The arguments are as in `free_bytes`."""
    of_machine = psutil.virtual_memory().total if total is None else total()
    return min((of_machine, *(limit for _, limit, _ in _limited_groups(groups, own))))


def _limited_groups(groups: Path, own: Path) -> Iterator[tuple[Path, int, int]]:
    """Yield each group that this process belongs to and whose memory is limited, its limit and what it uses."""
    try:
        lines = own.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        # Version 2 names no controllers. Version 1 mounts each of them in a folder of its own.
        root = groups / "memory" if controllers else groups
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if controllers else ("memory.max", "memory.current")
        folder = root / path.strip("/")
        # In a container, the path may be that outside the container, and only the root is visible.
        for group in {root, *(each for each in (folder, *folder.parents) if each.is_relative_to(root))}:
            limit, used = (_number(group / name) for name in names)
            if limit is not None and used is not None:
                yield group, limit, used


def _number(file: Path) -> int | None:
    """Return a file's number; None if there is none, such as "max" for no limit."""
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None


def _cached(group: Path) -> int:
    """Return how many of a group's bytes are cached files, which the system drops when memory is needed."""
    try:
        lines = (group / "memory.stat").read_text("ascii", "replace").splitlines()
    except OSError:
        return 0
    found = dict(line.split()[:2] for line in lines if len(line.split()) == 2)
    value = found.get("total_inactive_file", found.get("inactive_file", "0"))
    return int(value) if value.isdigit() else 0
