"""Moves a model's weights into huge pages of memory on Linux, as a CPU reads them faster there.

A step of a model reads all weights, one after another. With pages of 4 KB a core reads 19 to 24 GB a second, with pages
of 2 MB 29 to 33. Linux makes huge pages of memory by itself only for programs that ask before they write to it, which
MLX does not, so they are made afterwards.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import mlx.core as mx
import numpy as np
from typing_extensions import Buffer

_SETTINGS = Path("/sys/kernel/mm/transparent_hugepage")
_COLLAPSE = 25  # MADV_COLLAPSE, from Linux 6.1 on
_MAX_PAGE_BYTES = 32 << 20
_MAX_GAP_BYTES = 2 * 4096
"""Arrays that lie this near to each other lie in the same piece of memory."""
_MAX_FAILURES = 8
"""After this many failures in a row, memory is too fragmented, or the system does not support huge pages."""
_NICENESS = 10


def use_huge_pages(arrays: Iterable[mx.array], owner: object) -> threading.Thread | None:
    """Move computed arrays into huge pages, in a thread of low priority; what they hold does not change.

    The thread stops when `owner`, to which the arrays belong, is garbage-collected. Returns the thread; None if there
    is nothing to move, or the system does not support this.
    """
    num_bytes = page_bytes()
    pages = whole_pages([_place(array) for array in arrays], num_bytes) if num_bytes else []
    if not num_bytes or not pages:
        return None
    thread = threading.Thread(target=_make, args=(pages, num_bytes, weakref.ref(owner)), name="huge pages", daemon=True)
    thread.start()
    return thread


def page_bytes() -> int | None:
    """Return the size of a huge page in bytes; None if the system has none, or its user has switched them off."""
    try:
        if sys.platform != "linux" or "[never]" in (_SETTINGS / "enabled").read_text():
            return None
        num_bytes = int((_SETTINGS / "hpage_pmd_size").read_text())
    except (OSError, ValueError):
        return None
    return num_bytes if 0 < num_bytes <= _MAX_PAGE_BYTES else None


def _place(array: mx.array) -> tuple[int, int]:
    """Return the addresses at which an array begins and ends."""
    view = np.frombuffer(memoryview(cast("Buffer", array.reshape(-1).view(mx.uint8))), np.uint8)
    return view.ctypes.data, view.ctypes.data + view.nbytes


def whole_pages(places: Iterable[tuple[int, int]], size: int) -> list[int]:
    """Return the addresses of all whole pages of `size` bytes inside `places`, which are (start, end) addresses."""
    pieces: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if pieces and start - pieces[-1][1] <= _MAX_GAP_BYTES:
            pieces[-1] = pieces[-1][0], max(end, pieces[-1][1])
        else:
            pieces.append((start, end))
    return [address for start, end in pieces for address in range(-(-start // size) * size, end - size + 1, size)]


def _make(pages: list[int], num_bytes: int, owner: weakref.ref[object]) -> None:
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    num_failures = 0
    for address in pages:
        # The call copies the page while nobody else can write to it. Memory that was freed meanwhile is refused.
        failed = madvise(address, num_bytes, _COLLAPSE) != 0
        num_failures = num_failures + 1 if failed else 0
        if num_failures == _MAX_FAILURES or owner() is None:
            return
