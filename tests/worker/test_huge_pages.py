"""Weights in huge pages: which addresses are chosen, that the memory is moved, and that its content stays."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from worker import huge_pages
from worker.huge_pages import use_huge_pages

MIB = 1 << 20


class Owner:
    """Has the arrays."""


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], []),
        ([(0, 100)], [0]),
        ([(1, 100)], []),
        ([(1, 250)], [100]),
        ([(150, 330), (0, 149)], [0, 100, 200]),  # two neighbours are one piece
        ([(0, 100), (100 + 2 * 4096 + 1, 8500)], [0, 8300, 8400]),
    ],
)
def test_pages_within_the_places_are_chosen(places: list[tuple[int, int]], expected: list[int]) -> None:
    assert huge_pages.whole_pages(places, 100) == expected


def test_arrays_move_into_huge_pages_and_keep_their_content() -> None:
    if not _can_be_made():
        pytest.skip("Huge pages need Linux 6.1 and its permission.")
    owner = Owner()
    array = mx.arange(16 * MIB // 4, dtype=mx.uint32)
    mx.eval(array)
    before = _huge_bytes()
    thread = use_huge_pages([array], owner)
    assert thread is not None
    thread.join()
    # The system may already have made some of them on its own.
    assert _huge_bytes() >= max(before, 10 * MIB)
    assert np.array_equal(np.array(array), np.arange(16 * MIB // 4, dtype=np.uint32))


def test_nothing_happens_if_the_system_has_switched_huge_pages_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = mx.zeros(16 * MIB)
    mx.eval(array)
    monkeypatch.setattr(huge_pages, "_SETTINGS", tmp_path)
    assert use_huge_pages([array], Owner()) is None  # no such settings
    (tmp_path / "enabled").write_text("always madvise [never]\n")
    (tmp_path / "hpage_pmd_size").write_text(f"{2 * MIB}\n")
    assert use_huge_pages([array], Owner()) is None
    (tmp_path / "enabled").write_text("always [madvise] never\n")
    (tmp_path / "hpage_pmd_size").write_text(f"{512 * MIB}\n")
    assert use_huge_pages([array], Owner()) is None  # too large to be worth it
    assert use_huge_pages([], Owner()) is None


def _can_be_made() -> bool:
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    is_new = version is not None and (int(version[1]), int(version[2])) >= (6, 1)
    return platform.system() == "Linux" and is_new and huge_pages.page_bytes() is not None


def _huge_bytes() -> int:
    found = re.search(r"AnonHugePages:\s+(\d+) kB", Path("/proc/self/smaps_rollup").read_text())
    return 0 if found is None else int(found[1]) << 10
